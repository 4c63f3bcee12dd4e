// Package startid lets whoever starts a workflow choose the id of the request, by which the server knows one
// that is repeated. The SDK draws one for each.
//
// Its one rule: two starts under one id are one as long as no other workflow of that id has begun, also where
// the first has ended: the second is told its run.
package startid

import (
	"context"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

type key struct{}

// With returns a context in which workflows are started under a request id, by clients of host.Dial. Others
// draw their own.
func With(ctx context.Context, id string) context.Context { return context.WithValue(ctx, key{}, id) }

// Intercept is the gRPC interceptor that puts the id on requests.
func Intercept(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption) error {
	start, starts := request.(*workflowservice.StartWorkflowExecutionRequest)
	if id, given := ctx.Value(key{}).(string); given && starts {
		start = proto.CloneOf(start)
		start.RequestId = id
		request = start
	}
	return call(ctx, method, request, reply, conn, options...)
}
