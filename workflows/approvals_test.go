package workflows_test

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"everstep/domain"
	"everstep/domain/contract"
)

// pay is a call that waits for people.
func pay(amount string) domain.ToolCall {
	return domain.ToolCall{ID: "p", Name: "pay", Arguments: `{"amount": ` + amount + `}`}
}

func askedFor(t *testing.T, rules ...domain.ApprovalRule) contract.SessionInput {
	t.Helper()
	in := input(t, "")
	in.Definition.Approvals = &domain.Approvals{Rules: rules}
	return in
}

func pays() []domain.ToolSpec {
	return []domain.ToolSpec{{Name: "pay", Effect: domain.AtMostOnce}, {Name: "look", Effect: domain.ReadOnly}}
}

// pending is what waits for an approval at some time, and waitsOf of any kind.
func pending(t *testing.T, env *testsuite.TestWorkflowEnvironment) []domain.Wait {
	t.Helper()
	return waitsOf(t, env, domain.WaitApproval)
}

func waitsOf(t *testing.T, env *testsuite.TestWorkflowEnvironment, kind domain.WaitKind) (waits []domain.Wait) {
	t.Helper()
	for _, w := range status(t, env).Waits {
		if w.Kind == kind {
			waits = append(waits, w)
		}
	}
	return waits
}

// sees has somebody look at what waits at a time, and do something about it.
func sees(t *testing.T, env *testsuite.TestWorkflowEnvironment, at time.Duration, do func(waiting []domain.Wait)) {
	t.Helper()
	env.RegisterDelayedCallback(func() { do(pending(t, env)) }, at)
}

// replies says something of a call that waits.
func replies(env *testsuite.TestWorkflowEnvironment, id string, request contract.AnswerRequest) *verdict {
	v := &verdict{}
	request.By = cmp.Or(request.By, "ann")
	env.UpdateWorkflow(string(contract.UpdateAnswer), id, v, request)
	return v
}

func approves(env *testsuite.TestWorkflowEnvironment, id string, call domain.Wait) *verdict {
	return replies(env, id, contract.AnswerRequest{Verdict: domain.Approved, Call: call.ToolExecutionID, Digest: call.Digest})
}

func denies(env *testsuite.TestWorkflowEnvironment, id, reason string, call domain.Wait) *verdict {
	return replies(env, id, contract.AnswerRequest{Verdict: domain.WasDenied, Call: call.ToolExecutionID, By: "bob", Reason: reason})
}

// approvesAll approves at a time whatever waits then, and counts it.
func approvesAll(t *testing.T, env *testsuite.TestWorkflowEnvironment, at time.Duration) *int {
	t.Helper()
	asked := new(int)
	sees(t, env, at, func(waiting []domain.Wait) {
		for _, call := range waiting {
			*asked++
			approves(env, at.String(), call)
		}
	})
	return asked
}

func executions(t *testing.T, env *testsuite.TestWorkflowEnvironment) []domain.ToolExecution {
	t.Helper()
	return stepsIn(t, env, 0)[0].Step.ToolExecutions
}

// TestAnApprovedCall waits a week, which does not count, while the others of its step run.
func TestAnApprovedCall(t *testing.T) {
	t.Parallel()
	const week = 7 * 24 * time.Hour
	w := &world{tools: pays(), model: calling(pay("7"), look()), tool: saw}
	env := w.environment(t)
	in := askedFor(t)
	in.Budget.MaxSeconds = new(60.0)
	sees(t, env, time.Hour, func(waiting []domain.Wait) {
		require.Len(t, waiting, 1)
		require.Equal(t, `{"amount": 7}`, waiting[0].Arguments)
		require.Equal(t, "no rule, and its effect is at_most_once", waiting[0].AskedBy)
		require.Len(t, w.ran, 1, "what needs nobody's word runs meanwhile")
		status := status(t, env)
		require.Equal(t, "step 1: pay waits for approval", status.Doing)
		require.InDelta(t, 60, *status.Ledger.Own().Left.MaxSeconds, 1)
	})
	var yes, again *verdict
	sees(t, env, week, func(waiting []domain.Wait) {
		require.Len(t, waiting, 1)
		yes, again = approves(env, "yes", waiting[0]), approves(env, "twice", waiting[0])
	})
	execute(env, in)
	completes(t, env)
	require.NoError(t, yes.rejected)
	again.refused(t, "was approved already, at ")
	require.Len(t, w.ran, 2)
	require.Equal(t, `{"amount": 7}`, w.ran[1].Arguments, "exactly what was approved")
	wait := executions(t, env)[0].Wait(domain.WaitApproval)
	require.Equal(t, []any{domain.Approved, "ann"}, []any{wait.Verdict(), wait.Answer.By})
	require.Equal(t, week, wait.Answer.At.Sub(wait.Since).Round(time.Minute))
	require.Empty(t, pending(t, env))
}

