package workflows_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// endsUnresolved is the start of a workflow that resolves the only call of an agent, which has ended with it as the outcome.
func endsUnresolved(t *testing.T, w *world) (contract.SessionInput, contract.Outcome) {
	t.Helper()
	w.tools, w.model, w.tool = paysOnce(), plays(says("", payFor(7, "first"))), losesFirst(w)
	env := w.executed(t, input(t, "", budgeted(stepsOf(1))))
	in := wentOn(t, env, stepsOf(9))
	in.GoOn, in.ResolveOutcome = nil, &contract.OutcomeResolution{
		EndedRun: contract.EndedRun{RunID: "earlier", FirstRunID: "earlier"},
		Request: contract.AnswerRequest{
			Call:    waitsOf(t, env, domain.WaitOutcome)[0].ToolExecutionID,
			Verdict: domain.VerdictDone, Reason: "so", By: "test",
		},
	}
	w.asked, w.ran = nil, nil
	return in, outcome(t, env)
}

// TestAWorkflowThatResolves does nothing else: it ends as the execution did.
func TestAWorkflowThatResolves(t *testing.T) {
	t.Parallel()
	w := &world{}
	in, ended := endsUnresolved(t, w)
	env := w.executed(t, in)
	out := outcome(t, env)
	require.Len(t, out.ResolvedOutcomes, 1)
	require.Equal(t, "test", out.ResolvedOutcomes[0].Answer.By)
	out.ResolvedOutcomes = nil
	require.Equal(t, ended, out)
	require.Empty(t, w.asked)
	require.Empty(t, w.ran)
	require.Len(t, waitsOf(t, env, domain.WaitOutcome), 0)
	require.NotNil(t, readAccount(t, env, account.HeadOf, account.Carry).Head.Carry, "it can go on from there")
}

// unfinished is a state as it was before its execution ended.
func unfinished(t *testing.T, state json.RawMessage) json.RawMessage {
	t.Helper()
	var fields, execution map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(state, &fields))
	require.NoError(t, json.Unmarshal(fields["execution"], &execution))
	delete(execution, "completed_at")
	execution["status"] = json.RawMessage(`"in_progress"`)
	fields["execution"], _ = json.Marshal(execution)
	state, err := json.Marshal(fields)
	require.NoError(t, err)
	return state
}

// TestWhatNoWorkflowResolves is refused.
func TestWhatNoWorkflowResolves(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*contract.SessionInput)
		says   string
	}{
		"another call":   {func(in *contract.SessionInput) { in.ResolveOutcome.Request.Call = domain.ToolExecutionID{} }, "no call of unknown outcome"},
		"a session":      {func(in *contract.SessionInput) { in.Name, in.AgentID = "ann", input(t, "ann").AgentID }, "resolve_outcome: agent ann has a name, so its open session resolves the call; send it the update answer"},
		"before the end": {func(in *contract.SessionInput) { in.Carry.State = unfinished(t, in.Carry.State) }, "resolve_outcome: execution 1 is in_progress, so its own workflow resolves the call; send that the update answer"},
		"no state":       {func(in *contract.SessionInput) { in.Carry.State = []byte(`{"schema_version": 1, "agent_id": 7}`) }, "agent_id"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{}
			in, _ := endsUnresolved(t, w)
			test.change(&in)
			env := w.executed(t, in)
			require.ErrorContains(t, env.GetWorkflowError(), test.says)
		})
	}
}
