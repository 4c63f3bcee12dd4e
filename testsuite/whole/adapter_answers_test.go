package whole_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	anthropicsdk "github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	openaisdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"everstep/activities/anthropic"
	"everstep/activities/gemini"
	"everstep/activities/inference"
	"everstep/activities/openai"
	"everstep/activities/openaichat"
	"everstep/domain"
)

// An asker makes one request of an answer's server and returns the text of the
// answer when it is whole. It tells heard each piece of it as it arrives.
type asker func(ctx context.Context, heard func(text string)) (string, error)

// An answerTable is how an API streams a long text, and a call with long
// arguments, as its vendor does it, and how the vendor's own SDK asks for it.
type answerTable struct {
	text answerShape
	// call is empty where calls come in one piece.
	call answerShape
	sdk  func(t testing.TB, server *httptest.Server) asker
}

// An answerShape is how an answer comes in pieces.
type answerShape struct {
	begin string
	piece func(i int, text string) string
	// end is all that follows on the last piece.
	end func(whole string) string
}

// answerTables are those of the APIs, by the name of the adapter.
func answerTables() map[string]answerTable {
	return map[string]answerTable{
		openaichat.Name: chatAnswers(), openai.Name: responsesAnswers(), anthropic.Name: messagesAnswers(), gemini.Name: geminiAnswers(),
	}
}

// sdkKey is a key for SDKs that want one.
const sdkKey = "none"

