package client

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/operatorservice/v1"
	sdk "go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"everstep/domain/contract"
)

// A slowServer takes five seconds for each call.
type slowServer struct{ *fakeServer }

type slowOperator struct {
	operatorservice.OperatorServiceClient
}

func slowly(ctx context.Context) error {
	select {
	case <-time.After(5 * time.Second):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s slowServer) OperatorService() operatorservice.OperatorServiceClient {
	return slowOperator{s.fakeServer.OperatorService()}
}

func (s slowOperator) ListSearchAttributes(ctx context.Context, r *operatorservice.ListSearchAttributesRequest, o ...grpc.CallOption) (*operatorservice.ListSearchAttributesResponse, error) {
	if err := slowly(ctx); err != nil {
		return nil, err
	}
	return s.OperatorServiceClient.ListSearchAttributes(ctx, r, o...)
}

func (s slowServer) ExecuteWorkflow(ctx context.Context, o sdk.StartWorkflowOptions, w any, args ...any) (sdk.WorkflowRun, error) {
	run, err := s.fakeServer.ExecuteWorkflow(ctx, o, w, args...) // the server has begun it
	if late := slowly(ctx); late != nil {
		return nil, late
	}
	return run, err
}

// TestAStartOnASlowServer has its own time, whatever was asked before it: what the server has begun is not told as failed.
func TestAStartOnASlowServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, begun := newFake(newRun("run-1", nil)), 0
		f.start = func(sdk.StartWorkflowOptions, contract.SessionInput) error { begun++; return nil }
		_, err := New(slowServer{f}, Config{Loopback: true}).Start(t.Context(), Start{Prompt: "go", Definition: scriptedAgent()})
		require.NoError(t, err, "%d begun", begun)
	})
}
