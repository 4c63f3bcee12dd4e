package whole_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
	"everstep/domain/hook"
	"everstep/testsuite"
)

// A loser loses workers in the middle of the inferences of one step: nothing is heard of
// them but the heartbeats until then.
type loser struct {
	interceptor.WorkerInterceptorBase
	step, times int

	mu sync.Mutex
	// heard are the heartbeats of the newest attempt, last the newest of each that was lost.
	heard, last []contract.Heartbeat
	// began is when the execution did, and again when the inference was asked for again.
	began, again time.Time
}

func (l *loser) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &losingWorkflow{interceptor.WorkflowInboundInterceptorBase{Next: next}, l}
}

func (l *loser) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &losingActivity{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, loser: l}
}

type losingWorkflow struct {
	interceptor.WorkflowInboundInterceptorBase
	loser *loser
}

func (w *losingWorkflow) Init(next interceptor.WorkflowOutboundInterceptor) error {
	return w.Next.Init(&losingRequests{interceptor.WorkflowOutboundInterceptorBase{Next: next}, w.loser})
}

type losingRequests struct {
	interceptor.WorkflowOutboundInterceptorBase
	loser *loser
}

func (r *losingRequests) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	l := r.loser
	l.mu.Lock()
	if l.began.IsZero() {
		l.began = workflow.Now(ctx)
	}
	if name == string(contract.CallModel) {
		if args[0].(contract.ModelRequest).Lost == 1 {
			l.again = workflow.Now(ctx)
		}
		// The environment tries again what the server does not.
		ctx = workflow.WithRetryPolicy(ctx, temporal.RetryPolicy{MaximumAttempts: 1})
	}
	l.mu.Unlock()
	return r.Next.ExecuteActivity(ctx, name, args...)
}

type losingActivity struct {
	interceptor.ActivityInboundInterceptorBase
	interceptor.ActivityOutboundInterceptorBase
	loser *loser
}

func (a *losingActivity) Init(next interceptor.ActivityOutboundInterceptor) error {
	a.ActivityOutboundInterceptorBase.Next = next
	return a.ActivityInboundInterceptorBase.Next.Init(a)
}

func (a *losingActivity) RecordHeartbeat(ctx context.Context, details ...any) {
	if beat, ok := details[0].(contract.Heartbeat); ok && beat.Phase == contract.PhaseStreaming {
		a.loser.mu.Lock()
		a.loser.heard = append(a.loser.heard, beat)
		a.loser.mu.Unlock()
	}
	a.ActivityOutboundInterceptorBase.Next.RecordHeartbeat(ctx, details...)
}

func (a *losingActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	l := a.loser
	l.mu.Lock()
	l.heard = nil
	l.mu.Unlock()
	reply, err := a.ActivityInboundInterceptorBase.Next.ExecuteActivity(ctx, in)
	if activity.GetInfo(ctx).ActivityType.Name != string(contract.CallModel) {
		return reply, err
	}
	request := in.Args[0].(*contract.ModelRequest)
	l.mu.Lock()
	defer l.mu.Unlock()
	if request.Step != l.step || request.Lost >= l.times || len(l.heard) == 0 {
		return reply, err
	}
	beat := l.heard[len(l.heard)/2]
	l.last = append(l.last, beat)
	return nil, temporal.NewHeartbeatTimeoutError(beat)
}

// lost is how many tokens the lost attempts count.
func (l *loser) lost() (n int64) {
	for _, beat := range l.last {
		n += beat.Reserved.InputTokens + int64(beat.Length+3)/4
	}
	return n
}

// losing plays the run with a loser. The model takes its time in its step.
func (w wholeRun) losing(t *testing.T, l *loser, budget domain.ExecutionBudget, events ...testsuite.Event) testsuite.Run {
	t.Helper()
	var script struct {
		Turns []map[string]any `json:"turns"`
	}
	require.NoError(t, json.Unmarshal([]byte(w.script(t)), &script))
	script.Turns[l.step-1]["delay"] = "250ms" // in which the clock of the environment stands still
	encoded, err := json.Marshal(script)
	require.NoError(t, err)
	user := w.user()
	definition := domain.Definition{Attempts: 1, SystemPrompt: w.system, Hooks: []string{user.Name}, Budget: budget}
	return testsuite.New(t, testsuite.Config{
		Definition: definition, Script: string(encoded), Tools: w.tools(), Hooks: []hook.Hook{user}, Interceptors: []interceptor.WorkerInterceptor{l},
	}).Run(w.prompt, events...)
}

// TestRecordedRunsKeepWhatALostWorkerSaid: an inference whose worker is lost is made again,
// and what was lost is billed; where a stop or a limit meets the wait for that, what was
// said is kept, too, and the stop is never shown as completed.
func TestRecordedRunsKeepWhatALostWorkerSaid(t *testing.T) {
	t.Parallel()
	eachRecorded(t, func(t *testing.T, run wholeRun, draw *rand.Rand) {
		step := 1 + draw.IntN(len(run.steps))
		before := run
		before.steps = run.steps[:step-1]
		spent, all := before.foresee(domain.ExecutionBudget{}).tokens, run.foresee(domain.ExecutionBudget{}).tokens

		l := &loser{step: step, times: 3}
		got := run.losing(t, l, domain.ExecutionBudget{})
		require.Equal(t, domain.StatusCompleted, got.Outcome.Status, "%+v", got.Error)
		requireBegins(t, run.messages(len(run.steps)), got.Messages)
		require.Equal(t, all+l.lost(), got.Outcome.Usage.TotalTokens())
		if len(l.last) == 0 {
			require.Empty(t, run.steps[step-1].text, "nothing was heard of it")
			return
		}
		require.Len(t, l.last, 3)

		stopped, wait := &loser{step: step, times: 3}, l.again.Sub(l.began)-500*time.Millisecond
		reason, budget := domain.UserRequested, domain.ExecutionBudget{}
		var events []testsuite.Event
		if modes := enum.Known[contract.StopMode](); draw.IntN(4) > 0 {
			events = append(events, testsuite.StopAt(wait, modes[draw.IntN(len(modes))]))
		} else {
			reason, budget.MaxSeconds = domain.TimeLimitReached, new(wait.Seconds())
		}
		got = run.losing(t, stopped, budget, events...)
		require.Equal(t, []any{domain.StatusStopped, reason, step}, []any{got.Outcome.Status, got.Outcome.StopReason, got.Outcome.Steps}, "%+v", got.Error)
		require.Len(t, stopped.last, 1)
		require.Equal(t, spent+stopped.lost(), got.Outcome.Usage.TotalTokens())
		want := run.messages(step - 1)
		requireBegins(t, want, got.Messages)
		if text := stopped.last[0].Tail; text != "" {
			if stopped.last[0].Length > len(text) {
				text = "…" + text
			}
			said := got.Messages[len(want)]
			require.Equal(t, recordedMessage{Role: "assistant", Content: text}, recordedOf(said))
		}
	})
}
