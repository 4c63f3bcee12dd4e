package guards_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
	"everstep/domain/hook"
	"everstep/testsuite"
)

// TestAHookThatIsTriedAgain, as often as its Attempts allow and its error says.
func TestAHookThatIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		attempts, fails, ran int
		kind                 domain.Kind
		status               domain.ExecutionStatus
	}{
		"one attempt":              {0, 1, 1, domain.Unavailable, domain.StatusFailed},
		"three, of which two fail": {3, 2, 3, domain.Unavailable, domain.StatusCompleted},
		"three that fail":          {3, 9, 3, domain.Throttled, domain.StatusFailed},
		"what will fail again":     {3, 9, 1, domain.Denied, domain.StatusFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran := 0
			h := hook.IO(domain.TriggerBeforeExecution, "doer", func(context.Context, contract.HookRequest) (contract.HookReply, error) {
				if ran++; ran <= test.fails {
					return contract.HookReply{}, domain.Errorf(test.kind, "the door is shut")
				}
				return contract.HookReply{}, nil
			})
			h.Attempts = test.attempts
			m := meets(t, domain.TriggerBeforeExecution, nil, h)
			require.Equal(t, test.ran, ran)
			require.Equal(t, test.status, m.Outcome.Status)
			if test.status == domain.StatusFailed {
				require.Equal(t, domain.CodeHookFailed, m.Error.Code)
				require.Contains(t, m.Error.Message, "the door is shut")
			}
		})
	}
}

// TestAHookThatTakesTooLong has failed.
func TestAHookThatTakesTooLong(t *testing.T) {
	t.Parallel()
	for _, trigger := range enum.Known[domain.Trigger]() {
		t.Run(string(trigger), func(t *testing.T) {
			t.Parallel()
			h := hook.IO(trigger, "doer", func(ctx context.Context, _ contract.HookRequest) (contract.HookReply, error) {
				<-ctx.Done()
				return contract.HookReply{}, ctx.Err()
			})
			h.Timeout = 3 * time.Second
			m := meets(t, trigger, nil, h)
			require.Equal(t, domain.StatusFailed, m.Outcome.Status)
			require.Equal(t, reached(trigger), m.reach())
			if trigger != domain.TriggerOnError {
				require.Equal(t, domain.CodeHookFailed, m.Error.Code)
				require.Contains(t, m.Error.Message, "it took longer than it may, 3s")
			}
		})
	}
}

// TestAHookIsCutOffByAStop now: it has no say, and the execution is stopped by
// who stopped it. Those at the end of an execution are not cut off.
func TestAHookIsCutOffByAStop(t *testing.T) {
	t.Parallel()
	for _, mode := range []contract.StopMode{contract.AfterStep, contract.StopNow} {
		for _, trigger := range enum.Known[domain.Trigger]() {
			t.Run(string(mode)+" "+string(trigger), func(t *testing.T) {
				t.Parallel()
				var mu sync.Mutex
				finished := 0
				h := hook.IO(trigger, "doer", func(ctx context.Context, _ contract.HookRequest) (contract.HookReply, error) {
					select {
					case <-ctx.Done():
						return contract.HookReply{}, context.Cause(ctx)
					case <-time.After(10 * time.Second):
					}
					mu.Lock()
					finished++
					mu.Unlock()
					return contract.HookReply{}, nil
				})
				look := testsuite.NewFake(domain.ToolSpec{Name: "look"}, testsuite.Returns("sunny"))
				first := calls("look", 1)
				if trigger == domain.TriggerOnError {
					first = testsuite.Turn{Text: "never", Failures: []testsuite.Failure{{Status: 401}}}
				}
				h.Always = true
				run := testsuite.New(t, testsuite.Config{
					Turns: []testsuite.Turn{first, {Text: "seen"}}, Hooks: []hook.Hook{h},
					Tools: toolsOf(look),
				}).Run("go", testsuite.StopAt(5*time.Second, mode))
				checkEvents(t, run)
				took := run.Events[len(run.Events)-1].Time.Sub(run.Events[0].Time)
				betweenSteps := trigger == domain.TriggerBeforeExecution || trigger == domain.TriggerBeforeStep
				if inLoop(trigger) && (mode == contract.StopNow || betweenSteps) {
					require.Zero(t, finished, "it was cut off")
					require.Less(t, took, 8*time.Second)
				} else {
					require.Positive(t, finished)
				}
				switch trigger {
				case domain.TriggerOnError:
					require.Equal(t, domain.StatusFailed, run.Outcome.Status)
					require.Equal(t, domain.CodeAuth, run.Outcome.Code)
				case domain.TriggerAfterExecution:
					require.Equal(t, domain.Completed, run.Outcome.StopReason, "the stop came too late")
				default:
					require.Equal(t, domain.UserRequested, run.Outcome.StopReason)
				}
			})
		}
	}
}

// TestWhatAnActivityGetsToKnow is what is at hand at its trigger.
func TestWhatAnActivityGetsToKnow(t *testing.T) {
	t.Parallel()
	for _, trigger := range enum.Known[domain.Trigger]() {
		t.Run(string(trigger), func(t *testing.T) {
			t.Parallel()
			var asked []contract.HookRequest
			m := meets(t, trigger, nil, hook.IO(trigger, "doer", func(_ context.Context, r contract.HookRequest) (contract.HookReply, error) {
				asked = append(asked, r)
				return contract.HookReply{}, nil
			}))
			require.NotEmpty(t, asked)
			r := asked[0]
			require.Equal(t, contract.HookSpec{Name: "doer", Trigger: trigger, IO: true}, r.Hook)
			require.Equal(t, m.Outcome.ExecutionID, r.ExecutionID)
			require.Equal(t, m.Outcome.AgentID, r.AgentID)
			require.Equal(t, 1, r.Number)
			inStep := reached(trigger).steps == 1 && trigger != domain.TriggerOnError
			require.Equal(t, inStep, r.Step == 1)
			require.Equal(t, trigger == domain.TriggerAfterInference, r.Answer != nil)
			require.Equal(t, trigger == domain.TriggerAfterInference, r.Response != nil)
			require.Equal(t, trigger == domain.TriggerBeforeToolUse, r.Call != nil)
			require.Equal(t, trigger == domain.TriggerAfterToolUse, r.Result != nil)
			require.Equal(t, trigger == domain.TriggerOnError, r.Error != nil)
			require.Equal(t, trigger == domain.TriggerOnError || trigger == domain.TriggerAfterExecution, r.Signal != nil)
			if trigger == domain.TriggerOnError {
				require.Equal(t, domain.CodeAuth, r.Error.Code)
			}
			if trigger == domain.TriggerAfterToolUse {
				require.Len(t, asked, 2)
				require.Equal(t, "sunny", asked[1].Result.Value)
			}
		})
	}
}
