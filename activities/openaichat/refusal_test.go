package openaichat_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openaichat"
	"everstep/domain"
	"everstep/testsuite/providers"
)

// TestRefusalsThatTeachNothing: what is not about a field that may be left out, or about its value, and what would not
// change the request, is no reason to ask again.
func TestRefusalsThatTeachNothing(t *testing.T) {
	t.Parallel()
	for says, status := range map[string]int{
		`{"error":{"message":"max_tokens is too large: 1000. This model supports at most 100 completion tokens","param":"max_tokens"}}`: 400,
		`{"error":{"message":"This model does not support more than 100 max_tokens","param":"max_tokens"}}`:                             400,
		`{"error":{"message":"'temperature' must be between 0 and 2","param":"temperature"}}`:                                           400,
		`{"error":{"message":"tools is not supported","param":"tools"}}`:                                                                400,
		`{"detail":[{"loc":["body","tools",0,"function","parameters","x"],"msg":"Extra inputs are not permitted"}]}`:                    422,
		`{"error":{"message":"response_format is not supported by this model","param":"response_format"}}`:                              400,
		`{"error":{"message":"Invalid schema for function 'f'","param":"tools[0].function.parameters"}}`:                                400,
		`{"error":{"message":"stop it, this user is not allowed to use the model"}}`:                                                    400,
		`{"error":{"message":"Unrecognized request argument supplied: top_k"}}`:                                                         400,
		`{"error":{"message":"seed is not supported","code":"insufficient_quota"}}`:                                                     400,
		`{"error":{"message":"Unsupported parameter: 'seed'","param":"seed"}}`:                                                          502,
		`{"detail":[{"loc":7,"msg":["x"]}],"param":7,"input":"seed is not supported"}`:                                                  422,
		`{"error":{"message":"Invalid parameter: max_tokens must be in [1, 4096]"}}`:                                                    400,
		`{"error":{"message":"Invalid parameter: max_tokens"}}`:                                                                         400,
		`{"error":{"message":"Invalid parameter: seed: 7 is none of the seeds"}}`:                                                       400,
		`{"error":{"message":"'seed' 7 is not valid, not among 1, 2"}}`:                                                                 400,
		`{"error":{"message":"Conversation roles must alternate user and assistant"}}`:                                                  400,
		`null`: 400, ``: 400, `[]`: 422, `"`: 400,
	} {
		requests := 0
		server := providers.ServeFunc(t, func(w http.ResponseWriter, _ *http.Request) {
			requests++
			w.WriteHeader(status)
			_, _ = w.Write([]byte(says))
		})
		call := question()
		half := 0.5
		call.Config.Temperature, call.MaxOutputTokens = &half, 1000
		call.Config.Options = domain.Metadata{"seed": []byte("7"), "user": []byte(`"ann"`), "stop": []byte(`"x"`)}
		call.Tools = []domain.ToolSpec{{Name: "f"}}
		_, err := provider(t, server.URL).Infer(t.Context(), call, func(inference.Delta) {})
		require.Error(t, err)
		require.NotErrorAs(t, err, new(*inference.Adapted), says)
		require.Equal(t, 1, requests)
	}
}

