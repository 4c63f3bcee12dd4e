package gemini_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/gemini"
	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
	"everstep/testsuite/providers"
)

// A script is a server that answers with one body after the other and keeps the
// last request.
type script struct {
	mu       sync.Mutex
	body     string
	request  string
	provider *wire.Client
}

func newScript(t *testing.T) *script {
	t.Helper()
	s := &script{}
	s.provider = provider(t, providers.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		request, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.request = string(request)
		_, _ = io.WriteString(w, s.body)
	}).URL)
	return s
}

func (s *script) infer(call inference.Call, body string) (inference.Answer, error) {
	s.mu.Lock()
	s.body = body
	s.mu.Unlock()
	return s.provider.Infer(context.Background(), call, func(inference.Delta) {})
}

func (s *script) answer(t require.TestingT, body string) inference.Answer {
	answer, err := s.infer(question(), body)
	require.NoError(t, err)
	return answer
}

func (s *script) sent(t require.TestingT, call inference.Call) map[string]any {
	_, err := s.infer(call, event(says("STOP", `{"text": "x"}`), ""))
	require.NoError(t, err)
	return decoded(t, s.request).(map[string]any)
}

func TestOptions(t *testing.T) {
	t.Parallel()
	providers.Options(t, gemini.API(), "m", map[string]string{
		`generationConfig {"seed":7}`: "", `generationConfig null`: "", `contents []`: "contents", `tools []`: "tools",
		`generation_config {}`:                                                       "generation_config is written generationConfig here",
		`generationConfig 7`:                                                         "generationConfig is not an object",
		`generationConfig {"candidateCount":2}`:                                      "generationConfig.candidateCount",
		`generationConfig {"maxOutputTokens":"x"}`:                                   "generationConfig.maxOutputTokens",
		`toolConfig {"functionCallingConfig":7}`:                                     "toolConfig.functionCallingConfig is not an object",
		`toolConfig {"functionCallingConfig":{"streamFunctionCallArguments":false}}`: "",
		`toolConfig {"functionCallingConfig":{"streamFunctionCallArguments":true}}`:  "toolConfig.functionCallingConfig.streamFunctionCallArguments",
	})
}

func TestCheckFormat(t *testing.T) {
	t.Parallel()
	p, err := wire.New(gemini.API(), wire.Config{})
	require.NoError(t, err)
	format := domain.ResponseFormat{Type: domain.FormatSchema, Schema: []byte(`{"type":"array"}`)}
	model := question().Config
	require.NoError(t, p.CheckFormat(model, format, false))
	model.Options = domain.Metadata{"generationConfig": []byte(`{"responseMimeType":null}`)}
	require.NoError(t, p.CheckFormat(model, format, false))
	model.Options = domain.Metadata{"generationConfig": []byte(`{"responseSchema":{}}`)}
	require.ErrorContains(t, p.CheckFormat(model, format, false), "generationConfig.responseSchema")
	for name, refused := range map[string]bool{"gemini-2.5-pro": true, "models/gemini-1.5-flash": true, "gemini-3-pro": false, "gemini-flash-latest": false, "gemma-4": false} {
		err := p.CheckFormat(domain.LLMConfig{Model: name}, format, true)
		if !refused {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, "response_format.mode: model "+name+" takes no response format beside tools")
	}
}

// FuzzAnswer: whatever a server sends, there is an answer or a typed error, and
// what is an answer can be sent back.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{bothCalls, "", "[]", "{}", "data: null\n\n", `[{"error":[]}]`, `{"candidates":[null]}`, `{"candidates":[{"content":null,"finishReason":7}]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		s := newScript(t)
		answer, err := s.infer(question(), body)
		if err != nil {
			_, typed := errors.AsType[*domain.Error](err)
			require.True(t, typed, "%T", err)
			require.Empty(t, answer.Message.ToolCalls)
			return
		}
		s.sent(t, next(recorded(t, answer.Message)))
	})
}
