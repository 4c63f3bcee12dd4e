package workflows_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// asksToWait replies to a call that is to wait.
func asksToWait(until time.Time) contract.ToolReply {
	return contract.ToolReply{
		NotStarted: true, WaitUntil: until, Content: "not done", Digest: domain.DigestOf([]byte("not done")),
		Error: domain.CodedErrorf(domain.Unavailable, domain.CodeNotRun, "not done"),
	}
}

// TestACallWaits until the time that its reply names, and is then made again: more often than one that did
// not begin, without jitter, and as one call.
func TestACallWaits(t *testing.T) {
	t.Parallel()
	w := &world{tools: offered("look", domain.AtMostOnce), model: calling(look())}
	env := w.environment(t)
	begun := env.Now()
	var waited []time.Time
	w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
		waited = append(waited, r.WaitUntil)
		if len(waited) < 6 {
			return asksToWait(begun.Add(time.Duration(len(waited)) * time.Hour)), nil
		}
		return saw(r)
	}
	env.RegisterDelayedCallback(func() {
		require.Equal(t, "step 1: look waits until "+begun.Add(time.Hour).UTC().Format(time.RFC3339), status(t, env).Doing)
	}, time.Minute)
	execute(env, input(t, "", budgeted(callsOf(1))))
	completes(t, env)
	require.Len(t, waited, 6)
	require.Zero(t, waited[0])
	for i, at := range waited[1:] {
		require.True(t, at.Equal(begun.Add(time.Duration(i+1)*time.Hour)), "%d: %s", i, at)
	}
	require.WithinDuration(t, begun.Add(5*time.Hour), env.Now(), time.Minute)
	steps := stepsIn(t, env, 0)
	require.Equal(t, "seen", steps[0].Step.ToolExecutions[0].Value)
}

// TestAWaitEnds by any stop and by the budget's time; the call was then not run.
func TestAWaitEnds(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]contract.StopMode{"gently": contract.AfterStep, "after the inference": contract.AfterInference, "now": contract.StopNow, "by time": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: reads(), model: calling(look())}
			env := w.environment(t)
			w.tool = func(contract.ToolRequest) (contract.ToolReply, error) {
				return asksToWait(env.Now().Add(24 * time.Hour)), nil
			}
			begun := env.Now()
			if mode != "" {
				stopsWith(env, time.Hour, contract.StopRequest{Mode: mode, Reason: "enough"})
			}
			execute(env, input(t, "", func(in *contract.SessionInput) {
				if mode == "" {
					in.Budget.MaxSeconds = new(3600.0)
				}
			}))
			endsAs(t, env, domain.StatusStopped)
			require.WithinDuration(t, begun.Add(time.Hour), env.Now(), time.Minute)
			require.Len(t, w.ran, 1)
			call := executions(t, env)[0]
			require.Equal(t, domain.ToolNotRun, call.Outcome())
		})
	}
}

// TestWaitsLeaveRoomInTheRun: near the server's bounds a call that would wait once more ends, as one that was not run.
func TestWaitsLeaveRoomInTheRun(t *testing.T) {
	t.Parallel()
	w := &world{tools: offered("look", domain.AtMostOnce), model: calling(look())}
	env := w.environment(t)
	w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
		switch len(w.ran) {
		case 4:
			env.SetCurrentHistoryLength(46_000)
		case 10:
			return saw(r)
		}
		return asksToWait(env.Now().Add(time.Hour)), nil
	}
	execute(env, input(t, ""))
	completes(t, env)
	require.Len(t, w.ran, 4)
	call := executions(t, env)[0]
	require.Equal(t, domain.ToolNotRun, call.Outcome())
	require.Contains(t, call.Error.Message, "have waited so often that its run has no room for more")
}

// TestASessionKeepsWhatAToolNotes: the next call reads it, also in a later execution; of several calls of a
// step that of the last counts.
func TestASessionKeepsWhatAToolNotes(t *testing.T) {
	t.Parallel()
	w := &world{tools: []domain.ToolSpec{{Name: "look", Effect: domain.ReadOnly, Note: "list"}, {Name: "other", Effect: domain.ReadOnly}}}
	w.model = calling(look(), look(), domain.ToolCall{ID: "3", Name: "other"})
	notes := map[int]string{}
	w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		notes[r.Position] = string(r.Note)
		reply, err := saw(r)
		reply.Note = json.RawMessage([]string{`["first"]`, `["second"]`, `["never"]`}[r.Position])
		return reply, err
	}
	env := w.executed(t, input(t, "", func(in *contract.SessionInput) {
		in.Options = &domain.StartOptions{Metadata: domain.Metadata{"list": json.RawMessage(`["given"]`)}}
	}))
	completes(t, env)
	require.Equal(t, map[int]string{0: `["given"]`, 1: `["given"]`, 2: ""}, notes)
	state := stateIn(t, env)
	require.JSONEq(t, `["second"]`, string(state.Metadata["list"]))
}

// TestACallThatIsOneTooManyEndsNoWait of those that the budget allows: they run, and then the execution stops.
func TestACallThatIsOneTooManyEndsNoWait(t *testing.T) {
	t.Parallel()
	w := &world{tools: reads(), model: calling(look(), look())}
	env := w.environment(t)
	begun := env.Now()
	w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
		if r.WaitUntil.IsZero() {
			return asksToWait(begun.Add(time.Hour)), nil
		}
		return saw(r)
	}
	execute(env, input(t, "", budgeted(callsOf(1))))
	endsFor(t, env, domain.ToolCallLimitReached)
	require.WithinDuration(t, begun.Add(time.Hour), env.Now(), time.Minute)
	calls := executions(t, env)
	require.Equal(t, []string{"seen", ""}, []string{calls[0].Value, calls[1].Value})
	require.Equal(t, domain.CodeNotRun, calls[1].Error.Code)
}

// TestTheStatusNamesTheCallsThatStillRun, and none that has ended.
func TestTheStatusNamesTheCallsThatStillRun(t *testing.T) {
	t.Parallel()
	peek := domain.ToolCall{ID: "2", Name: "peek", Arguments: "{}"}
	w := &world{tools: []domain.ToolSpec{{Name: "look", Effect: domain.AtMostOnce}, {Name: "peek", Effect: domain.AtMostOnce}}, model: calling(look(), peek)}
	env := w.environment(t)
	looked, doing := 0, ""
	w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
		if r.Name == "look" {
			if looked++; looked == 1 {
				return asksToWait(env.Now().Add(time.Hour)), nil
			}
			doing = status(t, env).Doing
		}
		return saw(r)
	}
	execute(env, input(t, ""))
	completes(t, env)
	require.Equal(t, "step 1: running look", doing)
}
