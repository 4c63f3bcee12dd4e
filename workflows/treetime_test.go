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

// approvesBelow lets the calls go that sub-agents of the root wait with, so many of them.
func approvesBelow(t *testing.T, env *testsuite.TestWorkflowEnvironment, at time.Duration, most int) {
	t.Helper()
	env.RegisterDelayedCallback(func() {
		for _, below := range status(t, env).Children {
			for _, call := range statusOf(t, env, below.AgentID).Waits {
				if most--; most >= 0 {
					request := contract.AnswerRequest{Verdict: domain.Approved, Call: call.ToolExecutionID, Digest: call.Digest, By: "ann"}
					require.NoError(t, env.UpdateWorkflowByID(domain.WorkflowID(below.AgentID.String()), string(contract.UpdateAnswer), at.String()+call.ToolExecutionID.String(), &verdict{}, request))
				}
			}
		}
	}, at)
}

// TestTheTimeOfATreeStandsStill while all of its sub-agents wait for people and it does nothing else, and for no longer.
func TestTheTimeOfATreeStandsStill(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		leaves  []string
		approve map[time.Duration]int
		reason  domain.StopReason
		least   float64 // seconds that count
	}{
		"one after another":      {[]string{"a", "b"}, map[time.Duration]int{time.Hour: 1, 2 * time.Hour: 1}, domain.Completed, 0},
		"one works":              {[]string{"a", "works"}, map[time.Duration]int{time.Hour: 1}, domain.Completed, 240},
		"one works for too long": {[]string{"a", "works on"}, nil, domain.TimeLimitReached, 600},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := family(spawnsOnce("leaf", test.leaves...), nil)
			root := w.model
			var first domain.ExecutionID
			asked := map[domain.ExecutionID]int{}
			w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
				if r.Resolved != leafDigest {
					return root(r)
				}
				w.mu.Lock()
				defer w.mu.Unlock()
				asked[r.ExecutionID]++
				n := asked[r.ExecutionID]
				if first.IsZero() {
					first = r.ExecutionID
				}
				prompt := test.leaves[0]
				if r.ExecutionID != first {
					prompt = test.leaves[1]
				}
				switch {
				case prompt == "works" && n == 1:
					return waits(4 * time.Minute), nil
				case prompt == "works on" && n == 1:
					return waits(time.Hour), nil
				case r.Step == 1 && prompt != "works" && prompt != "works on":
					return says("I pay", callOf("pay")), nil
				}
				return says("found"), nil
			}
			env := w.environment(t)
			reachesRoot(env)
			for at, most := range test.approve {
				approvesBelow(t, env, at, most)
			}
			w.tool = saw
			execute(env, input(t, "", withLeaf, func(in *contract.SessionInput) {
				in.Definition.Approvals = domain.ApprovalsOf("writes")
				in.Budget.MaxSeconds = new(600.0)
			}))
			out := outcome(t, env)
			require.Equal(t, test.reason, out.StopReason)
			spent := 600 - *status(t, env).Ledger.Own().Left.MaxSeconds
			require.InDelta(t, test.least, spent, 30, "%v", spent)
		})
	}
}

// TestTheTimeOfASubagentStandsStill while it waits for more of the budget, which another one has that waits for a person.
func TestTheTimeOfASubagentStandsStill(t *testing.T) {
	t.Parallel()
	var first domain.ExecutionID
	w := family(spawnsOnce("leaf", "quick", "long"), nil)
	root := w.model
	w.tool = unlike()
	w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
		if r.Resolved != leafDigest {
			return root(r)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if first.IsZero() {
			first = r.ExecutionID
		}
		switch {
		case r.ExecutionID == first && r.Step == 1:
			return says("I pay", callOf("pay")), nil
		case r.ExecutionID == first || r.Step == 8:
			return says("found"), nil
		}
		return looksOn(r)
	}
	env := w.environment(t)
	reachesRoot(env)
	approvesBelow(t, env, 8*time.Minute, 1)
	execute(env, input(t, "", withLeaf, func(in *contract.SessionInput) {
		in.Definition.Approvals, in.Budget.MaxSteps = domain.ApprovalsOf("writes"), number(13)
		in.Definition.Agents = map[string]domain.Definition{"leaf.yaml": {SystemPrompt: "leaf", Budget: secondsOf(300.0)}}
	}))
	calls := executions(t, env)
	var said []string
	for _, call := range calls {
		said = append(said, call.Value)
	}
	require.Contains(t, strings.Join(said, "\n"), `"stop_reason":"completed"`)
	require.NotContains(t, strings.Join(said, "\n"), "time_limit")
}
