package workflows_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"everstep/domain"
	"everstep/domain/contract"
)

func always(env *testsuite.TestWorkflowEnvironment, id string, call domain.Wait) *verdict {
	return replies(env, id, contract.AnswerRequest{
		Verdict: domain.Approved, Call: call.ToolExecutionID, Digest: call.Digest, Reason: "as agreed", Always: true,
	})
}

func revokes(env *testsuite.TestWorkflowEnvironment, at time.Duration, rule func() domain.ToolExecutionID, reason string) *verdict {
	v := &verdict{}
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(string(contract.UpdateRevoke), at.String(), v, contract.RevokeRequest{ID: rule().String(), By: "bob", Reason: reason})
	}, at)
	return v
}

// TestAStandingApproval lets the same call run in later executions, and no other, until it is revoked.
func TestAStandingApproval(t *testing.T) {
	t.Parallel()
	w := paysEachTime(domain.DefaultApprovals())
	env := w.environment(t)
	asked := map[int]int{}
	answers := func(at time.Duration, number int, do func(call domain.Wait)) {
		sees(t, env, at, func(waiting []domain.Wait) {
			asked[number] = len(waiting)
			for _, call := range waiting {
				do(call)
			}
		})
	}
	var first *verdict
	answers(time.Minute, 1, func(call domain.Wait) { first = always(env, "always", call) })
	prompts(env, time.Hour, "more")
	answers(61*time.Minute, 2, func(domain.Wait) {})
	rule := func() domain.ToolExecutionID {
		return status(t, env).AlwaysAllowed[0].ID
	}
	revoked := revokes(env, 91*time.Minute, rule, "enough")
	twice := revokes(env, 92*time.Minute, rule, "once more")
	prompts(env, 2*time.Hour, "more")
	answers(121*time.Minute, 3, func(call domain.Wait) { denies(env, "no", "too much", call) })
	closes(env, 3*time.Hour)
	execute(env, input(t, "ann"))
	endsWith(t, env, 3)
	require.Equal(t, map[int]int{1: 1, 2: 0, 3: 1}, asked)
	require.Len(t, w.ran, 2)

	reply := first.value.(contract.AnswerReply)
	require.Equal(t, reply.Wait.ToolExecutionID, reply.Standing.ID)
	require.Equal(t, reply.Standing.ID, reply.Wait.Answer.Always)
	require.NoError(t, revoked.rejected)
	twice.refused(t, "was revoked already, at ")
	kept := status(t, env).AlwaysAllowed
	require.Len(t, kept, 1)
	require.Equal(t, "bob enough", kept[0].Revocation.By+" "+kept[0].Revocation.Reason)

	steps := stepsIn(t, env, 2)
	approval := steps[0].Step.ToolExecutions[0].Wait(domain.WaitApproval)
	require.Equal(t, domain.Approved, approval.Verdict())
	require.Equal(t, "ann as agreed no rule, and its effect is at_most_once", strings.Join([]string{approval.Answer.By, approval.Answer.Reason, approval.AskedBy}, " "))
	require.Equal(t, kept[0].ID, approval.Answer.Always)
	events := eventsIn(t, env, 2, domain.EventWaitOpened, domain.EventWaitClosed)
	require.Len(t, events, 1)
	require.Equal(t, kept[0].ID, events[0].Data.(domain.WaitClosed).Standing)
}

