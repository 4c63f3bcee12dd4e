package hook_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
)

func text(text string) []domain.Part {
	return []domain.Part{{Type: domain.PartText, Text: text}}
}

func TestChecked(t *testing.T) {
	t.Parallel()
	const (
		tool   = domain.TriggerBeforeToolUse
		result = domain.TriggerAfterToolUse
		answer = domain.TriggerAfterInference
		step   = domain.TriggerBeforeStep
	)
	for _, test := range []struct {
		name    string
		trigger domain.Trigger
		reply   string
		says    string // empty: it makes sense
	}{
		{"nothing", step, `{}`, ""},
		{"block", tool, `{"block":"no"}`, ""},
		{"block elsewhere", result, `{"block":"no"}`, "block: is set at after_tool_use; it means something at before_tool_use only"},
		{"call", tool, `{"call":{"name":"read"}}`, ""},
		{"the same call", tool, `{"call":{"id":"c1","name":"write","arguments":"{}"}}`, ""},
		{"call elsewhere", step, `{"call":{"id":"c1","name":"write","arguments":"{}"}}`, "call: is set at before_step"},
		{"call without a name", tool, `{"call":{"id":"c1"}}`, "call.name: is empty"},
		{"block and call", tool, `{"block":"no","call":{"id":"c1","name":"write","arguments":"{}"}}`, "block, call: both are set"},
		{"content", result, `{"content":"clean"}`, ""},
		{"empty content", result, `{"content":""}`, ""},
		{"content elsewhere", tool, `{"content":""}`, "content: is set at before_tool_use"},
		{"failure", result, `{"failure":{"kind":"invalid","message":"no"}}`, ""},
		{"failure elsewhere", tool, `{"failure":{"kind":"invalid","message":"no"}}`, "failure: is set at before_tool_use"},
		{"content and failure", result, `{"content":"a","failure":{"kind":"invalid","message":"no"}}`, "content, failure: both are set"},
		{"no tools", domain.TriggerBeforeInference, `{"without_tools":true,"max_output_tokens":7}`, ""},
		{"no tools elsewhere", step, `{"without_tools":true}`, "without_tools: is set at before_step"},
		{"a bound elsewhere", step, `{"max_output_tokens":7}`, "max_output_tokens: is set at before_step"},
		{"answer", answer, `{"answer":{"parts":[{"type":"text","text":"mended"}]}}`, ""},
		{"answer elsewhere", step, `{"answer":{"parts":[{"type":"text","text":"x"}]}}`, "answer: is set at before_step"},
		{"answer of the user", answer, `{"answer":{"role":"user","parts":[{"type":"text","text":"x"}]}}`, "answer.role: is user"},
		{"answer with a result", answer, `{"answer":{"tool_result":{}}}`, "answer.tool_result: is set"},
		{"answer with a nameless call", answer, `{"answer":{"tool_calls":[{"name":"a"},{}]}}`, "answer.tool_calls[1].name: is empty"},
		{"stop for a reason", step, `{"stops":[{"reason":"steps_limit"}]}`, ""},
		{"go on", domain.TriggerAfterStep, `{"continue":true}`, ""},
		{"say", step, `{"say":[{"role":"system","parts":[{"type":"text","text":"x"}]}]}`, ""},
		{"say a result", step, `{"say":[{"role":"tool","tool_result":{}}]}`, "say[0]: is a tool's call or result"},
		{"say a call", step, `{"say":[{"parts":[{"type":"text","text":"x"}],"tool_calls":[{"id":"c1","name":"write","arguments":"{}"}]}]}`, "say[0]: is a tool's call or result"},
		{"say nothing", step, `{"say":[{}]}`, "say[0].parts: is empty"},
		{"aside", step, `{"aside":{"notes":[{"parts":[{"type":"text","text":"x"}]}]}}`, ""},
		{"aside a result", step, `{"aside":{"notes":[{"role":"tool","tool_result":{}}]}}`, "aside.notes[0]: is a tool's call or result"},
		{"a negative budget", step, `{"budget":{"max_steps":-1}}`, "max_steps"},
		{"an error", step, `{"error":{"kind":"invalid","message":"no"}}`, "error: is set; return the error"},
		{"note", step, `{"note":{"k":null}}`, ""},
		{"note without a key", step, `{"note":{"":1}}`, "note: a key is empty"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			requireChecked(t, test.trigger, made(domain.Decode[contract.HookReply]([]byte(test.reply))), test.says)
		})
	}
}

