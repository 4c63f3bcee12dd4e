package whole_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
)

// reciter is a server of the chat completions API that asks for the tool until
// the conversation holds so many messages, and answers with 2 KB each time.
func reciter(steps int) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Messages []json.RawMessage `json:"messages"`
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		text, _ := json.Marshal(text2KB(len(body.Messages)))
		deltas := []string{fmt.Sprintf(`{"role":"assistant","content":%s}`, text)}
		finish := "stop"
		if len(body.Messages) < 2*(steps-1) {
			finish = "tool_calls"
			deltas = append(deltas, `{"tool_calls":[{"index":0,"id":"call","type":"function","function":{"name":"recite","arguments":"{}"}}]}`)
		}
		streamed(finish, deltas...)(w, r)
	}))
}

// bareSDK makes the same requests with the official SDK and nothing else.
func bareSDK(b *testing.B, url string, steps int) time.Duration {
	b.Helper()
	sdk := openai.NewClient(option.WithBaseURL(url+"/v1/"), option.WithAPIKey("none"), option.WithMaxRetries(0))
	params := openai.ChatCompletionNewParams{
		Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("go")},
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	began := time.Now()
	for range steps {
		stream := sdk.Chat.Completions.NewStreaming(context.Background(), params)
		var answer openai.ChatCompletionAccumulator
		for stream.Next() {
			answer.AddChunk(stream.Current())
		}
		require.NoError(b, stream.Err())
		require.Len(b, answer.Choices, 1)
		params.Messages = append(params.Messages, answer.Choices[0].Message.ToParam())
		if calls := answer.Choices[0].Message.ToolCalls; len(calls) > 0 {
			params.Messages = append(params.Messages, openai.ToolMessage(text2KB(0), calls[0].ID))
		}
	}
	return time.Since(began)
}

// BenchmarkChat prints the time of a step with openai-chat against a loopback
// server, less what the bare SDK takes for the same bodies: 100 and 500 steps
// with messages of 2 KB; 20 and 40 with -short.
func BenchmarkChat(b *testing.B) {
	sizes, pairs := []int{100, 500}, 3
	if testing.Short() {
		sizes, pairs = []int{20, 40}, 1
	}
	for b.Loop() {
		table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(table, "steps\tms/step, openai-chat\tms/step, bare SDK\tdifference\t")
		for _, n := range sizes {
			server := reciter(n)
			s := start(b, host.Config{Tools: []tool.Tool{recite()}, Vendors: map[string]host.Access{"openai": {BaseURL: server.URL + "/v1"}}})
			var ours, bare []measured
			for range pairs {
				ours = append(ours, s.chat(b, n))
				bare = append(bare, measured{steps: n, took: bareSDK(b, server.URL, n)})
			}
			server.Close()
			o, f := middle(ours, measured.millisPerStep).millisPerStep(), middle(bare, measured.millisPerStep).millisPerStep()
			fmt.Fprintf(table, "%d\t%.2f\t%.2f\t%.2f\t\n", n, o, f, o-f)
			b.ReportMetric(o-f, fmt.Sprintf("ms/step@%d", n))
		}
		require.NoError(b, table.Flush())
	}
}

// chat runs an agent of so many steps, with hooks of the worker's.
func (s *stack) chat(b *testing.B, steps int, hooks ...string) measured {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	began := time.Now()
	begun, err := s.agents.Start(ctx, client.Start{Prompt: "go", Definition: domain.Definition{
		Model: domain.LLMConfig{Provider: "openai-chat", Model: "m"}, Tools: []string{"recite"}, Hooks: hooks, Guards: repeats, Budget: domain.Unlimited(),
	}})
	require.NoError(b, err)
	result, err := s.agents.Wait(ctx, begun.ID, 1)
	require.NoError(b, err)
	require.Equal(b, domain.StatusCompleted, result.Outcome.Status, "%v", result.Error)
	require.Equal(b, steps, result.Outcome.Steps)
	return measured{steps: steps, took: time.Since(began)}
}