// TestRefusalsThatTeach: what a server says of a conversation with all kinds of turns is understood in the words of each.
func TestRefusalsThatTeach(t *testing.T) {
	t.Parallel()
	const turns, content = "with roles that take turns", "with a content in each message of the model"
	for says, told := range map[string]string{
		`m does not support successive user or assistant messages (messages[1] and messages[2] in your input). You should interleave them.`: turns,
		`The first message (except the system message) of m must be a user message, but an assistant message detected.`:                     turns,
		`The last message of m must be a user message, or an assistant message with prefix mode on.`:                                        turns,
		`Cannot have 2 or more assistant messages at the end of the list.`:                                                                  turns,
		`Assistant response prefill is incompatible with enable_thinking.`:                                                                  turns,
		"Last message must have role `user`.":                                                                                               turns,
		`Please ensure that function call turn comes immediately after a user turn or after a function response turn.`:                      turns,
		`Invalid request: the message at position 2 with role 'assistant' must not be empty`:                                                content,
		`'NoneType' object is not iterable`:                                                                                                 content,
		`Last message must have role 'user' or 'tool'. After these, messages should alternate with assistant ones.`:                         turns,
		`Please ensure that multiturn requests alternate between user and model`:                                                            turns,
		`Only user, assistant and tool roles are supported, with the exception of an initial optional system message!`:                      turns,
		`Unexpected message role.`:                      turns,
		`messages must end with a user or tool message`: turns,
		`Error rendering prompt with jinja template: "Only user and assistant roles are supported!"`:                       "with its instructions in a message of the user",
		`This model doesn't support system messages. Try again without a system message.`:                                  "with its instructions in a message of the user",
		`invalid params, chat content is empty (2013)`:                                                                     content,
		`AiError: Bad input: Type mismatch of '/messages/2/content', 'null' not in 'string'`:                               content,
		`Tool call id was a but must be a-z, A-Z, 0-9, with a length of 9.`:                                                "with ids of calls of nine letters",
		`This model doesn't support tool use in streaming mode.`:                                                           "without stream",
		`"m" does not support thinking`:                                                                                    "without reasoning_effort",
		"body -> seed\n  Extra inputs are not permitted (type=extra_forbidden)":                                            "without seed",
		`Json document validation error: seed is not allowed`:                                                              "without seed",
		`Unknown arguments found: seed`:                                                                                    "without seed",
		`ValidationException: #: extraneous key [seed] is not permitted`:                                                   "without seed",
		`seed is an invalid parameter`:                                                                                     "without seed",
		`Invalid field: user`:                                                                                              "without user",
		"The parameter `seed` specified in the request is not valid.":                                                      "without seed",
		`<400> InternalError: The seed parameter does not support being set to 7`:                                          "without seed",
		`The parameter seed is not valid: above the maximum value`:                                                         "",
		`invalid message content type: <nil>`:                                                                              content,
		"`seed` is deprecated for this model.":                                                                             "without seed",
		"`seed` and `user` cannot both be specified for this model. Please use only one.":                                  "without seed",
		`Invalid parameter: seed must be disabled for this model.`:                                                         "without seed",
		`Invalid parameter: seed must not be set.`:                                                                         "without seed",
		`'seed' is not valid here and should be omitted.`:                                                                  "without seed",
		`Invalid parameter: 'seed' must be null.`:                                                                          "without seed",
		`Invalid parameter: 'seed' must not be null or negative.`:                                                          "",
		`Invalid parameter: seed should not be set above 5`:                                                                "",
		"max_tokens cannot be set to a value larger than 8192":                                                             "",
		"'max_tokens' must be null or a positive integer":                                                                  "",
		"max_tokens must not be set.":                                                                                      "",
		"'user' must be null, a string or an array of strings":                                                             "",
		"Invalid parameter: seed must be unset or in [1, 4096]":                                                            "",
		"'seed' cannot be set to 3":                                                                                        "",
		"'seed' cannot be used together with 'reasoning_effort'":                                                           "",
		"'seed' cannot be used with this model":                                                                            "without seed",
		"'max_tokens' is not allowed to be set above 4096":                                                                 "",
		"max_tokens is not supported above 8192":                                                                           "",
		"'seed' is not supported, see above":                                                                               "without seed",
		"'reasoning_effort' cannot be used with the value 'low'":                                                           "",
		"'seed' cannot be used with the 'user' parameter":                                                                  "",
		"'user' cannot be given in the form of a list":                                                                     "",
		"'seed' should be a positive integer or should be omitted.":                                                        "",
		"`seed` may only be set to 1 when thinking is enabled.":                                                            "without seed",
		`'seed' is not permitted by the schema of the parameters`:                                                          "without seed",
		`property seed should not exist`:                                                                                   "without seed",
		`'seed' should not exist beside 'user'`:                                                                            "without seed",
		`Parameter 'seed' is not yet supported`:                                                                            "without seed",
		`unrecognised option: seed`:                                                                                        "without seed",
		"'seed' is not compatible with tools":                                                                              "without seed",
		`Cannot use tools with stream`:                                                                                     "without stream",
		`Stream mode is not supported with tools`:                                                                          "without stream",
		`The upstream model does not support tools`:                                                                        "",
		`'system' is not one of ['assistant', 'user', 'tool', 'function'] - 'messages.0.role'`:                             "with its instructions in a message of the user",
		`'low' is not one of ['none', 'high'] - 'reasoning_effort'`:                                                        "",
		`'messages' array must only contain objects with a 'content' field that is not empty`:                              content,
		`Invalid request content: Each message must have at least one content element.`:                                    content,
		`None is not of type 'string' - 'messages.2.content'`:                                                              content,
		`'seed' is not of type 'string'`:                                                                                   "",
		`A user message cannot directly follow a tool message`:                                                             turns,
		`for 'role:user' the following must be satisfied[('messages.1' : value is too long)]`:                              "",
		`No endpoints found that support the provided 'seed' value.`:                                                       "without seed",
		`Invalid seed type: 'number'. Supported string values: none`:                                                       "without seed",
		`Invalid value of 'seed': 7. Supported values are: 1`:                                                              "without seed",
		`[{'type': 'extra_forbidden', 'loc': ('body', 'seed'), 'msg': 'Extra inputs are not permitted', 'input': 7}]`:      "without seed",
		`{'type': 'extra_forbidden', 'loc': ('body', 'x'), 'msg': 'Extra inputs are not permitted', 'input': {'seed': 7}}`: "",
	} {
		status := http.StatusBadRequest
		if strings.HasPrefix(says, "No endpoints") {
			status = http.StatusNotFound
		}
		body, err := json.Marshal(map[string]any{"error": map[string]any{"message": says}})
		require.NoError(t, err)
		server := providers.ServeFunc(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write(body)
		})
		call := question()
		call.Config.Options, call.System = domain.Metadata{"max_tokens": []byte("9000"), "seed": []byte("7"), "user": []byte(`"ann"`), "reasoning_effort": []byte(`"low"`)}, "be brief"
		model := domain.Message{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}}}
		call.Messages = append(call.Messages, model, domain.ToolMessage(domain.ToolResult{CallID: "a", Content: "1"}), domain.UserMessage("and?"), model)
		_, err = provider(t, server.URL).Infer(t.Context(), call, func(inference.Delta) {})
		require.Equal(t, told != "", errors.As(err, new(*inference.Adapted)), says)
		require.ErrorContains(t, err, told, says)
	}
}

