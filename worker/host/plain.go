package host

import (
	"context"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"everstep/worker/host/codec"
)

// plain keeps what travels in queries, signals and updates out of the codec, on
// both sides, so that Temporal's own tools can read and send it.
type plain struct{ interceptor.InterceptorBase }

var _ interceptor.Interceptor = (*plain)(nil)

func (*plain) InterceptClient(next interceptor.ClientOutboundInterceptor) interceptor.ClientOutboundInterceptor {
	return &plainClient{interceptor.ClientOutboundInterceptorBase{Next: next}}
}

func (*plain) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &plainWorkflow{interceptor.WorkflowInboundInterceptorBase{Next: next}}
}

// plainWorkflow encodes what a workflow answers.
type plainWorkflow struct {
	interceptor.WorkflowInboundInterceptorBase
}

func (p *plainWorkflow) HandleQuery(ctx workflow.Context, in *interceptor.HandleQueryInput) (any, error) {
	return answer(p.Next.HandleQuery(ctx, in))
}

func (p *plainWorkflow) ExecuteUpdate(ctx workflow.Context, in *interceptor.UpdateInput) (any, error) {
	return answer(p.Next.ExecuteUpdate(ctx, in))
}

func answer(value any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return codec.Plain(value)
}

// plainClient encodes what a client sends. Each call has an input of its own.
type plainClient struct {
	interceptor.ClientOutboundInterceptorBase
}

func (p *plainClient) QueryWorkflow(ctx context.Context, in *interceptor.ClientQueryWorkflowInput) (_ converter.EncodedValue, err error) {
	if in.Args, err = codec.PlainAll(in.Args); err != nil {
		return nil, err
	}
	return p.Next.QueryWorkflow(ctx, in)
}

func (p *plainClient) SignalWorkflow(ctx context.Context, in *interceptor.ClientSignalWorkflowInput) (err error) {
	if in.Arg, err = codec.Plain(in.Arg); err != nil {
		return err
	}
	return p.Next.SignalWorkflow(ctx, in)
}

func (p *plainClient) UpdateWorkflow(ctx context.Context, in *interceptor.ClientUpdateWorkflowInput) (_ client.WorkflowUpdateHandle, err error) {
	if in.Args, err = codec.PlainAll(in.Args); err != nil {
		return nil, err
	}
	return p.Next.UpdateWorkflow(ctx, in)
}
