package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
)

// canary is the only secret of these tests' workers.
const canary = "canary-0123456789"

// oneSecret hides the canary.
type oneSecret struct{}

func (oneSecret) Hide(text string) string { return strings.ReplaceAll(text, canary, "[hidden]") }

func (oneSecret) Begun(text string) int {
	for n := min(len(text), len(canary)-1); n > 0; n-- {
		if strings.HasPrefix(canary, text[len(text)-n:]) {
			return n
		}
	}
	return 0
}

// hides makes sure that a value holds no canary, nor half of one.
func hides(t *testing.T, value any) {
	t.Helper()
	encoded, err := json.Marshal(value)
	require.NoError(t, err)
	for _, half := range []string{canary[:12], canary[9:]} {
		require.False(t, strings.Contains(string(encoded), half), "%.1000q", encoded)
	}
}

func TestCallModelHidesSecrets(t *testing.T) {
	t.Parallel()
	notes := domain.Metadata{"k": json.RawMessage(`"` + canary + `"`)}
	message := domain.Message{Role: domain.RoleAssistant, Name: canary, Metadata: notes, Parts: []domain.Part{
		{Type: domain.PartReasoning, Text: "plain", Signature: "signed", Opaque: []byte(`{"kept":true}`)},
		{Type: domain.PartReasoning, Text: "I see " + canary, Signature: "signed", Opaque: []byte(`{"kept":true}`)},
		{Type: domain.PartReasoning, Signature: canary},
		{Type: domain.PartReasoning, Text: "hm", Opaque: []byte(`{"data":"` + canary + `"}`)},
		{Type: domain.PartText, Text: "It is " + canary + "."},
		{Type: domain.PartFile, MediaType: canary, URL: "https://host/" + canary, Filename: canary, Data: []byte(canary)},
		{Type: domain.PartReasoning, Text: "plain again", Signature: "signed", Opaque: []byte(`{"kept":true}`)},
	}, ToolCalls: []domain.ToolCall{{ID: canary, Name: canary, Arguments: `{"key":"` + canary + `"}`}}}
	answer := inference.Answer{Message: message, Response: domain.Response{
		ID: canary, RequestID: canary, Model: canary, Finish: domain.FinishReason(canary), FinishWord: canary, Usage: domain.Usage{InputTokens: 1},
	}}
	b := modelBenchOf(returning(answer, nil))
	b.secrets = oneSecret{}
	reply := b.reply(t)
	hides(t, reply)
	require.Equal(t, "It is [hidden].", reply.Message.Parts[4].Text)
	require.JSONEq(t, `{"key":"[hidden]"}`, reply.Message.ToolCalls[0].Arguments)
	for _, i := range []int{0, 6} {
		require.Equal(t, message.Parts[i], reply.Message.Parts[i], "what holds none stays as it came")
	}
	for _, part := range reply.Message.Parts[1:4] {
		require.Empty(t, part.Signature, "a signature of what is no longer said")
		require.Empty(t, part.Opaque)
	}
	require.Equal(t, "It is "+canary+".", message.Parts[4].Text, "the provider's own is not changed")
}

// TestCallModelHidesSecretsInErrors: whoever wrote the provider.
func TestCallModelHidesSecretsInErrors(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"a domain error": domain.Deniedf("bad key %s", canary),
		"at the border":  domain.Deniedf("%s", strings.Repeat("x", 4<<10-8)+canary),
		"billed":         &domain.Error{Kind: domain.Unavailable, Message: canary, Billed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modelBenchOf(returning(inference.Answer{Partial: true}, err))
			b.secrets = oneSecret{}
			reply, err := b.call(t, b.request())
			hides(t, reply)
			if err != nil {
				_, own := failureOf(t, err)
				hides(t, []any{err.Error(), own})
			}
		})
	}
}

// TestCallModelHidesSecretsWhileStreaming: not even the beginning of a secret
// is in a heartbeat, nor in the text that is kept of an answer that was cut.
func TestCallModelHidesSecretsWhileStreaming(t *testing.T) {
	t.Parallel()
	seen := make(chan struct{})
	b := modelBenchOf(nil)
	b.onBeat = func(beat contract.Heartbeat) {
		if strings.Contains(beat.Tail, "then ") {
			select {
			case <-seen:
			default:
				close(seen)
			}
		}
	}
	b.secrets = oneSecret{}
	b.model = func(_ context.Context, _ inference.Call, emit func(inference.Delta)) (inference.Answer, error) {
		for _, r := range strings.Split("first "+canary+", then "+canary[:14], "") {
			emit(inference.Delta{Text: r, Reasoning: r})
		}
		<-seen
		answer := says("first "+canary+", then "+canary[:14], domain.Usage{InputTokens: 1})
		answer.Partial = true
		return answer, nil
	}
	reply := b.reply(t)
	beats := b.recorded()
	hides(t, beats)
	require.Equal(t, "first [hidden], then ", beats[len(beats)-1].Tail)
	require.Equal(t, "first [hidden], then ", reply.Message.Text())
}

