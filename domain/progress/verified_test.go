package progress_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
)

// TestAVerifiedCall ends as its tool has found out; where that knows nothing, nothing follows.
func TestAVerifiedCall(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		found   contract.VerifyReply
		outcome domain.ToolOutcome
	}{
		"done":      {contract.VerifyReply{Verdict: domain.VerdictDone, Result: "r", Reason: "journal"}, domain.ToolOK},
		"not done":  {contract.VerifyReply{Verdict: domain.VerdictNotDone, Reason: "void"}, domain.ToolNotRun},
		"not known": {contract.VerifyReply{}, domain.ToolRunning},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work := call(0, domain.AtMostOnce)
			s := calling(1).With(progress.Verified{Work: progress.Work{Verify: work.Tool}, Reply: test.found}, at(3))
			call := s.ToolExecutions[0]
			require.Equal(t, test.outcome, call.Outcome())
			if test.found.Verdict == "" {
				require.Nil(t, call.Settlement)
				return
			}
			require.Equal(t, at(3).Time, call.CompletedAt)
			require.Equal(t, test.found.Verdict, call.Settlement.Verdict)
			require.Equal(t, at(3).Time, call.Settlement.At)
		})
	}
}