// TestAStandingApprovalInTheNextRun holds where all is as it was, lets nothing run that rules deny, and has people asked
// again where the tool has changed, or for whom the agent acts.
func TestAStandingApprovalInTheNextRun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*contract.SessionInput)
		given  *domain.StartOptions
		asks   bool
		ran    int
	}{
		"as it was":        {ran: 2},
		"another customer": {given: trusts("customer", "4712"), asks: true, ran: 1},
		"denied by a rule": {change: ruled("deny"), ran: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := paysEachTime(domain.DefaultApprovals())
			env := w.environment(t)
			outgrows(env, 1)
			sees(t, env, time.Minute, func(waiting []domain.Wait) { always(env, "always", waiting[0]) })
			execute(env, input(t, "ann"))
			in := nextRun(t, env)
			if test.change != nil {
				test.change(&in)
			}
			w.list = func(contract.ResolveRequest) (contract.Resolved, error) {
				return contract.Resolved{Tools: in.Carry.Config.Resolved.Tools, MinOutputTokens: 1}, nil
			}
			env = w.environment(t)
			sends(env, time.Minute, "send", contract.SendRequest{Prompt: "more", Options: test.given})
			asked := false
			sees(t, env, time.Hour, func(waiting []domain.Wait) {
				if asked = len(waiting) > 0; asked {
					denies(env, "no", "", waiting[0])
				}
			})
			closes(env, 2*time.Hour)
			execute(env, in)
			endsWith(t, env, 2)
			require.Equal(t, test.asks, asked)
			require.Len(t, w.ran, test.ran)
			call := executions(t, env)[0]
			require.Equal(t, name == "as it was", call.Wait(domain.WaitApproval).Verdict() == domain.Approved)
			if name == "denied by a rule" {
				require.Contains(t, call.Error.Message, "the rules of this agent do not allow this call")
			}
		})
	}
}

// TestAlwaysIsOneApproval where two calls wait that are the same: the second is asked about still, and makes no other.
func TestAlwaysIsOneApproval(t *testing.T) {
	t.Parallel()
	w := &world{tools: pays(), model: calling(pay("1"), pay("1")), tool: saw}
	env := w.environment(t)
	var words []*verdict
	sees(t, env, time.Minute, func(waiting []domain.Wait) {
		require.Len(t, waiting, 2)
		words = append(words, always(env, "a", waiting[0]), always(env, "b", waiting[1]))
		v := &verdict{}
		env.UpdateWorkflow(string(contract.UpdateRevoke), "c", v, contract.RevokeRequest{ID: domain.StepID{}.Tool(1).String()})
		words = append(words, v)
	})
	execute(env, askedFor(t))
	completes(t, env)
	require.Len(t, w.ran, 2)
	one, two := words[0].value.(contract.AnswerReply), words[1].value.(contract.AnswerReply)
	require.Equal(t, one.Standing, two.Standing)
	words[2].refused(t, "is no standing approval of this session")
	require.Len(t, status(t, env).AlwaysAllowed, 1)
}

// TestARevocationIsHeededByCallsThatHaveNotBegun: one that goes on elsewhere does so, those that wait for their turn are
// not made.
func TestARevocationIsHeededByCallsThatHaveNotBegun(t *testing.T) {
	t.Parallel()
	for name, revoked := range map[string]bool{"revoked": true, "as it was": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: pays()}
			w.model = plays(says("", pay("1")), says("paid"), says("", pay("1"), pay("1")), says("done"))
			env := w.environment(t)
			begun := env.Now()
			w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
				if until := begun.Add(3 * time.Hour); !env.Now().Before(begun.Add(time.Hour)) && r.Position == 0 && env.Now().Before(until) {
					return goesOn(r, env.Now(), until, ""), nil
				}
				return saw(r)
			}
			sees(t, env, time.Minute, func(waiting []domain.Wait) { always(env, "always", waiting[0]) })
			prompts(env, time.Hour, "more")
			pauses(env, 2*time.Hour)
			if revoked {
				revokes(env, 150*time.Minute, func() domain.ToolExecutionID {
					return status(t, env).AlwaysAllowed[0].ID
				}, "enough")
			}
			resumes(env, 4*time.Hour)
			closes(env, 5*time.Hour)
			in := input(t, "ann")
			in.Definition.Approvals = &domain.Approvals{}
			execute(env, in)
			completes(t, env)
			steps := stepsIn(t, env, 2)
			calls := steps[0].Step.ToolExecutions
			require.Equal(t, domain.ToolOK, calls[0].Outcome())
			if !revoked {
				require.Equal(t, domain.ToolOK, calls[1].Outcome())
				return
			}
			require.NotNil(t, calls[1].Error, "it was made")
			require.Equal(t, domain.CodeDenied, calls[1].Error.Code)
			require.Contains(t, calls[1].Error.Message, "its standing approval was revoked")
			require.True(t, calls[1].StartedAt.IsZero())
			for _, ran := range w.ran {
				require.Zero(t, ran.Position)
			}
		})
	}
}
