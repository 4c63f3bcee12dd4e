package workflows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// TestCallsOfAnOlderRunAreTheServers: where the workflow learned that an older worker let
// the server make a call again, that goes on for the rest of the run, as do losses that
// nobody counted.
func TestCallsOfAnOlderRunAreTheServers(t *testing.T) {
	t.Parallel()
	lost := temporal.NewHeartbeatTimeoutError(contract.Heartbeat{Step: 1})
	for name, test := range map[string]struct {
		version workflow.Version
		tries   int // those of the second step's call that the server makes
		want    contract.ToolRequest
	}{
		"by the server": {workflow.DefaultVersion, 4, contract.ToolRequest{}},
		"not counted":   {1, 1, contract.ToolRequest{Tries: 4}},
		"counted":       {2, 1, contract.ToolRequest{Tries: 4, Losses: 9}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: []domain.ToolSpec{{Name: "look", Effect: domain.ReadOnly, Losses: 9}}}
			w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
				if r.Step == 3 {
					return says("done"), nil
				}
				return says("", look()), nil
			}
			w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
				if r.Step == 1 && len(w.ran) == 1 {
					return contract.ToolReply{}, temporal.NewNonRetryableApplicationError("", "", lost)
				}
				return saw(r)
			}
			env := w.environment(t)
			env.OnGetVersion("own-tries", workflow.DefaultVersion, workflow.Version(2)).Return(test.version)
			env.ExecuteWorkflow(string(contract.Execute), input(t, "", func(in *contract.SessionInput) { in.Definition.Attempts = 4 }))
			require.Equal(t, domain.StatusCompleted, outcome(t, env).Status)
			last := w.ran[len(w.ran)-1]
			require.Equal(t, 2, last.Step)
			require.Equal(t, test.want, contract.ToolRequest{Tries: last.Tries, Losses: last.Losses})
			require.EqualValues(t, test.tries, w.options[string(contract.CallTool)].RetryPolicy.MaximumAttempts)
		})
	}
}

// TestWhatFailedTogetherComesBackApart: no sooner than without, at most a quarter later,
// each agent at its own time, which is the same when it is replayed.
func TestWhatFailedTogetherComesBackApart(t *testing.T) {
	t.Parallel()
	busy := with(billed(domain.Unavailable), func(r *contract.ModelReply) { r.RetryAfterMillis = 8000 })
	waited := func(name string, change ...func(*world)) time.Duration {
		w := &world{tools: reads(), model: plays(busy, says("done"))}
		for _, c := range change {
			c(w)
		}
		env := w.environment(t)
		begun := env.Now()
		closes(env, time.Hour, "close")
		var ended time.Time
		model := w.model
		w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
			ended = env.Now()
			return model(r)
		}
		env.ExecuteWorkflow(string(contract.Execute), input(t, name))
		require.Equal(t, domain.StatusCompleted, outcome(t, env).Status)
		return ended.Sub(begun)
	}
	calls := func(w *world) {
		w.model = calling(look())
		w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
			if len(w.ran) == 1 {
				return contract.ToolReply{}, temporal.NewApplicationErrorWithOptions("busy", "x", temporal.ApplicationErrorOptions{NextRetryDelay: 8 * time.Second})
			}
			return saw(r)
		}
	}
	for _, change := range [][]func(*world){nil, {calls}} {
		seen := map[time.Duration]bool{}
		for i := range 20 {
			name := fmt.Sprint("agent-", i)
			once := waited(name, change...)
			require.GreaterOrEqual(t, once, 8*time.Second)
			require.LessOrEqual(t, once, 10*time.Second)
			require.Equal(t, once, waited(name, change...))
			seen[once] = true
		}
		require.Greater(t, len(seen), 10)
	}
}
