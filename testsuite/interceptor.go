package testsuite

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

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
	// attempts are those in progress, by activity id; cancelled are the
	// activities that a later attempt must not begin.
	attempts  map[string]*attempt
	cancelled map[string]bool
}

// An attempt is one at an activity.
type attempt struct {
	cancel context.CancelCauseFunc
	// number is that of the activity, in the order in which they were asked for.
	number int
	// beat is what its last heartbeat said.
	beat []any
	// killed says that its worker died meanwhile, and missed how long after that the server notices.
	killed bool
	missed time.Duration
}

func newBridge() *bridge {
	return &bridge{cache: transcript.NewCache(0), attempts: make(map[string]*attempt), cancelled: make(map[string]bool)}
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

func (in *activityInbound) Init(next interceptor.ActivityOutboundInterceptor) error {
	return in.Next.Init(&activityOutbound{interceptor.ActivityOutboundInterceptorBase{Next: next}, in.bridge})
}

// ExecuteActivity ends as the server has an attempt end whose worker is gone: by the heartbeat that does not come.
func (in *activityInbound) ExecuteActivity(ctx context.Context, input *interceptor.ExecuteActivityInput) (any, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	id := activity.GetInfo(ctx).ActivityID
	one := &attempt{cancel: cancel}
	one.number, _ = strconv.Atoi(id)
	in.bridge.begin(id, one)
	reply, err := in.Next.ExecuteActivity(ctx, input)
	if in.bridge.end(id, one) {
		time.Sleep(one.missed)
		return nil, temporal.NewHeartbeatTimeoutError(one.beat...)
	}
	return reply, err
}

type activityOutbound struct {
	interceptor.ActivityOutboundInterceptorBase
	bridge *bridge
}

func (out *activityOutbound) RecordHeartbeat(ctx context.Context, details ...any) {
	out.bridge.beat(out.GetInfo(ctx).ActivityID, details)
	out.Next.RecordHeartbeat(ctx, details...)
}

func (b *bridge) begin(id string, one *attempt) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.attempts[id] = one
	if b.cancelled[id] {
		one.cancel(temporal.NewCanceledError())
	}
}

func (b *bridge) beat(id string, details []any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if one := b.attempts[id]; one != nil && !one.killed {
		one.beat = details
	}
}

// end reports whether the attempt's worker was killed.
func (b *bridge) end(id string, one *attempt) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.attempts, id)
	return one.killed
}

func (b *bridge) cancel(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cancelled[id] = true
	if one := b.attempts[id]; one != nil {
		one.cancel(temporal.NewCanceledError())
	}
}

// kill has the worker of all attempts in progress die. The server notices one after another, so that a run is the same each time.
func (b *bridge) kill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := slices.SortedFunc(maps.Values(b.attempts), func(x, y *attempt) int { return cmp.Compare(x.number, y.number) })
	for i, one := range all {
		one.killed, one.missed = true, time.Duration(i)*time.Millisecond
		one.cancel(errors.New("the worker was killed"))
	}
}
