package workflows_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"everstep/domain"
	"everstep/domain/contract"
)

// TestARunThatContinuesKeepsItsID: an agent that began under any id, before that
// was refused, goes on when its run continues as new.
func TestARunThatContinuesKeepsItsID(t *testing.T) {
	t.Parallel()
	w := steady(8, false)
	first := w.environment(t)
	outgrows(first, 3)
	execute(first, input(t, "", func(*contract.SessionInput) {}))
	in := nextRun(t, first)

	second := w.environment(t)
	second.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: "nightly-2026-01-02"})
	second.SetContinuedExecutionRunID("11111111-2222-3333-4444-555555555555")
	execute(second, in)
	completes(t, second)
}

// TestWhatTheServerBeginsAgainIsRefusedAgain: a run that a retry or a cron of somebody else's makes hands nothing on.
func TestWhatTheServerBeginsAgainIsRefusedAgain(t *testing.T) {
	t.Parallel()
	env := (&world{model: repeats(says("hi"))}).environment(t)
	env.SetContinuedExecutionRunID("11111111-2222-3333-4444-555555555555")
	execute(env, input(t, "", func(in *contract.SessionInput) { in.Definition.SessionBudget.MaxSteps = new(int64(-1)) }))
	var refused *temporal.ApplicationError
	require.ErrorAs(t, env.GetWorkflowError(), &refused)
	require.Equal(t, string(domain.Invalid), refused.Type())
}

// TestRefusesOtherIDs: who starts the workflow without a client of ours does so
// under the agent's own id, where every command finds it, or not at all.
func TestRefusesOtherIDs(t *testing.T) {
	t.Parallel()
	other, err := domain.AgentIDOf("bob")
	require.NoError(t, err)
	for name, test := range map[string]struct {
		id, agent string
		change    func(*contract.SessionInput)
	}{
		"any id":                        {id: "X"},
		"without the prefix":            {id: "ann", agent: "ann"},
		"another agent's UUID":          {id: "agent/ann", agent: "ann", change: func(in *contract.SessionInput) { in.AgentID = other }},
		"a name for an agent without":   {id: "agent/ann"},
		"a carry, which cannot be read": {id: "X", agent: "ann", change: func(in *contract.SessionInput) { in.Carry = &contract.Carry{} }},
		"a carry of no run":             {id: "agent/ann", agent: "ann", change: func(in *contract.SessionInput) { in.Carry = &contract.Carry{} }},
		"the zero UUID":                 {id: "agent/00000000-0000-0000-0000-000000000000", change: func(in *contract.SessionInput) { in.AgentID = domain.AgentID{} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{model: repeats(says("hi"))}
			env := w.environment(t)
			env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: test.id})
			execute(env, input(t, test.agent, func(in *contract.SessionInput) {
				if test.change != nil {
					test.change(in)
				}
			}))

			require.True(t, env.IsWorkflowCompleted())
			var refused *temporal.ApplicationError
			require.ErrorAs(t, env.GetWorkflowError(), &refused)
			require.Equal(t, string(domain.Invalid), refused.Type())
			of := "workflow_id: "
			switch { // where the workflow's id is the agent's
			case strings.HasSuffix(name, " UUID"):
				of = "agent_id: "
			case strings.HasSuffix(name, " no run"):
				of = "schema_version: "
			}
			require.Contains(t, refused.Message(), of)
			require.Empty(t, w.listed, "nothing of it is done")
			require.Empty(t, w.asked)
		})
	}
}

// TestWhatAnAgentWithoutANameIsNotAsked, as its workflow ends with its execution.
func TestWhatAnAgentWithoutANameIsNotAsked(t *testing.T) {
	t.Parallel()
	w := &world{model: plays(busy(), says("one"))}
	env := w.environment(t)
	refused := map[string]*verdict{
		"suspend":   updates(env, time.Minute, contract.UpdateSuspend, "u1", contract.SuspendRequest{}),
		"unsuspend": updates(env, time.Minute, contract.UpdateUnsuspend, "u2", contract.UnsuspendRequest{}),
		"clear":     updates(env, time.Minute, contract.UpdateClear, "u3", contract.ClearRequest{}),
		"await":     awaits(env, time.Minute, contract.AwaitID(1), 1),
		"update":    redefines(env, time.Minute, "u4", contract.UpdateRequest{Fields: []string{"tools"}}),
		"queue":     sends(env, time.Minute, "u5", queued("more")),
		"rewind":    updates(env, time.Minute, contract.UpdateRewind, "u6", contract.RewindRequest{}),
	}
	execute(env, input(t, ""))
	for name, v := range refused {
		require.ErrorContains(t, v.rejected, "no name", name)
	}
	refused["rewind"].refused(t, "fork this one")
}

// TestAnExecutionsID follows from the agent, the first run and the execution's number.
func TestAnExecutionsID(t *testing.T) {
	t.Parallel()
	c, inference := asking(t)
	c.returns(inference, says("done")).task()
	require.Equal(t, input(t, "").AgentID.Execution("first", 1), c.ends().ExecutionID)
}
