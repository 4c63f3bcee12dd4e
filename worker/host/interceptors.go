package host

import (
	"context"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"everstep/activities/transcript"
	"everstep/domain/contract"
	"everstep/worker/host/codec"
	"everstep/workflows"
)

// feeder hands the transcript to the activities of this worker, as a workflow
// schedules them, and marks the boundaries that lie in a workflow. Nothing
// flows back: a workflow never reads what the worker remembers.
type feeder struct {
	interceptor.WorkerInterceptorBase
	cache *transcript.Cache
	at    func(context.Context, contract.Boundary)
}

func (f *feeder) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &feedInbound{interceptor.WorkflowInboundInterceptorBase{Next: next}, f}
}

// feedInbound only wraps the outbound side.
type feedInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	feeder *feeder
}

func (in *feedInbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	return in.Next.Init(&feedOutbound{interceptor.WorkflowOutboundInterceptorBase{Next: next}, in.feeder})
}

type feedOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	feeder *feeder
}

func (out *feedOutbound) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	if !workflow.IsReplaying(ctx) {
		out.feeder.scheduled(ctx, name, args)
	}
	return out.Next.ExecuteActivity(ctx, name, args...)
}

func (out *feedOutbound) NewContinueAsNewError(ctx workflow.Context, workflowFunction any, args ...any) error {
	if !workflow.IsReplaying(ctx) {
		out.feeder.reached(contract.Continuing, contract.Place{WorkflowID: workflow.GetInfo(ctx).WorkflowExecution.ID})
	}
	return out.Next.NewContinueAsNewError(ctx, workflowFunction, args...)
}

// scheduled feeds the cache where the activity will read the transcript.
func (f *feeder) scheduled(ctx workflow.Context, name string, args []any) {
	switch name {
	case string(contract.CallModel):
		place := contract.Place{WorkflowID: workflow.GetInfo(ctx).WorkflowExecution.ID}
		if request, ok := args[0].(contract.ModelRequest); ok {
			place.ExecutionID, place.Step = request.ExecutionID, request.Step
		}
		f.reached(contract.BetweenSteps, place)
	case string(contract.CallTool), string(contract.VerifyCall), string(contract.Record), string(contract.ListTools):
	default:
		return
	}
	if log, resolved, ok := workflows.Transcript(ctx); ok {
		f.cache.Feed(workflow.GetInfo(ctx).WorkflowExecution.ID, log, resolved)
		if record, ok := args[0].(contract.RecordRequest); ok && resolved.Records {
			f.feedAccount(ctx, record)
		}
	}
}

// feedAccount hands what a run holds to the activity that puts it among the records. One that is for another run asks that.
func (f *feeder) feedAccount(ctx workflow.Context, record contract.RecordRequest) {
	run := workflow.GetInfo(ctx).WorkflowExecution
	if record.RunID != "" || record.Ended != nil && record.Ended.RunID != run.RunID {
		return
	}
	request := transcript.Wants(record)
	all := request
	all.Unbounded = true
	if page, ok := workflows.Account(ctx, all); ok {
		f.cache.FeedAccount(run, request, page)
	}
}

func (f *feeder) reached(boundary contract.Boundary, place contract.Place) {
	if f.at != nil {
		f.at(contract.WithPlace(context.Background(), place), boundary)
	}
}

// stopper tells activities at once that the worker stops. The SDK tells them when the
// workflow tasks in progress have ended, and until then begins calls that these ask for.
type stopper struct {
	interceptor.WorkerInterceptorBase
	stopping <-chan struct{}
}

func (s *stopper) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &stopInbound{interceptor.ActivityInboundInterceptorBase{Next: next}, s.stopping}
}

// stopInbound only wraps the outbound side.
type stopInbound struct {
	interceptor.ActivityInboundInterceptorBase
	stopping <-chan struct{}
}

func (in *stopInbound) Init(next interceptor.ActivityOutboundInterceptor) error {
	return in.Next.Init(&stopOutbound{interceptor.ActivityOutboundInterceptorBase{Next: next}, in.stopping})
}

type stopOutbound struct {
	interceptor.ActivityOutboundInterceptorBase
	stopping <-chan struct{}
}

func (out *stopOutbound) GetWorkerStopChannel(context.Context) <-chan struct{} { return out.stopping }

// plain keeps what travels in queries, signals and updates out of the codec, on
// both sides, so that Temporal's own tools can read and send it; large pages aside.
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

// HandleQuery leaves to the codec what is asked for by one who can read that.
func (p *plainWorkflow) HandleQuery(ctx workflow.Context, in *interceptor.HandleQueryInput) (any, error) {
	if len(in.Args) > 0 {
		if asked, ok := in.Args[0].(interface{ Compressed() bool }); ok && asked.Compressed() {
			return p.Next.HandleQuery(ctx, in)
		}
	}
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
