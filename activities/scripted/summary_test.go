package scripted

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/domain"
)

func summing(path string, n, attempt int) inference.Call {
	call := at(path, n, attempt)
	call.Summary = true
	return call
}

func TestSummaries(t *testing.T) {
	t.Parallel()
	path := scriptFile(t, `
turns:
  - text: one
summaries:
  - text: 'as it is: {{ nothing }}'
    usage: {input_tokens: 40, output_tokens: 4}
  - text: the second
    failures: [{status: 503}, {cut_after: 3}]
  - {}
`)
	first, deltas, err := play(t.Context(), summing(path, 0, 1))
	require.NoError(t, err)
	require.Equal(t, "as it is: {{ nothing }}", first.Message.Text(), "a summary quotes nothing")
	require.Equal(t, domain.Response{
		ID: "scripted_summary_0", Model: "script.yaml", Finish: domain.FinishStop, Usage: domain.Usage{InputTokens: 40, OutputTokens: 4},
	}, first.Response)
	require.Equal(t, []inference.Delta{{Text: "as it is: {{ nothing }}"}}, deltas)

	_, _, err = play(t.Context(), summing(path, 1, 1))
	require.Equal(t, domain.Unavailable, domain.AsError(err).Kind)
	require.False(t, domain.AsError(err).Billed)
	partial, _, err := play(t.Context(), summing(path, 1, 2))
	require.True(t, domain.AsError(err).Billed)
	require.Equal(t, "the", partial.Message.Text())
	second, _, err := play(t.Context(), summing(path, 1, 3))
	require.NoError(t, err)
	require.Equal(t, "the second", second.Message.Text())
	empty, _, err := play(t.Context(), summing(path, 2, 1))
	require.NoError(t, err)
	require.Empty(t, empty.Message.Parts)

	turn, _, err := play(t.Context(), at(path, 0, 1))
	require.NoError(t, err)
	require.Equal(t, "one", turn.Message.Text(), "no summary took a turn")
}

func TestSummariesByDefault(t *testing.T) {
	t.Parallel()
	path := scriptFile(t, "turns: [{text: one}]\nsummaries: [{text: mine}]")
	for n, want := range []string{"mine", "This is summary 2, which the script does not give.", "This is summary 3, which the script does not give."} {
		answer, _, err := play(t.Context(), summing(path, n, 1))
		require.NoError(t, err)
		require.Equal(t, want, answer.Message.Text())
	}
	answer, _, err := play(t.Context(), summing(path, 7, 1))
	require.NoError(t, err)
	require.True(t, answer.Response.Usage.IsZero(), "unknown: it is reckoned")
}

func TestSummaryMistakes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, says string }{
		"a call":    {"turns: []\nsummaries: [{tool_calls: []}]", "x.yaml:2:14: summaries[0].tool_calls: there is no such key"},
		"a failure": {"turns: []\nsummaries: [{failures: [{status: 200}]}]", "x.yaml:2:34: summaries[0].failures[0].status: is 200; give a whole number from 400 to 599"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse("x.yaml", []byte(test.text))
			require.ErrorContains(t, err, test.says)
		})
	}
}
