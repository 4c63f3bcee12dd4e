package host

import (
	"context"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"everstep/activities/transcript"
	"everstep/domain/contract"
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
	case string(contract.CallTool), string(contract.Record):
	default:
		return
	}
	if log, resolved, ok := workflows.Transcript(ctx); ok {
		f.cache.Feed(workflow.GetInfo(ctx).WorkflowExecution.ID, log, resolved)
	}
}

func (f *feeder) reached(boundary contract.Boundary, place contract.Place) {
	if f.at != nil {
		f.at(contract.WithPlace(context.Background(), place), boundary)
	}
}
