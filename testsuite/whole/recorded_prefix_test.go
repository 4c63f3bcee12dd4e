package whole_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openaichat"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/testsuite"
)

// sent are the requests that openai-chat makes of calls, as providers read
// them: tools first, then the system prompt and the messages. What else a
// request says has to stay the same.
func sent(t *testing.T, calls []inference.Call) [][]byte {
	t.Helper()
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		streamed("stop", `{"role":"assistant","content":"."}`)(w, r)
	}))
	defer server.Close()
	provider, err := wire.New(openaichat.Dialects()[0].API(), wire.Config{BaseURL: server.URL + "/v1"})
	require.NoError(t, err)
	var requests [][]byte
	var same string
	for i, call := range calls {
		call.Config = domain.LLMConfig{Provider: openaichat.Name, Model: "m"}
		_, err := provider.Infer(t.Context(), call, func(inference.Delta) {})
		require.NoError(t, err)
		var fields map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(body, &fields))
		var messages []json.RawMessage
		require.NoError(t, json.Unmarshal(fields["messages"], &messages))
		request := slices.Clone([]byte(fields["tools"]))
		for _, m := range messages {
			request = append(append(request, '\n'), m...)
		}
		requests = append(requests, request)
		for _, own := range []string{"tools", "messages", "max_tokens"} {
			delete(fields, own)
		}
		rest, err := json.Marshal(fields)
		require.NoError(t, err)
		if i > 0 {
			require.Equal(t, same, string(rest), "request %d", i)
		}
		same = string(rest)
	}
	return requests
}

// commonPrefix is how many bytes two requests begin with alike.
func commonPrefix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// shares gathers which part of each request its predecessor began with too.
type shares struct {
	mu     sync.Mutex
	values []float64
	broken int
}

