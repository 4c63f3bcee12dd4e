package workflows_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
	updatepb "go.temporal.io/api/update/v1"
	"go.temporal.io/sdk/testsuite"

	"everstep/domain"
	"everstep/domain/contract"
)

// waits is a try that the provider answers with a delay.
func waits(d time.Duration) contract.ModelReply {
	return with(billed(domain.Throttled), func(r *contract.ModelReply) { r.RetryAfterMillis = d.Milliseconds() })
}

// updates asks something of the workflow at a time.
func updates[In, Out any](env *testsuite.TestWorkflowEnvironment, at time.Duration, update contract.Update[In, Out], id string, request In) *verdict {
	v := &verdict{}
	env.RegisterDelayedCallback(func() { env.UpdateWorkflow(string(update), id, v, request) }, at)
	return v
}

func pauses(env *testsuite.TestWorkflowEnvironment, at time.Duration) *verdict {
	return updates(env, at, contract.UpdatePause, "pause "+at.String(), contract.PauseRequest{})
}

func resumes(env *testsuite.TestWorkflowEnvironment, at time.Duration) *verdict {
	return updates(env, at, contract.UpdateResume, "resume "+at.String(), contract.PauseRequest{})
}

// timed notes when a world is asked something, in seconds from the beginning.
func timed(w *world, env *testsuite.TestWorkflowEnvironment) (asked, ran *[]int) {
	asked, ran = &[]int{}, &[]int{}
	begun := env.Now()
	since := func() int { return int(env.Now().Sub(begun).Round(time.Second).Seconds()) }
	model, tool := w.model, w.tool
	w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
		*asked = append(*asked, since())
		return model(r)
	}
	w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
		*ran = append(*ran, since())
		return tool(r)
	}
	return asked, ran
}

// TestTimeInAPause does not count in max_seconds; the deadline passes all the
// same. The model wants ten seconds before it answers, then calls a tool, wants
// ten more and is done.
func TestTimeInAPause(t *testing.T) {
	t.Parallel()
	const none = time.Duration(0)
	for name, test := range map[string]struct {
		seconds  float64
		deadline time.Duration
		pauses   []time.Duration
		resumes  []time.Duration
		stop     time.Duration
		asked    []int
		reason   domain.StopReason
	}{
		"enough seconds": {26, none, []time.Duration{5 * time.Second}, []time.Duration{time.Hour}, none, []int{0, 3600, 3600, 3610}, domain.Completed},
		"too few":        {15, none, []time.Duration{5 * time.Second}, []time.Duration{time.Hour}, none, []int{0, 3600, 3600}, domain.TimeLimitReached},
		"the deadline":   {0, time.Minute, []time.Duration{5 * time.Second}, nil, none, []int{0}, domain.TimeLimitReached},
		"a stop":         {26, none, []time.Duration{5 * time.Second}, nil, time.Hour, []int{0}, domain.UserRequested},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: reads(), model: plays(waits(10*time.Second), says("looking", look()), waits(10*time.Second), says("done")), tool: saw}
			env := w.environment(t)
			asked, _ := timed(w, env)
			for _, at := range test.pauses {
				pauses(env, at)
			}
			for _, at := range test.resumes {
				resumes(env, at)
			}
			if test.stop > 0 {
				stopsWith(env, test.stop, contract.StopRequest{Mode: contract.StopNow})
			}
			begun := env.Now()
			execute(env, input(t, "", func(in *contract.SessionInput) {
				if test.seconds > 0 {
					in.Budget.MaxSeconds = &test.seconds
				}
				if test.deadline > 0 {
					deadline := begun.Add(test.deadline)
					in.Budget.Deadline = &deadline
				}
			}))
			endsFor(t, env, test.reason)
			require.Len(t, *asked, len(test.asked))
			for i, at := range test.asked {
				require.InDelta(t, at, (*asked)[i], 6, "a delay is up to a quarter longer")
			}
			status := status(t, env)
			require.False(t, status.Paused, "what has ended is not paused")
		})
	}
}

// TestTimeInWhichAPauseHoldsCallsBack does not count in max_seconds where nothing else is under way, others that wait
// for them included.
func TestTimeInWhichAPauseHoldsCallsBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		calls []domain.ToolCall
		// busy are the calls that do not begin when they are asked for first; under way elsewhere is the n-th, for so long.
		busy   []int
		away   int
		long   time.Duration
		reason domain.StopReason
		ran    []int
	}{
		"one":                  {[]domain.ToolCall{look()}, []int{1}, 0, 0, domain.Completed, []int{0, 3600}},
		"two":                  {[]domain.ToolCall{look(), look()}, []int{1, 2}, 0, 0, domain.Completed, []int{0, 0, 3600, 3600}},
		"another waits for it": {[]domain.ToolCall{payFor(7, "x"), payFor(7, "x")}, []int{1}, 0, 0, domain.Completed, []int{0, 3600, 3600}},
		"others wait for their turn": {
			[]domain.ToolCall{payFor(7, "x"), payFor(7, "x"), payFor(7, "x")}, nil, 1, 10 * time.Second, domain.Completed, []int{0, 10, 3600, 3600},
		},
		"another is at work": {[]domain.ToolCall{look(), payFor(7, "x")}, []int{1}, 2, time.Minute, domain.TimeLimitReached, []int{0, 0, 30}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: append(reads(), domain.ToolSpec{Name: "pay", Effect: domain.AtMostOnce}), model: calling(test.calls...)}
			env := w.environment(t)
			begun, made := env.Now(), map[domain.ToolExecutionID]int{}
			w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				made[r.ID()]++
				switch {
				case r.Position+1 == test.away && env.Now().Sub(begun) < test.long:
					return goesOn(r, begun, begun.Add(test.long), ""), nil
				case made[r.ID()] == 1 && slices.Contains(test.busy, r.Position+1):
					return contract.ToolReply{NotStarted: true, Error: domain.Errorf(domain.Unavailable, "busy")}, nil
				}
				return saw(r)
			}
			_, ran := timed(w, env)
			pauses(env, 500*time.Millisecond)
			resumes(env, time.Hour)
			execute(env, input(t, "", budgeted(secondsOf(30.0))))
			endsFor(t, env, test.reason)
			require.Equal(t, test.ran, *ran)
		})
	}
}

