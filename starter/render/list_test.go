package render

import (
	"slices"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
)

func TestListColumnsAndOrder(t *testing.T) {
	t.Parallel()
	agents := []client.Listed{
		{Execution: client.Execution{ID: "b", Number: 1}, Ending: client.Ending{Status: domain.StatusCompleted, Steps: new(12), CostNanoUSD: new(int64(500_000_000)), TotalTokens: new(int64(10))}, StartedAt: testNow.Add(-time.Hour)},
		{Execution: client.Execution{ID: "a", Number: 3}, Ending: client.Ending{Status: domain.StatusInProgress}, StartedAt: testNow.Add(-time.Minute)},
		{Execution: client.Execution{ID: "c", Number: 2}, Ending: client.Ending{Status: domain.StatusStopped, StopReason: domain.CostLimitReached, Steps: new(9), CostNanoUSD: new(int64(2_000_000_000)), TotalTokens: new(int64(2000))}, StartedAt: testNow.Add(-time.Second)},
	}
	order := func(column string, reverse bool) string {
		SortList(agents, column, reverse)
		var ids []string
		for _, a := range agents {
			ids = append(ids, a.ID)
		}
		return strings.Join(ids, "")
	}
	for _, column := range ListColumns() {
		forth := order(column, false)
		require.Len(t, forth, 3, column)
	}
	require.Equal(t, "abc", order("id", false))
	require.Equal(t, "acb", order("steps", false), "what is not known comes first")
	require.Equal(t, "cba", order("cost", true))
	require.Equal(t, "cab", order("age", false))
	require.Equal(t, "cab", order("no column", true))
	out := Plain(&strings.Builder{})
	require.Equal(t, "ID  COST  TOKENS  REASON\nc   $2    2,000   cost_limit\na   -     -       -\nb   $0.5  10      -\n",
		List(agents, testNow, "id", "cost", "tokens", "reason").Render(out))
}

// TestALongStatusTakesNoColumns: at 80 columns its own cell is cut, and every column stays.
func TestALongStatusTakesNoColumns(t *testing.T) {
	t.Parallel()
	out := Plain(nil)
	id := domain.AgentID{}.String()
	agents := []client.Listed{
		{Execution: client.Execution{ID: id, Number: 1}, Ending: client.Ending{Status: domain.StatusStopped, StopReason: domain.ToolCallLimitReached, SessionLimit: true, Steps: new(3)}, Unknown: 2, StartedAt: testNow.Add(-754 * time.Second)},
		{Execution: client.Execution{ID: "notes", Number: 12}, Ending: client.Ending{Status: domain.StatusCompleted, Steps: new(1)}, StartedAt: testNow.Add(-time.Minute)},
	}
	for width, status := range map[int]string{80: "stopped, 2 outc…", 100: "stopped, 2 outcomes unknown (tool_c…", 140: listStatus(agents[0])} {
		out.Width = func() int { return width }
		text := List(agents, testNow).Render(out)
		require.Contains(t, text, "ID                                    STATUS", width)
		require.Contains(t, text, "EXEC  AGE          STEPS\n", width)
		require.Contains(t, text, id+"  "+status+"  1     12 min 34 s  3\n", width)
		require.NotContains(t, text, "no room", width)
		for line := range strings.Lines(text) {
			require.LessOrEqual(t, lipgloss.Width(strings.TrimSuffix(line, "\n")), width, line)
		}
	}
	out.Width = func() int { return 60 }
	require.Contains(t, List(agents, testNow).Render(out), id+"  stopped, 2 outc…  1\n", "what the others leave is the status's")
}

// TestUnknownCostsOfLists: one that nobody knows is told apart from one that is not told yet.
func TestUnknownCostsOfLists(t *testing.T) {
	t.Parallel()
	require.Equal(t, "unknown", cell(paid{nil, new(int64(12))}, time.Time{}))
	require.Equal(t, "-", cell(paid{nil, nil}, time.Time{}), "it is in progress")
	require.Equal(t, []string{"$0", "$0.5"}, []string{cell(paid{new(int64(0)), new(int64(12))}, time.Time{}), cell(paid{new(int64(500_000_000)), nil}, time.Time{})})
}

