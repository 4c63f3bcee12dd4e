package testsuite

import (
	"context"
	"strconv"
	"sync"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"everstep/activities/transcript"
	"everstep/workflows"
)

// bridge does what a worker and a server do between a workflow and its
// activities: it feeds the transcripts, and delivers cancellations. The SDK's
// test environment forgets a cancelled activity at once; here, as on a server,
// it hears of it, and what it then returns counts.
type bridge struct {
	interceptor.WorkerInterceptorBase
	cache *transcript.Cache

	mu sync.Mutex
	// cancels end the attempts in progress, by activity id; cancelled are the
	// activities that a later attempt must not begin.
	cancels   map[string]context.CancelCauseFunc
	cancelled map[string]bool
}

func newBridge() *bridge {
	return &bridge{
		cache:   transcript.NewCache(0),
		cancels: make(map[string]context.CancelCauseFunc), cancelled: make(map[string]bool),
	}
}

func (b *bridge) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &workflowInbound{interceptor.WorkflowInboundInterceptorBase{Next: next}, b}
}

func (b *bridge) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &activityInbound{interceptor.ActivityInboundInterceptorBase{Next: next}, b}
}

type workflowInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	bridge *bridge
}

func (in *workflowInbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	base := interceptor.WorkflowOutboundInterceptorBase{Next: next}
	return in.Next.Init(&workflowOutbound{WorkflowOutboundInterceptorBase: base, bridge: in.bridge})
}

type workflowOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	bridge *bridge
	issued int
}

func (out *workflowOutbound) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	if log, resolved, ok := workflows.Transcript(ctx); ok {
		out.bridge.cache.Feed(workflow.GetInfo(ctx).WorkflowExecution.ID, log, resolved)
	}
	if ctx.Err() != nil {
		return out.Next.ExecuteActivity(ctx, name, args...)
	}
	out.issued++
	options := workflow.GetActivityOptions(ctx)
	options.ActivityID = strconv.Itoa(out.issued)
	apart, _ := workflow.NewDisconnectedContext(ctx)
	future := out.Next.ExecuteActivity(workflow.WithActivityOptions(apart, options), name, args...)
	settled, settle := workflow.NewFuture(apart)
	workflow.GoNamed(apart, "cancellation of "+name, func(waiting workflow.Context) {
		workflow.NewSelector(waiting).
			AddFuture(future, settle.Chain).
			AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) {
				out.bridge.cancel(options.ActivityID)
				if options.WaitForCancellation {
					settle.Chain(future)
				} else { // nobody waits for it any more
					settle.SetError(temporal.NewCanceledError())
				}
			}).
			Select(waiting)
	})
	return settled
}

type activityInbound struct {
	interceptor.ActivityInboundInterceptorBase
	bridge *bridge
}

func (in *activityInbound) ExecuteActivity(ctx context.Context, input *interceptor.ExecuteActivityInput) (any, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	in.bridge.begin(activity.GetInfo(ctx).ActivityID, cancel)
	return in.Next.ExecuteActivity(ctx, input)
}

func (b *bridge) begin(id string, cancel context.CancelCauseFunc) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cancels[id] = cancel
	if b.cancelled[id] {
		cancel(temporal.NewCanceledError())
	}
}

func (b *bridge) cancel(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cancelled[id] = true
	if cancel := b.cancels[id]; cancel != nil {
		cancel(temporal.NewCanceledError())
	}
}
