package render

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/client"
)

// aTree is an agent with sub-agents of each kind: ended, with one below it, failed, gone, and under way.
func aTree() client.Tree {
	moment := func(seconds int) *time.Time { return new(testNow.Add(time.Duration(seconds-100) * time.Second)) }
	use := func(tokens, nano int64) client.TreeUse {
		return client.TreeUse{Usage: domain.Usage{InputTokens: tokens}, CostNanoUSD: &nano}
	}
	leaf := func(name, id string, position int, status domain.ExecutionStatus, reason domain.StopReason) client.Tree {
		return client.Tree{
			Execution: client.Execution{ID: id}, Subagent: name, Depth: 1, Step: 1, Position: position, Status: status, StopReason: reason,
			Steps: new(2), StartedAt: moment(3), EndedAt: moment(9), Own: use(1200, 2_000_000), Total: use(1200, 2_000_000),
		}
	}
	done := leaf("researcher", "3f0a3c5e-58a5-4c4b-9c0e-7a5f5d1f0a11", 0, domain.StatusCompleted, domain.Completed)
	done.Grants = []client.TreeGrant{
		{At: *moment(3), Grant: domain.ExecutionBudget{MaxSteps: new(int64(4)), MaxTokens: new(int64(1000)), MaxCostNanoUSD: new(int64(10_000_000))}},
		{At: *moment(5), Grant: domain.ExecutionBudget{MaxSteps: new(int64(4)), MaxTokens: new(int64(2500)), MaxCostNanoUSD: new(int64(10_000_000))}, Asked: &domain.Ask{Limit: domain.LimitTokens, Need: 800}},
		{At: *moment(7), Grant: domain.ExecutionBudget{MaxSteps: new(int64(4)), MaxTokens: new(int64(2500)), MaxCostNanoUSD: new(int64(10_000_000))}, Asked: &domain.Ask{Limit: domain.LimitCost, Need: 3_000_000}, Refused: true},
	}
	below := leaf("critic", "9d0a3c5e-58a5-4c4b-9c0e-7a5f5d1f0a12", 0, domain.StatusStopped, domain.StepsLimitReached)
	below.Depth, below.Grants = 2, []client.TreeGrant{{At: *moment(4), Grant: domain.ExecutionBudget{MaxSteps: new(int64(2))}}, {At: *moment(6), Grant: domain.ExecutionBudget{MaxSteps: new(int64(2))}, Refused: true}}
	done.Children, done.Total = []client.Tree{below}, use(2400, 4_000_000)
	failed := leaf("researcher", "770a3c5e-58a5-4c4b-9c0e-7a5f5d1f0a13", 1, domain.StatusFailed, domain.ErrorForbade)
	failed.Code, failed.Error = domain.CodeTerminated, domain.Errorf(domain.Unavailable, "the sub-agent's workflow was terminated from outside")
	failed.Own.Usage.Estimated = true
	gone := leaf("writer", "110a3c5e-58a5-4c4b-9c0e-7a5f5d1f0a14", 2, domain.StatusCompleted, domain.Completed)
	gone.Gone = "its history has been deleted, and there is no record of it"
	running := leaf("writer", "220a3c5e-58a5-4c4b-9c0e-7a5f5d1f0a15", 3, domain.StatusInProgress, "")
	running.EndedAt, running.Own.CostNanoUSD = nil, nil
	return client.Tree{
		Execution: client.Execution{ID: "editor"}, Status: domain.StatusInProgress, Steps: new(1), StartedAt: moment(0),
		Own: use(30_000, 150_000_000), Total: use(36_000, 158_000_000), Children: []client.Tree{done, failed, gone, running},
	}
}

func TestTreeTellsOfTheSessionsLimit(t *testing.T) {
	t.Parallel()
	require.Equal(t, "stopped (steps_limit of the session)", treeStatus(&client.Tree{
		Status: domain.StatusStopped, StopReason: domain.StepsLimitReached, SessionLimit: true,
	}))
}

func TestTreeOnATerminal(t *testing.T) {
	t.Parallel()
	for _, width := range []int{80, 140} {
		out := Plain(&strings.Builder{})
		out.Width = func() int { return width }
		text := Tree(out, aTree(), testNow)
		requireGolden(t, fmt.Sprintf("tree-%d", width), text)
		for row := range strings.Lines(text) {
			if !strings.Contains(row, ": ") { // a sentence, which the terminal breaks
				require.LessOrEqual(t, lipgloss.Width(strings.TrimSuffix(row, "\n")), width)
			}
		}
	}
}

func TestTreeStepsAsLines(t *testing.T) {
	t.Parallel()
	root := aTree()
	step := domain.StepExecution{Step: domain.AgentStep{Number: 1, Usage: domain.Usage{InputTokens: 12}}, StartedAt: testNow, CompletedAt: testNow.Add(time.Second)}
	var text strings.Builder
	for one := range root.All() {
		text.WriteString(TreeStep(client.TreeStep{Agent: one}).Text(noTheme()) + "\n")
		text.WriteString(TreeStep(client.TreeStep{Agent: one, Step: &step}).Text(noTheme()) + "\n")
	}
	requireGolden(t, "tree-steps", text.String())
	line, err := json.Marshal(TreeStep(client.TreeStep{Agent: &root.Children[0], Step: &step}))
	require.NoError(t, err)
	var keys map[string]any
	require.NoError(t, json.Unmarshal(line, &keys))
	require.Equal(t, "researcher", keys["subagent"])
	require.InDelta(t, 1, keys["depth"], 0)
	require.InDelta(t, 1, keys["number"], 0)
	require.Contains(t, keys, "agent_id")
	require.Contains(t, keys, "cost_nano_usd")
}

// TestListNamesParents where there are any.
func TestListNamesParents(t *testing.T) {
	t.Parallel()
	agents := []client.Listed{
		{Execution: client.Execution{ID: "notes", Number: 12}, Ending: client.Ending{Status: domain.StatusInProgress, Steps: new(3)}, Open: true},
		{Execution: client.Execution{ID: "6cd30739-3b72-5c27-89d3-e71bda49aaaf", Number: 1}, Ending: client.Ending{Status: domain.StatusInProgress}, Open: true, ParentID: "notes"},
		{Execution: client.Execution{ID: "86abe349-6c81-41e2-b9e9-123721cc45b2", Number: 1}, Ending: client.Ending{Status: domain.StatusStopped, StopReason: domain.StepsLimitReached}, ParentID: "6cd30739-3b72-5c27-89d3-e71bda49aaaf"},
	}
	for _, width := range []int{80, 140} {
		out := Plain(&strings.Builder{})
		out.Width = func() int { return width }
		requireGolden(t, fmt.Sprintf("list-parents-%d", width), List(agents, testNow).Render(out))
	}
	require.NotContains(t, List(agents[:1], testNow).Head, "PARENT")
}
