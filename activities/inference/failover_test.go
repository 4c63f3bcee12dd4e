package inference_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/anthropic"
	"everstep/activities/gemini"
	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openai"
	"everstep/activities/openaichat"
	"everstep/domain"
)

// A speaker is an adapter with an answer that its API gives, and the rules of
// that API for conversations.
type speaker struct {
	name, model string
	open        func(wire.Config) (inference.Provider, error)
	// answer has reasoning, a text and two calls. Its secrets are what nobody
	// else can read.
	answer  string
	thought string
	secrets []string
	// check holds a request against the API's rules and returns the results in it.
	check func(t *testing.T, body []byte) (results []string)
}

func speakers() []speaker {
	return []speaker{{
		name: openaichat.Name, model: "m-1",
		open: func(c wire.Config) (inference.Provider, error) {
			return wire.New(openaichat.APIs()[0], c)
		},
		answer: `{"choices":[{"message":{"content":"said by chat","reasoning":"thought by chat","reasoning_details":[{"type":"reasoning.encrypted","data":"secret of chat"}],` +
			`"tool_calls":[{"id":"call:1","function":{"name":"api.f","arguments":"{\"x\":1}"}},{"id":"call:1","function":{"name":"g","arguments":"not JSON"}}]},"finish_reason":"tool_calls"}]}`,
		thought: "thought by chat", secrets: []string{"secret of chat"}, check: checkChat,
	}, {
		name: openai.Name, model: "gpt-5",
		open: func(c wire.Config) (inference.Provider, error) { return wire.New(openai.API(), c) },
		answer: `{"id":"resp_1","status":"completed","output":[{"type":"reasoning","id":"rs_secret","encrypted_content":"secret of responses","summary":[{"type":"summary_text","text":"thought by responses"}]},` +
			`{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{\"x\":1}","status":"completed"},{"type":"message","id":"msg_1","phase":"commentary","content":[{"type":"output_text","text":"said by responses"}]},` +
			`{"type":"function_call","id":"fc_2","call_id":"call_1","name":"","arguments":"[1]","status":"completed"}]}`,
		thought: "thought by responses", secrets: []string{"secret of responses", "rs_secret"}, check: checkResponses,
	}, {
		name: anthropic.Name, model: "claude-sonnet-4-5",
		open: func(c wire.Config) (inference.Provider, error) { return wire.New(anthropic.API(), c) },
		answer: `{"type":"message","stop_reason":"tool_use","content":[{"type":"thinking","thinking":"thought by messages","signature":"secret of messages"},{"type":"redacted_thinking","data":"redacted secret"},` +
			`{"type":"tool_use","id":"toolu_1","name":"f","input":{"x":1}},{"type":"text","text":"said by messages"},{"type":"tool_use","id":"toolu_2","name":"g","input":{}}]}`,
		thought: "thought by messages", secrets: []string{"secret of messages", "redacted secret"}, check: checkMessages,
	}, {
		name: gemini.Name, model: "gemini-3.7-flash",
		open: func(c wire.Config) (inference.Provider, error) { return wire.New(gemini.API(), c) },
		answer: `{"candidates":[{"index":0,"finishReason":"STOP","content":{"role":"model","parts":[{"text":"thought by gemini","thought":true},{"text":"said by gemini"},` +
			`{"functionCall":{"name":"default_api.f","args":{"x":1}},"thoughtSignature":"c2VjcmV0IG9mIGdlbWluaQ=="},{"functionCall":{"name":"g","args":{}}}]}}]}`,
		thought: "thought by gemini", secrets: []string{"c2VjcmV0IG9mIGdlbWluaQ=="}, check: checkGemini,
	}}
}

// say answers a conversation with the speaker's answer, and returns the request.
func (s speaker) say(t *testing.T, messages []domain.Message) (domain.Message, []byte) {
	t.Helper()
	var sent []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, s.answer)
	}))
	defer server.Close()
	p, err := s.open(wire.Config{BaseURL: server.URL})
	require.NoError(t, err)
	answer, err := p.Infer(t.Context(), inference.Call{
		Config: domain.LLMConfig{Provider: s.name, Model: s.model}, System: "be brief", Messages: messages,
		Tools: []domain.ToolSpec{{Name: "f"}, {Name: "g", Schema: []byte(`{"type":"object"}`)}}, MaxOutputTokens: 1000,
	}, func(inference.Delta) {})
	require.NoError(t, err, "%s: %s", s.name, sent)
	recorded, err := json.Marshal(answer.Message)
	require.NoError(t, err)
	var m domain.Message
	require.NoError(t, json.Unmarshal(recorded, &m))
	require.Len(t, m.ToolCalls, 2)
	require.Contains(t, m.Text(), "said by ")
	return m, sent
}

// TestFailover: whoever spoke before, in any order, the next provider gets a
// conversation that it accepts, with all that was said and every result, and
// without what only another one can read.
func TestFailover(t *testing.T) {
	t.Parallel()
	all := speakers()
	for _, first := range all {
		for _, second := range all {
			t.Run(first.name+", "+second.name, func(t *testing.T) {
				t.Parallel()
				messages := []domain.Message{domain.UserMessage("hello")}
				var results, said []string
				for k, s := range []speaker{first, second} {
					m, sent := s.say(t, messages)
					require.Equal(t, results, s.check(t, sent))
					messages, said = append(messages, m), append(said, m.Text())
					for i, call := range m.ToolCalls {
						result := fmt.Sprintf("result %d of turn %d", i, k)
						messages = append(messages, domain.ToolMessage(domain.ToolResult{CallID: call.ID, Name: call.Name, Content: result, IsError: i == 1}))
						results = append(results, result)
					}
				}
				for _, last := range all {
					_, sent := last.say(t, messages)
					require.Equal(t, results, last.check(t, sent), last.name)
					for _, text := range said {
						require.Contains(t, string(sent), text)
					}
					for _, s := range all {
						for _, secret := range s.secrets {
							spoke := s.name == first.name || s.name == second.name
							require.Equal(t, s.name == last.name && spoke, strings.Contains(string(sent), secret), "%s and what %s wrote", last.name, s.name)
						}
						if s.name != last.name {
							require.NotContains(t, string(sent), s.thought, "%s and what %s thought", last.name, s.name)
						}
					}
				}
			})
		}
	}
}

