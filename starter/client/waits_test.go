package client

import (
	"encoding/json"
	"strconv"
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

// TestBeginnings name what they are looked for among, and one thing alone.
func TestBeginnings(t *testing.T) {
	t.Parallel()
	ids := []string{"3f9e1b2c (pay)", "3f9e7777 (pay)", "40000000 (ship)"}
	for typed, want := range map[string]string{
		"4000": "2", "3F9E1": "0", "3f9e7777": "1",
		"": `call: "" is none of those that wait`, "400": `call: "400" is short`,
		"5000": `call: "5000" is none of those that wait: 3f9e1b2c (pay), 3f9e7777 (pay), 40000000 (ship)`,
		"3f9e": `call: "3f9e" may be any of 2; give more of its id: 3f9e1b2c (pay)`,
	} {
		at, err := chosen("call", typed, "none waits", "those that wait", ids, ids)
		if err != nil {
			require.ErrorContains(t, err, want, typed)
			continue
		}
		require.Equal(t, want, strconv.Itoa(at), typed)
	}
	_, err := chosen("call", "5000", "none waits", "those that wait", nil, nil)
	require.ErrorContains(t, err, "call: none waits")
}
