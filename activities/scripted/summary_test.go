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
	require.Equal(t, "the second", played(t, summing(path, 1, 3)).Message.Text())
	require.Empty(t, played(t, summing(path, 2, 1)).Message.Parts)
	require.Equal(t, "one", played(t, at(path, 0, 1)).Message.Text(), "no summary took a turn")
}

func TestSummariesByDefault(t *testing.T) {
	t.Parallel()
	path := scriptFile(t, "turns: [{text: one}]\nsummaries: [{text: mine}]")
	for n, want := range []string{"mine", "This is summary 2, which the script does not give.", "This is summary 3, which the script does not give."} {
		require.Equal(t, want, played(t, summing(path, n, 1)).Message.Text())
	}
	require.True(t, played(t, summing(path, 7, 1)).Response.Usage.IsZero(), "unknown: it is reckoned")
}