func chatAnswers() answerTable {
	chunk := func(delta, finish, more string) string {
		return `data: {"id":"chatcmpl-C3je6S7xCfmJsmk5ztC63YiPYHnHH","object":"chat.completion.chunk","created":1755006482,"model":"m-1","service_tier":"default","system_fingerprint":null,` +
			`"choices":[{"index":0,"delta":` + delta + `,"logprobs":null,"finish_reason":` + finish + `}]` + more + "}\n\n"
	}
	end := func(finish string) func(string) string {
		return func(string) string {
			return chunk(`{}`, finish, `,"usage":null,"obfuscation":"7"`) +
				`data: {"id":"chatcmpl-C3je6S7xCfmJsmk5ztC63YiPYHnHH","object":"chat.completion.chunk","created":1755006482,"model":"m-1","service_tier":"default","system_fingerprint":null,"choices":[],` +
				`"usage":{"prompt_tokens":30,"completion_tokens":7,"total_tokens":37,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}},"obfuscation":""}` +
				"\n\ndata: [DONE]\n\n"
		}
	}
	return answerTable{
		text: answerShape{
			begin: chunk(`{"role":"assistant","content":"","refusal":null}`, "null", `,"usage":null,"obfuscation":"0mjcQ"`),
			piece: func(i int, text string) string {
				return chunk(fmt.Sprintf(`{"content":%q}`, text), "null", `,"usage":null,"obfuscation":"`+"CeXKZ2vY"[:i%8]+`"`)
			},
			end: end(`"stop"`),
		},
		call: answerShape{
			begin: chunk(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"write","arguments":""}}],"refusal":null}`, "null", `,"usage":null,"obfuscation":"0mjcQ"`),
			piece: func(i int, text string) string {
				return chunk(fmt.Sprintf(`{"tool_calls":[{"index":0,"function":{"arguments":%q}}]}`, text), "null", `,"usage":null,"obfuscation":"`+"CeXKZ2vY"[:i%8]+`"`)
			},
			end: end(`"tool_calls"`),
		},
		sdk: func(_ testing.TB, server *httptest.Server) asker {
			sdk := openaisdk.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey(sdkKey), option.WithMaxRetries(0), option.WithHTTPClient(server.Client()))
			return func(ctx context.Context, heard func(string)) (string, error) {
				stream := sdk.Chat.Completions.NewStreaming(ctx, openaisdk.ChatCompletionNewParams{
					Model: "m-1", Messages: []openaisdk.ChatCompletionMessageParamUnion{openaisdk.UserMessage("go")},
					StreamOptions: openaisdk.ChatCompletionStreamOptionsParam{IncludeUsage: openaisdk.Bool(true)},
				})
				defer stream.Close()
				var answer openaisdk.ChatCompletionAccumulator
				for stream.Next() {
					chunk := stream.Current()
					answer.AddChunk(chunk)
					if len(chunk.Choices) > 0 {
						heard(chunk.Choices[0].Delta.Content)
					}
				}
				if stream.Err() != nil || len(answer.Choices) != 1 {
					return "", fmt.Errorf("%d choices: %w", len(answer.Choices), stream.Err())
				}
				said := answer.Choices[0].Message.Content
				for _, call := range answer.Choices[0].Message.ToolCalls {
					said += call.Function.Arguments
				}
				return said, nil
			}
		},
	}
}

func responsesAnswers() answerTable {
	const item = `"item_id":"msg_689f74ef2b1c8196a5e7e7c1a9b7d50105e045a92c8fd6eb","output_index":0,"content_index":0,`
	number := 0
	event := func(name, fields string) string {
		number++
		return fmt.Sprintf("event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,%s}\n\n", name, name, number, fields)
	}
	content := func(whole string) string {
		return fmt.Sprintf(`{"type":"output_text","annotations":[],"logprobs":[],"text":%q}`, whole)
	}
	message := func(status, content string) string {
		return `{"id":"msg_689f74ef2b1c8196a5e7e7c1a9b7d50105e045a92c8fd6eb","type":"message","status":"` + status + `","content":[` + content + `],"role":"assistant"}`
	}
	response := func(status, output, usage string) string {
		return `"response":{"id":"resp_689f74edf26c8196b5a4b46f729a73cc05e045a92c8fd6eb","object":"response","created_at":1755280621,"status":"` + status + `","background":false,"error":null,"incomplete_details":null,` +
			`"instructions":"You are a helpful assistant.","max_output_tokens":null,"max_tool_calls":null,"model":"m-1","output":[` + output + `],"parallel_tool_calls":true,"previous_response_id":null,"prompt_cache_key":null,` +
			`"reasoning":{"effort":null,"summary":null},"safety_identifier":null,"service_tier":"default","store":false,"temperature":1.0,"text":{"format":{"type":"text"},"verbosity":"medium"},"tool_choice":"auto","tools":[],` +
			`"top_logprobs":0,"top_p":1.0,"truncation":"disabled","usage":` + usage + `,"user":null,"metadata":{}}`
	}
	call := func(status, arguments string) string {
		return fmt.Sprintf(`{"id":"fc_689f74ef2b1c8196a5e7e7c1a9b7d50105e045a92c8fd6eb","type":"function_call","status":%q,"arguments":%q,"call_id":"call_1","name":"write"}`, status, arguments)
	}
	created := event("response.created", response("in_progress", "", "null")) + event("response.in_progress", response("in_progress", "", "null"))
	completed := func(output string) string {
		return event("response.completed", response("completed", output, `{"input_tokens":30,"input_tokens_details":{"cached_tokens":0},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":37}`))
	}
	return answerTable{
		text: answerShape{
			begin: created + event("response.output_item.added", `"output_index":0,"item":`+message("in_progress", "")) + event("response.content_part.added", item+`"part":`+content("")),
			piece: func(i int, text string) string {
				return event("response.output_text.delta", item+fmt.Sprintf(`"delta":%q,"logprobs":[],"obfuscation":%q`, text, "Xo3Yf81kQz0aB"[:i%14]))
			},
			end: func(whole string) string {
				return event("response.output_text.done", item+fmt.Sprintf(`"text":%q,"logprobs":[]`, whole)) + event("response.content_part.done", item+`"part":`+content(whole)) +
					event("response.output_item.done", `"output_index":0,"item":`+message("completed", content(whole))) + completed(message("completed", content(whole)))
			},
		},
		call: answerShape{
			begin: created + event("response.output_item.added", `"output_index":0,"item":`+call("in_progress", "")),
			piece: func(i int, text string) string {
				return event("response.function_call_arguments.delta", fmt.Sprintf(`"item_id":"fc_689f74ef2b1c8196a5e7e7c1a9b7d50105e045a92c8fd6eb","output_index":0,"delta":%q,"obfuscation":%q`, text, "Xo3Yf81kQz0aB"[:i%14]))
			},
			end: func(whole string) string {
				return event("response.function_call_arguments.done", fmt.Sprintf(`"item_id":"fc_689f74ef2b1c8196a5e7e7c1a9b7d50105e045a92c8fd6eb","output_index":0,"arguments":%q`, whole)) +
					event("response.output_item.done", `"output_index":0,"item":`+call("completed", whole)) + completed(call("completed", whole))
			},
		},
		sdk: func(_ testing.TB, server *httptest.Server) asker {
			sdk := openaisdk.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey(sdkKey), option.WithMaxRetries(0), option.WithHTTPClient(server.Client()))
			return func(ctx context.Context, heard func(string)) (string, error) {
				stream := sdk.Responses.NewStreaming(ctx, responses.ResponseNewParams{
					Model: "m-1", Input: responses.ResponseNewParamsInputUnion{OfString: openaisdk.String("go")}, Store: openaisdk.Bool(false),
				})
				defer stream.Close()
				var answer responses.Response
				for stream.Next() {
					switch e := stream.Current().AsAny().(type) {
					case responses.ResponseTextDeltaEvent:
						heard(e.Delta)
					case responses.ResponseCompletedEvent:
						answer = e.Response
					}
				}
				said := answer.OutputText()
				for _, item := range answer.Output {
					said += item.Arguments.OfString
				}
				return said, stream.Err()
			}
		},
	}
}

