package guards_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
	"everstep/domain/hook"
	"everstep/testsuite"
)

// A deed is what a hook does at any trigger.
type deed func(hook.Point) (hook.Point, error)

// at makes a hook that does something at a trigger, whichever it is.
func at(trigger domain.Trigger, name string, do deed) hook.Hook {
	switch trigger {
	case domain.TriggerBeforeExecution:
		return hook.BeforeExecution(name, do)
	case domain.TriggerBeforeStep:
		return hook.BeforeStep(name, do)
	case domain.TriggerBeforeInference:
		return hook.BeforeInference(name, lifted[hook.Request](do))
	case domain.TriggerAfterInference:
		return hook.AfterInference(name, lifted[hook.Answer](do))
	case domain.TriggerBeforeToolUse:
		return hook.BeforeToolUse(name, lifted[hook.Call](do))
	case domain.TriggerAfterToolUse:
		return hook.AfterToolUse(name, lifted[hook.Result](do))
	case domain.TriggerAfterStep:
		return hook.AfterStep(name, do)
	case domain.TriggerOnError:
		return hook.OnError(name, lifted[hook.Failure](do))
	case domain.TriggerOnStop:
		return hook.OnStop(name, do)
	case domain.TriggerAfterExecution:
		return hook.AfterExecution(name, do)
	}
	return hook.Hook{}
}

// lifted does to any context what a deed does to one with nothing at hand.
func lifted[At any](do deed) func(hook.Context[At]) (hook.Context[At], error) {
	return func(c hook.Context[At]) (hook.Context[At], error) {
		p, err := do(hook.Point{Trigger: c.Trigger, Now: c.Now, State: c.State})
		c.State = p.State
		for _, stop := range p.Stops() {
			c = c.StopFor(stop.Reason, stop.Message, stop.Context)
		}
		if p.Continues() {
			c = c.Continue()
		}
		return c, err
	}
}

// Where a conversation is when a hook has its say.
type reach struct{ asked, ran, steps int }

// reached is how far the conversation of meets gets where its first hook at a
// trigger lets nothing more begin.
func reached(trigger domain.Trigger) reach {
	return map[domain.Trigger]reach{
		domain.TriggerBeforeExecution: {0, 0, 0},
		domain.TriggerBeforeStep:      {0, 0, 0},
		domain.TriggerBeforeInference: {0, 0, 1},
		domain.TriggerAfterInference:  {1, 0, 1},
		domain.TriggerBeforeToolUse:   {1, 0, 1},
		domain.TriggerAfterToolUse:    {1, 2, 1},
		domain.TriggerAfterStep:       {1, 2, 1},
		domain.TriggerOnError:         {1, 0, 1},
		domain.TriggerOnStop:          {2, 2, 2},
		domain.TriggerAfterExecution:  {2, 2, 2},
	}[trigger]
}

// inLoop reports whether what a hook does at a trigger can still change what
// the loop does.
func inLoop(trigger domain.Trigger) bool {
	return trigger != domain.TriggerOnError && trigger != domain.TriggerOnStop && trigger != domain.TriggerAfterExecution
}

// A meeting is an agent with a hook in a conversation that comes by all
// triggers: a step with two calls, then an answer. That of on_error fails.
type meeting struct {
	testsuite.Run
	look *testsuite.Fake
	// last is the state as the last hook of all sees it; known where that ran.
	last  domain.AgentState
	known bool
}

func meets(t *testing.T, trigger domain.Trigger, change func(*testsuite.Config), hooks ...hook.Hook) *meeting {
	t.Helper()
	m := &meeting{look: testsuite.NewFake(domain.ToolSpec{Name: "look"}, testsuite.Returns("sunny"))}
	first := calls("look", 2)
	if trigger == domain.TriggerOnError {
		first = testsuite.Turn{Text: "never", Failures: []testsuite.Failure{{Status: 401}}}
	}
	for i := range hooks {
		hooks[i].Always = true
	}
	last := hook.AfterExecution("last", func(c hook.Point) (hook.Point, error) {
		m.last, m.known = c.State, true
		return c, nil
	})
	last.Always, last.Priority = true, -1000
	config := testsuite.Config{
		Turns: []testsuite.Turn{first, {Text: "seen"}, {Text: `{"ok":true}`}},
		Tools: []tool.Tool{m.look.Tool()},
		Hooks: append(hooks, last),
	}
	if change != nil {
		change(&config)
	}
	m.Run = testsuite.New(t, config).Run("go")
	checkEvents(t, m.Run)
	return m
}

func (m *meeting) reach() reach {
	return reach{len(m.Asked), len(m.look.Calls()), m.Outcome.Steps}
}

// everywhere runs a test for each trigger, with a Go hook and, where there is
// one, with a hook that is an activity.
func everywhere(t *testing.T, do deed, io hook.Activity, test func(t *testing.T, trigger domain.Trigger, h hook.Hook)) {
	t.Helper()
	for _, trigger := range enum.Known[domain.Trigger]() {
		t.Run(string(trigger), func(t *testing.T) {
			t.Parallel()
			test(t, trigger, at(trigger, "doer", do))
		})
		if io != nil {
			t.Run(string(trigger)+" as an activity", func(t *testing.T) {
				t.Parallel()
				test(t, trigger, hook.IO(trigger, "doer", io))
			})
		}
	}
}

func replies(reply contract.HookReply) hook.Activity {
	return func(context.Context, contract.HookRequest) (contract.HookReply, error) { return reply, nil }
}

