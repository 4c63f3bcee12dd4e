package activities_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/hook"
)

func text(text string) []domain.Part {
	return []domain.Part{{Type: domain.PartText, Text: text}}
}

func TestHookReplies(t *testing.T) {
	t.Parallel()
	const (
		tool   = domain.TriggerBeforeToolUse
		result = domain.TriggerAfterToolUse
		answer = domain.TriggerAfterInference
		step   = domain.TriggerBeforeStep
	)
	call := domain.ToolCall{ID: "c1", Name: "write", Arguments: "{}"}
	for _, test := range []struct {
		name    string
		trigger domain.Trigger
		reply   domain.HookReply
		says    string // empty: it makes sense
	}{
		{"nothing", step, domain.HookReply{}, ""},
		{"block", tool, domain.HookReply{Block: "no"}, ""},
		{"block elsewhere", result, domain.HookReply{Block: "no"}, "block: is set at after_tool_use; it means something at before_tool_use only"},
		{"call", tool, domain.HookReply{Call: &domain.ToolCall{Name: "read"}}, ""},
		{"the same call", tool, domain.HookReply{Call: &call}, ""},
		{"call elsewhere", step, domain.HookReply{Call: &call}, "call: is set at before_step"},
		{"call without a name", tool, domain.HookReply{Call: &domain.ToolCall{ID: "c1"}}, "call.name: is empty"},
		{"call of another id", tool, domain.HookReply{Call: &domain.ToolCall{ID: "c2", Name: "read"}}, "call.id: is not that of the model's call"},
		{"block and call", tool, domain.HookReply{Block: "no", Call: &call}, "block, call: both are set"},
		{"content", result, domain.HookReply{Content: new("clean")}, ""},
		{"empty content", result, domain.HookReply{Content: new("")}, ""},
		{"content elsewhere", tool, domain.HookReply{Content: new("")}, "content: is set at before_tool_use"},
		{"long content", result, domain.HookReply{Content: new(strings.Repeat("x", domain.MaxToolResult+1))}, "content: has 65537 bytes"},
		{"broken content", result, domain.HookReply{Content: new("\xff")}, "content: is not UTF-8"},
		{"answer", answer, domain.HookReply{Answer: &domain.Message{Parts: text("mended")}}, ""},
		{"answer elsewhere", step, domain.HookReply{Answer: &domain.Message{Parts: text("x")}}, "answer: is set at before_step"},
		{"answer of the user", answer, domain.HookReply{Answer: &domain.Message{Role: domain.RoleUser, Parts: text("x")}}, "answer.role: is user"},
		{"answer of an unknown role", answer, domain.HookReply{Answer: &domain.Message{Role: "oracle"}}, "answer.role: is oracle"},
		{"answer with a result", answer, domain.HookReply{Answer: &domain.Message{ToolResult: &domain.ToolResult{}}}, "answer.tool_result: is set"},
		{"answer with a nameless call", answer, domain.HookReply{Answer: &domain.Message{ToolCalls: []domain.ToolCall{{Name: "a"}, {}}}}, "answer.tool_calls[1].name: is empty"},
		{"answer with calls without end", answer, domain.HookReply{Answer: &domain.Message{ToolCalls: make([]domain.ToolCall, domain.MaxRequestedCalls+1)}}, "answer.tool_calls: there are 1001"},
		{"long answer", answer, domain.HookReply{Answer: &domain.Message{Parts: text(strings.Repeat("x", domain.MaxMessage))}}, "answer: takes about"},
		{"answer of an unknown part", answer, domain.HookReply{Answer: &domain.Message{Parts: []domain.Part{{Type: "smell"}}}}, "smell"},
		{"stop for a reason", step, domain.HookReply{Stop: &domain.StopSignal{Reason: domain.StepsLimitReached}}, ""},
		{"stop for no known reason", step, domain.HookReply{Stop: &domain.StopSignal{Reason: "tired"}}, "stop.reason: "},
		{"stop with notes that are no JSON", step, domain.HookReply{Stop: &domain.StopSignal{Context: domain.Metadata{"k": json.RawMessage("{")}}}, "it cannot be encoded"},
		{"go on", domain.TriggerAfterStep, domain.HookReply{Continue: true}, ""},
		{"say", step, domain.HookReply{Say: []domain.Message{{Role: domain.RoleSystem, Parts: text("x")}}}, ""},
		{"say a result", step, domain.HookReply{Say: []domain.Message{domain.ToolMessage(domain.ToolResult{})}}, "say[0]: is a tool's call or result"},
		{"say a call", step, domain.HookReply{Say: []domain.Message{{Parts: text("x"), ToolCalls: []domain.ToolCall{call}}}}, "say[0]: is a tool's call or result"},
		{"say nothing", step, domain.HookReply{Say: []domain.Message{{}}}, "say[0].parts: is empty"},
		{"say much", step, domain.HookReply{Say: []domain.Message{{Parts: text(strings.Repeat("x", domain.MaxMessage))}}}, "say[0]: takes about"},
		{"say often", step, domain.HookReply{Say: make([]domain.Message, 101)}, "say: there are 101 messages"},
		{"note", step, domain.HookReply{Note: domain.Metadata{"k": json.RawMessage("null")}}, ""},
		{"note without a key", step, domain.HookReply{Note: domain.Metadata{"": json.RawMessage("1")}}, "note: a key is empty"},
		{"note that is no JSON", step, domain.HookReply{Note: domain.Metadata{"k": json.RawMessage("tru")}}, "note.k: is no JSON"},
		{"note of nothing", step, domain.HookReply{Note: domain.Metadata{"k": nil}}, "note.k: is no JSON"},
		{"much in all", step, domain.HookReply{Note: domain.Metadata{"k": json.RawMessage(`"` + strings.Repeat("x", domain.MaxPayload) + `"`)}}, "its reply takes 15000"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := hook.IO(test.trigger, "h", func(context.Context, domain.HookRequest) (domain.HookReply, error) { return test.reply, nil })
			_, err := benchOf().callHook(t, h, domain.HookRequest{Call: &call})
			if test.says == "" {
				require.NoError(t, err)
				return
			}
			own, retryable := hookFailed(t, err)
			require.Contains(t, own.Message, test.says)
			require.False(t, retryable)
		})
	}
}

func TestHookRepliesAreNotChanged(t *testing.T) {
	t.Parallel()
	call := domain.ToolCall{Name: "read"}
	shared := domain.HookReply{Call: &call, Stop: &domain.StopSignal{}, Say: []domain.Message{{Parts: text("x")}}}
	h := hook.IO(domain.TriggerBeforeToolUse, "h", func(context.Context, domain.HookRequest) (domain.HookReply, error) { return shared, nil })
	_, err := benchOf().callHook(t, h, domain.HookRequest{Call: &domain.ToolCall{ID: "c1", Name: "write"}})
	require.NoError(t, err)
	require.Equal(t, domain.HookReply{Call: &domain.ToolCall{Name: "read"}, Stop: &domain.StopSignal{}, Say: []domain.Message{{Parts: text("x")}}}, shared,
		"a hook may return the same values each time")
}
