package client

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// TestWhoAnswersWhereNothingWaits is told what shows all that waits, for an answer, an approval or a denial alike.
func TestWhoAnswersWhereNothingWaits(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	run.answers(1, 1, "42")
	run.ends(outcomeOf(1, 1))
	for _, word := range []Word{
		{Verdict: domain.AnsweredByPerson, Value: json.RawMessage(`1`)}, {Verdict: domain.WasDenied}, {Verdict: domain.Approved, Digest: domain.CallDigest("pay", "{}")},
	} {
		_, err := newFake(run).client().Answer(t.Context(), "nora", word)
		require.ErrorIs(t, err, &Error{Class: Refused})
		require.ErrorContains(t, err, "nora is idle")
		var refused *Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, "`approvals` shows what waits for people, of all agents", refused.Next)
	}
}