// TestAPauseOutlivesARun: what it has taken of the time is carried, and the next
// run waits as this one did.
func TestAPauseOutlivesARun(t *testing.T) {
	t.Parallel()
	for _, storage := range []bool{true, false} {
		seconds := 30.0
		w := steady(5, storage)
		model := w.model
		first := true
		w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
			if first {
				first = false
				return waits(10 * time.Second), nil
			}
			return model(r)
		}
		env := w.environment(t)
		pauses(env, 5*time.Second)
		resumes(env, time.Hour)
		env.RegisterDelayedCallback(func() { env.SetContinueAsNewSuggested(true) }, 30*time.Minute)
		again := updates(env, time.Hour-time.Millisecond, contract.UpdatePause, "again", contract.PauseRequest{})
		execute(env, input(t, "", func(in *contract.SessionInput) { in.Budget.MaxSeconds = &seconds }))
		in := nextRun(t, env)
		require.Equal(t, false, again.value.(contract.PauseReply).Changed)
		require.False(t, in.Carry.Mail.Paused)
		state, err := domain.DecodeAgentState(in.Carry.State)
		require.NoError(t, err)
		require.Equal(t, time.Hour-10*time.Second, state.Execution.ExecutionCounts.Waited.Round(time.Second))

		// The same in the next run, which begins paused.
		in.Carry.Mail.Paused = true
		later := env.Now()
		env = w.environment(t)
		env.SetStartTime(later)
		asked, _ := timed(w, env)
		env.RegisterDelayedCallback(func() {
			require.Empty(t, *asked)
			require.True(t, status(t, env).Paused)
		}, time.Hour)
		resumes(env, 2*time.Hour)
		execute(env, in)
		require.Equal(t, domain.Completed, outcome(t, env).StopReason, "what was waited for does not count in max_seconds")
		require.Equal(t, 7200, (*asked)[0])
	}
}

// asks is an update that the task before accepted and answered; its events are
// among the task's commands.
func asks[In, Out any](c *chronicle, update contract.Update[In, Out], request In, reply Out) {
	id := string(update)
	accepted := c.add(&historypb.WorkflowExecutionUpdateAcceptedEventAttributes{
		ProtocolInstanceId: id, AcceptedRequestMessageId: id + "/request",
		AcceptedRequestSequencingEventId: int64(len(c.events) - 2),
		AcceptedRequest: &updatepb.Request{
			Meta: &updatepb.Meta{UpdateId: id}, Input: &updatepb.Input{Name: id, Args: c.payloads(request)},
		},
	})
	if id != string(contract.UpdateExtend) { // the memo says whether it is paused
		c.notes()
	}
	c.add(&historypb.WorkflowExecutionUpdateCompletedEventAttributes{
		Meta: &updatepb.Meta{UpdateId: id}, AcceptedEventId: accepted,
		Outcome: &updatepb.Outcome{Value: &updatepb.Outcome_Success{Success: c.payloads(reply)}},
	})
}

// TestAPauseOfTheSameTask: it comes with the end of what was under way, and
// nothing starts after it; the end of the pause comes with nothing else.
func TestAPauseOfTheSameTask(t *testing.T) {
	t.Parallel()
	c, inference := asking(t)
	c.returns(inference, says("looking", look())).task()
	asks(c, contract.UpdatePause, contract.PauseRequest{}, contract.PauseReply{})
	c.task()
	asks(c, contract.UpdateResume, contract.PauseRequest{}, contract.PauseReply{})
	tool := c.calls(string(contract.CallTool))
	c.returns(tool, contract.ToolReply{Content: "seen"}).task()
	c.calls(string(contract.CallModel))
	c.replays()
}

// TestAPauseAndAStopOfTheSameTask: the stop counts.
func TestAPauseAndAStopOfTheSameTask(t *testing.T) {
	t.Parallel()
	c, inference := asking(t)
	c.returns(inference, says("looking", look())).stops(contract.StopRequest{}).task()
	asks(c, contract.UpdatePause, contract.PauseRequest{}, contract.PauseReply{})
	tool := c.calls(string(contract.CallTool))
	c.returns(tool, contract.ToolReply{Content: "seen"}).task()
	require.Equal(t, domain.UserRequested, c.ends().StopReason)
}

// TestAnExtensionOfTheSameTask: new totals come with the end of the step, and
// the check that follows knows them.
func TestAnExtensionOfTheSameTask(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		began, extended int64
		goesOn          bool
	}{"more": {1, 2, true}, "fewer": {9, 1, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, inference := asking(t, budgeted(stepsOf(test.began)))
			c.returns(inference, says("looking", look())).task()
			tool := c.calls(string(contract.CallTool))
			c.returns(tool, contract.ToolReply{Content: "seen"}).task()
			asks(c, contract.UpdateExtend, contract.ExtendRequest{Budget: domain.ExecutionBudget{MaxSteps: &test.extended}}, contract.ExtendReply{})
			if test.goesOn {
				c.calls(string(contract.CallModel))
				c.replays()
				return
			}
			require.Equal(t, domain.StepsLimitReached, c.ends().StopReason)
		})
	}
}