// TestAHookThatStops: nothing begins any more, and the step is kept.
func TestAHookThatStops(t *testing.T) {
	t.Parallel()
	do := func(c hook.Point) (hook.Point, error) { return c.Stop("enough"), nil }
	io := replies(contract.HookReply{Stops: []domain.StopSignal{{Message: "enough"}}})
	everywhere(t, do, io, func(t *testing.T, trigger domain.Trigger, h hook.Hook) {
		m := meets(t, trigger, nil, h)
		require.Equal(t, reached(trigger), m.reach())
		switch trigger {
		case domain.TriggerOnError:
			require.Equal(t, domain.StatusFailed, m.Outcome.Status)
			require.Equal(t, domain.CodeAuth, m.Error.Code)
		case domain.TriggerAfterExecution:
			require.Equal(t, domain.StatusCompleted, m.Outcome.Status, "a signal that comes so late does not count")
			require.Equal(t, domain.Completed, m.Outcome.StopReason)
		default:
			require.Equal(t, domain.StatusStopped, m.Outcome.Status)
			require.Equal(t, domain.StopRequested, m.Outcome.StopReason)
		}
		require.Contains(t, m.last.StopSignals(), domain.StopSignal{Reason: domain.StopRequested, Message: "enough", Source: "doer"})
	})
}

// TestAHookThatStopsForAReason: the reason, message and notes are its own.
func TestAHookThatStopsForAReason(t *testing.T) {
	t.Parallel()
	for _, reason := range enum.Known[domain.StopReason]() {
		for _, trigger := range []domain.Trigger{domain.TriggerBeforeStep, domain.TriggerAfterInference, domain.TriggerAfterStep} {
			notes := domain.Metadata{"n": []byte("1")}
			do := func(c hook.Point) (hook.Point, error) { return c.StopFor(reason, "because", notes), nil }
			io := replies(contract.HookReply{Stops: []domain.StopSignal{{Reason: reason, Message: "because", Context: notes}}})
			for kind, h := range map[string]hook.Hook{"go": at(trigger, "doer", do), "activity": hook.IO(trigger, "doer", io)} {
				t.Run(string(reason)+" "+string(trigger)+" "+kind, func(t *testing.T) {
					t.Parallel()
					m := meets(t, trigger, nil, h)
					require.Equal(t, reached(trigger), m.reach())
					require.Equal(t, reason, m.Outcome.StopReason)
					require.Equal(t, []domain.StopSignal{{Reason: reason, Message: "because", Context: notes, Source: "doer"}}, m.last.StopSignals())
					switch {
					case reason == domain.ErrorForbade:
						require.Equal(t, domain.StatusFailed, m.Outcome.Status)
						require.NotNil(t, m.Error, "an execution that failed says why")
						require.Contains(t, m.Error.Message, "because")
						require.Equal(t, "doer", m.Error.Source)
					case reason.WasForceStopped():
						require.Equal(t, domain.StatusStopped, m.Outcome.Status)
					default:
						require.Equal(t, domain.StatusCompleted, m.Outcome.Status)
					}
				})
			}
		}
	}
}

// TestAHookThatFails ends the execution with the error in its state.
func TestAHookThatFails(t *testing.T) {
	t.Parallel()
	coded := domain.CodedErrorf(domain.Denied, domain.CodeQuota, "the till is empty")
	for name, test := range map[string]struct {
		do   deed
		io   hook.Activity
		says string
		kind domain.Kind
	}{
		"an error": {
			func(c hook.Point) (hook.Point, error) { return c, errors.New("the door is shut") },
			func(context.Context, contract.HookRequest) (contract.HookReply, error) {
				return contract.HookReply{}, errors.New("the door is shut")
			},
			"the door is shut", domain.Invalid,
		},
		"an error of ours": {
			func(c hook.Point) (hook.Point, error) { return c, coded },
			func(context.Context, contract.HookRequest) (contract.HookReply, error) {
				return contract.HookReply{}, coded
			},
			"the till is empty", domain.Denied,
		},
		"a panic": {
			func(hook.Point) (hook.Point, error) { panic("boom") },
			func(context.Context, contract.HookRequest) (contract.HookReply, error) { panic("boom") },
			"panicked", domain.Internal,
		},
		"an error beside a change": {
			func(c hook.Point) (hook.Point, error) {
				return c.Stop("no").Say(domain.RoleUser, "no"), errors.New("the door is shut")
			},
			nil, "the door is shut", domain.Invalid,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, test.do, test.io, func(t *testing.T, trigger domain.Trigger, h hook.Hook) {
				m := meets(t, trigger, nil, h)
				require.Equal(t, reached(trigger), m.reach())
				require.Equal(t, domain.StatusFailed, m.Outcome.Status)
				require.Equal(t, domain.ErrorForbade, m.Outcome.StopReason)
				require.NotContains(t, m.Transcript(), "user: no")
				if trigger == domain.TriggerOnError {
					require.Equal(t, domain.CodeAuth, m.Error.Code, "the cause stays the cause")
					require.Equal(t, domain.CodeAuth, m.Outcome.Code)
					return
				}
				require.Equal(t, domain.CodeHookFailed, m.Outcome.Code)
				require.Equal(t, domain.CodeHookFailed, m.Error.Code)
				require.Equal(t, "doer", m.Error.Source)
				require.Equal(t, test.kind, m.Error.Kind)
				require.Contains(t, m.Error.Message, `hook "doer" at `+string(trigger)+": ")
				require.Contains(t, m.Error.Message, test.says)
				if trigger == domain.TriggerOnStop || trigger == domain.TriggerAfterExecution {
					require.Equal(t, "seen", m.Answer, "the answer is not lost")
				}
			})
		})
	}
}

// calls asks for a tool without arguments, n times in one step.
func calls(name string, n int) testsuite.Turn {
	return testsuite.Turn{Calls: slices.Repeat([]testsuite.Call{{Name: name}}, n)}
}
