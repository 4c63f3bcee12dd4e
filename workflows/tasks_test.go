package workflows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
)

func catalog() contract.Resolved {
	return contract.Resolved{
		Tools:           reads(),
		MinOutputTokens: 1, Digest: domain.DigestOf([]byte("resolved")),
	}
}

// lists has workers make a catalog of every definition.
func lists(change func(*contract.Resolved)) func(contract.ResolveRequest) (contract.Resolved, error) {
	return func(contract.ResolveRequest) (contract.Resolved, error) {
		c := catalog()
		change(&c)
		return c, nil
	}
}

// asking brings an agent to where its first inference is under way.
func asking(t *testing.T, change ...func(*contract.SessionInput)) (*chronicle, int64) {
	t.Helper()
	c := began(t, input(t, "", change...)).task()
	listing := c.calls(string(contract.ListTools))
	c.returns(listing, catalog()).task()
	return c, c.calls(string(contract.CallModel))
}

func look() domain.ToolCall { return callOf("look") }

// callOf is a call without arguments.
func callOf(tool string) domain.ToolCall {
	return domain.ToolCall{ID: "1", Name: tool, Arguments: "{}"}
}

// TestNothingStartsAfterAStopOfTheSameTask: the stop and the end of what was
// under way come to the workflow at once.
func TestNothingStartsAfterAStopOfTheSameTask(t *testing.T) {
	t.Parallel()
	for _, mode := range enum.Known[contract.StopMode]() {
		for _, order := range []string{"stop first", "stop last"} {
			t.Run(fmt.Sprint(mode, " ", order), func(t *testing.T) {
				t.Parallel()
				c, inference := asking(t)
				stop := contract.StopRequest{Mode: mode}
				if order == "stop first" {
					c.stops(stop).returns(inference, says("looking", look()))
				} else {
					c.returns(inference, says("looking", look())).stops(stop)
				}
				c.task()
				if mode == contract.AfterStep {
					tool := c.calls(string(contract.CallTool))
					c.returns(tool, contract.ToolReply{Content: "seen"}).task()
				}
				out := c.ends()
				require.Equal(t, domain.StatusStopped, out.Status)
				require.Equal(t, domain.UserRequested, out.StopReason)
				require.Equal(t, 1, out.Steps)
			})
		}
	}
}

// TestNoStepAfterAStopWithTheLastTool: the stop comes with the end of the tool.
func TestNoStepAfterAStopWithTheLastTool(t *testing.T) {
	t.Parallel()
	for _, mode := range enum.Known[contract.StopMode]() {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			c, inference := asking(t)
			c.returns(inference, says("looking", look())).task()
			tool := c.calls(string(contract.CallTool))
			c.returns(tool, contract.ToolReply{Content: "seen"}).stops(contract.StopRequest{Mode: mode}).task()
			require.Equal(t, 1, c.ends().Steps)
		})
	}
}

// TestACancellationOfTheSameTask is a stop like any other.
func TestACancellationOfTheSameTask(t *testing.T) {
	t.Parallel()
	c, inference := asking(t)
	c.returns(inference, says("looking", look())).cancels().task()
	out := c.ends()
	require.Equal(t, domain.UserRequested, out.StopReason)
	require.Equal(t, 1, out.Steps)
}

// TestATimeLimitOfTheSameTask: the time is over just as the step ends.
func TestATimeLimitOfTheSameTask(t *testing.T) {
	t.Parallel()
	seconds := 30.0
	limited := func(in *contract.SessionInput) { in.Budget.MaxSeconds = &seconds }
	for name, test := range map[string]struct {
		reply  contract.ModelReply
		reason domain.StopReason
		steps  int
	}{
		"with calls":      {says("looking", look()), domain.TimeLimitReached, 1},
		"with the answer": {says("done"), domain.TimeLimitReached, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := began(t, input(t, "", limited)).task()
			timer := c.sets(30 * time.Second)
			listing := c.calls(string(contract.ListTools))
			c.returns(listing, catalog()).task()
			inference := c.calls(string(contract.CallModel))
			c.returns(inference, test.reply).fires(timer).task()
			out := c.ends()
			require.Equal(t, test.reason, out.StopReason)
			require.Equal(t, test.steps, out.Steps)
		})
	}
}

