package startid_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"everstep/worker/host/startid"
)

// TestIntercept puts the id on a start that comes in time, and lets none go that is late.
func TestIntercept(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		context func(context.Context) context.Context
		sent    []string
		late    bool
	}{
		"none chosen": {func(ctx context.Context) context.Context { return ctx }, []string{"drawn"}, false},
		"in time": {func(ctx context.Context) context.Context {
			return startid.WithUntil(ctx, "chosen", time.Now().Add(time.Hour))
		}, []string{"chosen"}, false},
		"whenever": {func(ctx context.Context) context.Context { return startid.With(ctx, "chosen") }, []string{"chosen"}, false},
		"late": {func(ctx context.Context) context.Context {
			return startid.WithUntil(ctx, "chosen", time.Now().Add(-time.Millisecond))
		}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent []string
			call := func(_ context.Context, _ string, request, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
				sent = append(sent, request.(*workflowservice.StartWorkflowExecutionRequest).GetRequestId())
				return nil
			}
			request := &workflowservice.StartWorkflowExecutionRequest{RequestId: "drawn"}
			err := startid.Intercept(test.context(t.Context()), "", request, nil, nil, call)
			require.Equal(t, test.sent, sent)
			require.Equal(t, test.late, err != nil)
			require.Equal(t, test.late, startid.Late(serviceerror.FromStatus(status.Convert(err))), "as the SDK tells it")
			require.Equal(t, "drawn", request.GetRequestId(), "the caller's own stays")
		})
	}
	require.False(t, startid.Late(errors.New("another")))
}
