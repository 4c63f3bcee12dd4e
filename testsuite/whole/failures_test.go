package whole_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
)

// TestFailures plays each class of outcome of a request to a model API against an execution on a real server: what status,
// explain and the exit code tell, what was asked of the provider, what was counted and which tools ran. Which bodies are of
// which class is tested in testsuite/providers and by the adapters, without a server.
func TestFailures(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	t.Cleanup(func() { require.NotContains(t, s.log.String(), failureKey) })
	for n, c := range slices.Concat(eachAPIsCases(), unreachableCases(), refusedCases(), uselessCases(), finishCases(), budgetCases(), overflowCases(), []failureCase{stopCase()}) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s.begin(t, c, fmt.Sprint("played-", n)).see(t)
		})
	}
}

// eachAPIsCases are played in the form of each API: what came of an attempt that failed is counted, and kept nowhere.
func eachAPIsCases() (all []failureCase) {
	for _, api := range playedAPIs() {
		_, half := api.says("half an ans")
		all = append(all, failureCase{
			name: api.name + ", cut after a part that was billed", api: api, plays: []play{toldly(breaks(half)), fine(api)},
			check: func(t *testing.T, p *part) {
				t.Helper()
				require.Equal(t, domain.CodeMalformed, p.lostTo())
				require.Contains(t, p.view.Steps[0].Retries[0].Reason, "before the answer was whole")
				require.Equal(t, domain.Usage{InputTokens: tokensIn, OutputTokens: tokensOut}, p.view.Waste.Usage)
				recorded, err := newLookout(t, p.stack, nil).plain(p.historyNow(t, domain.WorkflowID(p.id), ""))
				require.NoError(t, err)
				require.NotContains(t, string(recorded), "half an", "what came of it is recorded nowhere")
			},
		})
	}
	return all
}

// unreachableCases: what surely was not sent cost nothing; what was sent may have been billed, and counts.
func unreachableCases() []failureCase {
	never := failing(domain.Unavailable, "", "cannot reach ", "check the base URL")
	never.failed = new(2)
	endlessly, over := dribbles()
	return []failureCase{
		{name: "nothing listens", want: never,
			define: func(s *client.Start) { twice(s); s.Definition.Model.BaseURL = "http://127.0.0.1:1/v1" },
			check: func(t *testing.T, p *part) {
				t.Helper()
				require.Len(t, p.view.Steps[0].Retries, 1, "both have the same reason")
				require.Equal(t, 2, p.view.Steps[0].Retries[0].Attempts)
				require.Zero(t, p.view.Totals.Usage.TotalTokens())
			}},
		{name: "reset before a header each time", plays: []play{breaksOff(), breaksOff()}, define: twice,
			want: failing(domain.Unavailable, "", "the connection to ", "broke before an answer came")},
		{name: "no end in the time of one inference", plays: []play{endlessly, fine(chatAPI())},
			define: func(s *client.Start) { s.Definition.InferenceTimeout = 5 * time.Second }, // the next one has to answer in it
			check: func(t *testing.T, p *part) {
				t.Helper()
				isClosed(t, over)
				require.Equal(t, domain.CodeTimeout, p.lostTo())
			}},
	}
}

