package whole_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openaichat"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

// TestRateLimitWaits has two agents on one request a minute: the second waits
// for its turn. Its status says so, nothing is sent and no attempt is counted;
// a stop ends the wait at once.
func TestRateLimitWaits(t *testing.T) {
	t.Parallel()
	model := serveChat(t, streamed("stop", `{"content":"one"}`), streamed("stop", `{"content":"two"}`))
	provider := openAdapter(t, openaichat.Name, wire.Config{BaseURL: model.URL, Key: wire.FixedKey("sk-sesame")})
	s := start(t, host.Config{Providers: map[string]inference.Provider{"limited": provider}, RateLimits: map[string]host.RateLimit{"limited": {RequestsPerMinute: 1}}})
	asks := client.Start{Prompt: "go", Definition: domain.Definition{Model: domain.LLMConfig{Provider: "limited", Model: "m-1"}}}
	c := newCLI(t).at(s)
	first := s.starts(t, asks)
	done := s.result(t, first.ID, 0)
	require.Equal(t, "one", done.Answer)

	second := s.starts(t, asks)
	limit := contract.RateLimit{TaskQueue: s.queue + "/limited", RequestsPerMinute: 1}
	require.Eventually(t, func() bool {
		status := s.status(t, second.ID)
		if !status.RateLimited {
			return false
		}
		require.Equal(t, &limit, status.Configuration.RateLimit)
		require.Equal(t, "step 1: waits for its turn to ask the model (1 requests a minute)", status.Doing)
		return true
	}, patience, 20*time.Millisecond)

	watch := c.start("watch", second.ID).untilErr("under a rate limit what is next has to wait for its turn: it waits on task queue " + limit.TaskQueue)
	s.stops(t, second.ID, client.StopOptions{Mode: contract.StopNow})
	require.Equal(t, 3, watch.wait().code)
	require.NotContains(t, watch.err.String(), "no worker")
	ended := s.result(t, second.ID, 0)
	require.Equal(t, domain.StatusStopped, ended.Outcome.Status)
	require.Equal(t, domain.UserRequested, ended.Outcome.StopReason)
	require.Zero(t, ended.Outcome.Usage)
	require.Len(t, model.requests(), 1)
	explained := s.explained(t, second.ID)
	require.Len(t, explained.Steps, 1)
	require.Zero(t, explained.Steps[0].FailedAttempts, "what waited was no attempt")
	require.Empty(t, explained.Steps[0].Retries)
}
