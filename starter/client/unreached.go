package client

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"google.golang.org/grpc"
)

// OfRecords returns a client for while no server can be reached: it reads what Config.Records tell. Whatever takes the
// server fails as Unreachable, with the text of why.
func OfRecords(cfg Config, why error) *Client {
	err := errorf(Unreachable, fmt.Errorf("%w: %w", ErrUnreached, why), "%s", why)
	if known, ok := errors.AsType[*Error](why); ok {
		err.Next = known.Next
	}
	c := New(unreached{err: err}, cfg)
	c.unreached, c.impatient = err, true
	return c
}

// ErrUnreached is in the errors of what a client of OfRecords cannot tell, since no server was there to be asked.
var ErrUnreached = errors.New("no server can be reached")

// An unreached is in the place of a server. What this package does not use of one it panics on.
type unreached struct {
	sdk.Client
	err error
}

func (u unreached) ListWorkflow(context.Context, *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	return nil, u.err
}

func (u unreached) ExecuteWorkflow(context.Context, sdk.StartWorkflowOptions, any, ...any) (sdk.WorkflowRun, error) {
	return nil, u.err
}

func (u unreached) WorkflowService() workflowservice.WorkflowServiceClient {
	return workflowservice.NewWorkflowServiceClient(noConnection(u))
}

func (u unreached) OperatorService() operatorservice.OperatorServiceClient {
	return operatorservice.NewOperatorServiceClient(noConnection(u))
}

// A noConnection fails each call.
type noConnection unreached

func (n noConnection) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	return n.err
}

func (n noConnection) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, n.err
}
