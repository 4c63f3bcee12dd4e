package chat

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/client"
)

// TestHintsAreOfThisScreen: what a command line would do has the command of the screen, where there is one for the session.
func TestHintsAreOfThisScreen(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"go on (`extend notes --session --max-steps TOTAL`)": "go on (/extend session max_steps=TOTAL)",
		"`extend notes --session --max-tokens` does":         "/extend session max_tokens=TOTAL does",
		"`extend notes` goes on":                             "/extend goes on",
		"`extend notes --max-cost 0.50 --deadline none`":     "/extend max_cost=0.50 deadline=none",
		"`stop notes` stops it":                              "/stop stops it",
		"`approve notes` or `deny notes` decides":            "/approve or /approve decides",
		"`unsend notes 3f9e`":                                "/unsend 3f9e",
		"`send notes` gives it its next message":             "what you type gives it its next message",
		"`unsuspend notes` has it take messages again":       "`starter unsuspend notes` has it take messages again",
		"`extend other` goes on with that one":               "`starter extend other` goes on with that one",
		"`starter messages notes` shows them":                "`starter messages notes` shows them",
		"nothing to name":                                    "nothing to name",
	} {
		require.Equal(t, want, Config{ID: "notes", Again: usual}.inChat(text))
	}
	other := Config{ID: "notes", Again: func(words ...string) string { return "bin/e " + strings.Join(words, " ") + " --address a:1" }}
	require.Equal(t, "`bin/e unsuspend notes --address a:1` ends it", other.inChat("`unsuspend notes` ends it"))
	s := sit(t, 120, 24).idle()
	s.take(did{err: &client.Error{Class: client.Refused, Message: "nothing is left of the session's budget", Next: "`extend notes --session --max-steps` does"}})
	require.Contains(t, s.View().Content, "nothing is left of the session's budget; /extend session max_steps=TOTAL does")
}

// TestSaysHowToGoOn after a limit or a failure, live and where the conversation is taken up after it.
func TestSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	for want, ended := range map[string]contract.Outcome{
		"/extend max_steps=TOTAL goes on":                     {Status: domain.StatusStopped, StopReason: domain.StepsLimitReached},
		"/extend session max_steps=TOTAL goes on":             {Status: domain.StatusStopped, StopReason: domain.StepsLimitReached, SessionLimit: true},
		"/extend max_seconds=TOTAL or deadline=TOTAL goes on": {Status: domain.StatusStopped, StopReason: domain.TimeLimitReached},
		"/extend goes on where it failed":                     {Status: domain.StatusFailed, StopReason: domain.ErrorForbade},
		"── stopped (user_requested) · 0 steps":               {Status: domain.StatusStopped, StopReason: domain.UserRequested},
	} {
		s := sit(t, 120, 24).idle()
		s.hears(turnBegan, client.Event{Type: client.EventEnded, Ended: &ended})
		require.Contains(t, s.View().Content, want)
	}
	s := sit(t, 120, 24)
	s.take(looked{view: account.Status{
		Head:      account.Head{Open: true},
		Execution: account.Execution{Outcome: contract.Outcome{Number: 2, Status: domain.StatusStopped, StopReason: domain.StepsLimitReached, SessionLimit: true}},
	}})
	s.take(recalled{entries: viewOf()})
	require.Contains(t, s.View().Content, "turn 2 stopped (steps_limit); /extend session max_steps=TOTAL goes on from there")
	require.Equal(t, noted, s.conversation.parts[len(s.conversation.parts)-1].kind, "below what was said")
}

// TestASuspendedSessionSaysSo, and what ends that.
func TestASuspendedSessionSaysSo(t *testing.T) {
	t.Parallel()
	s := sit(t, 120, 24)
	s.looks(account.Head{Settings: contract.Settings{Suspended: &contract.Suspension{Reason: "an audit"}}}, 2, domain.StatusCompleted)
	require.Contains(t, s.View().Content, "suspended: an audit")
}
