package contract_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// TestAnswersFitTheirWaits: each is of one kind, does what its command says, and is edited or for always where that kind has it.
func TestAnswersFitTheirWaits(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[domain.Verdict]struct {
		kind domain.WaitKind
		does string
	}{
		domain.Approved: {domain.WaitApproval, "approve"}, domain.WasDenied: {domain.WaitApproval, "deny"}, domain.AnsweredByPerson: {domain.WaitQuestion, "answer"},
		domain.VerdictDone: {domain.WaitOutcome, "resolve"}, domain.VerdictNotDone: {domain.WaitOutcome, "resolve"},
	} {
		said := contract.AnswerRequest{Verdict: verdict, Reason: "so it is"}
		require.Equal(t, want.does, said.Does())
		require.NoError(t, said.Check())
		edited, always := said, said
		edited.Arguments, always.Always = "{}", true
		for _, kind := range domain.WaitKinds() {
			require.Equal(t, kind == want.kind, said.Fits(kind), "%s of %s", verdict, kind)
			require.Equal(t, kind == want.kind && verdict == domain.Approved, edited.Fits(kind) && always.Fits(kind), "%s of %s", verdict, kind)
		}
		if verdict != domain.Approved {
			require.ErrorContains(t, edited.Check(), "always, arguments: are of a call that is approved; leave them out")
			require.ErrorContains(t, always.Check(), "always, arguments: are of a call that is approved; leave them out")
		}
	}
	require.Equal(t, "edit", contract.AnswerRequest{Verdict: domain.Approved, Arguments: "{}"}.Does())
	require.ErrorContains(t, contract.AnswerRequest{Verdict: domain.VerdictDone}.Check(), "reason: is missing")
	for _, verdict := range []domain.Verdict{"", domain.Expired, domain.AnsweredByDefault, "maybe"} {
		require.ErrorContains(t, contract.AnswerRequest{Verdict: verdict}.Check(), "which answers no kind of wait")
	}
}
