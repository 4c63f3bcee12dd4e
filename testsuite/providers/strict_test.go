package providers

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openaichat"
	"everstep/domain"
)

// A strictVendor is a server of chat completions that takes not all that others take.
type strictVendor struct {
	// at is its base URL. Empty: a server that nobody knows.
	at string
	// refuses says what is wrong with a request.
	refuses func(chatRequest) bool
	// status and says are its own form of saying it.
	status int
	says   string
	// asked is how many requests it refuses, and told how the next ones differ.
	asked int
	told  string
}

// A chatRequest is a request as a vendor reads it.
type chatRequest map[string]any

func (r chatRequest) has(field string) bool { _, ok := r[field]; return ok }

func (r chatRequest) messages() (all []map[string]any) {
	for _, m := range r["messages"].([]any) {
		all = append(all, m.(map[string]any))
	}
	return all
}

// said reports whether a message of a role fits.
func (r chatRequest) said(role string, fits func(map[string]any) bool) bool {
	return slices.ContainsFunc(r.messages(), func(m map[string]any) bool { return m["role"] == role && fits(m) })
}

func has(field string) func(chatRequest) bool {
	return func(r chatRequest) bool { return r.has(field) }
}

func saidWith(role, field string) func(chatRequest) bool {
	return func(r chatRequest) bool {
		return r.said(role, func(m map[string]any) bool { _, ok := m[field]; return ok })
	}
}

func saidWithout(role, field string) func(chatRequest) bool {
	return func(r chatRequest) bool {
		return r.said(role, func(m map[string]any) bool { _, ok := m[field]; return !ok })
	}
}

// follows reports whether a role stands right after another.
func follows(role, before string) func(chatRequest) bool {
	return func(r chatRequest) bool {
		all := r.messages()
		return slices.ContainsFunc(all[1:], func(m map[string]any) bool {
			k := slices.IndexFunc(all, func(o map[string]any) bool { return fmt.Sprint(o) == fmt.Sprint(m) })
			return m["role"] == role && k > 0 && all[k-1]["role"] == before
		})
	}
}

func either(some ...func(chatRequest) bool) func(chatRequest) bool {
	return func(r chatRequest) bool {
		return slices.ContainsFunc(some, func(one func(chatRequest) bool) bool { return one(r) })
	}
}

// badArguments reports whether a call in the history has arguments that are no object of JSON.
func badArguments(r chatRequest) bool {
	return r.said("assistant", func(m map[string]any) bool {
		calls, _ := m["tool_calls"].([]any)
		return slices.ContainsFunc(calls, func(call any) bool {
			text := call.(map[string]any)["function"].(map[string]any)["arguments"].(string)
			return json.Unmarshal([]byte(text), &map[string]any{}) != nil
		})
	})
}

// unsigned reports whether a call has come back without its signature.
func unsigned(r chatRequest) bool {
	return r.said("assistant", func(m map[string]any) bool {
		calls, _ := m["tool_calls"].([]any)
		return slices.ContainsFunc(calls, func(call any) bool {
			return fmt.Sprint(call.(map[string]any)["extra_content"]) != "map[google:map[thought_signature:sig==]]"
		})
	})
}

// otherIDs reports whether the id of a call has not nine letters.
func otherIDs(r chatRequest) bool {
	return r.said("tool", func(m map[string]any) bool { return len(m["tool_call_id"].(string)) != 9 })
}

// openAIError is the form that OpenAI has, and those who follow it.
func openAIError(message, param, code string) string {
	text, _ := json.Marshal(map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "param": param, "code": code}})
	return string(text)
}

// extra is what FastAPI says of a field.
func extra(path string) string {
	return `{"detail":[{"type":"extra_forbidden","loc":` + path + `,"msg":"Extra inputs are not permitted","input":{"model":"echoed","messages":[{"name":"echoed"}]}}]}`
}

