package workflows_test

import (
	"encoding/json"
	"fmt"
	"sync"
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
		"it says something beside": {func(r contract.ModelRequest) (contract.ModelReply, error) { return paying("found", r.Step), nil },
			number(2), `{"status":"stopped","stop_reason":"steps_limit","answer":"found","effects":[{"tool":"pay","done":2,"unknown":0}]}`, false},
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

// TestEffectsOfAllLevelsAddUp in the result that the root reads.
func TestEffectsOfAllLevelsAddUp(t *testing.T) {
	t.Parallel()
	w := &world{tools: offered("pay", domain.AtMostOnce), tool: saw}
	w.list = func(r contract.ResolveRequest) (contract.Resolved, error) {
		return contract.Resolved{Tools: w.tools, MinOutputTokens: 1, Digest: domain.DigestOf([]byte(r.Definition.SystemPrompt))}, nil
	}
	var root domain.ExecutionID // the first that asks its model
	var mu sync.Mutex
	w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
		mu.Lock()
		defer mu.Unlock()
		if root.IsZero() {
			root = r.ExecutionID
		}
		low := r.Resolved == domain.DigestOf([]byte("low"))
		switch {
		case r.Step == 1 && r.ExecutionID == root:
			return spawning("mid", "a", "b"), nil
		case r.Step == 1 && !low:
			return spawning("low", "c"), nil
		case r.Step < 3 && r.ExecutionID != root:
			return paying("", r.Step), nil
		}
		return says("done"), nil
	}
	env := w.executed(t, input(t, "", func(in *contract.SessionInput) {
		in.Definition.SystemPrompt, in.Definition.Approvals = "root", domain.ApprovalsOf("allow")
		in.Definition.Subagents = map[string]domain.Subagent{"mid": {Agent: "mid.yaml", InheritsTools: true}}
		in.Definition.Agents = map[string]domain.Definition{
			"mid.yaml": {SystemPrompt: "mid", Subagents: map[string]domain.Subagent{"low": {Agent: "low.yaml", InheritsTools: true}}},
			"low.yaml": {SystemPrompt: "low"},
		}
	}))
	out := outcome(t, env)
	require.Equal(t, domain.StatusCompleted, out.Status)
	require.Equal(t, []domain.EffectCount{{Tool: "pay", Done: 6}}, out.Calls, "two of each leaf, one of each that starts one")
	for _, call := range executions(t, env) {
		require.Contains(t, call.Value, `"effects":[{"tool":"pay","done":3,"unknown":0}]`)
	}
}

// TestWhatWasSaidAndDoneGoesOnInLaterRuns.
func TestWhatWasSaidAndDoneGoesOnInLaterRuns(t *testing.T) {
	t.Parallel()
	w := &world{tools: offered("pay", domain.AtMostOnce), tool: saw, storage: true, record: stores}
	w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
		text := ""
		if r.Step == 2 {
			text = "found it"
		}
		return paying(text, r.Step), nil
	}
	in := input(t, "", func(in *contract.SessionInput) {
		in.Definition.Approvals, in.Budget.MaxSteps = domain.ApprovalsOf("allow"), number(20)
	})
	for runs := 1; ; runs++ {
		env := w.environment(t)
		outgrows(env, 3)
		execute(env, in)
		next, ok := handedOn(t, env)
		if ok {
			in = next
			continue
		}
		require.Greater(t, runs, 3)
		out := outcome(t, env)
		require.Equal(t, domain.StepsLimitReached, out.StopReason)
		require.Equal(t, domain.EffectCounts{Calls: []domain.EffectCount{{Tool: "pay", Done: 20}}}, out.EffectCounts)
		require.Empty(t, out.End.Answer)
		require.Equal(t, "found it", out.End.SaidLast)
		require.Equal(t, "found it", endOf(t, env, 0).SaidLast)
		return
	}
}
