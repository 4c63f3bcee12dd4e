package whole_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/anthropic"
	"everstep/activities/gemini"
	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openai"
	"everstep/activities/openaichat"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

// providerSteps is how many answers of a long run call a tool. One more ends it.
const providerSteps = 16

// Each answer has these tokens, and so has each that was cut.
const (
	tokensIn  = 30
	tokensOut = 7
)

// An apiTable is how an API says what the long run needs. Every body of a
// stream tells its usage before anything else.
type apiTable struct {
	provider func(wire.Config) (inference.Provider, error)
	// dialect means that another provider has the same API.
	dialect bool
	// results is what a request holds once for each tool result.
	results string
	// open begins an answer and says text; the rest of it is its end.
	open func(text string) string
	stop string
	// call goes on with one call of echo.
	call func(id, arguments string) string
	// rate and broken are the bodies of errors with status 429 and 500.
	rate, broken string
}

// TestEachProviderHasATable: none that a worker has goes without the tests that
// play all of them.
func TestEachProviderHasATable(t *testing.T) {
	t.Parallel()
	tables := apiTables()
	for _, name := range host.ProviderNames()[1:] { // the first needs no server
		require.NotNil(t, tables[name].provider, "apiTables has nothing for %s", name)
	}
	require.Len(t, tables, len(host.ProviderNames())-1)
}

// apiTables are the providers that have a server, by their names.
func apiTables() map[string]apiTable {
	named := func(name, fields string) string {
		return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + strings.TrimSuffix(","+fields, ",") + "}\n\n"
	}
	openAIError := `{"error":{"message":"not now","type":"server_error","code":null}}`
	chatUsage := fmt.Sprintf(`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, tokensIn, tokensOut, tokensIn+tokensOut)
	chunk := func(delta, finish string) string {
		return `data: {"id":"c1","model":"m-1","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}],` + chatUsage + "}\n\n"
	}
	inputOutput := fmt.Sprintf(`{"input_tokens":%d,"output_tokens":%d}`, tokensIn, tokensOut)
	respond := func(kind, status string) string {
		return named("response."+kind, `"response":{"id":"resp_1","model":"m-1","status":"`+status+`","output":[],"usage":`+inputOutput+`}`)
	}
	geminiEvent := func(finish, parts string) string {
		return fmt.Sprintf(`data: {"candidates":[{"content":{"role":"model","parts":[%s]},%s"index":0}],"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":%d,"totalTokenCount":%d},"modelVersion":"m-1"}`+"\r\n\r\n",
			parts, finish, tokensIn, tokensOut, tokensIn+tokensOut)
	}
	all := map[string]apiTable{
		openaichat.Name: {
			provider: func(c wire.Config) (inference.Provider, error) {
				return wire.New(openaichat.Dialects()[0].API(), c)
			},
			results: `"role":"tool"`,
			open:    func(text string) string { return chunk(fmt.Sprintf(`{"content":%q}`, text), "null") },
			stop:    chunk(`{}`, `"stop"`) + "data: [DONE]\n\n",
			call: func(id, arguments string) string {
				return chunk(fmt.Sprintf(`{"tool_calls":[{"index":0,"id":%q,"type":"function","function":{"name":"echo","arguments":%q}}]}`, id, arguments), "null") +
					chunk(`{}`, `"tool_calls"`) + "data: [DONE]\n\n"
			},
			rate: `{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}`, broken: openAIError,
		},
		openai.Name: {
			provider: func(c wire.Config) (inference.Provider, error) { return wire.New(openai.API(), c) },
			results:  `"type":"function_call_output"`,
			open: func(text string) string {
				return respond("created", "in_progress") + named("response.output_text.delta", fmt.Sprintf(`"output_index":0,"content_index":0,"delta":%q`, text)) +
					named("response.output_item.done", fmt.Sprintf(`"output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","annotations":[],"text":%q}]}`, text))
			},
			stop: respond("completed", "completed"),
			call: func(id, arguments string) string {
				return named("response.output_item.done", fmt.Sprintf(`"output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":%q,"name":"echo","arguments":%q,"status":"completed"}`, id, arguments)) +
					respond("completed", "completed")
			},
			rate: `{"error":{"message":"slow down","type":"tokens","code":"rate_limit_exceeded"}}`, broken: openAIError,
		},
		anthropic.Name: {
			provider: func(c wire.Config) (inference.Provider, error) { return wire.New(anthropic.API(), c) },
			results:  `"type":"tool_result"`,
			open: func(text string) string {
				return named("message_start", `"message":{"id":"msg_1","role":"assistant","model":"m-1","content":[],"usage":`+inputOutput+`}`) +
					named("message_delta", `"delta":{},"usage":`+inputOutput) +
					named("content_block_start", `"index":0,"content_block":{"type":"text","text":""}`) +
					named("content_block_delta", fmt.Sprintf(`"index":0,"delta":{"type":"text_delta","text":%q}`, text)) + named("content_block_stop", `"index":0`)
			},
			stop: named("message_delta", `"delta":{"stop_reason":"end_turn"},"usage":`+inputOutput) + named("message_stop", ""),
			call: func(id, arguments string) string {
				return named("content_block_start", fmt.Sprintf(`"index":1,"content_block":{"type":"tool_use","id":%q,"name":"echo","input":{}}`, id)) +
					named("content_block_delta", fmt.Sprintf(`"index":1,"delta":{"type":"input_json_delta","partial_json":%q}`, arguments)) + named("content_block_stop", `"index":1`) +
					named("message_delta", `"delta":{"stop_reason":"tool_use"},"usage":`+inputOutput) + named("message_stop", "")
			},
			rate:   `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`,
			broken: `{"type":"error","error":{"type":"api_error","message":"not now"}}`,
		},
		gemini.Name: {
			provider: func(c wire.Config) (inference.Provider, error) { return wire.New(gemini.API(), c) },
			results:  `"functionResponse"`,
			open:     func(text string) string { return geminiEvent("", fmt.Sprintf(`{"text":%q}`, text)) },
			stop:     geminiEvent(`"finishReason":"STOP",`, `{"text":""}`),
			call: func(id, arguments string) string {
				return geminiEvent(`"finishReason":"STOP",`, fmt.Sprintf(`{"functionCall":{"id":%q,"name":"echo","args":%s}}`, id, arguments))
			},
			rate:   `{"error":{"code":429,"message":"Resource exhausted.","status":"RESOURCE_EXHAUSTED"}}`,
			broken: `{"error":{"code":500,"message":"An internal error has occurred.","status":"INTERNAL"}}`,
		},
	}
	for _, d := range openaichat.Dialects()[1:] {
		table := all[openaichat.Name]
		table.dialect = true
		table.provider = func(c wire.Config) (inference.Provider, error) {
			return wire.New(d.API(), c)
		}
		all[d.Name] = table
	}
	return all
}

