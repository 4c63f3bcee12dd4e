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

// TestStepsAreLimitedByDefault where neither the definition nor the request says anything of them.
func TestStepsAreLimitedByDefault(t *testing.T) {
	t.Parallel()
	env := marches(203).executed(t, input(t, ""))
	endsFor(t, env, domain.StepsLimitReached)
	require.Equal(t, 200, outcome(t, env).Steps)
	require.Equal(t, domain.StepsDefault, status(t, env).Ledger.Own().Limit.MaxStepsFrom)
	require.Equal(t, "max_steps is 200, the default, and 200 are done", signalled(t, env).Message)
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
