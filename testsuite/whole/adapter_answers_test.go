package whole_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
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

// sdks ask for an answer as the vendors' own SDKs do, by the name of the adapter.
func sdks() map[string]func(testing.TB, *httptest.Server) asker {
	return map[string]func(testing.TB, *httptest.Server) asker{
		openaichat.Name: askChat, openai.Name: askResponses, anthropic.Name: askMessages, gemini.Name: askGemini,
	}
}

// sdkKey is a key for SDKs that want one.
const sdkKey = "none"

func openAI(server *httptest.Server) openaisdk.Client {
	return openaisdk.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey(sdkKey), option.WithMaxRetries(0), option.WithHTTPClient(server.Client()))
}

func askChat(_ testing.TB, server *httptest.Server) asker {
	sdk := openAI(server)
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
}

func askResponses(_ testing.TB, server *httptest.Server) asker {
	sdk := openAI(server)
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
}

func askMessages(_ testing.TB, server *httptest.Server) asker {
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
}

func askGemini(t testing.TB, server *httptest.Server) asker {
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

// An answerServer streams one answer over and over. All that follows on its last piece is its last bytes.
type answerServer struct {
	*httptest.Server
	name, text  string
	first, last []byte
	// holds says that the end follows once its one asker has heard all pieces.
	holds bool
	// heard is told of that, and ended when the end was about to be sent.
	heard chan struct{}
	ended chan time.Time
}

// newAnswerServer serves a text of so many words, or a call with arguments of as many, each of which comes as a piece.
func newAnswerServer(name string, pieces int, isCall bool) *answerServer {
	words := strings.Fields("the agent asks a model for its next step and the model answers with words, one small piece after another, until it's done.")
	text := strings.Join(slices.Repeat(words, pieces/len(words)+1)[:pieces], " ")
	says := playedAnswer{step: plain, text: text, byWord: true, usage: domain.Usage{InputTokens: tokensIn, OutputTokens: tokensOut}}
	if isCall {
		var call recordedCall
		text = `{"text":"` + text + `"}`
		call.ID, call.Function.Name, call.Function.Arguments = "call_1", "write", text
		says.text, says.calls = "", []recordedCall{call}
	}
	apis := playedAPIs()
	events := apis[slices.IndexFunc(apis, func(api playedAPI) bool { return api.name == name })].play(says).events
	s := &answerServer{name: name, text: text, heard: make(chan struct{}, 1), ended: make(chan time.Time, 1)}
	for _, e := range events {
		if s.last = append(s.last, e.data...); e.text+e.arguments != "" {
			s.first, s.last = append(s.first, s.last...), nil
		}
	}
	s.Server = httptest.NewUnstartedServer(s)
	return s
}

func (s *answerServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = w.Write(s.first)
	if s.holds {
		w.(http.Flusher).Flush()
		select {
		case <-s.heard:
		case <-r.Context().Done():
		}
		s.ended <- time.Now()
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
