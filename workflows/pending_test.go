package workflows_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"everstep/domain"
	"everstep/domain/contract"
)

// goesOn replies to a call that its other side goes on with.
func goesOn(r contract.ToolRequest, now, ask time.Time, status string) contract.ToolReply {
	reply := contract.GivenUp(r)
	reply.Pending = &contract.Pending{Handle: json.RawMessage(`{"task":"7"}`), Since: now, AskAt: ask, Status: status}
	if r.Pending != nil {
		reply.Pending.Since = r.Pending.Since
	}
	return reply
}

// TestACallGoesOnElsewhere for an hour: it is made once and asked about, over lost workers and in a pause, and
// what is asked is shown.
func TestACallGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	w := &world{tools: offered("look", domain.AtMostOnce), model: calling(look())}
	env := w.environment(t)
	begun := env.Now()
	w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
		switch {
		case r.Pending == nil:
			return goesOn(r, begun, begun.Add(time.Minute), "queued"), nil
		case len(w.ran) == 4:
			return contract.ToolReply{}, temporal.NewHeartbeatTimeoutError()
		case env.Now().Sub(begun) < time.Hour:
			return goesOn(r, begun, env.Now().Add(10*time.Minute), "half of it"), nil
		}
		return saw(r)
	}
	env.RegisterDelayedCallback(func() {
		require.Equal(t, "step 1: look goes on at its server: queued; asked again at "+begun.Add(time.Minute).UTC().Format(time.RFC3339),
			status(t, env).Doing)
		env.UpdateWorkflow(string(contract.UpdatePause), "p", &verdict{}, contract.PauseRequest{})
	}, 30*time.Second)
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(string(contract.UpdateResume), "r", &verdict{}, contract.PauseRequest{})
	}, 2*time.Hour)
	execute(env, input(t, ""))
	completes(t, env)
	first := 0
	for _, r := range w.ran {
		require.False(t, r.TakeBack)
		if r.Pending == nil {
			first++
		} else {
			require.JSONEq(t, `{"task":"7"}`, string(r.Pending.Handle))
		}
	}
	require.Equal(t, 1, first)
	require.Len(t, w.ran, 9)
	call := executions(t, env)[0]
	require.Equal(t, "seen", call.Value)
	require.InDelta(t, time.Hour, call.Duration(), float64(10*time.Minute))
}

// TestACallThatGoesOnIsGivenUp by a stop of mode now and by the budget's time, and the other side is told. A stop
// that lets calls finish lets it finish.
func TestACallThatGoesOnIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mode   contract.StopMode
		effect domain.Effect
		// last is what the word that it is given up comes to.
		last   func(contract.ToolRequest) (contract.ToolReply, error)
		want   domain.Code
		gaveUp bool
	}{
		"now":                  {contract.StopNow, domain.AtMostOnce, nil, domain.CodeOutcomeUnknown, true},
		"now, and it was done": {contract.StopNow, domain.AtMostOnce, saw, "", true},
		"by time":              {"", domain.AtMostOnce, nil, domain.CodeOutcomeUnknown, true},
		"now, to no worker":    {contract.StopNow, domain.AtMostOnce, lostWord, domain.CodeOutcomeUnknown, true},
		"gently":               {contract.AfterStep, domain.AtMostOnce, nil, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: offered("look", test.effect), model: calling(look())}
			env := w.environment(t)
			begun := env.Now()
			w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
				switch {
				case r.TakeBack && test.last != nil:
					return test.last(r)
				case r.TakeBack:
					return contract.GivenUp(r), nil
				case env.Now().Sub(begun) < 24*time.Hour:
					return goesOn(r, begun, env.Now().Add(20*time.Minute), ""), nil
				}
				return saw(r)
			}
			if test.mode != "" {
				stopsWith(env, time.Hour+time.Minute, contract.StopRequest{Mode: test.mode, Reason: "enough"})
			}
			execute(env, input(t, "", func(in *contract.SessionInput) {
				if test.mode == "" {
					in.Budget.MaxSeconds = new(3660.0)
				}
			}))
			endsAs(t, env, domain.StatusStopped)
			call := executions(t, env)[0]
			last := w.ran[len(w.ran)-1]
			require.Equal(t, test.gaveUp, last.TakeBack)
			if test.gaveUp {
				require.WithinDuration(t, begun.Add(61*time.Minute), env.Now(), time.Minute)
			} else {
				require.WithinDuration(t, begun.Add(24*time.Hour), env.Now(), time.Hour)
			}
			if test.want == "" {
				require.Equal(t, "seen", call.Value)
			} else {
				require.Equal(t, test.want, call.Error.Code)
			}
		})
	}
}

