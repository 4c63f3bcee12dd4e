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
func aTree(t *testing.T) client.Tree { return sampleOf[client.Tree](t, "tree.json") }

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
		text := Tree(out, aTree(t), testNow)
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
	root := aTree(t)
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
