package client

import (
	"encoding/json"
	"strings"
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
		require.ErrorContains(t, err, " nora: no execution is in progress")
		var refused *Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, "`approvals` shows what waits for people, of all agents", refused.Next)
	}
}

// TestTypedDecisions are read as the keys of a kind say, and answer no other.
func TestTypedDecisions(t *testing.T) {
	t.Parallel()
	for kind, want := range map[domain.WaitKind]struct {
		keys  string
		typed map[string]string
	}{
		domain.WaitApproval: {
			"y runs it · a always · e JSON edits it · n [WHY] does not · d later",
			map[string]string{
				"y": "y approved", " YES ": "y approved", "a he said so": "a approved always he said so", "edit {}": "e approved {}",
				"no not now": "n denied not now", "d": "d", "later": "d", "": "", "yes!": "", "e": "e approved",
			},
		},
		domain.WaitQuestion: {"d later", map[string]string{"y": "", "": "", "d": "d"}},
		domain.WaitOutcome:  {"d later", map[string]string{"y": "", "": "", "d": "d"}},
	} {
		asked := domain.Wait{Kind: kind, Digest: domain.CallDigest("pay", "{}")}
		require.Equal(t, want.keys, DecisionKeys(asked, "e JSON", true))
		for typed, read := range want.typed {
			w, key := TypedDecision(asked, typed)
			require.Equal(t, asked.Digest, w.Digest)
			if w.Always {
				w.Verdict += " always"
			}
			if key == 0 {
				require.Empty(t, read, typed)
				continue
			}
			require.Equal(t, read, strings.TrimRight(strings.Join([]string{string(key), string(w.Verdict), w.Arguments + w.Reason}, " "), " "), typed)
		}
	}
}
