package providers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	messages "github.com/anthropics/anthropic-sdk-go"
	messagesoption "github.com/anthropics/anthropic-sdk-go/option"
	messagesevents "github.com/anthropics/anthropic-sdk-go/packages/ssestream"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"everstep/activities/anthropic"
	"everstep/activities/gemini"
	"everstep/activities/inference/wire"
	openairesponses "everstep/activities/openai"
	"everstep/activities/openaichat"
)

// The tests of this file show the reasons for which requests are sent and answers are read by package wire, and not by the
// clients and streams of the official SDKs. One that fails after an upgrade says that a reason is gone.

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answering(status int, body io.Reader) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(body), Request: r}, nil
	}
}

// rawEvents are the events of an SDK's stream as they came.
func rawEvents[T interface{ RawJSON() string }](stream interface {
	Next() bool
	Current() T
	Err() error
}) (events []string, err error) {
	for stream.Next() {
		events = append(events, strings.TrimSpace(stream.Current().RawJSON()))
	}
	return events, stream.Err()
}

// streamOf is what an SDK's client and stream give of an answer, event by event.
func streamOf(ctx context.Context, t *testing.T, api string, transport http.RoundTripper) (events []string, err error) {
	t.Helper()
	const base = "http://models.example/v1?version=1"
	client := &http.Client{Transport: transport}
	options := []option.RequestOption{option.WithHTTPClient(client), option.WithBaseURL(base), option.WithAPIKey(Key), option.WithMaxRetries(0)}
	switch api {
	case anthropic.Name:
		s := messages.NewMessageService(messagesoption.WithHTTPClient(client), messagesoption.WithBaseURL(base), messagesoption.WithAPIKey(Key), messagesoption.WithMaxRetries(0))
		return rawEvents(s.NewStreaming(ctx, messages.MessageNewParams{}))
	case openaichat.Name:
		s := openai.NewChatCompletionService(options...)
		return rawEvents(s.NewStreaming(ctx, openai.ChatCompletionNewParams{}))
	case openairesponses.Name:
		s := responses.NewResponseService(options...)
		return rawEvents(s.NewStreaming(ctx, responses.ResponseNewParams{}))
	}
	c, err := genai.NewClient(ctx, &genai.ClientConfig{APIKey: Key, Backend: genai.BackendGeminiAPI, HTTPClient: client, HTTPOptions: genai.HTTPOptions{BaseURL: base}})
	require.NoError(t, err)
	for reply, failed := range c.Models.GenerateContentStream(ctx, "m", genai.Text("hello"), nil) {
		if err = failed; err != nil {
			return events, err
		}
		reply.SDKHTTPResponse = nil
		raw, err := json.Marshal(reply) // it has no text of its own
		require.NoError(t, err)
		events = append(events, string(raw))
	}
	return events, nil
}

// TestSDKStreams: answers that the adapters read, and what the SDKs' streams make of them.
func TestSDKStreams(t *testing.T) {
	t.Parallel()
	const silent, panics = "", "panic"
	for _, test := range []struct {
		api, answer string
		events      int
		err         string
	}{
		{anthropic.Name, "form, in one piece", 0, silent},
		{anthropic.Name, "form, no names", 0, silent},
		{openairesponses.Name, "items, a phase, in one piece", 0, silent},
		{openaichat.Name, "finish, eos", 0, silent},
		{openaichat.Name, "form, no last empty line", 1, silent},
		{openaichat.Name, "said, usage after the end", 1, silent},
		{openaichat.Name, "form, no error, in words", 0, "error while streaming"},
		{openaichat.Name, "form, an event of nothing", 0, "unexpected end"},
		{gemini.Name, "form, in one piece", 0, "invalid stream chunk"},
		{gemini.Name, "form, nothing, in words", 2, "Error 0"},
		{gemini.Name, "usage, not numbers", 0, "unmarshalling"},
		{gemini.Name, "none, candidates of text", 0, panics},
	} {
		t.Run(test.api+"/"+test.answer, func(t *testing.T) {
			t.Parallel()
			body, read := keptAnswer(t, test.api, test.answer)
			ask := func() (events []string, err error) {
				return streamOf(t.Context(), t, test.api, answering(http.StatusOK, strings.NewReader(body)))
			}
			if test.err == panics {
				require.Panics(t, func() { _, _ = ask() })
				return
			}
			require.NotContains(t, read, "error ", "the adapter reads it")
			events, err := ask()
			require.Len(t, events, test.events)
			if test.err == silent {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.err)
		})
	}
	t.Run("a part goes back as it came", func(t *testing.T) {
		t.Parallel()
		events, err := streamOf(t.Context(), t, gemini.Name, answering(http.StatusOK, strings.NewReader("data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hello\",\"new\":1}]}}]}\n\n")))
		require.NoError(t, err)
		require.NotContains(t, events[0], `"new"`)
	})
}

func keptAnswer(t *testing.T, api, name string) (body, read string) {
	t.Helper()
	kept, err := txtar.ParseFile(filepath.Join("testdata", "answers", api+".txt"))
	require.NoError(t, err)
	for i, file := range kept.Files {
		if file.Name == name {
			return string(file.Data), string(kept.Files[i+1].Data)
		}
	}
	require.Fail(t, "it is not kept")
	return "", ""
}

// TestSDKDecoders: streams that are read here, and what the decoders make of them that give the events as they came.
func TestSDKDecoders(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat("data: [1,2,3,4,5,6,7,8,9,0]\n", 800_000)
	for name, test := range map[string]struct {
		body      string
		read, sdk int
	}{
		"no last empty line":     {"data: 1\n\ndata: 2", 2, 1},
		"lines that end in CR":   {"data: 1\r\rdata: 2\r\r", 2, 0},
		"a byte order mark":      {"\xef\xbb\xbfdata: 1\n\ndata: 2\n\n", 2, 1},
		"an event without bound": {"data: 1\n\n" + lines + "\n", 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read := 0
			for stream := wire.NewStream(strings.NewReader(test.body)); ; read++ {
				if _, err := stream.Next(); err != nil {
					break
				}
			}
			require.Equal(t, test.read, read)
			response := func() *http.Response { return &http.Response{Body: io.NopCloser(strings.NewReader(test.body))} }
			for _, decoder := range []interface{ Next() bool }{ssestream.NewDecoder(response()), messagesevents.NewDecoder(response())} {
				given := 0
				for decoder.Next() {
					given++
				}
				require.Equal(t, test.sdk, given)
			}
		})
	}
}

// TestSDKClients: what the SDKs' clients do with a request, retries turned off.
func TestSDKClients(t *testing.T) {
	t.Parallel()
	for api, tells := range map[string]string{anthropic.Name: "X-Stainless-Os", openairesponses.Name: "X-Stainless-Os", openaichat.Name: "X-Stainless-Os", gemini.Name: "X-Goog-Api-Client"} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			body := bytes.NewReader(make([]byte, 4<<20))
			_, err := streamOf(t.Context(), t, api, answering(http.StatusInternalServerError, body))
			require.Error(t, err)
			require.Zero(t, body.Len(), "the body of an error is read up to a bound")
			var sent *http.Request
			_, err = streamOf(t.Context(), t, api, roundTrip(func(r *http.Request) (*http.Response, error) {
				sent = r
				return nil, errors.New("enough")
			}))
			require.ErrorContains(t, err, "enough")
			require.NotEmpty(t, sent.Header.Get(tells), "nothing is told of this machine")
			require.NotContains(t, sent.URL.RawQuery, "version=1", "the query of the base URL is kept")
		})
	}
}
