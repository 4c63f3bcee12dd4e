package whole_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	script "everstep/activities/scripted"
	"everstep/domain"
	"everstep/domain/hook"
	"everstep/starter/client"
	"everstep/worker/host"
)

// An overhearing provider keeps all that it is sent, before another one answers.
type overhearing struct {
	inference.Provider
	mu   sync.Mutex
	sent strings.Builder
}

// Infer implements inference.Provider.
func (l *overhearing) Infer(ctx context.Context, call inference.Call, emit func(inference.Delta)) (inference.Answer, error) {
	text, err := json.Marshal([]any{call.System, call.Messages, call.Tools})
	if err != nil {
		return inference.Answer{}, err
	}
	l.mu.Lock()
	l.sent.Write(text)
	l.mu.Unlock()
	return l.Provider.Infer(ctx, call, emit)
}

func (l *overhearing) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent.String()
}

// bank is a server over streamable HTTP, and the customers that its requests named in a header: those of calls, and of
// all else.
func bank(t *testing.T) (url string, named func() (calls, others []string)) {
	t.Helper()
	var mu sync.Mutex
	var calls, others []string
	server := mcp.NewServer(&mcp.Implementation{Name: "bank", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "refund", Description: "Pays back."}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "paid back"}}}, nil, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		mu.Lock()
		if customer := r.Header.Get("X-Customer"); bytes.Contains(body, []byte(`"tools/call"`)) {
			calls = append(calls, customer)
		} else {
			others = append(others, customer)
		}
		mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	return web.URL, func() ([]string, []string) {
		mu.Lock()
		defer mu.Unlock()
		return calls, others
	}
}

// TestTrustedValuesReachMCPServersAlone: in a header over HTTP and as an argument over stdio, of each agent its own.
// The model is not shown them and cannot give others, whatever it writes; nor can a hook, which may change what the
// model asked for; nor an agent that was given none.
func TestTrustedValuesReachMCPServersAlone(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	url, named := bank(t)
	file, notes := mcpFile(t, map[string]any{"tools": map[string]any{"book": map[string]any{"arguments": map[string]string{"customer": "${trusted.customer}"}}}})
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var servers map[string]map[string]any
	require.NoError(t, json.Unmarshal(text, &servers))
	servers["mcpServers"]["bank"] = map[string]any{"url": url, "headers": map[string]string{"X-Customer": "${trusted.customer}"}}
	text, err = json.Marshal(servers)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, text, 0o600))

	meddling := hook.BeforeToolUse("meddling", func(c hook.ToolUse) (hook.ToolUse, error) {
		if strings.Contains(c.At.Call.Arguments, "by the hook") {
			c.At.Call.Arguments = `{"text":"by the hook","customer":"9"}`
		}
		for _, key := range []string{"customer", "trusted", "trusted.customer"} {
			state, err := c.State.WithMetadata(key, json.RawMessage(`"9"`), c.Now)
			if err != nil {
				return c, err
			}
			c.State = state
		}
		return c, nil
	})
	model := &overhearing{Provider: script.New()}
	s := start(t, host.Config{MCP: file, Hooks: []hook.Hook{meddling}, Providers: map[string]inference.Provider{"listening": model}})
	definition := scripted(writeScript(t, `
turns:
  - {tool_calls: [{name: shop__book, arguments: {text: a}}]}
  - {tool_calls: [{name: shop__book, arguments: {text: b, customer: "9"}}, {name: shop__book, arguments: {text: c, CUSTOMER: "9"}}]}
  - {tool_calls: [{name: shop__book, arguments: {text: by the hook}}, {name: shop__book, arguments: {text: "${trusted.customer}"}}]}
  - {tool_calls: [{name: bank__refund, arguments: {}}, {name: bank__refund, arguments: {customer: "9"}}]}
  - {text: '{{ results "shop__book" }} {{ results "bank__refund" }}'}
`), "shop__book", "bank__refund")
	definition.Model.Provider, definition.Hooks = "listening", []string{"meddling"}
	answers := map[string]string{}
	var begun []client.Execution
	for _, customer := range []string{`"4711-of-one"`, `"4712-of-another"`, ""} {
		first := client.Start{Prompt: "go", Definition: definition}
		if customer != "" {
			first.Trusted = domain.Trusted{"customer": json.RawMessage(customer)}
		}
		x, err := s.agents.Start(ctx, first)
		require.NoError(t, err)
		begun = append(begun, x)
	}
	for i, x := range begun {
		result, err := s.agents.Wait(ctx, x.ID, 0)
		require.NoError(t, err)
		require.Equal(t, domain.StatusCompleted, result.Outcome.Status, "%v", result.Error)
		answers[[]string{"one", "another", "nobody"}[i]] = result.Answer
	}

	for _, who := range []string{"one", "another"} {
		require.Equal(t, 2, strings.Count(answers[who], "booked"), answers[who])
		require.Equal(t, 1, strings.Count(answers[who], "paid back"), answers[who])
		require.Equal(t, 4, strings.Count(answers[who], "the schema has no such property"), "three of shop__book, one of bank__refund: %s", answers[who])
	}
	require.NotContains(t, answers["nobody"], "booked")
	require.NotContains(t, answers["nobody"], "paid back")
	require.Contains(t, answers["nobody"], "trusted.customer: is not given")

	booked := strings.Split(strings.TrimSpace(notesOf(t, notes)), "\n")
	require.ElementsMatch(t, []string{
		"booked a for 4711-of-one", "booked ${trusted.customer} for 4711-of-one",
		"booked a for 4712-of-another", "booked ${trusted.customer} for 4712-of-another",
	}, booked)
	calls, others := named()
	require.ElementsMatch(t, []string{"4711-of-one", "4712-of-another"}, calls)
	require.NotEmpty(t, others)
	require.Empty(t, strings.Join(others, ""), "what is no agent's names none")

	require.Contains(t, model.text(), "Books.", "the tools were shown")
	require.NotContains(t, model.text(), "-of-")
	require.NotContains(t, model.text(), "For whom", "nor that there is such an argument")
}
