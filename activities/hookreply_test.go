package activities_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
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
	// brim is a message of the largest size that there may be.
	brim := func(role domain.Role) domain.Message {
		least := domain.Message{Role: role, Parts: text("")}.Size()
		return domain.Message{Role: role, Parts: text(strings.Repeat("x", domain.MaxMessage-least))}
	}
	bare, err := json.Marshal(contract.HookReply{Note: domain.Metadata{"k": json.RawMessage(`""`)}})
	require.NoError(t, err)
	for _, test := range []struct {
		name    string
		trigger domain.Trigger
		reply   contract.HookReply
		says    string // empty: it makes sense
	}{
		{"nothing", step, contract.HookReply{}, ""},
		{"block", tool, contract.HookReply{Block: "no"}, ""},
		{"block elsewhere", result, contract.HookReply{Block: "no"}, "block: is set at after_tool_use; it means something at before_tool_use only"},
		{"call", tool, contract.HookReply{Call: &domain.ToolCall{Name: "read"}}, ""},
		{"the same call", tool, contract.HookReply{Call: &call}, ""},
		{"call elsewhere", step, contract.HookReply{Call: &call}, "call: is set at before_step"},
		{"call without a name", tool, contract.HookReply{Call: &domain.ToolCall{ID: "c1"}}, "call.name: is empty"},
		{"call of another id", tool, contract.HookReply{Call: &domain.ToolCall{ID: "c2", Name: "read"}}, "call.id: is not that of the model's call"},
		{"block and call", tool, contract.HookReply{Block: "no", Call: &call}, "block, call: both are set"},
		{"content", result, contract.HookReply{Content: new("clean")}, ""},
		{"empty content", result, contract.HookReply{Content: new("")}, ""},
		{"content as long as may be", result, contract.HookReply{Content: new(strings.Repeat("x", domain.MaxToolResult))}, ""},
		{"content elsewhere", tool, contract.HookReply{Content: new("")}, "content: is set at before_tool_use"},
		{"long content", result, contract.HookReply{Content: new(strings.Repeat("x", domain.MaxToolResult+1))}, "content: has 65537 bytes"},
		{"broken content", result, contract.HookReply{Content: new("\xff")}, "content: is not UTF-8"},
		{"answer", answer, contract.HookReply{Answer: &domain.Message{Parts: text("mended")}}, ""},
		{"answer elsewhere", step, contract.HookReply{Answer: &domain.Message{Parts: text("x")}}, "answer: is set at before_step"},
		{"answer of the user", answer, contract.HookReply{Answer: &domain.Message{Role: domain.RoleUser, Parts: text("x")}}, "answer.role: is user"},
		{"answer of an unknown role", answer, contract.HookReply{Answer: &domain.Message{Role: "oracle"}}, "answer.role: is oracle"},
		{"answer with a result", answer, contract.HookReply{Answer: &domain.Message{ToolResult: &domain.ToolResult{}}}, "answer.tool_result: is set"},
		{"answer with a nameless call", answer, contract.HookReply{Answer: &domain.Message{ToolCalls: []domain.ToolCall{{Name: "a"}, {}}}}, "answer.tool_calls[1].name: is empty"},
		{"answer with calls without end", answer, contract.HookReply{Answer: &domain.Message{ToolCalls: make([]domain.ToolCall, domain.MaxRequestedCalls+1)}}, "answer.tool_calls: there are 1001"},
		{"answer with as many calls as may be", answer, contract.HookReply{Answer: &domain.Message{ToolCalls: slices.Repeat([]domain.ToolCall{call}, domain.MaxRequestedCalls)}}, ""},
		{"answer as long as may be", answer, contract.HookReply{Answer: new(brim(domain.RoleAssistant))}, ""},
		{"long answer", answer, contract.HookReply{Answer: &domain.Message{Parts: text(strings.Repeat("x", domain.MaxMessage))}}, "answer: takes about"},
		{"answer of an unknown part", answer, contract.HookReply{Answer: &domain.Message{Parts: []domain.Part{{Type: "smell"}}}}, "smell"},
		{"stop for a reason", step, contract.HookReply{Stop: &domain.StopSignal{Reason: domain.StepsLimitReached}}, ""},
		{"stop for no known reason", step, contract.HookReply{Stop: &domain.StopSignal{Reason: "tired"}}, "stop.reason: "},
		{"stop with notes that are no JSON", step, contract.HookReply{Stop: &domain.StopSignal{Context: domain.Metadata{"k": json.RawMessage("{")}}}, "it cannot be encoded"},
		{"go on", domain.TriggerAfterStep, contract.HookReply{Continue: true}, ""},
		{"say", step, contract.HookReply{Say: []domain.Message{{Role: domain.RoleSystem, Parts: text("x")}}}, ""},
		{"say a result", step, contract.HookReply{Say: []domain.Message{domain.ToolMessage(domain.ToolResult{})}}, "say[0]: is a tool's call or result"},
		{"say a call", step, contract.HookReply{Say: []domain.Message{{Parts: text("x"), ToolCalls: []domain.ToolCall{call}}}}, "say[0]: is a tool's call or result"},
		{"say nothing", step, contract.HookReply{Say: []domain.Message{{}}}, "say[0].parts: is empty"},
		{"say much", step, contract.HookReply{Say: []domain.Message{{Parts: text(strings.Repeat("x", domain.MaxMessage))}}}, "say[0]: takes about"},
		{"say as much as may be", step, contract.HookReply{Say: []domain.Message{brim(domain.RoleUser)}}, ""},
		{"say as often as may be", step, contract.HookReply{Say: slices.Repeat([]domain.Message{{Parts: text("x")}}, 100)}, ""},
		{"say often", step, contract.HookReply{Say: make([]domain.Message, 101)}, "say: there are 101 messages"},
		{"note", step, contract.HookReply{Note: domain.Metadata{"k": json.RawMessage("null")}}, ""},
		{"note without a key", step, contract.HookReply{Note: domain.Metadata{"": json.RawMessage("1")}}, "note: a key is empty"},
		{"note that is no JSON", step, contract.HookReply{Note: domain.Metadata{"k": json.RawMessage("tru")}}, "note.k: is no JSON"},
		{"note of nothing", step, contract.HookReply{Note: domain.Metadata{"k": nil}}, "note.k: is no JSON"},
		{"as much in all as may be", step, contract.HookReply{Note: domain.Metadata{"k": json.RawMessage(`"` + strings.Repeat("x", domain.MaxPayload-len(bare)) + `"`)}}, ""},
		{"much in all", step, contract.HookReply{Note: domain.Metadata{"k": json.RawMessage(`"` + strings.Repeat("x", domain.MaxPayload) + `"`)}}, "its reply takes 15000"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := hook.IO(test.trigger, "h", func(context.Context, contract.HookRequest) (contract.HookReply, error) { return test.reply, nil })
			_, err := benchOf().callHook(t, h, contract.HookRequest{Call: &call})
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
	shared := contract.HookReply{Call: &call, Stop: &domain.StopSignal{}, Say: []domain.Message{{Parts: text("x")}}}
	h := hook.IO(domain.TriggerBeforeToolUse, "h", func(context.Context, contract.HookRequest) (contract.HookReply, error) { return shared, nil })
	_, err := benchOf().callHook(t, h, contract.HookRequest{Call: &domain.ToolCall{ID: "c1", Name: "write"}})
	require.NoError(t, err)
	require.Equal(t, contract.HookReply{Call: &domain.ToolCall{Name: "read"}, Stop: &domain.StopSignal{}, Say: []domain.Message{{Parts: text("x")}}}, shared,
		"a hook may return the same values each time")
}
