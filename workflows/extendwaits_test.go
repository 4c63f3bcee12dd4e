package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"everstep/domain/contract"
)

// oneTask has a send and then an extend done in one workflow task, as a server may hand them over.
type oneTask struct {
	interceptor.WorkerInterceptorBase
	interceptor.WorkflowInboundInterceptorBase
	extending, sent *bool
}

func (o *oneTask) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &oneTask{extending: o.extending, sent: o.sent, WorkflowInboundInterceptorBase: interceptor.WorkflowInboundInterceptorBase{Next: next}}
}

func (o *oneTask) ExecuteUpdate(ctx workflow.Context, in *interceptor.UpdateInput) (any, error) {
	switch in.Name {
	case string(contract.UpdateSend):
		if err := workflow.Await(ctx, func() bool { return *o.extending }); err != nil {
			return nil, err
		}
		defer func() { *o.sent = true }()
	case string(contract.UpdateExtend):
		*o.extending = true
		if err := workflow.Await(ctx, func() bool { return *o.sent }); err != nil {
			return nil, err
		}
	}
	return o.Next.ExecuteUpdate(ctx, in)
}

// TestAnExtendHoldsNoHandOverUp: an idle session stores what it is to hand on, when a message comes, and an extend that waits until
// the execution of that message has begun.
func TestAnExtendHoldsNoHandOverUp(t *testing.T) {
	t.Parallel()
	w := strolls(2)
	w.storage = true
	env := w.environment(t)
	env.SetContinueAsNewSuggested(false)
	env.SetWorkerOptions(worker.Options{
		DeadlockDetectionTimeout: 2 * time.Minute,
		Interceptors:             []interceptor.WorkerInterceptor{&ownID{world: w}, &oneTask{extending: new(bool), sent: new(bool)}},
	})
	sent, extended := &verdict{}, &verdict{}
	stored := false
	w.record = func(r contract.RecordRequest) (contract.Segment, error) {
		if !stored {
			stored = true
			env.UpdateWorkflow(string(contract.UpdateSend), "s1", sent, contract.SendRequest{Prompt: "more"})
			env.UpdateWorkflow(string(contract.UpdateExtend), "e1", extended, contract.ExtendRequest{Budget: stepsOf(5)})
			taken := make(chan struct{})
			env.RegisterDelayedCallback(func() { close(taken) }, 0)
			<-taken
		}
		return stores(r)
	}
	env.RegisterDelayedCallback(func() { env.SetContinueAsNewSuggested(true) }, 2*time.Hour)
	env.RegisterDelayedCallback(env.CancelWorkflow, 100*time.Hour)
	execute(env, input(t, "ann", budgeted(stepsOf(1))))
	require.NoError(t, sent.rejected)
	extended.succeeds(t)
	require.Greater(t, len(w.asked), 1, "the message is asked of the model")
}