// TestCallModelCutsWhatMayBeHalfASecret off the end of what was cut off, where it
// is enough of one to tell something.
func TestCallModelCutsWhatMayBeHalfASecret(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{7: "so " + canary[:7], 8: "so "} {
		answer := says("so "+canary[:n], domain.Usage{InputTokens: 1})
		answer.Partial = true
		b := modelBenchOf(returning(answer, nil))
		b.secrets = oneSecret{}
		require.Equal(t, want, b.reply(t).Message.Text())
	}
}

func TestCallToolHidesSecrets(t *testing.T) {
	t.Parallel()
	head := (domain.MaxToolResult - 100) * 3 / 4 // what is left of a long result
	long := strings.Repeat("x", head-12) + canary + strings.Repeat("y", domain.MaxToolResult)
	for name, result := range map[string]tool.Result{
		"a result":        {Content: "k " + canary},
		"where it is cut": {Content: long},
		"a stop":          {Stop: &domain.StopSignal{Message: canary, Context: domain.Metadata{"k": json.RawMessage(`"` + canary + `"`)}}},
	} {
		hidesIn(t, name, resulting(domain.AtMostOnce, result))
	}
	for name, text := range map[string]string{"an error": "no " + canary, "a long error": strings.Repeat("x", 990) + canary} {
		hidesIn(t, name, fake(domain.AtMostOnce, failing(errors.New(text))))
	}
}

// hidesIn makes sure that what a tool says is told without secrets.
func hidesIn(t *testing.T, name string, from tool.Tool) {
	t.Helper()
	b := benchOf(from)
	b.config.Secrets = oneSecret{}
	reply := b.run(t)
	hides(t, reply)
	encoded, err := json.Marshal(reply)
	require.NoError(t, err)
	require.True(t, strings.Contains(string(encoded), "[hidden]"), "%s: %.1000q", name, encoded)
}

// TestCallToolHidesSecretsInFailures: those that Temporal tries again.
func TestCallToolHidesSecretsInFailures(t *testing.T) {
	t.Parallel()
	b := benchOf(fake(domain.ReadOnly, failing(domain.Errorf(domain.Unavailable, "no %s", canary))))
	b.config.Secrets = oneSecret{}
	own := b.failure(t, request("fake", domain.ReadOnly))
	hides(t, own)
	require.Contains(t, own.Message, "[hidden]")
}

func TestCallHookHidesSecrets(t *testing.T) {
	t.Parallel()
	say := func(trigger domain.Trigger, reply contract.HookReply, err error) hook.Hook {
		return hook.IO(trigger, "h", func(context.Context, contract.HookRequest) (contract.HookReply, error) { return reply, err })
	}
	text := canary
	message := domain.Message{Parts: []domain.Part{{Type: domain.PartText, Text: canary}}}
	for name, h := range map[string]hook.Hook{
		"block":  say(domain.TriggerBeforeToolUse, contract.HookReply{Block: canary}, nil),
		"call":   say(domain.TriggerBeforeToolUse, contract.HookReply{Call: &domain.ToolCall{Name: "f", Arguments: canary}}, nil),
		"result": say(domain.TriggerAfterToolUse, contract.HookReply{Content: &text}, nil),
		"answer": say(domain.TriggerAfterInference, contract.HookReply{Answer: &message}, nil),
		"more": say(domain.TriggerAfterInference, contract.HookReply{
			Stops: []domain.StopSignal{{Message: canary}}, Say: []domain.Message{message}, Aside: map[string][]domain.Message{"notes": {message}}, SystemPrompt: new(canary), Note: domain.Metadata{"k": json.RawMessage(`"` + canary + `"`)},
		}, nil),
		"an error":       say(domain.TriggerBeforeToolUse, contract.HookReply{}, errors.New(canary)),
		"a domain error": say(domain.TriggerBeforeToolUse, contract.HookReply{}, domain.Deniedf("%s", canary)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := benchOf()
			b.config.Secrets = oneSecret{}
			reply, err := b.callHook(t, h, contract.HookRequest{})
			shown := []any{reply}
			if err != nil {
				own, _ := hookFailed(t, err)
				shown = append(shown, own, err.Error())
			}
			hides(t, shown)
			encoded, err := json.Marshal(shown)
			require.NoError(t, err)
			require.Contains(t, string(encoded), "[hidden]")
		})
	}
	require.Equal(t, canary, text, "the hook's own is not changed")
	require.Equal(t, canary, message.Parts[0].Text)
}
