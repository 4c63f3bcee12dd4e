package kills

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// TestWholeAgents shows that the agents of the proof do what they are for: each
// thing that a hook, a guard or a compaction can do happens, undisturbed.
func TestWholeAgents(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: what the agents do is seen in the kills")
	}
	both := undisturbed(t, "60")
	notes, payments := both[0], both[1]

	require.Equal(t, []string{"stopped steps_limit", "completed completed", "completed completed"}, endings(notes))
	require.Equal(t, []string{"failed error", "completed completed"}, endings(payments))
	for agent, all := range map[string]string{"notes": spoken(notes), "payments": spoken(payments)} {
		for _, said := range []string{
			redacted, "It is " + wordForbidden, planB, "You are not done.", "does not fit the required format",
			`{"done":true,"stage":"final"}`, "goes on.", "steps are done.",
		} {
			require.True(t, strings.Contains(all, said), "%s: %s", agent, said)
		}
		require.False(t, strings.Contains(all, wordSecret), agent)
		require.False(t, strings.Contains(all, wordDraft), agent)
	}
	require.True(t, strings.Contains(spoken(notes), "It is "+wordRefused), "an activity blocks a call")
	require.True(t, strings.Contains(spoken(notes), "Repeating them"), "a guard nudges")
	require.True(t, strings.Contains(spoken(notes), "[cleared: "), "a turn quotes a result that was cleared")
	require.True(t, strings.Contains(spoken(payments), "Seen: 4 steps"), "an activity says something")
	requireShort(t, notes, wordLengthy)
	requireShort(t, payments, wordVerbose)
	require.GreaterOrEqual(t, count(notes, func(e domain.Entry) bool { return e.Section == domain.SectionSummary }), 2)
	overridden := 0
	for _, event := range slices.Concat(slices.Concat(notes.events...), slices.Concat(payments.events...)) {
		if e, ok := event.(domain.ContinuationEvaluated); ok {
			overridden += e.Overridden
		}
	}
	require.Equal(t, 3*2, overridden, "a stop by a hook and one by a guard, three times")

	met := make(map[string]bool)
	for _, b := range []played{notes, payments} {
		for key, n := range b.hooks {
			require.Equal(t, 1, n, key)
			met[strings.Split(key, "/")[2]] = true
		}
	}
	require.Len(t, met, len(domain.Triggers()), "an activity at every trigger: %v", met)
}

func endings(b played) []string {
	var all []string
	for _, r := range b.results {
		all = append(all, string(r.Outcome.Status)+" "+string(r.Outcome.StopReason))
	}
	return all
}

// spoken is all that was said, results included.
func spoken(b played) string {
	var all strings.Builder
	for _, e := range b.messages {
		all.WriteString(e.Message.Text() + "\n")
		if r := e.Message.ToolResult; r != nil {
			all.WriteString(r.Content + "\n")
		}
	}
	return all.String()
}

func count(b played, is func(domain.Entry) bool) (n int) {
	for _, e := range b.messages {
		if is(e) {
			n++
		}
	}
	return n
}

// requireShort fails unless the results with a word were shortened, and there
// are some.
func requireShort(t *testing.T, b played, word string) {
	t.Helper()
	require.Positive(t, count(b, func(e domain.Entry) bool {
		r := e.Message.ToolResult
		if r == nil || !strings.Contains(r.Content, word) {
			return false
		}
		require.Less(t, len(r.Content), 70)
		return true
	}))
}
