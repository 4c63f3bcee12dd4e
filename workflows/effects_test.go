package workflows_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// paying is an answer that calls a tool with an effect, with another amount each time.
func paying(text string, n int) contract.ModelReply {
	return says(text, domain.ToolCall{ID: "1", Name: "pay", Arguments: fmt.Sprintf(`{"n":%d}`, n)})
}

// TestWhatASubagentHasDoneReachesItsParent: what it found in earlier steps, where it ends in one of calls alone, and how often
// it has called what does something, however it ends.
func TestWhatASubagentHasDoneReachesItsParent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		leaf   func(r contract.ModelRequest) (contract.ModelReply, error)
		steps  *int64
		want   string
		failed bool
	}{
		"it ends in a step of calls": {func(r contract.ModelRequest) (contract.ModelReply, error) {
			return paying([]string{"", "found a", "found b", "", ""}[r.Step], r.Step), nil
		}, number(4), `{"status":"stopped","stop_reason":"steps_limit","answer":"","said_last":"found b","effects":[{"tool":"pay","done":4,"unknown":0}]}`, false},
		"it fails": {func(r contract.ModelRequest) (contract.ModelReply, error) {
			if r.Step < 3 {
				return paying("", r.Step), nil
			}
			return contract.ModelReply{Outcome: contract.Answered, Tries: 1, Message: &domain.Message{Role: domain.RoleAssistant}, Response: domain.Response{Finish: domain.FinishContentFilter}}, nil
		}, nil, ``, true},
		"it only reads": {func(r contract.ModelRequest) (contract.ModelReply, error) {
			if r.Step == 1 {
				return says("", look()), nil
			}
			return says("found"), nil
		}, nil, `{"status":"completed","stop_reason":"completed","answer":"found","effects":[]}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := family(spawnsOnce("leaf", "find"), test.leaf)
			w.tool = saw
			env := w.executed(t, input(t, "", withLeaf, func(in *contract.SessionInput) {
				leaf := in.Definition.Agents["leaf.yaml"]
				leaf.Budget.MaxSteps, in.Definition.Approvals = test.steps, domain.ApprovalsOf("allow")
				in.Definition.Agents["leaf.yaml"] = leaf
			}))
			out := outcome(t, env)
			require.Equal(t, domain.StatusCompleted, out.Status)
			steps := stepsIn(t, env, 0)
			require.Equal(t, steps[0].Step.ChildEffects, out.EffectCounts, "they are the agent's own, too")
			result := steps[0].Step.Output[1].ToolResult
			require.Equal(t, test.failed, result.IsError)
			if test.want != "" {
				require.JSONEq(t, test.want, result.Content)
			} else {
				var read contract.ChildResult
				require.NoError(t, json.Unmarshal([]byte(result.Content), &read))
				require.Equal(t, domain.StatusFailed, read.Status)
				require.Equal(t, []domain.EffectCount{{Tool: "pay", Done: 2}}, read.Calls)
			}
		})
	}
}