func TestListTellsOfSuspendedSessions(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]client.Listed{
		"completed, suspended":                    {Ending: client.Ending{Status: domain.StatusCompleted}, Open: true, Suspended: true},
		"in_progress, suspended":                  {Ending: client.Ending{Status: domain.StatusInProgress}, Open: true, Suspended: true},
		"completed, suspended, 1 outcome unknown": {Ending: client.Ending{Status: domain.StatusCompleted}, Open: true, Suspended: true, Unknown: 1},
		"stopped, suspended (user_requested)":     {Ending: client.Ending{Status: domain.StatusStopped, StopReason: domain.UserRequested}, Open: true, Suspended: true},
	} {
		require.Equal(t, want, listStatus(a))
	}
}

func TestRunOfAScheduleTellsOfTheSessionsLimit(t *testing.T) {
	t.Parallel()
	run := contract.ScheduledRun{Status: domain.StatusInProgress}.With(contract.Outcome{
		Status: domain.StatusStopped, StopReason: domain.StepsLimitReached, SessionLimit: true,
	}, testNow)
	require.Equal(t, "stopped (steps_limit of the session)", runStatus(client.ScheduleRun{ScheduledRun: run}))
	run.SessionLimit = false
	require.Equal(t, "stopped (steps_limit)", runStatus(client.ScheduleRun{ScheduledRun: run}))
}

func TestHistoryTable(t *testing.T) {
	t.Parallel()
	ids := []domain.ExecutionID{domain.AgentID{}.Execution("c", 1), domain.AgentID{}.Execution("c", 2)}
	past := []client.Past{
		{
			Execution: client.Execution{ID: "notes", Number: 1, ExecutionID: ids[0]},
			Ending:    client.Ending{Status: domain.StatusStopped, StopReason: domain.StepsLimitReached, Steps: new(3), TotalTokens: new(int64(1200)), CostNanoUSD: new(int64(0))},
			StartedAt: testNow.Add(-time.Minute),
			EndedAt:   testNow.Add(-50 * time.Second),
		},
		{
			Execution: client.Execution{ID: "notes", Number: 2, ExecutionID: ids[1]},
			Ending:    client.Ending{Status: domain.StatusInProgress},
			StartedAt: testNow.Add(-2 * time.Second),
			Origin:    &domain.Origin{ExecutionID: ids[0], Step: 3},
		},
	}
	table := Executions(past, testNow, false)
	require.Equal(t, []string{"1", "stopped (steps_limit)", "3", "1,200", "$0", "10.0 s", moment(past[0].StartedAt), "-", ids[0].String()}, table.Rows[0])
	require.Equal(t, []string{"2", "in_progress", "-", "-", "-", "2.0 s", moment(past[1].StartedAt), "1, step 3", ids[1].String()}, table.Rows[1])
	require.Equal(t, "ID", Executions(past, testNow, true).Head[0])
	require.Empty(t, NextOrigin(past))
	past[0].TakenBack, past[1].TakenBack = &client.TakenBack{By: 3, AfterStep: 2}, &client.TakenBack{By: 3}
	past[1].NextOrigin = &domain.Origin{ExecutionID: ids[0], Step: 2}
	table = Executions(past, testNow, false)
	require.Equal(t, "stopped (steps_limit), after step 2 taken back by the next", table.Rows[0][1], "there is no third yet")
	require.Equal(t, "in_progress, taken back by the next", table.Rows[1][1])
	begun := append(slices.Clone(past), client.Past{Execution: client.Execution{ID: "notes", Number: 3}})
	require.Equal(t, "stopped (steps_limit), after step 2 taken back by 3", Executions(begun, testNow, false).Rows[0][1])
	require.Equal(t, "execution 3, if there is to be one, goes on from 1, step 2", NextOrigin(past))
	short, _, _ := strings.Cut(ids[0].String(), "-")
	require.Equal(t, short+", step 3", Executions(past[1:], testNow, false).Rows[0][7], "it is another agent's")
}
