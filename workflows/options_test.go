package workflows_test

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/log"

	"everstep/domain"
	"everstep/domain/contract"
)

// TestHowLongWorkMayTake, how often it is tried, and what is waited for when it is
// cut off.
func TestHowLongWorkMayTake(t *testing.T) {
	t.Parallel()
	const month = 30 * 24 * time.Hour
	for name, test := range map[string]struct {
		change                              func(*contract.SessionInput)
		effect                              domain.Effect
		heartbeat, first, list, model, tool time.Duration
		tries                               int32
		calls                               int
	}{
		"as nobody says": {func(*contract.SessionInput) {}, domain.AtMostOnce, 30 * time.Second, time.Second,
			2 * time.Minute, domain.DefaultInferenceTimeout, domain.DefaultToolTimeout, domain.DefaultAttempts, 0},
		"as the definition says": {func(in *contract.SessionInput) {
			in.Definition.InferenceTimeout, in.Definition.ToolTimeout, in.Definition.Attempts = time.Minute, time.Hour, 7
			in.Timing = contract.Timing{Heartbeat: time.Minute, FirstRetry: 2 * time.Second}
		}, domain.ReadOnly, time.Minute, 2 * time.Second, 2 * time.Minute, time.Minute, time.Hour, 7, 7},
		"beyond all bounds": {func(in *contract.SessionInput) {
			in.Definition.InferenceTimeout, in.Definition.ToolTimeout, in.Definition.Attempts = 99*month, 99*month, 1_000_000
			in.Timing = contract.Timing{Heartbeat: 99 * month, FirstRetry: month}
		}, domain.ReadOnly, month, 30 * time.Second, 2 * time.Minute, month, month, 1000, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := steady(1, true)
			w.tools[0].Effect = test.effect
			env := w.environment(t)
			outgrows(env, 1)
			execute(env, input(t, "", test.change))
			nextRun(t, env)
			for activity, want := range map[string]struct {
				timeout time.Duration
				tries   int32
				waits   bool
			}{
				string(contract.ListTools): {test.list, domain.DefaultAttempts, false},
				string(contract.CallModel): {test.model, test.tries, true},
				string(contract.CallTool):  {test.tool, 1, true},
				string(contract.Record):    {5 * time.Minute, 4, false},
			} {
				options := w.options[activity]
				require.Equal(t, want.timeout+domain.ReportTime, options.StartToCloseTimeout, activity)
				require.Equal(t, test.heartbeat, options.HeartbeatTimeout, activity)
				require.Equal(t, want.waits, options.WaitForCancellation, activity)
				require.Equal(t, want.tries, options.RetryPolicy.MaximumAttempts, activity)
				require.GreaterOrEqual(t, options.RetryPolicy.InitialInterval, test.first, activity)
				require.LessOrEqual(t, options.RetryPolicy.InitialInterval, min(test.first*5/4, 30*time.Second), activity)
				require.Equal(t, 30*time.Second, options.RetryPolicy.MaximumInterval, activity)
				require.NotEmpty(t, options.Summary, activity)
			}
			require.Equal(t, test.calls, w.ran[0].Tries, "the workflow makes it again, where it may")
		})
	}
}

// TestTimingIsTheWorkers, whose way to the server is the one that counts: a client on
// the server's machine knows nothing of it.
func TestTimingIsTheWorkers(t *testing.T) {
	t.Parallel()
	w := steady(1, false)
	w.list = lists(func(c *contract.Resolved) {
		c.Timing = contract.TimingOf(false)
	})
	env := w.executed(t, input(t, "", func(in *contract.SessionInput) { in.Timing = contract.TimingOf(true) }))
	completes(t, env)
	require.Equal(t, 3*time.Second, w.options[string(contract.ListTools)].HeartbeatTimeout, "nobody else has said by then")
	for _, activity := range []string{string(contract.CallModel), string(contract.CallTool)} {
		require.Equal(t, 30*time.Second, w.options[activity].HeartbeatTimeout)
		require.InDelta(t, 1.125, w.options[activity].RetryPolicy.InitialInterval.Seconds(), 0.125)
	}
}

// TestWhatIsPublished is the status and the reason, where the server knows their
// names.
func TestWhatIsPublished(t *testing.T) {
	t.Parallel()
	for name, attributes := range map[string][]string{
		"both": {contract.AttributeAgentStatus, contract.AttributeStopReason}, "one": {contract.AttributeAgentStatus},
		"another": {contract.AttributeAgentName}, "none": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{model: plays(says("hi"), says("again"))}
			env := w.environment(t)
			sends(env, time.Second, "more", contract.SendRequest{Prompt: "more"})
			closes(env, time.Minute)
			execute(env, input(t, "ann", func(in *contract.SessionInput) { in.Attributes = attributes }))
			endsWith(t, env, 2)
			var published []string
			for _, updates := range w.published {
				for key, value := range updates.GetUntypedValues() {
					if value == nil {
						published = append(published, key.GetName()+" unset")
						continue
					}
					published = append(published, key.GetName()+" "+value.(string))
				}
			}
			switch name {
			case "both":
				require.ElementsMatch(t, []string{
					"AgentStatus completed", "StopReason completed", "AgentStatus in_progress",
					"AgentStatus completed", "StopReason completed",
				}, published)
			case "one":
				require.Equal(t, []string{"AgentStatus completed", "AgentStatus in_progress", "AgentStatus completed"}, published)
			default:
				require.Empty(t, w.published)
			}
		})
	}
}

// TestWhatGoesWellIsNoError in the worker's log.
func TestWhatGoesWellIsNoError(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	w := steady(2, false)
	w.logger = log.NewStructuredLogger(slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelError})))
	env := w.executed(t, input(t, "", func(in *contract.SessionInput) {
		in.Attributes = []string{contract.AttributeAgentStatus}
	}))
	completes(t, env)
	require.Empty(t, logged.String())
}

// TestWhatActivitiesReferTo is there from when the definition is resolved.
func TestWhatActivitiesReferTo(t *testing.T) {
	t.Parallel()
	w := steady(1, false)
	w.executed(t, input(t, ""))
	require.Equal(t, map[string]bool{
		string(contract.ListTools): false, string(contract.CallModel): true, string(contract.CallTool): true,
	}, w.referred)
}