// requireChecked has a reply taken, or refused with these words.
func requireChecked(t *testing.T, trigger domain.Trigger, reply contract.HookReply, says string) {
	t.Helper()
	_, err := hook.Checked(trigger, reply)
	if says == "" {
		require.NoError(t, err)
		return
	}
	require.ErrorContains(t, err, says)
}

// TestCheckedIsBounded, and holds nothing that cannot be written as JSON or read again.
func TestCheckedIsBounded(t *testing.T) {
	t.Parallel()
	const answer, step = domain.TriggerAfterInference, domain.TriggerBeforeStep
	x := func(length int) string { return strings.Repeat("x", length) }
	answered := func(m domain.Message) contract.HookReply { return contract.HookReply{Answer: &m} }
	// brim is a message of the largest size that there may be.
	brim := func(role domain.Role) domain.Message {
		least := domain.Message{Role: role, Parts: text("")}.Size()
		return domain.Message{Role: role, Parts: text(x(domain.MaxMessage - least))}
	}
	note := func(text string) domain.Metadata { return domain.Metadata{"k": json.RawMessage(text)} }
	quoted := func(length int) string { return `"` + x(length) + `"` }
	bare, err := json.Marshal(contract.HookReply{Note: note(`""`)})
	require.NoError(t, err)
	for _, test := range []struct {
		name    string
		trigger domain.Trigger
		reply   contract.HookReply
		says    string // empty: it makes sense
	}{
		{"answer of an unknown role", answer, answered(domain.Message{Role: "oracle"}), "answer.role: is oracle"},
		{"answer with calls without end", answer, answered(domain.Message{ToolCalls: make([]domain.ToolCall, domain.MaxRequestedCalls+1)}), "answer.tool_calls: there are 1001"},
		{"answer with as many calls as may be", answer, answered(domain.Message{ToolCalls: slices.Repeat([]domain.ToolCall{{Name: "write"}}, domain.MaxRequestedCalls)}), ""},
		{"answer as long as may be", answer, answered(brim(domain.RoleAssistant)), ""},
		{"long answer", answer, answered(domain.Message{Parts: text(x(domain.MaxMessage))}), "its answer takes"},
		{"answer of an unknown part", answer, answered(domain.Message{Parts: []domain.Part{{Type: "smell"}}}), "smell"},
		{"stop for no known reason", step, contract.HookReply{Stops: []domain.StopSignal{{Reason: "tired"}}}, "stops[0].reason: "},
		{"stop with notes that are no JSON", step, contract.HookReply{Stops: []domain.StopSignal{{Context: note("{")}}}, "cannot be encoded"},
		{"say much", step, contract.HookReply{Say: []domain.Message{{Parts: text(x(domain.MaxMessage))}}}, "its message takes"},
		{"say as much as may be", step, contract.HookReply{Say: []domain.Message{brim(domain.RoleUser)}}, ""},
		{"say as often as may be", step, contract.HookReply{Say: slices.Repeat([]domain.Message{{Parts: text("x")}}, 100)}, ""},
		{"say often", step, contract.HookReply{Say: make([]domain.Message, 101)}, "say, aside: there are 101 messages"},
		{"say and aside often", step, contract.HookReply{Say: make([]domain.Message, 60), Aside: map[string][]domain.Message{"notes": make([]domain.Message, 41)}}, "there are 101 messages"},
		{"a long stop", step, contract.HookReply{Stops: []domain.StopSignal{{Context: note(quoted(16 << 10))}}}, "its stop signal takes"},
		{"a prompt", step, contract.HookReply{SystemPrompt: new(x(domain.MaxSystemPrompt))}, ""},
		{"a long prompt", step, contract.HookReply{SystemPrompt: new(x(domain.MaxSystemPrompt + 1))}, "its system prompt takes"},
		{"a model with many options", step, contract.HookReply{Model: &domain.LLMConfig{Options: note(quoted(64 << 10))}}, "its model takes"},
		{"a long format", step, contract.HookReply{Format: &domain.ResponseFormat{Schema: json.RawMessage(quoted(domain.MaxSystemPrompt))}}, "its response format takes"},
		{"note that is no JSON", step, contract.HookReply{Note: note("tru")}, "note.k: is no JSON"},
		{"note of nothing", step, contract.HookReply{Note: domain.Metadata{"k": nil}}, "note.k: is no JSON"},
		{"as much in all as may be", step, contract.HookReply{Note: note(quoted(hook.MaxReply - len(bare)))}, ""},
		{"much in all", step, contract.HookReply{Note: note(quoted(hook.MaxReply))}, "its reply takes 1048593 bytes; at most 1048576"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			requireChecked(t, test.trigger, test.reply, test.says)
		})
	}
}