// A longServer answers by the conversation alone: the n-th answer is that to a
// request with n tool results. Every fifth request fails where it is faulty, in
// turn with too many requests, with an error, and with a stream that is cut in
// its middle or in a call.
type longServer struct {
	api    apiTable
	faulty bool

	mu             sync.Mutex
	requests, cuts int
	faults         int
}

func (s *longServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request, _ := io.ReadAll(r.Body)
	step := strings.Count(string(request), s.api.results)
	open, end := s.api.open("done"), s.api.stop
	if step < providerSteps {
		arguments, _ := json.Marshal(map[string]any{"text": fmt.Sprintf("step %d", step)})
		open, end = s.api.open(fmt.Sprintf("I begin step %d.", step)), s.api.call(fmt.Sprintf("call_%d", step), string(arguments))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if s.faulty && s.requests%5 == 0 {
		s.faults++
		switch s.faults % 4 {
		case 1:
			w.Header().Set("Retry-After-Ms", "20")
			http.Error(w, s.api.rate, http.StatusTooManyRequests)
			return
		case 2:
			http.Error(w, s.api.broken, http.StatusInternalServerError)
			return
		case 3:
			end = ""
		default:
			end = end[:len(end)/3]
		}
		s.cuts++
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, open+end)
}

// TestLongRunThroughEachProvider: a fifth of the requests fail, and nothing of
// it is seen in the conversation; the cost of what was cut is counted.
func TestLongRunThroughEachProvider(t *testing.T) {
	long(t)
	t.Parallel()
	for name, api := range apiTables() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			smooth, rough := &longServer{api: api}, &longServer{api: api, faulty: true}
			wanted, _ := throughProvider(t, name, smooth)
			got, outcome := throughProvider(t, name, rough)
			require.Len(t, wanted, 2*providerSteps+2)
			require.Equal(t, wanted, got)
			require.Equal(t, providerSteps+1, smooth.requests)
			require.Equal(t, providerSteps+1+rough.faults, rough.requests, "no request that failed is made more than once again")
			require.Equal(t, 4, rough.faults)
			require.Equal(t, 2, rough.cuts)
			paid := int64(providerSteps + 1 + rough.cuts)
			require.Equal(t, domain.Usage{InputTokens: paid * tokensIn, OutputTokens: paid * tokensOut}, outcome.Usage)
		})
	}
}

// throughProvider returns the conversation as it is read, without what differs between
// any two runs.
func throughProvider(t *testing.T, name string, played *longServer) ([]domain.Message, contract.Outcome) {
	t.Helper()
	server := httptest.NewServer(played)
	t.Cleanup(server.Close)
	provider, err := played.api.provider(wire.Config{BaseURL: server.URL, Key: wire.FixedKey("sk-canary")})
	require.NoError(t, err)
	s := start(t, host.Config{Tools: []tool.Tool{echo()}, Providers: map[string]inference.Provider{name: provider}})
	begun, err := s.agents.Start(within(t), client.Start{Prompt: "go", Definition: domain.Definition{
		Model: domain.LLMConfig{Provider: name, Model: "m-1"}, Tools: []string{"echo"},
	}})
	require.NoError(t, err)
	result, err := s.agents.Wait(within(t), begun.ID, 0)
	require.NoError(t, err)
	require.Equal(t, domain.StatusCompleted, result.Outcome.Status, "%v", result.Error)
	require.Equal(t, "done", result.Answer)
	require.Equal(t, providerSteps+1, result.Outcome.Steps)
	var messages []domain.Message
	for _, entry := range collect(t, s.agents.Messages(within(t), begun.ID)) {
		plain := domain.Message{Role: entry.Message.Role, Parts: entry.Message.Parts, ToolCalls: entry.Message.ToolCalls, Name: entry.Message.Name}
		if r := entry.Message.ToolResult; r != nil {
			plain.ToolResult = &domain.ToolResult{CallID: r.CallID, Name: r.Name, Content: r.Content}
		}
		messages = append(messages, plain)
	}
	return messages, result.Outcome
}
