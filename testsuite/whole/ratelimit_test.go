package whole_test

import (
	"net/http"
	"regexp"
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
	"everstep/domain/enum"
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
	require.Contains(t, c.ok("status", second.ID), "waits for its turn to ask the model (1 requests a minute), for ")
	require.Equal(t, true, c.json("status", second.ID)["rate_limited"])

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

// TestAttemptWaits has a provider that wants to be left alone for an hour: status
// and explain say until when, and why. Any stop ends the wait: nothing is under way.
func TestAttemptWaits(t *testing.T) {
	t.Parallel()
	for _, mode := range enum.Known[contract.StopMode]() {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			attemptWaits(t, mode)
		})
	}
}

func attemptWaits(t *testing.T, mode contract.StopMode) {
	t.Helper()
	model := serveChat(t, refused(http.StatusTooManyRequests, "Retry-After: 3600", `{"error":{"message":"slow down","type":"requests"}}`))
	s := start(t, chatWorker(t, model, nil))
	begun, err := s.agents.Start(within(t), client.Start{Prompt: "go", Definition: limitedModel})
	require.NoError(t, err)
	const words = `^step 1: attempt 2 at the model waits until 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ: limited: too many requests \(HTTP 429\): slow down$`
	require.Eventually(t, func() bool {
		status, err := s.agents.Status(within(t), begun.ID)
		require.NoError(t, err)
		return regexp.MustCompile(words).MatchString(status.Doing)
	}, patience, 20*time.Millisecond)
	require.Regexp(t, words, s.explained(t, begun.ID).Doing.Text)
	_, err = s.agents.Stop(within(t), begun.ID, client.StopOptions{Mode: mode})
	require.NoError(t, err)
	ended := s.stopped(t, begun.ID)
	require.Equal(t, 1, ended.Outcome.Steps)
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

// TestRateLimitTokens has a worker with few tokens a minute, and more agents
// than it can begin: those that do not fit wait in the queue.
func TestRateLimitTokens(t *testing.T) {
	t.Parallel()
	const agents = 6
	var answers []http.HandlerFunc
	for range agents {
		answers = append(answers, streamed("stop", `{"content":"one"}`))
	}
	model := serveChat(t, answers...)
	// Ten may come at once, and each takes 37.
	s := start(t, chatWorker(t, model, map[string]host.RateLimit{"limited": {TokensPerMinute: 60}}))
	var ids []string
	for range agents {
		begun, err := s.agents.Start(within(t), client.Start{Prompt: "go", Definition: limitedModel})
		require.NoError(t, err)
		ids = append(ids, begun.ID)
	}
	// The tokens that one uses are those of half a minute.
	most := 2
	require.Eventually(t, func() bool {
		waiting := 0
		for _, id := range ids {
			status, err := s.agents.Status(within(t), id)
			require.NoError(t, err)
			if status.RateLimited {
				require.Equal(t, "step 1: waits for its turn to ask the model (60 tokens a minute and worker)", status.Doing)
				waiting++
			} else if status.Status == domain.StatusInProgress {
				return false
			}
		}
		return waiting >= agents-most && waiting < agents
	}, patience, 50*time.Millisecond)
	require.LessOrEqual(t, len(model.requests()), most)
	for _, id := range ids {
		_, err := s.agents.Stop(within(t), id, client.StopOptions{Mode: contract.StopNow})
		if err != nil { // the few that have ended
			require.ErrorContains(t, err, "nothing to stop")
			continue
		}
		_, err = s.agents.Wait(within(t), id, 0)
		require.NoError(t, err)
	}
	require.LessOrEqual(t, len(model.requests()), most)
}

// TestRateLimitExplained has an agent that asks more often than it may: explain
// says how long each step waited for its turn, with a worker and without.
func TestRateLimitExplained(t *testing.T) {
	t.Parallel()
	list := streamed("tool_calls", `{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"list_files","arguments":"{\"path\":\".\"}"}}]}`)
	model := serveChat(t, list, list, streamed("stop", `{"content":"done"}`))
	s := start(t, chatWorker(t, model, map[string]host.RateLimit{"limited": {RequestsPerMinute: 30}}))
	definition := limitedModel
	definition.Tools = []string{"list_files"}
	begun, err := s.agents.Start(within(t), client.Start{Prompt: "go", Definition: definition})
	require.NoError(t, err)
	result, err := s.agents.Wait(within(t), begun.ID, 0)
	require.NoError(t, err)
	require.Equal(t, "done", result.Answer)
	lost := map[int]int{} // by step: a machine that is busy for longer than a heartbeat may be silent loses attempts
	for _, ended := range s.endedActivities(t, begun.ID) {
		if ended.lost() && ended.name == string(contract.CallModel) {
			lost[request[contract.ModelRequest](t, ended).Step]++
		}
	}
	check := func(e client.ExplainView) {
		require.Len(t, e.Steps, 3)
		var queued int64
		for i, step := range e.Steps {
			require.Equal(t, lost[i+1], step.FailedAttempts)
			require.LessOrEqual(t, step.QueuedMilliseconds, *step.Milliseconds)
			queued += step.QueuedMilliseconds
		}
		// Two seconds pass between any two requests, but for what may come at once;
		// on a busy machine not all of them in the queue.
		require.Greater(t, queued, int64(500))
	}
	check(s.explained(t, begun.ID))
	require.Contains(t, newCLI(t).at(s).ok("explain", begun.ID), " for its turn (rate limit)\n")
	s.worker.Stop()
	check(s.explained(t, begun.ID))
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