// TestHowAWaitEnds without the call being made: the model gets to read why.
func TestHowAWaitEnds(t *testing.T) {
	t.Parallel()
	stops := func(stop contract.StopRequest) func(*testing.T, *testsuite.TestWorkflowEnvironment) {
		return func(_ *testing.T, env *testsuite.TestWorkflowEnvironment) { stopsWith(env, time.Hour, stop) }
	}
	for name, test := range map[string]struct {
		rule   domain.ApprovalRule
		budget domain.ExecutionBudget
		does   func(*testing.T, *testsuite.TestWorkflowEnvironment)
		code   domain.Code
		says   string
		reason domain.StopReason
	}{
		"denied": {domain.ApprovalRule{Tool: "pay", Then: domain.AskFirst}, domain.ExecutionBudget{}, func(t *testing.T, env *testsuite.TestWorkflowEnvironment) {
			sees(t, env, time.Hour, func(waiting []domain.Wait) { denies(env, "no", "too much", waiting[0]) })
		}, domain.CodeDenied, "denied: a person did not allow this call: too much", domain.Completed},
		"by a rule": {domain.ApprovalRule{Tool: "p*", Then: domain.Deny}, domain.ExecutionBudget{}, nil,
			domain.CodeDenied, "denied: the rules of this agent do not allow this call (rule 1 (p*: deny))", domain.Completed},
		"expired": {domain.ApprovalRule{Tool: "pay", Then: domain.AskFirst, ExpiresAfter: time.Hour}, domain.ExecutionBudget{}, nil,
			domain.CodeDenied, "denied: the approval expired; nobody had allowed this call by ", domain.Completed},
		"expired, and stopped": {domain.ApprovalRule{Tool: "pay", Then: domain.AskFirst, ExpiresAfter: time.Hour, AtExpiry: domain.ExpiryStops}, domain.ExecutionBudget{}, nil,
			domain.CodeDenied, "denied: the approval expired", domain.StopRequested},
		"after the step": {domain.ApprovalRule{Tool: "pay", Then: domain.AskFirst}, domain.ExecutionBudget{}, stops(contract.StopRequest{}),
			domain.CodeNotRun, "not run: the execution was stopped before a person had approved the call", domain.UserRequested},
		"now": {domain.ApprovalRule{Tool: "pay", Then: domain.AskFirst}, domain.ExecutionBudget{}, stops(contract.StopRequest{Mode: contract.StopNow}),
			domain.CodeNotRun, "not run: the execution was stopped", domain.UserRequested},
		"the deadline": {domain.ApprovalRule{Tool: "pay", Then: domain.AskFirst}, domain.ExecutionBudget{Deadline: new(time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC))}, nil,
			domain.CodeNotRun, "not run: the execution was stopped", domain.TimeLimitReached},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: pays(), model: calling(pay("7"), look()), tool: saw}
			env := w.environment(t)
			env.SetStartTime(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
			if test.does != nil {
				test.does(t, env)
			}
			in := askedFor(t, test.rule, domain.ApprovalRule{Tool: "look", Then: domain.Allow})
			in.Budget = test.budget
			execute(env, in)
			endsFor(t, env, test.reason)
			require.Len(t, w.ran, 1, "the other one alone")
			call := executions(t, env)[0]
			require.Equal(t, test.code, call.Error.Code)
			require.Contains(t, call.Error.Message, test.says)
			require.False(t, call.Outcome().Ran())
			messages := entriesIn(t, env)
			require.Contains(t, messages[2].Message.ToolResult.Content, test.says)
			require.Empty(t, pending(t, env))
		})
	}
}