// TestCheckedIsAnotherReply: it has no ids, times and sources, and defaults for what was left out; a hook may return the same
// values each time.
func TestCheckedIsAnotherReply(t *testing.T) {
	t.Parallel()
	given := func() contract.HookReply {
		m := domain.Message{Parts: text("x"), ID: domain.MessageID{UUID: uuid.NewSHA1(uuid.NameSpaceOID, []byte("m"))}, CreatedAt: time.Unix(7, 0)}
		return contract.HookReply{
			Call: &domain.ToolCall{ID: "c2", Name: "read"}, Stops: []domain.StopSignal{{Source: "me"}}, Say: []domain.Message{m},
			Aside: map[string][]domain.Message{"notes": {m}},
		}
	}
	reply := given()
	checked, err := hook.Checked(domain.TriggerBeforeToolUse, reply)
	require.NoError(t, err)
	require.Equal(t, given(), reply)
	said := domain.Message{Role: domain.RoleUser, Parts: text("x")}
	require.Equal(t, contract.HookReply{
		Call: &domain.ToolCall{Name: "read"}, Stops: []domain.StopSignal{{Reason: domain.StopRequested}}, Say: []domain.Message{said},
		Aside: map[string][]domain.Message{"notes": {said}},
	}, checked)
	answer := domain.Message{ID: domain.MessageID{UUID: uuid.NewSHA1(uuid.NameSpaceOID, []byte("m"))}, CreatedAt: time.Unix(7, 0), Parts: text("x")}
	checked, err = hook.Checked(domain.TriggerAfterInference, contract.HookReply{Answer: &answer})
	require.NoError(t, err)
	require.Equal(t, domain.Message{Role: domain.RoleAssistant, Parts: text("x")}, *checked.Answer)
}

// TestChanged is the state as a reply wants it. What could not be kept fails.
func TestChanged(t *testing.T) {
	t.Parallel()
	given := noted()
	state, err := hook.Changed(given, contract.HookReply{
		Note: domain.Metadata{"old": json.RawMessage(` null `), "new": json.RawMessage(`2`)}, SystemPrompt: new("other"),
		Model:  &domain.LLMConfig{Provider: "scripted", Model: "y"},
		Format: &domain.ResponseFormat{Type: domain.FormatJSON}, Budget: &domain.ExecutionBudget{MaxSteps: new(int64(3))},
	}, time.Unix(7, 0).UTC())
	require.NoError(t, err)
	require.Equal(t, domain.Metadata{"new": json.RawMessage(`2`)}, state.Metadata)
	require.Equal(t, "other", state.SystemPrompt)
	require.Equal(t, "y", state.LLMConfig.Model)
	require.Equal(t, domain.FormatJSON, state.ResponseFormat.Type)
	budget, _ := state.Budget()
	require.Equal(t, int64(3), *budget.MaxSteps)
	require.Equal(t, time.Unix(7, 0).UTC(), state.UpdatedAt)

	same, err := hook.Changed(given, contract.HookReply{}, time.Unix(7, 0))
	require.NoError(t, err)
	require.Equal(t, given, same)
	for want, reply := range map[string]contract.HookReply{
		"its metadata takes": {Note: domain.Metadata{"a": json.RawMessage(`"` + strings.Repeat("x", domain.MaxMetadata) + `"`)}},
		"model":              {Model: &domain.LLMConfig{}},
	} {
		_, err := hook.Changed(given, reply, time.Time{})
		require.ErrorContains(t, err, want)
	}
}
