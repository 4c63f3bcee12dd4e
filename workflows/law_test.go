package workflows_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// TestACallCountsWhateverItsToolSays: a code that only hooks and guards give
// takes nothing off what the budget counts.
func TestACallCountsWhateverItsToolSays(t *testing.T) {
	t.Parallel()
	for _, code := range []domain.Code{domain.CodeBlocked, domain.CodeUnknownTool, domain.CodeOutcomeUnknown} {
		w := &world{tools: []domain.ToolSpec{{Name: "look", Effect: domain.ReadOnly}}}
		w.model = func(contract.ModelRequest) (contract.ModelReply, error) {
			if len(w.asked) > 3 {
				return says("the end"), nil
			}
			return says("", domain.ToolCall{ID: "1", Name: "look", Arguments: "{}"}), nil
		}
		w.tool = func(contract.ToolRequest) (contract.ToolReply, error) {
			return contract.ToolReply{Error: domain.CodedErrorf(domain.Denied, code, "no")}, nil
		}
		env := w.environment(t)
		env.ExecuteWorkflow(string(contract.Execute), input(t, "", func(in *contract.SessionInput) {
			in.Budget = domain.ExecutionBudget{MaxToolCalls: number(1)}
		}))
		outcome(t, env)
		require.Len(t, w.ran, 1, code)
	}
}
