package activities_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/domain"
)

// TestReasoningIsForItsModel: what a model wants back of its reasoning goes to
// that model alone, and stays recorded for when it is asked again.
func TestReasoningIsForItsModel(t *testing.T) {
	t.Parallel()
	reasoning := domain.Part{Type: domain.PartReasoning, Text: "hm", Signature: "sig", Opaque: json.RawMessage(`{"a":1}`)}
	words := domain.Part{Type: domain.PartText, Text: "hello"}
	model := domain.LLMConfig{Provider: "fake", Model: "m"}
	b := modelBenchOf(func(context.Context, inference.Call, func(inference.Delta)) (inference.Answer, error) {
		answer := says("", domain.Usage{})
		answer.Message.Parts = []domain.Part{reasoning, words}
		return answer, nil
	})
	b.resolved.Definition.Model = model
	said := *b.reply(t).Message
	require.Equal(t, domain.Metadata{"reasoner": json.RawMessage(`"fake/m"`)}, said.Metadata)

	alone := said
	alone.Parts = []domain.Part{reasoning}
	other := answeringBench("well", domain.Usage{})
	other.resolved.Definition.Model = domain.LLMConfig{Provider: "fake", Model: "m-2"}
	other.log = other.log.Append("", alone, domain.DigestOf([]byte("said"))).Append("", domain.UserMessage("and?"), domain.DigestOf([]byte("and?")))
	other.reply(t)
	require.Len(t, other.called.Messages, 2, "nothing of a message that was reasoning alone is sent to another model")

	for name, test := range map[string]struct {
		asked domain.LLMConfig
		want  []domain.Part
	}{
		"the same":       {asked: model, want: []domain.Part{reasoning, words}},
		"another model":  {asked: domain.LLMConfig{Provider: "fake", Model: "m-2"}, want: []domain.Part{words}},
		"another server": {asked: domain.LLMConfig{Provider: "fake", Model: "m", BaseURL: "https://elsewhere.example/v1"}, want: []domain.Part{words}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next := answeringBench("well", domain.Usage{})
			next.resolved.Definition.Model = test.asked
			next.log = next.log.Append("", said, domain.DigestOf([]byte("said"))).Append("", domain.UserMessage("and?"), domain.DigestOf([]byte("and?")))
			require.Empty(t, next.reply(t).Message.Metadata, "an answer without reasoning is from nobody")
			require.Len(t, next.called.Messages, 3)
			require.Equal(t, test.want, next.called.Messages[1].Parts)
			require.Equal(t, []domain.Part{reasoning, words}, said.Parts, "what is recorded stays")
		})
	}
}
