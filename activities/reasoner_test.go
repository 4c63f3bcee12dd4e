package activities_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// TestReasoningIsForItsModel: what a model wants back of its reasoning goes to
// that model alone, and stays recorded for when it is asked again.
func TestReasoningIsForItsModel(t *testing.T) {
	t.Parallel()
	reasoning := domain.Part{Type: domain.PartReasoning, Text: "hm", Signature: "sig", Opaque: json.RawMessage(`{"a":1}`)}
	words := domain.Part{Type: domain.PartText, Text: "hello"}
	model := domain.LLMConfig{Provider: "fake", Model: "m"}
	answer := says("", domain.Usage{})
	answer.Message.Parts = []domain.Part{reasoning, words}
	b := modelBenchOf(returning(answer, nil))
	b.resolved.Definition.Model = model
	said := *b.reply(t).Message
	require.Equal(t, domain.Metadata{"reasoner": json.RawMessage(`"fake/m"`)}, said.Metadata)

	// next is what a model is sent after such an answer.
	next := func(t *testing.T, asked domain.LLMConfig, said domain.Message) []domain.Message {
		b := answeringBench("well", domain.Usage{})
		b.resolved.Definition.Model = asked
		b.say(said, domain.UserMessage("and?"))
		require.Empty(t, b.reply(t).Message.Metadata, "an answer without reasoning is from nobody")
		return b.called.Messages
	}
	alone := said
	alone.Parts = []domain.Part{reasoning}
	require.Len(t, next(t, domain.LLMConfig{Provider: "fake", Model: "m-2"}, alone), 2, "nothing of a message that was reasoning alone is sent to another model")

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
			sent := next(t, test.asked, said)
			require.Len(t, sent, 3)
			require.Equal(t, test.want, sent[1].Parts)
			require.Equal(t, []domain.Part{reasoning, words}, said.Parts, "what is recorded stays")
		})
	}
}
