package anthropic_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/anthropic"
	"everstep/activities/inference/wire"
	"everstep/domain"
	"everstep/testsuite/providers"
)

// TestThinkingThatIsBound: newer models refuse thoughts whose beginning has
// changed since, as it does where a conversation is summed up. They are asked to
// leave such out.
func TestThinkingThatIsBound(t *testing.T) {
	t.Parallel()
	thought := domain.Part{Type: domain.PartReasoning, Text: "hm", Signature: "sig", Opaque: json.RawMessage(`{"anthropic_thinking":true}`)}
	redacted := domain.Part{Type: domain.PartReasoning, Opaque: json.RawMessage(`{"anthropic_block":{"type":"redacted_thinking","data":"x"}}`)}
	foreign := domain.Part{Type: domain.PartReasoning, Text: "hm", Signature: "sig"}
	const binding, beta = `"block_binding":{"prefix_mismatch_behavior":"drop_block"}`, "thinking-binding-controls-2026-08-01"
	for name, test := range map[string]struct {
		model   string
		part    domain.Part
		options domain.Metadata
		want    string
		beta    string
	}{
		"a newer model":           {model: "claude-opus-5-5", part: thought, want: `{"type":"adaptive",` + binding + `}`, beta: beta},
		"with a date":             {model: "claude-fable-5-1-20260901", part: redacted, want: `{"type":"adaptive",` + binding + `}`, beta: beta},
		"of a year to come":       {model: "claude-sonnet-6", part: thought, want: `{"type":"adaptive",` + binding + `}`, beta: beta},
		"with options":            {model: "claude-mythos-5-2", part: thought, options: options("thinking", `{"type":"adaptive","display":"omitted"}`, "betas", `["a-1"]`), want: `{"type":"adaptive","display":"omitted",` + binding + `}`, beta: "a-1," + beta},
		"with a will of its own":  {model: "claude-opus-5-5", part: thought, options: options("thinking", `{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"error"}}`), want: `{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"error"}}`},
		"that is not to think":    {model: "claude-opus-5-5", part: thought, options: options("thinking", `{"type":"disabled"}`), want: `{"type":"disabled"}`},
		"no thoughts yet":         {model: "claude-opus-5-5", part: domain.Part{Type: domain.PartText, Text: "x"}},
		"thoughts of others":      {model: "claude-opus-5-5", part: foreign},
		"an older model":          {model: "claude-opus-5", part: thought},
		"an older one, dated":     {model: "claude-opus-5-20260401", part: thought},
		"a still older one":       {model: "claude-3-7-sonnet-latest", part: thought},
		"another maker's":         {model: "glm-5-5", part: thought},
		"no model of any version": {model: "claude-opus-latest", part: thought},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := question()
			call.Config.Model, call.Config.Options = test.model, test.options
			call.Messages = append(call.Messages, domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{test.part}}, domain.UserMessage("and?"))
			header, body := caught(t, call)
			require.Equal(t, test.beta, header.Get("Anthropic-Beta"))
			if test.want == "" {
				require.NotContains(t, body, "thinking")
				return
			}
			require.Equal(t, jsonOf(t, test.want), body["thinking"])
		})
	}
}

// TestThinksUnheard: a model that thinks and shows nothing may take longer than a pause.
func TestThinksUnheard(t *testing.T) {
	t.Parallel()
	ping := event("ping", "")
	pieces := []string{start + begin("0", `{"type":"thinking","thinking":"","signature":""}`), ping, ping, ping, text("1", "hello") + ended(`"end_turn"`)}
	p, err := wire.New(anthropic.API(), wire.Config{BaseURL: providers.Slowly(t, 250*time.Millisecond, pieces...).URL, Timeouts: wire.Timeouts{Idle: 500 * time.Millisecond}})
	require.NoError(t, err)
	_, failed := providers.Infer(t, p, question())
	require.Nil(t, failed)
}
