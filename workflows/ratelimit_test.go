package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
)

// rerouted is what a worker says that has a rate limit, on another task queue.
func rerouted(billed bool) (contract.ModelReply, error) {
	err := domain.CodedErrorf(domain.Denied, domain.CodeRerouted, "elsewhere")
	if billed {
		return contract.ModelReply{Outcome: contract.BilledFailure, Error: err, Tries: 1, Spent: domain.Usage{InputTokens: 5, Estimated: true}}, nil
	}
	return contract.ModelReply{}, refused(err)
}

// TestARateLimitThatComes makes the limit be looked for anew, a bounded number of
// times: where workers do not agree for long the step fails, instead of going
// round for ever. Nothing but the limit is taken over.
func TestARateLimitThatComes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reroutes int
		billed   bool
		status   domain.ExecutionStatus
		listed   int
	}{
		"after a lost attempt":       {1, true, domain.StatusCompleted, 2},
		"while workers are replaced": {4, false, domain.StatusCompleted, 5},
		"workers that never agree":   {100, false, domain.StatusFailed, 1 + domain.DefaultAttempts},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listed, asked := 0, 0
			w := &world{}
			w.list = func(contract.ResolveRequest) (contract.Resolved, error) {
				listed++
				return contract.Resolved{MinOutputTokens: 1, Digest: domain.DigestOf([]byte{byte(listed)})}, nil
			}
			w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
				require.Equal(t, domain.DigestOf([]byte{1}), r.Resolved)
				if asked++; asked <= test.reroutes {
					return rerouted(test.billed)
				}
				return says("done"), nil
			}
			env := w.executed(t, input(t, ""))
			out := outcome(t, env)
			require.Equal(t, test.status, out.Status)
			require.Equal(t, test.listed, listed)
			if test.status == domain.StatusFailed {
				require.Equal(t, domain.CodeRerouted, out.Code)
				return
			}
			require.Equal(t, test.reroutes+1, asked)
			if test.billed {
				require.True(t, out.Usage.Estimated, "what the lost attempt may have cost stays counted")
			}
		})
	}
}

// TestAStopWhileWorkersDoNotAgree on a rate limit ends the wait at once, since nothing is
// under way.
func TestAStopWhileWorkersDoNotAgree(t *testing.T) {
	t.Parallel()
	for _, mode := range enum.Known[contract.StopMode]() {
		w := &world{model: func(contract.ModelRequest) (contract.ModelReply, error) { return rerouted(false) }}
		env := w.environment(t)
		begun := env.Now()
		const stopped = 50 * time.Second // in a wait of half a minute
		stopsWith(env, stopped, contract.StopRequest{Mode: mode})
		execute(env, input(t, ""))
		out := outcome(t, env)
		require.Equal(t, domain.StatusStopped, out.Status, mode)
		require.Equal(t, domain.UserRequested, out.StopReason, mode)
		require.Equal(t, stopped, env.Now().Sub(begun).Round(time.Second), mode)
	}
}
