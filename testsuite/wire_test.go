package testsuite_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/anthropic"
	"everstep/activities/gemini"
	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/openai"
	"everstep/activities/openaichat"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
	"everstep/testsuite"
)

// TestTheWireBeginsWithTheOneBefore: what each adapter sends of a session whose turns completed, failed, were
// stopped in a call and in an answer, came to a limit, and whose hook speaks in a section of its own. Where an API puts
// what one side says into one message, its parts are compared; marks for a provider's cache move on.
func TestTheWireBeginsWithTheOneBefore(t *testing.T) {
	t.Parallel()
	speaks := hook.BeforeStep("speaks", func(p hook.Point) (hook.Point, error) {
		var err error
		p.State, err = p.State.WithMessages("notes", []domain.Message{domain.UserMessage(fmt.Sprint("note ", p.State.StepCount()))}, p.Now)
		return p, err
	})
	run := testsuite.New(t, testsuite.Config{
		Tools: noting(testsuite.Returns("done")), Hooks: []hook.Hook{speaks},
		Definition: domain.Definition{Hooks: []string{"speaks"}, Budget: domain.ExecutionBudget{MaxSteps: new(int64(3))}, SystemPrompt: "Be brief."},
		Turns: []testsuite.Turn{
			asks("First a note.", "note", "order-1"), {Text: "Noted."},
			asks("", "note", "order-2"), asks("And wait.", "wait", ""),
			{}, {}, // nothing, twice: it fails
			asks("", "note", "order-3"), asks("", "note", "order-4"), asks("", "note", "order-5"), // a limit
			{Reasoning: "Which one?", Text: strings.Repeat("It is. ", 100), Delay: 100 * time.Second},
		},
	}).Run("Begin.", testsuite.SendAt(time.Hour, "two"), testsuite.StopAt(time.Hour+time.Minute, contract.StopNow),
		testsuite.SendAt(2*time.Hour, "three"), testsuite.SendAt(3*time.Hour, "four"),
		testsuite.SendAt(4*time.Hour, "five"), testsuite.StopAt(4*time.Hour+30*time.Second, contract.StopNow), testsuite.SendAt(5*time.Hour, "six"))
	var ends []domain.StopReason
	for _, e := range run.Executions {
		ends = append(ends, e.Outcome.StopReason)
	}
	require.Equal(t, []domain.StopReason{domain.Completed, domain.UserRequested, domain.ErrorForbade, domain.StepsLimitReached, domain.UserRequested, domain.Completed}, ends)
	for i, call := range run.Asked[1:] {
		require.Equal(t, run.Asked[i].Messages, call.Messages[:len(run.Asked[i].Messages)], "request %d", i+1)
	}
	for name, c := range map[string]struct {
		api  wire.API
		list string
	}{
		"chat completions": {openaichat.APIs()[0], "messages"},
		"anthropic":        {anthropic.API(), "messages"},
		"responses":        {openai.API(), "input"},
		"gemini":           {gemini.API(), "contents"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := []string{}
			for i, body := range bodies(t, c.api, run.Asked) {
				items := itemsOf(t, body[c.list])
				require.GreaterOrEqual(t, len(items), len(before))
				require.Equal(t, before, items[:len(before)], "request %d", i)
				before = items
			}
			all := strings.Join(before, "\n")
			require.Contains(t, all, domain.CutOffNote)
			require.Contains(t, all, "it may have taken effect")
			require.NotContains(t, all, "Which one?", "reasoning that was cut off")
		})
	}
}

// bodies are what an adapter sends for calls.
func bodies(t *testing.T, api wire.API, calls []inference.Call) (all []map[string]json.RawMessage) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fields := map[string]json.RawMessage{}
		_ = json.Unmarshal(body, &fields)
		all = append(all, fields)
		w.WriteHeader(http.StatusBadRequest) // what is answered does not matter
	}))
	defer server.Close()
	provider, err := wire.New(api, wire.Config{BaseURL: server.URL})
	require.NoError(t, err)
	for i, call := range calls {
		call.Config = domain.LLMConfig{Model: "m"}
		_, _ = provider.Infer(t.Context(), call, func(inference.Delta) {})
		require.Len(t, all, i+1, "request %d was not sent", i)
	}
	return all
}

// itemsOf are the messages of a request, each part of one and each paragraph of a user's by itself, without the marks for a provider's cache.
func itemsOf(t *testing.T, list json.RawMessage) []string {
	t.Helper()
	messages, items := []map[string]json.RawMessage{}, []string{}
	require.NoError(t, json.Unmarshal(list, &messages))
	for _, m := range messages {
		key := "content"
		if m["parts"] != nil {
			key = "parts"
		}
		var parts []map[string]json.RawMessage
		var said string
		if string(m["role"]) == `"user"` && json.Unmarshal(m[key], &said) == nil && said != "" {
			items = append(items, strings.Split(said, "\n\n")...)
			continue
		}
		if json.Unmarshal(m[key], &parts) != nil || parts == nil {
			whole, err := json.Marshal(m)
			require.NoError(t, err)
			require.False(t, bytes.Contains(whole, []byte(`"content":""`)), "a message without content: %s", whole)
			items = append(items, string(whole))
			continue
		}
		require.NotEmpty(t, parts)
		for _, part := range parts {
			delete(part, "cache_control")
			whole, err := json.Marshal(part)
			require.NoError(t, err)
			items = append(items, string(m["role"])+" "+string(whole))
		}
	}
	return items
}
