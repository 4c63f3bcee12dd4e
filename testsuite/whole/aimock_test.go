package whole_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/anthropic"
	"everstep/activities/gemini"
	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openai"
	"everstep/activities/openaichat"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
)

// mockSteps is how many answers of the mock's run call a tool. One more ends it.
const mockSteps = 14

// findMock returns the script of aimock, a server of somebody else's that plays
// the APIs of models: what EVERSTEP_AIMOCK names, else what .ci/npm installed.
// Without it, or without node, the test is skipped.
func findMock(t *testing.T) (node, script string) {
	t.Helper()
	script = os.Getenv("EVERSTEP_AIMOCK")
	if script == "" {
		script = filepath.Join("..", "..", ".ci", "cache", "npm", "node_modules", "@copilotkit", "aimock", "dist", "cli.js")
		if _, err := os.Stat(script); err != nil {
			t.Skip("SKIPPED: aimock is not installed: run .ci/npm, or name the script of its command in EVERSTEP_AIMOCK")
		}
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("SKIPPED: there is no node to run aimock with")
	}
	return node, script
}

// A mock is a running aimock.
type mock struct {
	*process
	url string
}

var mockListens = regexp.MustCompile(`listening on (http://\S+)`)

// startMock starts aimock with the fixtures of the run.
func startMock(t *testing.T, flags ...string) *mock {
	t.Helper()
	node, script := findMock(t)
	fixtures, err := json.Marshal(map[string]any{"fixtures": mockFixtures()})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "fixtures.json")
	require.NoError(t, os.WriteFile(path, fixtures, 0o600))
	// A seed makes its chaos the same each time.
	args := append([]string{"--random-seed=5", script, "--port", "0", "--fixtures", path, "--chunk-size", "7", "--log-level", "info"}, flags...)
	p := &process{t: t, cmd: exec.Command(node, args...), out: &transcript{}, err: &transcript{}}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	p.begin()
	p.untilOut("listening on http://")
	return &mock{p, mockListens.FindStringSubmatch(p.out.String())[1]}
}

// mockFixtures are what the model says, by the result that it was given last.
func mockFixtures() []any {
	var all []any
	for step := range mockSteps + 1 {
		match := map[string]any{"hasToolResult": true, "toolResultContains": fmt.Sprintf("did step %02d", step-1)}
		if step == 0 {
			match = map[string]any{"hasToolResult": false, "userMessage": "go"}
		}
		response := map[string]any{"content": "It is done."}
		if step < mockSteps {
			response = map[string]any{"content": fmt.Sprintf("I begin step %02d.", step), "toolCalls": []any{map[string]any{
				"id": fmt.Sprintf("call_%02d", step), "name": "work", "arguments": fmt.Sprintf(`{"step":"step %02d","note":"é \"quoted\""}`, step),
			}}}
		}
		all = append(all, map[string]any{"match": match, "response": response})
	}
	return all
}

// A mockEntry is one request as aimock noted it.
type mockEntry struct {
	Path     string `json:"path"`
	Response struct {
		Status int    `json:"status"`
		Chaos  string `json:"chaosAction"`
	} `json:"response"`
}