func lostWord(contract.ToolRequest) (contract.ToolReply, error) {
	return contract.ToolReply{}, temporal.NewHeartbeatTimeoutError()
}

// TestACallGoesOnForAMonthAtTheMost, however often its other side says that it does.
func TestACallGoesOnForAMonthAtTheMost(t *testing.T) {
	t.Parallel()
	for name, every := range map[string]time.Duration{"days": 24 * time.Hour, "seconds": time.Second} {
		w := &world{tools: offered("look", domain.AtMostOnce), model: calling(look())}
		env := w.environment(t)
		begun := env.Now()
		w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
			if r.TakeBack {
				return contract.GivenUp(r), nil
			}
			return goesOn(r, begun, env.Now().Add(every), ""), nil
		}
		execute(env, input(t, ""))
		completes(t, env)
		require.True(t, w.ran[len(w.ran)-1].TakeBack, name)
		require.LessOrEqual(t, len(w.ran), 1002, name)
		require.Less(t, env.Now().Sub(begun), 32*24*time.Hour, name)
		require.Len(t, waitsOf(t, env, domain.WaitOutcome), 1, name)
	}
}

// TestAsksLeaveRoomInTheRun: the longer calls go on, and the more of them, the less often they are asked about; near the
// server's bounds they are given up, and told so.
func TestAsksLeaveRoomInTheRun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ calls, most, near int }{
		"one":           {1, 260, 0},
		"a hundred":     {100, 60, 0},
		"near the end":  {1, 31, 30},
		"those of many": {4, 30, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && test.calls > 10 {
				t.Skip("-short: so many calls take minutes with the race detector")
			}
			w := &world{tools: offered("look", domain.AtMostOnce), model: calling(calls("look", test.calls)...)}
			env := w.environment(t)
			begun, ran := env.Now(), 0
			w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
				w.mu.Lock()
				ran++
				if ran == test.near {
					env.SetCurrentHistoryLength(46_000)
				}
				w.mu.Unlock()
				switch {
				case r.TakeBack:
					return contract.GivenUp(r), nil
				case env.Now().Sub(begun) < 24*time.Hour:
					return goesOn(r, begun, env.Now().Add(time.Second), ""), nil
				}
				return saw(r)
			}
			execute(env, input(t, ""))
			completes(t, env)
			require.LessOrEqual(t, len(w.ran), test.calls*test.most)
			require.Equal(t, test.near > 0, w.ran[len(w.ran)-1].TakeBack)
			call := executions(t, env)[0]
			if test.near > 0 {
				require.Equal(t, domain.CodeOutcomeUnknown, call.Error.Code)
			} else {
				require.Equal(t, "seen", call.Value)
			}
		})
	}
}

// TestWhatIsAskedLaterIsNotedSo: a call that goes on for long is asked about less often than its tool says, and the note tells when.
func TestWhatIsAskedLaterIsNotedSo(t *testing.T) {
	t.Parallel()
	w := &world{tools: offered("look", domain.AtMostOnce), model: calling(look())}
	env := w.environment(t)
	begun := env.Now()
	var noted string
	var next time.Time
	w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
		if noted != "" && next.IsZero() {
			next = env.Now()
		}
		if env.Now().Sub(begun) > 48*time.Hour {
			return saw(r)
		}
		return goesOn(r, begun, env.Now().Add(10*time.Minute), ""), nil
	}
	env.RegisterDelayedCallback(func() { noted = status(t, env).Doing }, 40*time.Hour)
	execute(env, input(t, ""))
	completes(t, env)
	require.Contains(t, noted, "asked again at "+next.UTC().Format(time.RFC3339))
}