func read[T any](t *testing.T, body []byte) (out T) {
	t.Helper()
	require.NoError(t, json.Unmarshal(body, &out), string(body))
	return out
}

var (
	plainName  = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	geminiName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`)
)

// checkChat: each call has an id of its own and its result right behind it.
func checkChat(t *testing.T, body []byte) (results []string) {
	t.Helper()
	type message struct {
		Role    string
		Content string
		CallID  string `json:"tool_call_id"`
		Calls   []struct {
			ID       string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	used, open := map[string]bool{}, []string{}
	for _, m := range read[struct{ Messages []message }](t, body).Messages {
		if m.Role == "tool" {
			require.NotEmpty(t, open)
			require.Equal(t, open[0], m.CallID)
			open, results = open[1:], append(results, m.Content)
			continue
		}
		require.Empty(t, open, "a call has no result")
		for _, c := range m.Calls {
			require.False(t, used[c.ID])
			require.Regexp(t, plainName, c.Function.Name)
			used[c.ID], open = true, append(open, c.ID)
		}
	}
	require.Empty(t, open)
	return results
}

// checkResponses: each call has an id of its own and one result, and reasoning
// has the item that it is for right behind it.
func checkResponses(t *testing.T, body []byte) (results []string) {
	t.Helper()
	type item struct {
		Type, Role, Name, Output string
		CallID                   string `json:"call_id"`
	}
	open, reasoning := map[string]bool{}, false
	for _, i := range read[struct{ Input []item }](t, body).Input {
		switch i.Type {
		case "reasoning":
			reasoning = true
			continue
		case "function_call":
			require.NotContains(t, open, i.CallID)
			require.Regexp(t, plainName, i.Name)
			open[i.CallID] = true
		case "function_call_output":
			require.False(t, reasoning, "reasoning for nothing")
			require.True(t, open[i.CallID])
			open[i.CallID], results = false, append(results, i.Output)
		default:
			require.NotEmpty(t, i.Role)
		}
		reasoning = false
	}
	require.False(t, reasoning)
	for id, waits := range open {
		require.False(t, waits, id)
	}
	return results
}

// checkMessages: turns alternate, and a turn with calls is followed by one that
// begins with their results.
func checkMessages(t *testing.T, body []byte) (results []string) {
	t.Helper()
	type block struct {
		Type, ID, Name, Text, Signature string
		CallID                          string `json:"tool_use_id"`
		Input                           map[string]any
		Content                         []struct{ Text string }
	}
	type message struct {
		Role    string
		Content []block
	}
	role, open := "assistant", []string{}
	for _, m := range read[struct{ Messages []message }](t, body).Messages {
		require.NotEqual(t, role, m.Role)
		role = m.Role
		require.NotEmpty(t, m.Content)
		for _, b := range m.Content {
			switch b.Type {
			case "tool_result":
				require.NotEmpty(t, open)
				require.Equal(t, open[0], b.CallID)
				open, results = open[1:], append(results, b.Content[0].Text)
				continue
			case "tool_use":
				require.Regexp(t, plainName, b.ID)
				require.Regexp(t, plainName, b.Name)
				require.NotContains(t, open, b.ID)
				require.NotNil(t, b.Input)
				open = append(open, b.ID)
			case "thinking":
				require.NotEmpty(t, b.Signature)
			case "text":
				require.NotEmpty(t, b.Text)
			}
			require.Condition(t, func() bool { return m.Role == "assistant" || len(open) == 0 }, "results come first")
		}
	}
	require.Empty(t, open)
	require.Equal(t, "user", role)
	return results
}

// checkGemini: contents alternate, one with calls is followed by one with as
// many results of the same names, and the first call of each is signed.
func checkGemini(t *testing.T, body []byte) (results []string) {
	t.Helper()
	type named struct {
		Name     string
		Args     map[string]any
		Response struct{ Output, Error string }
	}
	type part struct {
		Call      *named `json:"functionCall"`
		Result    *named `json:"functionResponse"`
		Signature string `json:"thoughtSignature"`
	}
	type content struct {
		Role  string
		Parts []part
	}
	role, open := "model", []string{}
	for _, c := range read[struct{ Contents []content }](t, body).Contents {
		require.NotEqual(t, role, c.Role)
		role = c.Role
		for _, p := range c.Parts {
			switch {
			case p.Call != nil:
				require.Regexp(t, geminiName, p.Call.Name)
				require.NotNil(t, p.Call.Args)
				if len(open) == 0 {
					require.NotEmpty(t, p.Signature)
				}
				open = append(open, p.Call.Name)
			case p.Result != nil:
				require.NotEmpty(t, open)
				require.Equal(t, open[0], p.Result.Name)
				open, results = open[1:], append(results, p.Result.Response.Output+p.Result.Response.Error)
			}
		}
		require.True(t, c.Role == "model" || len(open) == 0)
	}
	require.Empty(t, open)
	return results
}
