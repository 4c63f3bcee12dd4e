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
	answer, err := p.Next.HandleQuery(ctx, in)
	if err != nil {
		return nil, err
	}
	return codec.Plain(answer)
}

func (p *plainWorkflow) ExecuteUpdate(ctx workflow.Context, in *interceptor.UpdateInput) (any, error) {
	answer, err := p.Next.ExecuteUpdate(ctx, in)
	if err != nil {
		return nil, err
	}
	return codec.Plain(answer)
}

// plainClient encodes what a client sends.
type plainClient struct {
	interceptor.ClientOutboundInterceptorBase
}

func (p *plainClient) QueryWorkflow(ctx context.Context, in *interceptor.ClientQueryWorkflowInput) (converter.EncodedValue, error) {
	args, err := codec.PlainAll(in.Args)
	if err != nil {
		return nil, err
	}
	changed := *in
	changed.Args = args
	return p.Next.QueryWorkflow(ctx, &changed)
}

func (p *plainClient) SignalWorkflow(ctx context.Context, in *interceptor.ClientSignalWorkflowInput) error {
	arg, err := codec.Plain(in.Arg)
	if err != nil {
		return err
	}
	changed := *in
	changed.Arg = arg
	return p.Next.SignalWorkflow(ctx, &changed)
}

func (p *plainClient) UpdateWorkflow(ctx context.Context, in *interceptor.ClientUpdateWorkflowInput) (client.WorkflowUpdateHandle, error) {
	args, err := codec.PlainAll(in.Args)
	if err != nil {
		return nil, err
	}
	changed := *in
	changed.Args = args
	return p.Next.UpdateWorkflow(ctx, &changed)
}