var strictVendors = map[string]strictVendor{
	"FastAPI, a field":                    {refuses: has("stream_options"), status: 422, says: extra(`["body","stream_options"]`), asked: 1, told: "without stream_options"},
	"FastAPI, a field inside of one":      {refuses: has("stream_options"), status: 422, says: extra(`["body","stream_options","include_usage"]`), asked: 1, told: "without stream_options"},
	"FastAPI inside of a message":         {refuses: has("stream_options"), status: 422, says: `{"object":"error","message":` + extra(`["body","stream_options"]`) + `,"type":"invalid_request_error"}`, asked: 1, told: "without stream_options"},
	"FastAPI inside of a text":            {refuses: has("max_tokens"), status: 422, says: openAIError(extra(`["body","max_tokens"]`), "", "1000"), asked: 1, told: "with max_completion_tokens in place of max_tokens"},
	"FastAPI, a name":                     {refuses: saidWith("user", "name"), status: 422, says: extra(`["body","messages",1,"user","name"]`), asked: 1, told: "without name"},
	"OpenAI, the older name of the bound": {refuses: has("max_tokens"), status: 400, says: openAIError("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "max_tokens", "unsupported_parameter"), asked: 1, told: "with max_completion_tokens in place of max_tokens"},
	"OpenAI, a value":                     {refuses: has("temperature"), status: 400, says: openAIError("Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.", "temperature", "unsupported_value"), asked: 1, told: "without temperature"},
	"OpenAI, streams":                     {refuses: has("stream"), status: 400, says: openAIError("Your organization must be verified to stream this model.", "stream", "unsupported_value"), asked: 1, told: "without stream"},
	"OpenAI, older":                       {refuses: has("parallel_tool_calls"), status: 400, says: openAIError("Unrecognized request argument supplied: parallel_tool_calls", "", ""), asked: 1, told: "without parallel_tool_calls"},
	"OpenAI, a reasoner's effort":         {refuses: has("reasoning_effort"), status: 400, says: openAIError("Unrecognized request argument supplied: reasoning_effort", "", ""), asked: 1, told: "without reasoning_effort"},
	"Groq, unknown":                       {refuses: saidWith("user", "name"), status: 400, says: openAIError("'messages.1' : for 'role:user' the following must be satisfied[('messages.1' : property 'name' is unsupported)]", "", ""), asked: 1, told: "without name"},
	"Groq, unknown, of the model":         {refuses: saidWith("assistant", "reasoning_content"), status: 400, says: openAIError("'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]", "", ""), asked: 1, told: "without reasoning_content"},
	"Groq":                                {at: "http://api.groq.com/openai/v1", refuses: either(saidWith("user", "name"), saidWith("assistant", "reasoning_content")), status: 400, says: "{}"},
	"Cerebras, unknown":                   {refuses: saidWith("assistant", "reasoning_content"), status: 400, says: `{"message":"messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is unsupported","type":"invalid_request_error","param":"validation_error","code":"wrong_api_format"}`, asked: 1, told: "without reasoning_content"},
	"Cerebras":                            {at: "http://api.cerebras.ai/v1", refuses: either(saidWith("assistant", "reasoning_content"), has("max_tokens")), status: 400, says: "{}"},
	"xAI":                                 {refuses: has("reasoning_effort"), status: 400, says: `{"code":"Client specified an invalid argument","error":"Model m does not support parameter reasoningEffort."}`, asked: 1, told: "without reasoning_effort"},
	"xAI, older":                          {refuses: has("parallel_tool_calls"), status: 400, says: `{"code":"Client specified an invalid argument","error":"Argument not supported on this model: parallelToolCalls"}`, asked: 1, told: "without parallel_tool_calls"},
	"Google":                              {refuses: has("seed"), status: 400, says: `[{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"seed\": Cannot find field.","status":"INVALID_ARGUMENT"}}]`, asked: 1, told: "without seed"},
	"serde":                               {refuses: has("stream_options"), status: 422, says: "Failed to deserialize the JSON body into the target type: stream_options: unknown field `stream_options`, expected one of `messages`, `model`, `seed`, `temperature` at line 1 column 9", asked: 1, told: "without stream_options"},
	"Go":                                  {refuses: has("seed"), status: 400, says: `{"error":"json: unknown field \"seed\""}`, asked: 1, told: "without seed"},
	"text":                                {refuses: has("user"), status: 400, says: `Unknown parameter: user`, asked: 1, told: "without user"},
	"a router":                            {refuses: has("seed"), status: 400, says: `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"detail\":[{\"loc\":[\"body\",\"seed\"],\"msg\":\"Extra inputs are not permitted\"}]}","provider_name":"x"}}}`, asked: 1, told: "without seed"},
	"Fireworks":                           {refuses: has("stream_options"), status: 400, says: openAIError("Extra inputs are not permitted, field: 'stream_options', value: {'include_usage': True}", "", ""), asked: 1, told: "without stream_options"},
	"a proxy":                             {refuses: has("parallel_tool_calls"), status: 400, says: openAIError("UnsupportedParamsError: this vendor does not support parameters: {'parallel_tool_calls': True}, for model=m", "", ""), asked: 1, told: "without parallel_tool_calls"},
	"JSON Schema":                         {refuses: has("seed"), status: 400, says: `{"errors":[{"instancePath":"","keyword":"additionalProperties","params":{"additionalProperty":"seed"},"message":"must NOT have additional properties"}]}`, asked: 1, told: "without seed"},
	"a pointer":                           {refuses: has("seed"), status: 422, says: `{"title":"Unprocessable","errors":[{"pointer":"#/seed","detail":"is not allowed"}]}`, asked: 1, told: "without seed"},
	"errors by fields":                    {refuses: has("user"), status: 422, says: `{"message":"The given data was invalid.","errors":{"user":["This field is not supported."]}}`, asked: 1, told: "without user"},
	"keys":                                {refuses: has("user"), status: 400, says: `{"success":false,"error":{"name":"Error","issues":[{"code":"unrecognized_keys","keys":["user"],"path":[],"message":"Unrecognized key(s) in object: 'user'"}]}}`, asked: 1, told: "without user"},
	"one value":                           {refuses: has("temperature"), status: 400, says: openAIError("invalid temperature: only 1 is allowed for this model", "", ""), asked: 1, told: "without temperature"},
	"no streaming":                        {refuses: has("stream"), status: 501, says: openAIError("Streaming is not implemented", "", ""), asked: 1, told: "without stream"},
	"the last word, of a template": {
		refuses: func(r chatRequest) bool { return r.messages()[1]["role"] != "user" || follows("user", "tool")(r) }, status: 400, asked: 1, told: "with roles that take turns",
		says: openAIError("System message must be at the beginning.", "", ""),
	},
	"FastAPI, several": {
		refuses: either(has("seed"), has("user")), status: 422, asked: 1, told: "without seed and without user",
		says: `{"detail":[{"loc":["body","seed"],"msg":"Extra inputs are not permitted"},{"loc":["body","user"],"msg":"Extra inputs are not permitted"}]}`,
	},
	"no content beside calls": {refuses: saidWithout("assistant", "content"), status: 400, says: openAIError("Invalid value for 'content': expected a string, got null.", "messages.[2].content", ""), asked: 1, told: "with a content in each message of the model"},
	"FastAPI, no content":     {refuses: saidWithout("assistant", "content"), status: 422, says: `{"detail":[{"type":"missing","loc":["body","messages",2,"assistant","content"],"msg":"Field required","input":{"role":"assistant"}}]}`, asked: 1, told: "with a content in each message of the model"},
	"an empty content": {
		refuses: func(r chatRequest) bool {
			return r.said("assistant", func(m map[string]any) bool { return m["content"] == nil || m["content"] == "" })
		},
		status: 400, says: openAIError("message at position 2 with role 'assistant': content must not be empty", "", ""), asked: 2, told: "with a ",
	},
	"no developers": {
		refuses: func(r chatRequest) bool {
			return r.said("developer", func(map[string]any) bool { return true })
		}, at: "http://api.openai.com/v1", status: 400, asked: 1, told: "with the role system in place of developer",
		says: openAIError("Unsupported value: 'messages[0].role' does not support 'developer' with this model.", "messages[0].role", "unsupported_value"),
	},
	"no developers, older": {
		refuses: func(r chatRequest) bool {
			return r.said("developer", func(map[string]any) bool { return true })
		}, at: "http://api.openai.com/v1", status: 400, asked: 1, told: "with the role system in place of developer",
		says: openAIError("Invalid value: 'developer'. Supported values are: 'system', 'assistant', 'user', 'function', and 'tool'.", "messages[0].role", "invalid_value"),
	},
	"no system": {
		refuses: func(r chatRequest) bool { return r.said("system", func(map[string]any) bool { return true }) }, status: 400, asked: 1,
		says: `{"object":"error","message":"System role not supported","type":"BadRequestError","code":400}`, told: "with its instructions in a message of the user",
	},
	"roles, of a template": {refuses: either(follows("user", "tool"), follows("user", "user")), status: 500, says: `{"error":{"code":500,"message":"\n------------\nWhile executing CallExpression at line 189\nError: Jinja Exception: After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.","type":"server_error"}}`, asked: 1, told: "with roles that take turns"},
	"roles, of vLLM":       {refuses: follows("user", "tool"), status: 400, says: openAIError("Unexpected role 'user' after role 'tool'", "", ""), asked: 1, told: "with roles that take turns"},
	"Mistral":              {at: "http://api.mistral.ai/v1", refuses: either(follows("user", "tool"), follows("user", "user"), has("stream_options"), has("max_completion_tokens"), saidWith("user", "name"), otherIDs), status: 422, says: "{}"},
	"OpenAI":               {at: "http://api.openai.com/v1", refuses: either(has("max_tokens"), saidWith("assistant", "reasoning_content")), status: 400, says: "{}"},
	"ids of nine letters": {
		refuses: otherIDs, status: 400, asked: 1, told: "with ids of calls of nine letters",
		says: `{"object":"error","message":"Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.","type":"invalid_request_error"}`,
	},
	"reasoning is wanted": {
		refuses: saidWithout("assistant", "reasoning_content"), status: 400, says: openAIError("The `reasoning_content` in the thinking mode must be passed back to the API.", "", "invalid_request_error"),
	},
	"signatures are wanted":       {refuses: unsigned, status: 400, says: "Function call is missing a thought_signature in functionCall parts."},
	"arguments have to be read":   {refuses: badArguments, status: 400, says: openAIError("Expecting ',' delimiter: line 1 column 54 (char 53)", "", "")},
	"reasoning is to be left out": {refuses: saidWith("assistant", "reasoning_content"), status: 400, says: openAIError("The reasoning_content is an intermediate result for display purposes only. Please remove the reasoning_content from your message.", "", ""), asked: 1, told: "without reasoning_content"},
}

// TestStrictVendors: a run of three steps with a tool, a message that joins it, and a second message pass each vendor. What
// is refused by name is asked once more without it, and from then on from the start.
func TestStrictVendors(t *testing.T) {
	t.Parallel()
	for name, vendor := range strictVendors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vendor.play(t)
		})
	}
}

