package progress_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
)

// verifies is a story in which a tool is asked what became of its call.
func verifies() (*story, progress.Work) {
	s := begins(contract.SessionInput{}).answers(1, 1, "", domain.ToolCall{Name: "ls"}, domain.ToolCall{Name: "ls"})
	s.then(progress.Lost{Work: s.calls(1, 1, 0), Loss: progress.Loss{How: progress.TimedOut}})
	return s, s.asks(progress.Work{Verify: &contract.ToolRequest{ExecutionID: nth(1), Step: 1, Name: "ls"}})
}

// TestAVerifiedCall ends as its tool has found out; where that knows nothing, as it had ended before.
func TestAVerifiedCall(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ends    func(w progress.Work) progress.Fact
		outcome domain.ToolOutcome
		verdict domain.Verdict
	}{
		"done": {func(w progress.Work) progress.Fact {
			return progress.Verified{Work: w, Reply: contract.VerifyReply{Verdict: domain.VerdictDone, Result: "r", Reason: "journal"}}
		}, domain.ToolOK, domain.VerdictDone},
		"not done": {func(w progress.Work) progress.Fact {
			return progress.Verified{Work: w, Reply: contract.VerifyReply{Verdict: domain.VerdictNotDone, Reason: "void"}}
		}, domain.ToolNotRun, domain.VerdictNotDone},
		"not known": {func(w progress.Work) progress.Fact { return progress.Verified{Work: w} }, domain.ToolUnknown, ""},
		"lost": {func(w progress.Work) progress.Fact {
			return progress.Lost{Work: w, Loss: progress.Loss{How: progress.TimedOut}}
		}, domain.ToolUnknown, ""},
		"the end": {func(progress.Work) progress.Fact {
			return progress.RunEnded{How: progress.Terminated}
		}, domain.ToolUnknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, asked := verifies()
			require.Equal(t, domain.ToolRunning, s.Execution.Now.ToolExecutions[0].Outcome(), "it is not over")
			s.then(test.ends(asked))
			call := s.steps()[0].ToolExecutions[0]
			require.Equal(t, test.outcome, call.Outcome())
			require.False(t, call.CompletedAt.IsZero())
			if test.verdict == "" {
				require.Nil(t, call.Settlement)
				return
			}
			require.Equal(t, test.verdict, call.Settlement.Verdict)
			require.Equal(t, s.now(), call.Settlement.At)
		})
	}
	s := begins(contract.SessionInput{}).answers(1, 1, "", domain.ToolCall{Name: "ls"})
	s.then(progress.Verified{Work: progress.Work{Verify: &contract.ToolRequest{ExecutionID: nth(1), Step: 1}}})
	require.Equal(t, domain.ToolNotRun, s.steps()[0].ToolExecutions[0].Outcome(), "of what was not asked nothing follows")
}