func messagesAnswers() answerTable {
	event := func(name, fields string) string {
		return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + fields + "}\n\n"
	}
	begin := func(block string) string {
		return event("message_start", `,"message":{"model":"m-1","id":"msg_013mC5haw9RdyWfQwbMANFXj","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"stop_details":null,`+
			`"usage":{"input_tokens":30,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":1,"service_tier":"standard","inference_geo":"not_available"}}`) +
			event("content_block_start", `,"index":0,"content_block":`+block) + event("ping", "")
	}
	end := func(reason string) func(string) string {
		return func(string) string {
			return event("content_block_stop", `,"index":0`) +
				event("message_delta", `,"delta":{"stop_reason":"`+reason+`","stop_sequence":null,"stop_details":null},"usage":{"input_tokens":30,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":7}`) +
				event("message_stop", "")
		}
	}
	return answerTable{
		text: answerShape{
			begin: begin(`{"type":"text","text":""}`),
			piece: func(_ int, text string) string {
				return event("content_block_delta", fmt.Sprintf(`,"index":0,"delta":{"type":"text_delta","text":%q}`, text))
			},
			end: end("end_turn"),
		},
		call: answerShape{
			begin: begin(`{"type":"tool_use","id":"toolu_1","name":"write","input":{}}`),
			piece: func(_ int, text string) string {
				return event("content_block_delta", fmt.Sprintf(`,"index":0,"delta":{"type":"input_json_delta","partial_json":%q}`, text))
			},
			end: end("tool_use"),
		},
		sdk: func(_ testing.TB, server *httptest.Server) asker {
			sdk := anthropicsdk.NewClient(anthropicoption.WithBaseURL(server.URL), anthropicoption.WithAPIKey(sdkKey), anthropicoption.WithMaxRetries(0), anthropicoption.WithHTTPClient(server.Client()))
			return func(ctx context.Context, heard func(string)) (string, error) {
				stream := sdk.Messages.NewStreaming(ctx, anthropicsdk.MessageNewParams{
					Model: "m-1", MaxTokens: 4096, Messages: []anthropicsdk.MessageParam{anthropicsdk.NewUserMessage(anthropicsdk.NewTextBlock("go"))},
				})
				defer stream.Close()
				var answer anthropicsdk.Message
				for stream.Next() {
					event := stream.Current()
					if err := answer.Accumulate(event); err != nil {
						return "", err
					}
					heard(event.Delta.Text)
				}
				if stream.Err() != nil || len(answer.Content) != 1 {
					return "", fmt.Errorf("%d blocks: %w", len(answer.Content), stream.Err())
				}
				return answer.Content[0].Text + string(answer.Content[0].Input), nil
			}
		},
	}
}

