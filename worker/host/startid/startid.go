// Package startid lets whoever starts a workflow choose the id of the request, by which the server knows one
// that is repeated. The SDK draws one for each.
//
// Its one rule: two starts under one id are one as long as no other workflow of that id has begun, also where
// the first has ended: the second is told its run. So a start that is late is not sent: others may have begun.
package startid

import (
	"context"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

type key struct{}

// chosen is the id of a start, and until when it may be sent; zero: whenever.
type chosen struct {
	id    string
	until time.Time
}

// With returns a context in which workflows are started under a request id, by clients of host.Dial. Others draw an id of
// their own.
func With(ctx context.Context, id string) context.Context {
	return WithUntil(ctx, id, time.Time{})
}

// WithUntil is With where nothing is sent after a time, by the clock on the wall: a machine that slept meanwhile is late too.
func WithUntil(ctx context.Context, id string, until time.Time) context.Context {
	return context.WithValue(ctx, key{}, chosen{id, until.Round(0)})
}

const late = "the start was not sent, since it is too late for it"

// Late reports whether a start was not sent because it was late.
func Late(err error) bool {
	return err != nil && serviceerror.ToStatus(err).Code() == codes.FailedPrecondition && strings.Contains(err.Error(), late)
}

// Intercept is the gRPC interceptor that puts the id on requests.
func Intercept(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption) error {
	start, starts := request.(*workflowservice.StartWorkflowExecutionRequest)
	if chosen, given := ctx.Value(key{}).(chosen); given && starts {
		if !chosen.until.IsZero() && time.Now().Round(0).After(chosen.until) {
			return status.Error(codes.FailedPrecondition, late)
		}
		start = proto.CloneOf(start)
		start.RequestId = chosen.id
		request = start
	}
	return call(ctx, method, request, reply, conn, options...)
}
