package workflows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

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
		closes(env, time.Hour)
		var ended time.Time
		model := w.model
		w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
			ended = env.Now()
			return model(r)
		}
		execute(env, input(t, name))
		completes(t, env)
		return ended.Sub(begun)
	}
	calls := func(w *world) {
		w.model = calling(look())
		w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
			if len(w.ran) == 1 {
				return contract.ToolReply{}, comesAgain(8 * time.Second)
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
