package whole_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openaichat"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

// chatWorker is a worker whose only model server is a loopback one.
func chatWorker(t *testing.T, model *chatServer, limits map[string]host.RateLimit) host.Config {
	t.Helper()
	provider, err := wire.New(openaichat.Dialects()[0].API(), wire.Config{BaseURL: model.URL, Key: wire.FixedKey("sk-sesame")})
	require.NoError(t, err)
	return host.Config{Providers: map[string]inference.Provider{"limited": provider}, RateLimits: limits}
}

var limitedModel = domain.Definition{Model: domain.LLMConfig{Provider: "limited", Model: "m-1"}}

// TestRateLimitWaits has two agents on one request a minute: the second waits
// for its turn. Its status says so, nothing is sent and no attempt is counted;
// a stop ends the wait at once.
func TestRateLimitWaits(t *testing.T) {
	t.Parallel()
	model := serveChat(t, streamed("stop", `{"content":"one"}`), streamed("stop", `{"content":"two"}`))
	s := start(t, chatWorker(t, model, map[string]host.RateLimit{"limited": {RequestsPerMinute: 1}}))
	c := newCLI(t).at(s)
	first, err := s.agents.Start(within(t), client.Start{Prompt: "go", Definition: limitedModel})
	require.NoError(t, err)
	done, err := s.agents.Wait(within(t), first.ID, 0)
	require.NoError(t, err)
	require.Equal(t, "one", done.Answer)

	second, err := s.agents.Start(within(t), client.Start{Prompt: "go", Definition: limitedModel})
	require.NoError(t, err)
	limit := contract.RateLimit{TaskQueue: s.queue + "/limited", RequestsPerMinute: 1}
	require.Eventually(t, func() bool {
		status, err := s.agents.Status(within(t), second.ID)
		require.NoError(t, err)
		if !status.RateLimited {
			return false
		}
		require.Equal(t, &limit, status.Configuration.RateLimit)
		require.Equal(t, "step 1: waits for its turn to ask the model (1 requests a minute)", status.Doing)
		return true
	}, patience, 20*time.Millisecond)

	watch := c.start("watch", second.ID).untilErr("under a rate limit what is next has to wait for its turn: it waits on task queue " + limit.TaskQueue)
	_, err = s.agents.Stop(within(t), second.ID, client.StopOptions{Mode: contract.StopNow})
	require.NoError(t, err)
	require.Equal(t, 3, watch.wait().code)
	require.NotContains(t, watch.err.String(), "no worker")
	ended, err := s.agents.Wait(within(t), second.ID, 0)
	require.NoError(t, err)
	require.Equal(t, domain.StatusStopped, ended.Outcome.Status)
	require.Equal(t, domain.UserRequested, ended.Outcome.StopReason)
	require.Zero(t, ended.Outcome.Usage)
	require.Len(t, model.requests(), 1)
	explained := s.explained(t, second.ID)
	require.Len(t, explained.Steps, 1)
	require.Zero(t, explained.Steps[0].FailedAttempts, "what waited was no attempt")
	require.Empty(t, explained.Steps[0].Retries)
}

// TestRateLimitComes has an agent in the middle when its worker is replaced by
// one with a limit: what comes by the old queue is asked for again on the new
// one, and nothing is asked twice. The next execution finds the limit gone.
func TestRateLimitComes(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	held := func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-hold:
		case <-r.Context().Done():
			return
		}
		streamed("tool_calls", `{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"list_files","arguments":"{\"path\":\".\"}"}}]}`)(w, r)
	}
	model := serveChat(t, held, held, streamed("stop", `{"content":"one"}`), streamed("stop", `{"content":"two"}`))
	s := connect(t, "plain", nil)
	without := s.work(t, chatWorker(t, model, nil))
	definition := limitedModel
	definition.Tools = []string{"list_files"}
	begun, err := s.agents.Start(within(t), client.Start{Prompt: "go", ID: s.named("limit"), Definition: definition})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(model.requests()) == 1 }, patience, 5*time.Millisecond)
	without.Stop() // cuts the first request off
	with := s.work(t, chatWorker(t, model, map[string]host.RateLimit{"limited": {RequestsPerMinute: 6000}}))
	close(hold)
	result, err := s.agents.Wait(within(t), begun.ID, 0)
	require.NoError(t, err)
	require.Equal(t, "one", result.Answer)
	require.Equal(t, 2, result.Outcome.Steps)
	require.Len(t, model.requests(), 3)
	status, err := s.agents.Status(within(t), begun.ID)
	require.NoError(t, err)
	require.Equal(t, &contract.RateLimit{TaskQueue: s.queue + "/limited", RequestsPerMinute: 6000}, status.Configuration.RateLimit)
	// What was cut off came by the old queue again, before the limit was known; twice, where the
	// worker that was on its way out took it once more and gave it back.
	queues := s.inferenceQueues(t, begun)
	old := slices.Index(queues, s.queue+"/limited")
	require.Contains(t, []int{2, 3}, old, "%q", queues)
	require.Equal(t, slices.Concat(slices.Repeat([]string{s.queue}, old), slices.Repeat([]string{s.queue + "/limited"}, 2)), queues)

	with.Stop()
	again := s.work(t, chatWorker(t, model, nil))
	t.Cleanup(again.Stop)
	_, err = s.agents.Send(within(t), begun.ID, client.SendOptions{Prompt: "more"})
	require.NoError(t, err)
	result, err = s.agents.Wait(within(t), begun.ID, 2)
	require.NoError(t, err)
	require.Equal(t, "two", result.Answer)
	require.Equal(t, append(queues, s.queue), s.inferenceQueues(t, begun))
}

// inferenceQueues are the task queues that an agent's inferences came by, in order.
func (s *stack) inferenceQueues(t *testing.T, of client.Execution) []string {
	t.Helper()
	return s.queuesOf(t, of, string(contract.CallModel))
}

func (s *stack) queuesOf(t *testing.T, of client.Execution, activity string) []string {
	t.Helper()
	var queues []string
	history := s.temporal.GetWorkflowHistory(within(t), of.WorkflowID, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		require.NoError(t, err)
		if a := event.GetActivityTaskScheduledEventAttributes(); a.GetActivityType().GetName() == activity {
			queues = append(queues, a.GetTaskQueue().GetName())
		}
	}
	return queues
}
