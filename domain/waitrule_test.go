package domain_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/enum"
)

// TestWaitTable holds the rows against what reads them: each has its words and answers, and each verdict that is not of time has
// a kind. Where two kinds take a verdict the same command gives it, since people see one word.
func TestWaitTable(t *testing.T) {
	t.Parallel()
	commands := map[domain.Verdict]string{}
	for _, rule := range domain.WaitRules() {
		require.Equal(t, rule.Kind, rule.Kind.Rule().Kind)
		require.NotEmpty(t, rule.Cause, rule.Kind)
		require.NotEmpty(t, rule.For, rule.Kind)
		require.NotEmpty(t, rule.Answers, rule.Kind)
		require.False(t, rule.Replies && rule.Outlasts, "%s: a call that is over has its result", rule.Kind)
		for _, answer := range rule.Answers {
			require.NotEmpty(t, answer.Command, rule.Kind)
			require.Equal(t, !rule.Replies && !rule.Outlasts, answer.Key != "" && answer.Does != "", "%s: people are asked to decide by keys", rule.Kind)
			if is := commands[answer.Verdict]; is != "" {
				require.Equal(t, is, answer.Command, answer.Verdict)
			}
			commands[answer.Verdict] = answer.Command
			require.NotEmpty(t, answer.Verdict.Kind())
		}
		require.True(t, rule.Grants(rule.Answers[0].Verdict))
	}
	byTime := []domain.Verdict{domain.AnsweredByDefault, domain.Expired}
	require.ElementsMatch(t, enum.Known[domain.Verdict](), slices.AppendSeq(byTime, maps.Keys(commands)))
	for _, verdict := range byTime {
		require.Empty(t, verdict.Kind())
	}
	require.Zero(t, domain.WaitKind("").Rule())
}

// TestWaitsFor is told in one word where all wait for the same.
func TestWaitsFor(t *testing.T) {
	t.Parallel()
	call, question := domain.Wait{Kind: domain.WaitApproval}, domain.Wait{Kind: domain.WaitQuestion}
	require.Empty(t, domain.WaitsFor(nil))
	require.Equal(t, "approval", domain.WaitsFor([]domain.Wait{call, call}))
	require.Equal(t, "an answer", domain.WaitsFor([]domain.Wait{question}))
	require.Equal(t, "people", domain.WaitsFor([]domain.Wait{question, question, call}))
}
