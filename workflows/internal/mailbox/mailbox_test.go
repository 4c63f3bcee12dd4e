package mailbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// An agent is in the first step of its first execution, unless a test says
// otherwise.
type agent struct {
	state domain.AgentState
	ctx   workflow.Context
}

func (a *agent) State() domain.AgentState { return a.state }

func (a *agent) Spent() domain.Spent { return a.state.Spent(workflow.Now(a.ctx)) }

func (a *agent) Signal(signal domain.StopSignal) {
	a.state, _ = a.state.WithStopSignal(signal, workflow.Now(a.ctx))
}

func (a *agent) Wait(on bool) { a.state = a.state.WithWaiting(on, workflow.Now(a.ctx)) }

// A play is a workflow that has a mailbox.
type play struct {
	*mailbox.Mailbox
	*agent
	env *testsuite.TestWorkflowEnvironment
	// began counts activities.
	began int
}

func newPlay() *play {
	var suite testsuite.WorkflowTestSuite
	p := &play{agent: &agent{}, env: suite.NewTestWorkflowEnvironment()}
	// What has no processor on a busy machine is neither a deadlock nor stuck.
	p.env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: 2 * time.Minute})
	p.env.SetTestTimeout(2 * time.Minute)
	p.env.RegisterActivityWithOptions(func(context.Context, contract.ResolveRequest) (contract.Resolved, error) {
		p.began++
		return contract.Resolved{Storage: true}, nil
	}, activity.RegisterOptions{Name: string(contract.ListTools)})
	return p
}

// perform runs a workflow, whose agent is within a step of an execution with a
// budget.
func (p *play) perform(t *testing.T, budget domain.ExecutionBudget, do func(ctx workflow.Context)) {
	t.Helper()
	p.env.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		root, _ := workflow.NewDisconnectedContext(ctx)
		id, err := domain.AgentIDOf("ann")
		require.NoError(t, err)
		now := workflow.Now(ctx)
		p.ctx, p.state = root, domain.NewAgentState(id, domain.AgentID{}, now, domain.LLMConfig{Provider: "scripted", Model: "/x"})
		p.state, err = p.state.BeginExecution(id.Execution("first", 1), budget, now)
		require.NoError(t, err)
		p.state, err = p.state.WithStepStarted(id.Execution("first", 1).Step(1), now)
		require.NoError(t, err)
		p.Mailbox = mailbox.New(root, p.agent, contract.CarriedMail{})
		p.Listen(ctx, func() {})
		p.WatchTime()
		do(root)
		p.CancelAlarms()
		return nil
	}, workflow.RegisterOptions{Name: "play"})
	p.env.OnSignalExternalWorkflow(mock.Anything, mock.Anything, mock.Anything, mock.Anything, mock.Anything).Return(nil) // nobody answers
	p.env.ExecuteWorkflow("play")
	require.True(t, p.env.IsWorkflowCompleted())
	require.NoError(t, p.env.GetWorkflowError())
}

// sends has a stop arrive at a time.
func (p *play) sends(at time.Duration, stop any) {
	p.env.RegisterDelayedCallback(func() { p.env.SignalWorkflow(string(contract.SignalStop), stop) }, at)
}

// lists asks for an activity with an admission.
func lists(permit mailbox.Admission) error {
	options := workflow.ActivityOptions{StartToCloseTimeout: time.Minute}
	_, err := mailbox.Await(permit, options, contract.ListTools, contract.ResolveRequest{})
	return err
}