func geminiAnswers() answerTable {
	chunk := func(text, finish string, tokens int) string {
		return fmt.Sprintf(`data: {"candidates": [{"content": {"parts": [{"text": %q}],"role": "model"},%s"index": 0}],"usageMetadata": {"promptTokenCount": 30,"candidatesTokenCount": %d,"totalTokenCount": %d,`+
			`"promptTokensDetails": [{"modality": "TEXT","tokenCount": 30}]},"modelVersion": "m-1","responseId": "bWrPaKzMBcXavdIPmZbd0Qs"}`+"\r\n\r\n", text, finish, tokens, 30+tokens)
	}
	return answerTable{
		text: answerShape{
			piece: func(i int, text string) string { return chunk(text, "", i+1) },
			end:   func(string) string { return chunk("", `"finishReason": "STOP",`, 7) },
		},
		sdk: func(t testing.TB, server *httptest.Server) asker {
			sdk, err := genai.NewClient(context.Background(), &genai.ClientConfig{
				APIKey: sdkKey, Backend: genai.BackendGeminiAPI, HTTPClient: server.Client(), HTTPOptions: genai.HTTPOptions{BaseURL: server.URL},
			})
			require.NoError(t, err)
			return func(ctx context.Context, heard func(string)) (string, error) {
				var answer strings.Builder
				for chunk, err := range sdk.Models.GenerateContentStream(ctx, "m-1", genai.Text("go"), nil) {
					if err != nil {
						return "", err
					}
					heard(chunk.Text())
					answer.WriteString(chunk.Text())
				}
				return answer.String(), nil
			}
		},
	}
}

// through asks by an adapter.
func through(name string, provider inference.Provider) asker {
	return func(ctx context.Context, heard func(string)) (string, error) {
		call := inference.Call{Config: domain.LLMConfig{Provider: name, Model: "m-1"}, Messages: []domain.Message{domain.UserMessage("go")}, Attempt: 1}
		answer, err := provider.Infer(ctx, call, func(d inference.Delta) { heard(d.Text) })
		said := answer.Message.Text()
		for _, call := range answer.Message.ToolCalls {
			said += call.Arguments
		}
		return said, err
	}
}

// An answerServer streams one answer over and over.
type answerServer struct {
	*httptest.Server
	name, text  string
	first, last []byte
	// hold, where it is set, is waited for between the last piece and the end.
	hold func(context.Context)

	// heard is told when an asker has all pieces, and ended when the end was about
	// to be sent.
	heard chan struct{}
	ended chan time.Time
	// gate is closed when the answers of a gated server may end.
	gate atomic.Pointer[chan struct{}]
}

// newAnswerServer serves a text of so many pieces.
func newAnswerServer(name string, pieces int) *answerServer {
	return answers(name, answerTables()[name].text, pieces, "", "")
}

// newCallServer serves a call whose arguments come in so many pieces.
func newCallServer(name string, pieces int) *answerServer {
	return answers(name, answerTables()[name].call, pieces, `{"text":"`, `"}`)
}

func answers(name string, shape answerShape, pieces int, opening, closing string) *answerServer {
	words := strings.Fields("the agent asks a model for its next step and the model answers with words, one small piece after another, until it's done.")
	var text, body strings.Builder
	body.WriteString(shape.begin)
	for i := range pieces {
		piece := " " + words[i%len(words)]
		switch i {
		case 0:
			piece = opening + piece
		case pieces - 1:
			piece += closing
		}
		text.WriteString(piece)
		body.WriteString(shape.piece(i, piece))
	}
	s := &answerServer{
		name: name, text: text.String(), first: []byte(body.String()), last: []byte(shape.end(text.String())),
		heard: make(chan struct{}, 1), ended: make(chan time.Time, 1),
	}
	s.Server = httptest.NewUnstartedServer(s)
	return s
}

// held begins to serve, to one asker at a time: the end of an answer follows when
// all pieces were heard.
func (s *answerServer) held() *answerServer {
	s.hold = func(ctx context.Context) {
		select {
		case <-s.heard:
		case <-ctx.Done():
		}
		s.ended <- time.Now()
	}
	s.Start()
	return s
}

// gated begins to serve many at a time: all answers end when the gate of their
// time is closed.
func (s *answerServer) gated() *answerServer {
	s.hold = func(ctx context.Context) {
		select {
		case <-*s.gate.Load():
		case <-ctx.Done():
		}
	}
	s.Start()
	return s
}

func (s *answerServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = w.Write(s.first)
	if s.hold != nil {
		w.(http.Flusher).Flush()
		s.hold(r.Context())
	}
	_, _ = w.Write(s.last)
}

// listen hears the pieces of one answer.
func (s *answerServer) listen() func(string) {
	left := len(s.text)
	return func(text string) {
		if left -= len(text); left == 0 && text != "" {
			s.heard <- struct{}{}
		}
	}
}