// TestABoundOfNoName: a server that takes neither name of the bound is refused in a sentence, and asked no third time; one
// without a bound is none the worse.
func TestABoundOfNoName(t *testing.T) {
	t.Parallel()
	requests := 0
	server := providers.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		requests++
		body, _ := io.ReadAll(r.Body)
		for _, name := range []string{"max_tokens", "max_completion_tokens"} {
			if strings.Contains(string(body), name) {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = w.Write([]byte(`{"error":{"message":"Unknown field: ` + name + `"}}`))
				return
			}
		}
		_, _ = w.Write([]byte(`{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`))
	})
	p := provider(t, server.URL)
	call := question()
	call.MaxOutputTokens = 9
	for range 2 {
		_, err := p.Infer(t.Context(), call, func(inference.Delta) {})
		require.ErrorAs(t, err, new(*inference.Adapted))
	}
	for range 2 {
		_, failed := providers.Infer(t, p, call)
		require.Equal(t, "max_output_tokens: the server takes neither max_tokens nor max_completion_tokens, so nothing would bound an answer; leave max_tokens and max_cost out, or use another server", failed.Message)
		require.Equal(t, domain.Invalid, failed.Kind)
		require.False(t, failed.Billed)
	}
	require.Equal(t, 2, requests)
	_, failed := providers.Infer(t, p, question())
	require.Nil(t, failed)
}

// TestLessonsAreOfAServerAndAModel: another model of the same server, and another server, are asked in full.
func TestLessonsAreOfAServerAndAModel(t *testing.T) {
	t.Parallel()
	var bodies []string
	server := providers.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":{"message":"Unknown field: stream_options"}}`))
	})
	p, err := wire.New(openaichat.APIs()[0], wire.Config{BaseURL: server.URL + "/v1", AllowBaseURLs: []string{"*"}})
	require.NoError(t, err)
	for _, test := range []struct {
		path, model string
		full        bool
	}{{"/v1", "m", true}, {"/v1", "m", false}, {"/v1", "n", true}, {"/v2", "m", true}, {"/v1", "n", false}} {
		call := question()
		call.Config.Model, call.Config.BaseURL = test.model, server.URL+test.path
		_, err := p.Infer(t.Context(), call, func(inference.Delta) {})
		require.Error(t, err)
		require.Equal(t, test.full, strings.Contains(bodies[len(bodies)-1], "stream_options"), "%+v", test)
	}
}

// TestStrictIsLeftOut of tools and of formats, where a server knows neither.
func TestStrictIsLeftOut(t *testing.T) {
	t.Parallel()
	server := providers.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), `"strict"`) {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, `{"detail":[{"loc":["body","tools",0,"function","strict"],"msg":"Extra inputs are not permitted"}]}`)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`)
	})
	for _, mode := range []domain.OutputMode{domain.OutputTool, domain.OutputNative} {
		p, call := provider(t, server.URL), told(mode, domain.ResponseFormat{Type: domain.FormatSchema, Name: "out", Schema: []byte(strictSchema)})
		_, err := p.Infer(t.Context(), call, func(inference.Delta) {})
		require.ErrorContains(t, err, "; asked again without strict", mode)
		_, failed := providers.Infer(t, p, call)
		require.Nil(t, failed, mode)
	}
}