func TestWhatAStopRefuses(t *testing.T) {
	t.Parallel()
	all := map[string]mailbox.Purpose{
		"a step": mailbox.ForStep, "between": mailbox.BetweenSteps, "an inference": mailbox.ForInference,
		"within": mailbox.WithinStep, "a call": mailbox.ForCall, "a hook": mailbox.ForHook, "idle": mailbox.WhileIdle,
	}
	other := domain.AgentID{}.Execution("other", 1)
	for name, test := range map[string]struct {
		arrives func(p *play)
		refused []string
		cut     bool
	}{
		"nothing":          {func(*play) {}, nil, false},
		"after the step":   {func(p *play) { p.sends(time.Second, contract.StopRequest{Mode: contract.AfterStep}) }, []string{"a step", "between"}, false},
		"what is no stop":  {func(p *play) { p.sends(time.Second, []int{1}) }, []string{"a step", "between"}, false},
		"after the answer": {func(p *play) { p.sends(time.Second, contract.StopRequest{Mode: contract.AfterInference}) }, []string{"a step", "between", "a call"}, false},
		"now":              {func(p *play) { p.sends(time.Second, contract.StopRequest{Mode: contract.StopNow}) }, []string{"a step", "between", "an inference", "within", "a call"}, true},
		"within no time":   {func(p *play) { p.sends(time.Second, contract.StopRequest{Within: contract.Span(time.Second)}) }, []string{"a step", "between", "an inference", "within", "a call"}, true},
		"within 0s":        {func(p *play) { p.sends(time.Second, map[string]string{"within": "0s"}) }, []string{"a step", "between", "an inference", "within", "a call"}, true},
		"a cancellation":   {func(p *play) { p.env.RegisterDelayedCallback(p.env.CancelWorkflow, time.Second) }, []string{"a step", "between", "an inference", "within", "a call", "idle"}, true},
		"another's":        {func(p *play) { p.sends(time.Second, contract.StopRequest{ExecutionID: other}) }, nil, false},
		"a message":        {func(p *play) { p.env.RegisterDelayedCallback(func() { p.Post(mailbox.NextExecution{}) }, time.Second) }, []string{"idle"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlay()
			test.arrives(p)
			p.perform(t, domain.ExecutionBudget{}, func(ctx workflow.Context) {
				p.WaitUntil(workflow.NewTimer(ctx, time.Minute).IsReady)
				p.DrainSignals()
				require.Equal(t, test.cut, p.Interrupted())
				var refused []string
				for what, purpose := range all {
					permit, ok := p.Admit(purpose)
					if !ok {
						refused = append(refused, what)
						require.Equal(t, mailbox.Admission{}, permit)
					}
				}
				require.ElementsMatch(t, test.refused, refused)
			})
		})
	}
}

// TestAStopCutsOff what was begun with an admission, which it does not take back.
func TestAStopCutsOff(t *testing.T) {
	t.Parallel()
	p := newPlay()
	p.sends(time.Second, contract.StopRequest{Mode: contract.StopNow})
	p.perform(t, domain.ExecutionBudget{}, func(ctx workflow.Context) {
		early, ok := p.Admit(mailbox.WithinStep)
		require.True(t, ok)
		require.NoError(t, lists(early))
		require.False(t, p.BackOff(time.Minute), "it does not wait")
		require.Less(t, p.agent.Spent().Seconds, 30.0)
		require.Error(t, lists(early))
		_, ok = p.Admit(mailbox.ForHook)
		require.True(t, ok)
		p.Finish()
		late, ok := p.Admit(mailbox.ForHook)
		require.True(t, ok)
		require.NoError(t, lists(late), "the last hooks are no work that a stop cuts off")
		p.End()
		p.Begin()
		again, ok := p.Admit(mailbox.WithinStep)
		require.True(t, ok, "a stop is of one execution")
		require.NoError(t, lists(again))
	})
	require.Equal(t, 3, p.began)
}

// unheld is told of a call that no pause holds back.
func unheld(t *testing.T) func(bool) {
	return func(bool) { t.Error("a pause holds the call back") }
}

// TestAStopInAPauseLetsCallsFinish: the step is to finish, so a call that waits to be
// made again waits for its time and no longer for the end of the pause.
func TestAStopInAPauseLetsCallsFinish(t *testing.T) {
	t.Parallel()
	for mode, want := range map[contract.StopMode]struct {
		ok      bool
		seconds float64
	}{contract.AfterStep: {true, 60}, contract.AfterInference: {false, 30}, contract.StopNow: {false, 30}} {
		p := newPlay()
		p.sends(30*time.Second, contract.StopRequest{Mode: mode})
		p.env.RegisterDelayedCallback(func() { p.Settings.Paused = false }, time.Hour)
		p.perform(t, domain.ExecutionBudget{}, func(ctx workflow.Context) {
			p.Settings.Paused = true
			_, ok := p.BackOffCall(ctx, time.Minute, func() bool { return false }, unheld(t))
			require.Equal(t, want.ok, ok, mode)
			require.InDelta(t, want.seconds, p.agent.Spent().Seconds, 1, mode)
		})
	}
}

