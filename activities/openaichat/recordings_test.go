package openaichat_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openaichat"
	"everstep/domain"
	"everstep/testsuite/providers"
)

func provider(t *testing.T, url string) *wire.Client {
	t.Helper()
	p, err := wire.New(openaichat.APIs()[0], wire.Config{BaseURL: url + "/v1", Key: wire.FixedKey("sk-test-0123456789")})
	require.NoError(t, err)
	return p
}

func question() inference.Call {
	return inference.Call{
		Config:   domain.LLMConfig{Provider: openaichat.Name, Model: "m"},
		Messages: []domain.Message{domain.UserMessage("hello")},
	}
}

func infer(t *testing.T, url string, call inference.Call) (inference.Answer, *domain.Error) {
	t.Helper()
	return providers.Infer(t, provider(t, url), call)
}

// A said is what both decoders must agree on.
type said struct {
	Text, Finish  string
	Calls         []domain.ToolCall
	Input, Output int64
	Cached        int64
	Reasoning     int64
}

func ours(a inference.Answer) said {
	word := a.Response.FinishWord
	if word == "" {
		word = string(a.Response.Finish)
	}
	u := a.Response.Usage
	return said{a.Message.Text(), word, a.Message.ToolCalls, u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.ReasoningTokens}
}

// theirs is what the official SDK makes of a body.
func theirs(t *testing.T, r providers.Recording) (_ said, refused bool) {
	t.Helper()
	var whole openai.ChatCompletion
	if r.IsStream() {
		var acc openai.ChatCompletionAccumulator
		stream := ssestream.NewStream[openai.ChatCompletionChunk](ssestream.NewDecoder(&http.Response{
			Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(r.Response)),
		}), nil)
		for stream.Next() {
			if !acc.AddChunk(stream.Current()) {
				return said{}, true
			}
		}
		require.NoError(t, stream.Err())
		whole = acc.ChatCompletion
	} else {
		require.NoError(t, json.Unmarshal([]byte(r.Response), &whole))
	}
	s := said{
		Input: whole.Usage.PromptTokens, Output: whole.Usage.CompletionTokens,
		Cached: whole.Usage.PromptTokensDetails.CachedTokens, Reasoning: whole.Usage.CompletionTokensDetails.ReasoningTokens,
	}
	if len(whole.Choices) == 0 {
		return s, false
	}
	c := whole.Choices[0]
	s.Text, s.Finish = c.Message.Content, c.FinishReason
	if s.Text == "" {
		s.Text = c.Message.Refusal
	}
	for _, call := range c.Message.ToolCalls {
		if call.Type == "custom" {
			s.Calls = append(s.Calls, domain.ToolCall{ID: call.ID, Name: call.Custom.Name, Arguments: call.Custom.Input})
			continue
		}
		s.Calls = append(s.Calls, domain.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	return s, false
}

// TestRecordedAnswers: the official SDK makes the same of every recording but those of which is said why not.
func TestRecordedAnswers(t *testing.T) {
	t.Parallel()
	differs := map[string]bool{}
	for _, ids := range sdkDiffers {
		for _, id := range strings.Fields(ids) {
			differs[id] = true
		}
	}
	for _, r := range providers.Recordings(t, "chat", true) {
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			answer, err := infer(t, providers.Serve(t, 200, nil, r.Response).URL, question())
			if slices.Contains(noAnswers, r.ID) {
				require.NotNil(t, err)
				return
			}
			require.Nil(t, err)
			sdk, refused := theirs(t, r)
			if differs[r.ID] {
				require.True(t, refused || !assert.ObjectsAreEqual(sdk, ours(answer)), "the SDK agrees: drop the exception")
				return
			}
			require.False(t, refused, "the SDK refuses a chunk")
			require.Equal(t, sdk, ours(answer))
		})
	}
}

// noAnswers are the recordings of status 200 that hold no answer: an error comes in the middle of the stream.
var noAnswers = []string{"5eb46e2e37ea", "3ad13d391708"}

// sdkDiffers are the recordings of which the SDK makes something else, and why.
var sdkDiffers = map[string]string{
	"a chunk without a finish reason follows, and the SDK forgets the one it had":                                 "0c2a869209e5 6fd5af735890 7fd4912b59b8 ab7d5f074245 b7408f0088e9 c809df46333c c81e5cf3f377",
	"the call is in the older function_call, which the SDK keeps apart":                                           "eec9c26c476b",
	"it is done without a finish reason, and names its call twice, which the SDK joins":                           "c3e28b988c1d",
	"reasoning is counted beside the completion, as the total or its size shows; here it is part of the output":   "00cd3e0815a5 08db457b1f17 1290620e8b9e 18c74855850b 3a3fec38d68c 5bed4f97e7b1 60a73aea8273 7e65908ccab2 8a5a9d69ee6a 8fc077048df3 9d8a701be61e b34738ebdfc8 b6956dbf400e d089de4bf7d4 f278b2cd0065 01aaed923f9c 316e71bd3f2f 451a5f00c541 47debbe3eb44 49585f261ebd 8ad61600a79a c8564764231a cbcfca6e91e4 ea0e81beea2f fb1cb7d8fbb3",
	"more tokens came from the cache than the prompt has: it is counted beside, and here it is part of the input": "1c543f5e27e4 69313bff3c16 a19f4c774af3 cd0c7170755f d380f345aed3 eb1b60b73ec6 f60efe0a8d27",
	"the chunks have two ids, and the SDK refuses the second":                                                     "01157fc30a2a 2f5d17b186ce 3bceb63b32fa a052b363cd0b ee963acc522f",
	"the content is a list of parts, which the SDK takes for a text":                                              "ba314c04bb47 f105a24ab184",
	"the usage is in x_groq, which the SDK does not read":                                                         "da112b1c9ba7",
	"the usage so far comes in several chunks, and the SDK adds them up":                                          "620b539b67ce 897544a7070c 8ab28370eba4 98ffcea43573 b80334a134ca",
}