func (v strictVendor) play(t *testing.T) {
	t.Helper()
	s := serve(t, v.answer)
	config := wire.Config{BaseURL: s.URL + "/v1", Key: wire.FixedKey(Key)}
	if v.at != "" {
		config.BaseURL, config.Proxy = v.at, s.URL
	}
	p, err := wire.New(openaichat.APIs()[0], config)
	require.NoError(t, err)
	half := 0.5
	call := inference.Call{
		Config: domain.LLMConfig{Provider: openaichat.Name, Model: "m", Temperature: &half, Options: domain.Metadata{
			"parallel_tool_calls": []byte("true"), "seed": []byte("7"), "user": []byte(`"ann"`), "reasoning_effort": []byte(`"low"`),
		}},
		System: "be brief", Tools: []domain.ToolSpec{tool("weather", "city")}, MaxOutputTokens: 1000,
	}
	var told []string
	ask := func(said ...domain.Message) inference.Answer {
		call.Messages = append(call.Messages, said...)
		for {
			answer, err := p.Infer(t.Context(), call, func(inference.Delta) {})
			if adapted, ok := errors.AsType[*inference.Adapted](err); ok && len(told) < inference.MostAdapted {
				require.False(t, adapted.Refusal.Billed)
				told = append(told, adapted.Refusal.Message)
				continue
			}
			require.NoError(t, err)
			call.Messages = append(call.Messages, answer.Message)
			return answer
		}
	}
	ann := func(text string) domain.Message { m := domain.UserMessage(text); m.Name = "ann"; return m }
	result := func(a inference.Answer) domain.Message {
		require.Len(t, a.Message.ToolCalls, 1)
		return domain.ToolMessage(domain.ToolResult{CallID: a.Message.ToolCalls[0].ID, Name: "weather", Content: "sunny"})
	}
	first := ask(domain.Message{Role: domain.RoleDeveloper, Parts: domain.UserMessage("say please").Parts}, ann("it failed at first"), ann("the weather?"))
	second := ask(result(first))
	require.Equal(t, "done", ask(result(second), ann("and quickly")).Message.Text())
	require.Equal(t, "done", ask(ann("thanks")).Message.Text())

	require.Len(t, told, v.asked, "%s", told)
	for _, one := range told {
		require.Contains(t, one, "; asked again "+v.told)
	}
	bodies := map[string]bool{}
	for _, r := range s.asked() {
		require.False(t, bodies[r.body], "a request is sent twice")
		bodies[r.body] = true
	}
	require.Len(t, bodies, 4+v.asked)
}

// answer is a call of the weather twice, with arguments that are cut the second time, and then a text.
func (v strictVendor) answer(w http.ResponseWriter, _ *http.Request, body string) {
	var r chatRequest
	if json.Unmarshal([]byte(body), &r) != nil || v.refuses(r) {
		write(w, v.status, v.says)
		return
	}
	results := strings.Count(body, `"role":"tool"`)
	message := `{"role":"assistant","content":"done","reasoning_content":"so"}`
	if results < 2 {
		arguments := []string{`{\"city\":\"Paris\"}`, `{\"city\":\"Par`}[results]
		message = `{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"weather","arguments":"` +
			arguments + `"},"extra_content":{"google":{"thought_signature":"sig=="}}}]}`
	}
	if r.has("stream") {
		write(w, http.StatusOK, `data: {"id":"1","choices":[{"index":0,"delta":`+message+`,"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
		return
	}
	write(w, http.StatusOK, `{"id":"1","choices":[{"index":0,"message":`+message+`,"finish_reason":"stop"}]}`)
}