// TestUpdatesAreRememberedAndCounted, over the runs.
func TestUpdatesAreRememberedAndCounted(t *testing.T) {
	t.Parallel()
	p := newPlay()
	p.perform(t, domain.ExecutionBudget{}, func(ctx workflow.Context) {
		now := workflow.Now(ctx)
		p.Updates.Take(now)
		p.Updates.Remember("send", "sent", contract.SendReply{Number: 7})
		require.True(t, p.Updates.Answering())
		p.Updates.End()
		require.False(t, p.Updates.Answering())
		p.Settings.Paused = true
		next := mailbox.New(ctx, p.agent, p.HandOver())
		require.True(t, next.Settings.Paused)
		var reply contract.SendReply
		require.True(t, next.Updates.Repeats("send", "sent", &reply))
		require.Equal(t, 7, reply.Number)
		require.False(t, next.Updates.Repeats("send", "other", &reply))
		require.False(t, next.Updates.Repeats("extend", "sent", &reply), "the same id of another command")
		for range 1799 {
			next.Updates.Take(now)
		}
		require.False(t, next.Updates.Full())
		next.Updates.Take(now)
		require.True(t, next.Updates.Full())
		for range 49 {
			next.Updates.Take(now)
		}
		require.False(t, next.Updates.Pressed())
		next.Updates.Take(now)
		require.True(t, next.Updates.Pressed(), "the server takes 2,000, those under way included")
	})
}

// TestTimeThatIsOverAlready cuts off nothing: the check before the next step
// finds it.
func TestTimeThatIsOverAlready(t *testing.T) {
	t.Parallel()
	p := newPlay()
	none := 0.0
	p.perform(t, domain.ExecutionBudget{MaxSeconds: &none}, func(workflow.Context) {
		require.True(t, p.BackOff(time.Minute))
		require.Empty(t, p.state.StopSignals())
	})
}

// TestWhatWakesAnIdleSession cuts off what it is at.
func TestWhatWakesAnIdleSession(t *testing.T) {
	t.Parallel()
	p := newPlay()
	p.perform(t, domain.ExecutionBudget{}, func(ctx workflow.Context) {
		p.Post(mailbox.NextExecution{SendRequest: contract.SendRequest{Prompt: "more"}})
		require.False(t, p.Interrupted(), "what is at work is left alone")
		require.Equal(t, "more", p.Take().Prompt)
		require.False(t, p.Posted())
		now := workflow.Now(ctx)
		p.state, _ = p.state.WithCurrentStepCompleted(now)
		p.Signal(domain.StopSignal{Reason: domain.Completed})
		p.state, _ = p.state.WithExecutionCompleted(now)
		permit, ok := p.Admit(mailbox.WhileIdle)
		require.True(t, ok)
		p.Post(mailbox.NextExecution{})
		require.True(t, p.Interrupted())
		require.Error(t, lists(permit))
	})
}

// TestReportsAreNumberedOn over runs: the agent above takes no number twice.
func TestReportsAreNumberedOn(t *testing.T) {
	t.Parallel()
	p := newPlay()
	var numbers []int
	p.perform(t, domain.ExecutionBudget{MaxSteps: new(int64(3))}, func(ctx workflow.Context) {
		var carry contract.CarriedMail
		for range 2 {
			m := mailbox.New(ctx, p.agent, carry)
			m.Listen(ctx, func() {})
			m.Under("agent/above", domain.ToolExecutionID{}, domain.ExecutionBudget{}, nil)
			for range 2 {
				require.False(t, m.Ask(ctx, domain.Ask{Limit: domain.LimitSteps, Need: 1}, func() bool { return false }, func(bool) {}))
				carry = m.HandOver()
				numbers = append(numbers, carry.Reported)
			}
		}
	})
	require.Equal(t, []int{1, 2, 3, 4}, numbers)
}