// TestWordsThatAreRefused say why, and change nothing.
func TestWordsThatAreRefused(t *testing.T) {
	t.Parallel()
	w := &world{tools: pays(), model: calling(pay("1"), pay("2")), tool: saw}
	env := w.environment(t)
	type word struct {
		*verdict
		says string
	}
	var words []word
	ask := func(update string, request any, says string) {
		v := &verdict{}
		env.UpdateWorkflow(update, says, v, request)
		words = append(words, word{v, says})
	}
	approve, deny := string(contract.UpdateAnswer), string(contract.UpdateAnswer)
	env.RegisterDelayedCallback(func() {
		waiting := pending(t, env)
		require.Len(t, waiting, 2)
		first, second := waiting[0], waiting[1]
		ask(approve, contract.AnswerRequest{Verdict: domain.Approved, Digest: first.Digest}, "2 calls wait for that; name one of them: "+first.ToolExecutionID.String()+" (pay), ")
		ask(approve, contract.AnswerRequest{Verdict: domain.Approved, Call: first.ToolExecutionID}, "digest: is missing")
		ask(approve, contract.AnswerRequest{Verdict: domain.Approved, Call: first.ToolExecutionID, Digest: second.Digest}, "waits with something else")
		ask(deny, contract.AnswerRequest{Verdict: domain.WasDenied, Call: domain.StepID{}.Tool(3)}, "does not wait for approval")
		ask(approve, contract.AnswerRequest{Verdict: domain.Approved, Call: first.ToolExecutionID, Digest: first.Digest, By: "ann"}, "")
		ask(deny, contract.AnswerRequest{Verdict: domain.WasDenied, Call: first.ToolExecutionID}, "Z by ann")
		ask(deny, contract.AnswerRequest{Verdict: domain.WasDenied}, " ") // one alone need not be named
	}, time.Minute)
	in := askedFor(t)
	in.Name = "ann"
	in.AgentID, _ = domain.AgentIDOf("ann")
	env.RegisterDelayedCallback(func() {
		ask(approve, contract.AnswerRequest{Verdict: domain.Approved, Digest: domain.CallDigest("pay", "{}")}, "approve: no call of this agent waits for approval")
	}, time.Hour)
	closes(env, 2*time.Hour)
	execute(env, in)
	require.Len(t, words, 8)
	for _, w := range words {
		if strings.TrimSpace(w.says) == "" {
			require.NoError(t, w.rejected)
		} else {
			w.refused(t, w.says)
		}
	}
	require.Len(t, w.ran, 1)
}

// TestTheMemoHasNoTextsOfWhatWaits, nor what such a text could be guessed from.
func TestTheMemoHasNoTextsOfWhatWaits(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	call := domain.Wait{
		Kind: domain.WaitApproval, Step: 1, Tool: "pay", Arguments: pay("1").Arguments, Digest: domain.CallDigest("pay", pay("1").Arguments),
		Since: now, Expires: now.Add(time.Hour),
	}
	question, unknown := call, call
	question.Kind, question.Arguments, question.Ask = domain.WaitQuestion, "", &domain.Question{Text: "what amount?"}
	unknown.Kind, unknown.Effect, unknown.Why = domain.WaitOutcome, domain.DigestOfTexts("effect"), "the amount was lost"
	memo := contract.WaitingFor([]domain.Wait{call, question, unknown})
	require.Len(t, memo.Of(false), 2)
	require.Len(t, memo.Of(true), 1)
	encoded, err := json.Marshal(memo)
	require.NoError(t, err)
	require.NotContains(t, string(encoded), "amount")
	require.NotContains(t, string(encoded), call.Digest.String())
	require.NotContains(t, string(encoded), unknown.Effect.String())
}
