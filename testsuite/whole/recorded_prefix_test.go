package whole_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
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
	provider := openAdapter(t, openaichat.Name, wire.Config{BaseURL: server.URL + "/v1"})
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
	if t.all == 0 || b.Failed() {
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

// TestRequestsKeepTheirPrefix: what a provider's prompt cache can take of the requests of recorded chats. Each request
// begins with the whole one before it, over all turns; with current_trace but for the first of an execution, which hides the
// trace of the one before.
func TestRequestsKeepTheirPrefix(t *testing.T) {
	t.Parallel()
	perTurn := map[domain.Compiler]*turnCosts{domain.CurrentTrace: {}, domain.WholeConversation: {}}
	eachRecorded(t, func(t *testing.T, recorded recordedRun, _ *rand.Rand) {
		for compiler, kept := range perTurn {
			chat := recorded.whole(25).chat(t, compiler)
			requests, at := sent(t, chat.Asked), 0
			kept.add(chat, requests)
			for n, e := range chat.Executions {
				for k := range e.Steps {
					if at > 0 && (k > 0 || compiler == domain.WholeConversation) {
						require.True(t, bytes.HasPrefix(requests[at], requests[at-1]), "execution %d, step %d", n+1, k+1)
					}
					at++
				}
			}
		}
	})
	for _, compiler := range []domain.Compiler{domain.CurrentTrace, domain.WholeConversation} {
		perTurn[compiler].report(t, compiler)
	}
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
		Definition: domain.Definition{SystemPrompt: w.system, Compiler: compiler}, Script: scriptOf(t, w.steps), Tools: tools,
	})
	run := env.Run(w.prompt, events...)
	require.Len(t, run.Executions, len(events)+1)
	for n, e := range run.Executions {
		require.Equal(t, domain.StatusCompleted, e.Outcome.Status, "execution %d: %+v", n+1, e.Error)
	}
	return run
}
