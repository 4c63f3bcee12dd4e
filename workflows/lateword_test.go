package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"everstep/domain"
	"everstep/domain/contract"
)

// A lastWord is what somebody says about a call near the end of the time for it.
type lastWord struct {
	call domain.ToolCall
	// until is when that time is over; say has somebody say it, and taken is what the call has come to where it counts.
	until func(*testing.T, *testsuite.TestWorkflowEnvironment) time.Time
	say   func(*testing.T, *testsuite.TestWorkflowEnvironment) *verdict
	taken func(domain.ToolExecution) bool
}

func lastWords() map[string]lastWord {
	one := func(t *testing.T, env *testsuite.TestWorkflowEnvironment) domain.Wait {
		t.Helper()
		waiting := pending(t, env)
		require.Len(t, waiting, 1)
		return waiting[0]
	}
	until := func(t *testing.T, env *testsuite.TestWorkflowEnvironment) time.Time {
		t.Helper()
		return one(t, env).Expires
	}
	asked := func(t *testing.T, env *testsuite.TestWorkflowEnvironment) domain.Wait {
		t.Helper()
		waiting := questions(t, env)
		require.Len(t, waiting, 1)
		return waiting[0]
	}
	return map[string]lastWord{
		"approve": {pay("1"), until, func(t *testing.T, env *testsuite.TestWorkflowEnvironment) *verdict {
			t.Helper()
			return approves(env, "word", one(t, env))
		}, func(call domain.ToolExecution) bool {
			return call.Wait(domain.WaitApproval).Verdict() == domain.Approved && call.Outcome().Ran()
		}},
		"deny": {pay("1"), until, func(t *testing.T, env *testsuite.TestWorkflowEnvironment) *verdict {
			t.Helper()
			return denies(env, "word", "no", one(t, env))
		}, func(call domain.ToolExecution) bool {
			return call.Wait(domain.WaitApproval).Verdict() == domain.WasDenied
		}},
		"answer": {asksUser(`{"question": "Which color?", "expires_in": 3600}`), func(t *testing.T, env *testsuite.TestWorkflowEnvironment) time.Time {
			t.Helper()
			return asked(t, env).Expires
		}, func(t *testing.T, env *testsuite.TestWorkflowEnvironment) *verdict {
			t.Helper()
			return replies(env, "word", contract.AnswerRequest{Verdict: domain.AnsweredByPerson, Call: asked(t, env).ToolExecutionID, Text: "blue"})
		}, func(call domain.ToolExecution) bool {
			return call.Wait(domain.WaitQuestion).Verdict() == domain.AnsweredByPerson
		}},
	}
}

// TestAWordAtTheEndOfItsTime counts to the last moment. From when its time is over it is refused, also where it is looked at
// before the end of the wait: a worker that was away finds both.
func TestAWordAtTheEndOfItsTime(t *testing.T) {
	t.Parallel()
	for name, word := range lastWords() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, early := range []time.Duration{1, 0, -time.Hour} {
				w := &world{tools: append(asksTools(), pays()[0]), model: calling(word.call), tool: poses}
				env := w.environment(t)
				var said *verdict
				env.RegisterDelayedCallback(func() {
					until := word.until(t, env)
					said = word.say(t, env)
					env.SetStartTime(until.Add(-early)) // the clock goes there, before anybody looks at the word
				}, time.Minute)
				execute(env, askedFor(t, domain.ApprovalRule{Tool: "pay", Then: domain.AskFirst, ExpiresAfter: time.Hour}))
				completes(t, env)
				if early > 0 {
					require.NoError(t, said.rejected)
				} else {
					said.refused(t, name+": the time for call ")
				}
				require.Equal(t, early > 0, word.taken(executions(t, env)[0]), "%s %s before the end", name, early)
			}
		})
	}
}

// TestALongWaitHasAnEnd: what a rule gives for a lifetime is over after ten years.
func TestALongWaitHasAnEnd(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	for given, waited := range map[time.Duration]time.Duration{9 * year: 9 * year, 200 * year: 10 * year} {
		w := &world{tools: pays(), model: calling(pay("1")), tool: saw}
		env := w.environment(t)
		sees(t, env, time.Hour, func(waiting []domain.Wait) {
			require.Len(t, waiting, 1)
			require.Equal(t, waited, waiting[0].Expires.Sub(waiting[0].Since))
			approves(env, "yes", waiting[0])
		})
		execute(env, askedFor(t, domain.ApprovalRule{Tool: "pay", Then: domain.AskFirst, ExpiresAfter: given}))
		require.Equal(t, domain.Approved, executions(t, env)[0].Wait(domain.WaitApproval).Verdict())
	}
}