// refusedCases: what waiting does not help is not asked for again, and says what to do.
func refusedCases() []failureCase {
	const rate, broken = `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`, `{"error":{"message":"not now","type":"server_error"}}`
	return []failureCase{
		{name: "no money", plays: []play{refuses(429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`, "Retry-After: 1")},
			want: failing(domain.Denied, domain.CodeQuota, "no money or quota left", "You exceeded your current quota")},
		{name: "no model", plays: []play{refuses(404, `{"error":{"message":"gone","code":"model_not_found"}}`)},
			want: failing(domain.Invalid, domain.CodeModelNotFound, "{model}", "{server}", "gone", "check the model's name")},
		{name: "a bad request", plays: []play{refuses(400, `{"error":{"message":"Unsupported value","type":"invalid_request_error","param":"temperature"}}`)},
			want: failing(domain.Invalid, "", "the provider refused the request (HTTP 400)", "Unsupported value (parameter temperature)")},
		{name: "a key that is refused, until it is another", want: failing(domain.Denied, domain.CodeAuth, "the provider refused the key", "check the key"),
			plays: []play{refuses(401, `{"error":{"message":"Incorrect API key provided: `+failureKey+`","code":"invalid_api_key"}}`)},
			check: func(t *testing.T, p *part) {
				t.Helper()
				p.mu.Lock()
				p.plays = append(p.plays, fine(chatAPI()))
				p.mu.Unlock()
				require.Contains(t, p.view.Advice[0].Command, "extend "+p.id)
				p.cli.ok("extend", p.id)
				require.Equal(t, "ok\n", p.cli.ok("result", p.id))
			}},
		{name: "too many requests each time", define: twice, plays: []play{refuses(429, rate), refuses(429, rate)}, want: failing(domain.Throttled, "", "too many requests (HTTP 429)")},
		{name: "broken each time", define: twice, plays: []play{refuses(500, broken), refuses(500, broken)}, want: failing(domain.Unavailable, "", "the provider failed (HTTP 500)")},
		{name: "a delay of a day ends with the budget", plays: []play{refuses(503, "", "Retry-After: 86400")}, want: stopping(domain.TimeLimitReached, "max_seconds"),
			define: func(s *client.Start) { s.Budget.MaxSeconds = new(10.0) }, // by enough for a busy machine to begin it
			check: func(t *testing.T, p *part) {
				t.Helper()
				require.Less(t, *p.view.Milliseconds, int64(20_000))
			}},
	}
}

// uselessCases: what is no answer is asked for again, but for what would be too large again. Operators see how it began.
func uselessCases() []failureCase {
	page := "<!DOCTYPE html><html><title>Sign in</title>" + failureKey + strings.Repeat("<p>page</p>", 1000) + "the end of the page</html>"
	empty := gives(chatStop + chatUsage + chatDone)
	return []failureCase{
		{name: "a page each time", define: twice, plays: []play{wrong("text/html", page), wrong("text/html", page)},
			want: failing(domain.Unavailable, domain.CodeMalformed, "is a page"),
			check: func(t *testing.T, p *part) {
				t.Helper()
				require.Contains(t, p.log.String(), "<title>Sign in</title>[key]", "operators see how it begins")
				require.NotContains(t, p.log.String(), "the end of the page")
				require.NotContains(t, p.said.err, "Sign in")
			}},
		{name: "neither text nor calls, twice", plays: []play{empty, empty}, want: failing(domain.Unavailable, domain.CodeEmptyResponse, "neither text nor tool calls, twice")},
		{name: "an answer that no message may hold", plays: []play{toldly(breaks(chatText(strings.Repeat("x", domain.MaxMessage)) + chatStop + chatUsage + chatDone))},
			want: failing(domain.TooLarge, "", "the model's answer has ", fmt.Sprintf("at most %d are allowed", domain.MaxMessage))},
	}
}

// finishCases: why the model stopped decides what becomes of its answer. What was cut, refused or filtered runs no tool.
func finishCases() []failureCase {
	half := chatCall("cut")
	return []failureCase{
		{name: "a refusal", plays: []play{gives(chatChunk(`{"refusal":"I will not."}`, "null") + chatStop + chatUsage + chatDone)}, want: ending{answer: "I will not."},
			check: func(t *testing.T, p *part) {
				t.Helper()
				require.Equal(t, domain.FinishRefusal, *p.view.Steps[0].FinishReason)
				require.Equal(t, domain.StepFinalResponse, *p.view.Steps[0].Type)
			}},
		{name: "filtered", plays: []play{gives(chatChunk("{}", `"content_filter"`) + chatUsage + chatDone)},
			want: failing(domain.Denied, domain.CodeFiltered, "the provider's filter withheld the answer")},
		{name: "cut by the token limit after a call", plays: []play{gives(half + chatChunk("{}", `"length"`) + chatUsage + chatDone), fine(chatAPI())},
			check: notRun("cut", "make them smaller")},
		{name: "cut by the token limit, which nobody says", api: responsesAPI(), plays: []play{gives(responsesCut), fine(responsesAPI())},
			define: func(s *client.Start) { s.Definition.Model.MaxOutputTokens = tokensOut }, check: notRun("cut in two", "make them smaller")},
	}
}

// notRun: a call that did not run counts for nothing, and the model is told why.
func notRun(text, says string) func(*testing.T, *part) {
	return func(t *testing.T, p *part) {
		t.Helper()
		require.Zero(t, p.ran(text))
		require.Zero(t, p.view.Totals.ToolCalls)
		require.Equal(t, domain.ToolNotRun, p.view.Steps[0].Tools[0].Outcome)
		require.Contains(t, p.requests()[1].body, says)
	}
}

// responsesCut is a call that the token limit cut, though the response calls itself completed.
const responsesCut = `data: {"type":"response.completed","response":{"id":"resp_1","model":"m-1","status":"completed","output":[` +
	`{"type":"function_call","id":"fc_1","call_id":"c1","name":"echo","arguments":"{\"text\":\"cut in two","status":"completed"}],"usage":{"input_tokens":30,"output_tokens":7}}}` + "\n\n"

// budgetCases: what nobody said the price of is estimated and counts.
func budgetCases() []failureCase {
	answered := play{serve: streams(chatText("ok") + chatStop + chatDone), whole: true, cost: costGuessed}
	return []failureCase{
		{name: "an answer whose usage is not told", plays: []play{answered},
			check: func(t *testing.T, p *part) {
				t.Helper()
				require.Positive(t, p.status.Usage.OutputTokens)
				require.Contains(t, p.cli.ok("explain", p.id), "~")
			}},
	}
}

// overflowCases: a conversation that is too long is made shorter, once; else it fails and is not sent again.
func overflowCases() []failureCase {
	refused := refuses(400, `{"error":{"message":"This model's maximum context length is 12000 tokens.","code":"context_length_exceeded"}}`)
	full, _ := messagesAPI().says("half an ans")
	window := toldly(breaks(strings.ReplaceAll(full, "end_turn", "model_context_window_exceeded")))
	pages := func(api playedAPI, plays ...play) []play {
		return append([]play{callsEcho(api, "first page", 1500), callsEcho(api, "second page", 1500)}, plays...)
	}
	shorter := func(t *testing.T, p *part) {
		t.Helper()
		require.Equal(t, 1, p.view.Totals.Compactions)
		before, after := p.requests()[2].body, p.requests()[3].body
		require.Less(t, len(after), len(before)*3/4)
		require.Equal(t, 2, strings.Count(after, p.api.results))
		require.Contains(t, after, "second page", "what the model has not seen yet stays")
		require.NotContains(t, after, "echo: first page")
		require.Contains(t, after, `"go"`)
	}
	return []failureCase{
		{name: "too long, made shorter", plays: pages(chatAPI(), refused, fine(chatAPI())), check: shorter},
		{name: "too long, in vain", plays: pages(chatAPI(), refused, refused), want: failing(domain.TooLarge, domain.CodeContextOverflow, "exceeds the context of model {model}"),
			check: func(t *testing.T, p *part) { t.Helper(); require.Equal(t, 1, p.view.Totals.Compactions) }},
		{name: "too long from the first", plays: []play{refused}, want: failing(domain.TooLarge, domain.CodeContextOverflow)},
		{name: "a window that was full in an answer", api: messagesAPI(), plays: pages(messagesAPI(), window, fine(messagesAPI())), check: shorter},
	}
}

// stopCase: a stop now closes the connection, and what had come was billed.
func stopCase() failureCase {
	_, half := chatAPI().says("half an ans")
	held, gone := stall(half)
	stopped := stopping(domain.UserRequested, "enough")
	stopped.failed = new(0)
	return failureCase{
		name: "stopped in the middle", plays: []play{toldly(held)}, want: stopped,
		meanwhile: func(t *testing.T, p *part) {
			t.Helper()
			require.Eventually(t, func() bool { return len(p.requests()) == 1 }, patience, time.Millisecond)
			p.stops(t, p.id, client.StopOptions{Mode: contract.StopNow, Reason: "enough"})
			isClosed(t, gone)
		},
	}
}

// callsEcho is an answer with one call of echo with a text, which it is to say so many times.
func callsEcho(api playedAPI, text string, times ...int) play {
	call := recordedCall{ID: "call_" + text[:1]}
	call.Function.Name, call.Function.Arguments = "echo", fmt.Sprintf(`{"text":%q}`, text)
	if len(times) > 0 {
		call.Function.Arguments = fmt.Sprintf(`{"text":%q,"times":%d}`, text, times[0])
	}
	whole, _ := api.says("I look.", call)
	return gives(whole)
}

// The APIs in whose forms single cases are played.
func chatAPI() playedAPI      { return playedAPIs()[0] }
func responsesAPI() playedAPI { return playedAPIs()[1] }
func messagesAPI() playedAPI  { return playedAPIs()[2] }
