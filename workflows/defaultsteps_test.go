package workflows_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// marches is a world whose model makes another call in each step, and is done after a number of them.
func marches(steps int) *world {
	return &world{tools: reads(), tool: saw, model: func(r contract.ModelRequest) (contract.ModelReply, error) {
		if r.Step > steps {
			return says("done"), nil
		}
		return says("", domain.ToolCall{ID: "1", Name: "look", Arguments: fmt.Sprintf(`{"n":%d}`, r.Step)}), nil
	}}
}

// TestStepsAreLimitedByDefault where neither the definition nor the request says anything of them, and history tells the same.
func TestStepsAreLimitedByDefault(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		definition, request domain.ExecutionBudget
		reason              domain.StopReason
		steps               int
	}{
		"nobody says anything": {domain.ExecutionBudget{}, domain.ExecutionBudget{}, domain.StepsLimitReached, 200},
		"none in the request":  {domain.ExecutionBudget{}, domain.Unlimited(), domain.Completed, 204},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := marches(203)
			env := w.executed(t, input(t, "", func(in *contract.SessionInput) {
				in.Definition.Budget, in.Budget = test.definition, test.request
			}))
			out := outcome(t, env)
			require.Equal(t, test.reason, out.StopReason)
			require.Equal(t, test.steps, out.Steps)
			status := status(t, env)
			if test.reason != domain.StepsLimitReached {
				require.NotEqual(t, domain.StepsDefault, status.Ledger.Own().Limit.MaxStepsFrom)
				return
			}
			require.Equal(t, domain.StepsDefault, status.Ledger.Own().Limit.MaxStepsFrom)
			require.Equal(t, "max_steps is 200, the default, and 200 are done", signalled(t, env).Message)
		})
	}
}

// TestASubagentHasNoDefaultOfItsOwn: it draws from the steps of the agent that starts it.
func TestASubagentHasNoDefaultOfItsOwn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		root, leaf domain.ExecutionBudget
		want       *int64
	}{
		"where the root has the default":     {domain.ExecutionBudget{}, domain.ExecutionBudget{}, number(198)},
		"where its own definition says none": {stepsOf(20), domain.Unlimited(), number(18)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := family(spawnsOnce("leaf", "find"), answersFound)
			env := w.executed(t, input(t, "", withLeaf, func(in *contract.SessionInput) {
				leaf := in.Definition.Agents["leaf.yaml"]
				leaf.Budget, in.Budget = test.leaf, test.root
				in.Definition.Agents["leaf.yaml"] = leaf
			}))
			completes(t, env)
			child := executions(t, env)[0].ID.Subagent()
			status := statusOf(t, env, child)
			require.Equal(t, test.want, status.Ledger.Own().Limit.MaxSteps)
			require.NotEqual(t, domain.StepsDefault, status.Ledger.Own().Limit.MaxStepsFrom)
		})
	}
}