// journal are the requests that aimock got for a path.
func (m *mock) journal(path string) []mockEntry {
	m.t.Helper()
	request, err := http.NewRequestWithContext(within(m.t), http.MethodGet, m.url+"/__aimock/journal?limit=1000", nil)
	require.NoError(m.t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(m.t, err)
	defer response.Body.Close()
	require.Equal(m.t, http.StatusOK, response.StatusCode)
	var all, some []mockEntry
	require.NoError(m.t, json.NewDecoder(response.Body).Decode(&all))
	for _, entry := range all {
		if strings.HasPrefix(entry.Path, path) {
			some = append(some, entry)
		}
	}
	return some
}

// mockAPIs are where aimock serves the APIs: the base URL, and the path of a request.
func mockAPIs() map[string]struct{ base, path string } {
	return map[string]struct{ base, path string }{
		openaichat.Name: {"/v1", "/v1/chat/completions"},
		openai.Name:     {"/v1", "/v1/responses"},
		anthropic.Name:  {"", "/v1/messages"},
		gemini.Name:     {"/v1beta", "/v1beta/models/"},
	}
}

// TestThirdPartyMock plays a long run through each adapter on a server that
// somebody else wrote, once undisturbed and once while a fifth of the requests
// fail: dropped, malformed, throttled, cut off. The conversation is the same,
// and no tool ran twice.
func TestThirdPartyMock(t *testing.T) {
	long(t)
	t.Parallel()
	plain := startMock(t)
	chaotic := startMock(t, "--chaos-drop", "0.05", "--chaos-malformed", "0.05", "--chaos-ratelimit", "0.05", "--chaos-disconnect", "0.05")
	kinds := map[string]int{}
	apis := mockAPIs()
	for _, name := range slices.Sorted(maps.Keys(apis)) {
		api := apis[name]
		wanted := throughMock(t, name, plain.url+api.base)
		require.Len(t, wanted, 2*mockSteps+2, name)
		require.Equal(t, "It is done.", wanted[len(wanted)-1].Text(), name)
		require.Len(t, plain.journal(api.path), mockSteps+1, name)

		require.Equal(t, wanted, throughMock(t, name, chaotic.url+api.base), name)
		requests, faults := chaotic.journal(api.path), 0
		for _, entry := range requests {
			if entry.Response.Chaos != "" {
				kinds[entry.Response.Chaos]++
				faults++
			}
		}
		t.Logf("%s: %d of %d requests failed", name, faults, len(requests))
		require.Len(t, requests, mockSteps+1+faults, "%s: only what failed is asked again", name)
	}
	t.Log(kinds)
	require.NotEmpty(t, kinds, "nothing failed")
}

// throughMock plays the run, and returns its conversation without what differs
// between any two.
func throughMock(t *testing.T, name, base string) []domain.Message {
	t.Helper()
	provider := openAdapter(t, name, wire.Config{BaseURL: base, Key: wire.FixedKey("sk-mock")})
	done := &doneSteps{}
	s := start(t, host.Config{Tools: []tool.Tool{done.tool()}, Providers: map[string]inference.Provider{name: provider}})
	begun := s.starts(t, client.Start{Prompt: "go", Definition: domain.Definition{
		Model: domain.LLMConfig{Provider: name, Model: "m-1"}, Tools: []string{"work"}, SystemPrompt: "Work step by step.",
	}})
	result := s.completed(t, begun.ID, 0)
	require.Equal(t, mockSteps+1, result.Outcome.Steps)
	for step := range mockSteps {
		require.Equal(t, 1, done.times[fmt.Sprintf("step %02d", step)], "%s: step %d", name, step)
	}
	require.Len(t, done.times, mockSteps)
	var messages []domain.Message
	for _, entry := range s.messages(t, begun.ID) {
		m := domain.Message{Role: entry.Message.Role, ToolResult: entry.Message.ToolResult}
		for _, part := range entry.Message.Parts {
			m.Parts = append(m.Parts, domain.Part{Type: part.Type, Text: part.Text})
		}
		for _, call := range entry.Message.ToolCalls {
			m.ToolCalls = append(m.ToolCalls, domain.ToolCall{Name: call.Name, Arguments: call.Arguments})
		}
		if r := m.ToolResult; r != nil {
			m.ToolResult = &domain.ToolResult{Name: r.Name, Content: r.Content}
		}
		messages = append(messages, m)
	}
	return messages
}

// doneSteps are the steps that the tool has done, by how often.
type doneSteps struct {
	mu    sync.Mutex
	times map[string]int
}

// tool is at most once: nobody may run it again.
func (d *doneSteps) tool() tool.Tool {
	type args struct {
		Step string `json:"step"`
		Note string `json:"note"`
	}
	return tool.New("work", "Does a step.", domain.AtMostOnce, func(_ context.Context, a args) (string, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.times == nil {
			d.times = map[string]int{}
		}
		d.times[a.Step]++
		return "did " + a.Step + " " + a.Note, nil
	}, tool.Timeout(time.Minute))
}