// add compares each request with the one before it, and says where the prefix
// breaks: where a request does not begin with the whole one before.
func (s *shares) add(requests [][]byte) (breaks []int) {
	breaks = []int{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := 1; i < len(requests); i++ {
		s.values = append(s.values, float64(commonPrefix(requests[i-1], requests[i]))/float64(len(requests[i])))
		if !bytes.HasPrefix(requests[i], requests[i-1]) {
			breaks = append(breaks, i)
		}
	}
	s.broken += len(breaks)
	return breaks
}

// report logs the shares and returns their median.
func (s *shares) report(t *testing.T, what string) float64 {
	t.Helper()
	if len(s.values) == 0 {
		t.Logf("%s: NO request follows another one", what)
		return 1
	}
	slices.Sort(s.values)
	at := func(p int) float64 { return s.values[(len(s.values)-1)*p/100] }
	t.Logf("%s: %d requests after another; bytes that are a common prefix with the one before: median %.1f %%, p10 %.1f %%, least %.1f %%; %d do not begin with the whole one before",
		what, len(s.values), 100*at(50), 100*at(10), 100*at(0), s.broken)
	return at(50)
}

// turnCosts gathers what the turns of chats cost a provider.
type turnCosts struct {
	mu sync.Mutex
	// tokens are what each turn's requests have of them, as they are estimated, all of it and
	// what the request before did not have.
	tokens, fresh []int64
	// kept and all are the bytes of requests, and how many of them the next one begins with.
	kept, all int
}

// add takes a chat: its requests in order, and how many each turn made.
func (t *turnCosts) add(run testsuite.Run, requests [][]byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, before := 0, 0
	for _, e := range run.Executions {
		tokens, fresh := int64(0), int64(0)
		for range e.Steps {
			common := 0
			if i > 0 {
				common = commonPrefix(requests[i-1], requests[i])
				t.kept, t.all = t.kept+common, t.all+before
			}
			read := run.Asked[i].InputTokens()
			tokens, fresh = tokens+read, fresh+read*int64(len(requests[i])-common)/int64(len(requests[i]))
			before = len(requests[i])
			i++
		}
		t.tokens, t.fresh = append(t.tokens, tokens), append(t.fresh, fresh)
	}
}

func (t *turnCosts) report(b *testing.T, what domain.Compiler) {
	b.Helper()
	if t.all == 0 {
		b.Logf("%s: NO request follows another one", what)
		return
	}
	mean := func(all []int64) (sum int64) {
		for _, n := range all {
			sum += n
		}
		return sum / int64(len(all))
	}
	slices.Sort(t.tokens)
	b.Logf("%s: %d turns; estimated tokens of a turn's requests: mean %d, median %d, of which the request before had not: mean %d; the next request begins with %.1f %% of a request's bytes",
		what, len(t.tokens), mean(t.tokens), t.tokens[len(t.tokens)/2], mean(t.fresh), 100*float64(t.kept)/float64(t.all))
}

// TestRequestsKeepTheirPrefix: what a provider's prompt cache can take of the
// recorded runs' requests. Each request begins with the whole one before it, in a chat
// over all its turns; only a compaction breaks that, and with current_trace the end of an
// execution, which hides its traces.
func TestRequestsKeepTheirPrefix(t *testing.T) {
	t.Parallel()
	var long, chats, small shares
	perTurn := map[domain.Compiler]*turnCosts{domain.CurrentTrace: {}, domain.WholeConversation: {}}
	var outgrown atomic.Int64
	eachRecorded(t, func(t *testing.T, run wholeRun, _ *rand.Rand) {
		played := run.play(t, run.guarded())
		require.Equal(t, domain.StatusCompleted, played.Outcome.Status, "%+v", played.Error)
		require.Empty(t, long.add(sent(t, played.Asked)), "the prefix breaks without a compaction")

		for compiler, kept := range perTurn {
			chat := run.chat(t, compiler)
			requests := sent(t, chat.Asked)
			kept.add(chat, requests)
			if compiler == domain.WholeConversation {
				require.Empty(t, chats.add(requests))
				continue
			}
			for n, from := 0, 0; n < len(chat.Executions); n++ {
				to := from + len(chat.Executions[n].Steps)
				require.Empty(t, new(shares).add(requests[from:to]), "execution %d", n+1)
				from = to
			}
		}

		crowded := run.uncounted().play(t, domain.Definition{Model: domain.LLMConfig{ContextWindow: crowdedWindow}})
		require.Equal(t, domain.StatusCompleted, crowded.Outcome.Status, "%+v", crowded.Error)
		if run.bytes() > 8*crowdedWindow { // no token is longer on average, by any count
			outgrown.Add(1)
		}
		requests, compacted := crowdedRequests(crowded)
		for i, call := range requests {
			if last := call.Messages[len(call.Messages)-1].ToolResult; last != nil {
				said := run.steps[i-1].results
				require.True(t, last.Content == said[len(said)-1], "step %d: the newest result is shown as %.40q", i+1, last.Content)
			}
		}
		breaks := small.add(sent(t, requests))
		require.Equal(t, compacted, breaks, "the prefix breaks at compactions, and nowhere else")
	})
	if t.Failed() {
		return
	}
	long.report(t, "one execution a run")
	chats.report(t, "chats, over all their turns")
	for _, compiler := range []domain.Compiler{domain.CurrentTrace, domain.WholeConversation} {
		perTurn[compiler].report(t, compiler)
	}
	median := small.report(t, "a window of 5,000 tokens")
	if outgrown.Load() == 0 {
		t.Skip("NO run outgrows the window: nothing was compacted")
	}
	require.Positive(t, small.broken, "the window is too large to compact")
	if outgrown.Load() >= enough/10 { // a few may be all of long results
		require.Less(t, small.broken, len(small.values)/3, "a compaction leaves room for several steps")
		require.Greater(t, median, 0.8, "most requests stay cached even in a small window")
	}
}

// crowdedWindow is such that many recorded runs outgrow it, and every result of
// theirs fits it.
const crowdedWindow = 5000

// uncounted is the run with a model that reports no usage: what it would report
// is not known of a conversation that was compacted.
func (w wholeRun) uncounted() wholeRun {
	w.steps = slices.Clone(w.steps)
	for i := range w.steps {
		w.steps[i].usage = domain.Usage{}
	}
	return w
}

// crowdedRequests are the inferences that go on with the conversation, and the
// indexes of those before which it was compacted.
func crowdedRequests(run testsuite.Run) (calls []inference.Call, compacted []int) {
	compacted = []int{}
	for _, call := range run.Asked {
		if !call.Summary {
			calls = append(calls, call)
		}
	}
	for i := 1; i < len(calls); i++ {
		if !reflect.DeepEqual(run.Steps[i-1].Step.Input.Edits, run.Steps[i].Step.Input.Edits) {
			compacted = append(compacted, i)
		}
	}
	return calls, compacted
}

// chat plays the run as it was recorded: an execution for each message of the user.
func (w wholeRun) chat(t *testing.T, compiler domain.Compiler) testsuite.Run {
	t.Helper()
	replies := map[string][]testsuite.Reply{}
	var events []testsuite.Event
	for i, s := range w.steps {
		for k, c := range s.calls {
			replies[c.Function.Name] = append(replies[c.Function.Name], testsuite.Returns(s.results[k]))
		}
		if s.user != "" {
			events = append(events, testsuite.SendAt(time.Duration(i+1)*time.Minute, s.user))
		}
	}
	var tools []tool.Tool
	for _, name := range w.toolNames {
		spec := domain.ToolSpec{Name: name, Schema: json.RawMessage(anySchema), Effect: domain.Idempotent}
		tools = append(tools, testsuite.NewFake(spec, testsuite.InTurn(replies[name]...)).Tool())
	}
	env := testsuite.New(t, testsuite.Config{
		Definition: domain.Definition{SystemPrompt: w.system, Compiler: compiler}, Script: w.script(t), Tools: tools,
	})
	run := env.Run(w.prompt, events...)
	require.Len(t, run.Executions, len(events)+1)
	for n, e := range run.Executions {
		require.Equal(t, domain.StatusCompleted, e.Outcome.Status, "execution %d: %+v", n+1, e.Error)
	}
	return run
}