// TestALateAlarmOfASession rings when its execution is over: it may neither
// break the session nor touch what comes next.
func TestALateAlarmOfASession(t *testing.T) {
	t.Parallel()
	c := began(t, input(t, "ann")).task()
	listing := c.calls(string(contract.ListTools))
	c.returns(listing, catalog()).task()
	inference := c.calls(string(contract.CallModel))
	c.stops(contract.StopRequest{Within: contract.Span(time.Minute)}).task()
	timer := c.sets(time.Minute)
	c.notes()
	c.returns(inference, says("done")).fires(timer).task().notes()
	c.stops(contract.StopRequest{Mode: contract.StopNow}).task()
	c.replays()
}

// TestAStopBeforeTheFirstTaskStartsNothing at all, not even a look at the tools.
func TestAStopBeforeTheFirstTaskStartsNothing(t *testing.T) {
	t.Parallel()
	for _, mode := range enum.Known[contract.StopMode]() {
		c := began(t, input(t, "")).stops(contract.StopRequest{Mode: mode}).task()
		out := c.ends()
		require.Equal(t, domain.UserRequested, out.StopReason)
		require.Zero(t, out.Steps)
	}
	require.Equal(t, domain.UserRequested, began(t, input(t, "")).cancels().task().ends().StopReason)
}

// TestWhatAStopNowCutsOff is kept: the text and the usage, by the worker's own
// report, or by the last that was heard of a worker that was lost.
func TestWhatAStopNowCutsOff(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ends   func(c *chronicle, activity int64)
		tokens int64
	}{
		"the worker shut down": {func(c *chronicle, activity int64) {
			c.returns(activity, contract.ModelReply{Outcome: contract.ShutDown, Tries: 1, Spent: domain.Usage{InputTokens: 7}})
		}, 7},
		"the worker was lost": {func(c *chronicle, activity int64) {
			c.dies(activity, contract.Heartbeat{
				Phase: contract.PhaseStreaming, Tail: "half", Spent: domain.Usage{InputTokens: 10}, Reserved: domain.Usage{InputTokens: 5, OutputTokens: 5},
			})
		}, 20},
		"it ended all the same": {func(c *chronicle, activity int64) { c.returns(activity, says("whole", look())) }, 15},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, inference := asking(t)
			c.stops(contract.StopRequest{Mode: contract.StopNow}).task().asksToCancel(inference)
			test.ends(c, inference)
			out := c.task().ends()
			require.Equal(t, domain.StatusStopped, out.Status)
			require.Equal(t, domain.UserRequested, out.StopReason)
			require.Equal(t, 1, out.Steps)
			require.Equal(t, test.tokens, out.Usage.TotalTokens())
		})
	}
}

// TestALostWorkerIsCounted: the last attempt's time-out ends the inference, with
// what it may have cost.
func TestALostWorkerIsCounted(t *testing.T) {
	t.Parallel()
	c, inference := asking(t)
	c.dies(inference, contract.Heartbeat{Phase: contract.PhaseRequested, Reserved: domain.Usage{InputTokens: 50}}).exhausted().task()
	out := c.ends()
	require.Equal(t, domain.StatusFailed, out.Status)
	require.Equal(t, domain.CodeTimeout, out.Code)
	require.Equal(t, domain.Usage{InputTokens: 50, Estimated: true}, out.Usage)
}

// TestAStopWhileTheToolsAreListed waits for nothing.
func TestAStopWhileTheToolsAreListed(t *testing.T) {
	t.Parallel()
	for _, mode := range enum.Known[contract.StopMode]() {
		c := began(t, input(t, "")).task()
		listing := c.calls(string(contract.ListTools))
		c.stops(contract.StopRequest{Mode: mode}).task().asksToCancel(listing)
		require.Equal(t, domain.UserRequested, c.ends().StopReason, mode)
	}
}
