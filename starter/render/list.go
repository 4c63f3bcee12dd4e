package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"everstep/domain"
	"everstep/starter/client"
)

// A listColumn is what a list shows of an agent, and sorts by: a text, a number, a time or a cost.
type listColumn struct {
	name  string
	value any
}

// listColumns are all that there are of an agent. The usual ones come first, and what matters least of them on the right.
func listColumns(a client.Listed) []listColumn {
	return []listColumn{
		{"id", a.ID},
		{"status", listStatus(a)},
		{"exec", a.Number},
		{"age", a.StartedAt},
		{"steps", a.Steps},
		{"tokens", a.TotalTokens},
		{"cost", paid{a.CostNanoUSD, a.TotalTokens}},
		{"reason", listReason(a)},
		{"waiting", a.Waiting},
		{"unknown", a.Unknown},
		{"parent", shortAgent(a.ParentID)},
		{"schedule", a.Schedule},
		{"build", a.Build},
		{"ended", a.ClosedAt},
		{"server", a.ServerStatus},
		{"run", a.RunID},
	}
}

// paid is a cost and the tokens that it was paid for.
type paid struct{ nano, tokens *int64 }

// cell is a value as people read it: a time by how long ago it was.
func cell(value any, now time.Time) string {
	switch v := value.(type) {
	case int:
		return grouped(v)
	case *int:
		return countOf(v)
	case *int64:
		return countOf(v)
	case time.Time:
		return ago(v, now)
	case paid:
		if v.nano == nil && known(v.tokens) <= 0 {
			return "-" // of an execution in progress neither is told
		}
		return costWords(v.nano)
	}
	return cmp.Or(OneLine(fmt.Sprint(value)), "-")
}

// comparedCells orders two values of a column: times by the age.
func comparedCells(a, b any) int {
	switch a := a.(type) {
	case int:
		return cmp.Compare(a, b.(int))
	case *int:
		return cmp.Compare(known(a), known(b.(*int)))
	case *int64:
		return cmp.Compare(known(a), known(b.(*int64)))
	case time.Time:
		return b.(time.Time).Compare(a)
	case paid:
		return cmp.Compare(known(a.nano), known(b.(paid).nano))
	}
	return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
}

// ListColumns are the names of what a list can show.
func ListColumns() []string {
	var names []string
	for _, column := range listColumns(client.Listed{}) {
		names = append(names, column.name)
	}
	return names
}

// List is the table of a list: with some columns, or with the usual ones, among which is the parent where one has such.
func List(agents []client.Listed, now time.Time, columns ...string) Table {
	if len(columns) == 0 {
		columns = ListColumns()[:5] // the usual ones
		if slices.ContainsFunc(agents, func(a client.Listed) bool { return a.ParentID != "" }) {
			columns = slices.Insert(slices.Clone(columns), 2, "parent")
		}
	}
	t, places := Table{Columns: "--columns", Gives: "STATUS"}, []int{}
	for _, name := range columns {
		if i := slices.Index(ListColumns(), name); i >= 0 {
			places = append(places, i)
			t.Head = append(t.Head, strings.ToUpper(name))
		}
	}
	for _, a := range agents {
		all, row := listColumns(a), []string(nil)
		for _, i := range places {
			row = append(row, cell(all[i].value, now))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// SortList sorts agents by a column: texts from a on, and numbers, times and ages from the smallest; reverse turns
// that round. Among equals the order stays.
func SortList(agents []client.Listed, column string, reverse bool) {
	i := slices.Index(ListColumns(), column)
	if i < 0 {
		return
	}
	slices.SortStableFunc(agents, func(a, b client.Listed) int {
		if reverse {
			a, b = b, a
		}
		return comparedCells(listColumns(a)[i].value, listColumns(b)[i].value)
	})
}

// shortAgent is a name, or how an agent's id begins.
func shortAgent(id string) string {
	if len(id) == 36 && domain.CheckAgentName(id) != nil {
		id = id[:8]
	}
	return OneLine(id)
}

func known[N int | int64](n *N) N {
	if n == nil {
		return -1
	}
	return *n
}

func countOf[N int | int64](n *N) string {
	if n == nil {
		return "-"
	}
	return grouped(*n)
}

func ago(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return Duration(now.Sub(t))
}

// listReason is why the newest execution ended, but where it completed.
func listReason(a client.Listed) string {
	if a.Foreign {
		return ""
	}
	return endedBy(a.Code, a.StopReason, a.SessionLimit)
}

func listStatus(a client.Listed) string {
	status := string(a.Status)
	switch {
	case a.Foreign:
		status = "foreign"
	case !a.ImportedAt.IsZero():
		status += ", imported"
	case a.Recorded:
		status += ", recorded"
	case a.Open && a.Status.Terminal():
		status += ", idle"
	case a.Stopping:
		status = "stopping"
	case a.Waiting > 0:
		status = "waits for " + a.WaitsFor
	case a.Paused:
		status = "paused"
	}
	if a.Suspended {
		status = strings.TrimSuffix(status, ", idle") + ", suspended"
	}
	return status + Within(", ", Some(a.Unknown, "outcome"), " unknown") + Within(" (", listReason(a), ")")
}

// Executions is the table of an agent's executions. named says that they are of several sessions.
func Executions(executions []client.Past, now time.Time, named bool) Table {
	t := Table{Head: []string{"ID", "EXEC", "STATUS", "AGENT", "STEPS", "TOKENS", "COST", "TOOK", "BEGAN", "FROM", "EXECUTION ID"}}
	newest := map[string]int{}
	for _, x := range executions {
		newest[x.ID] = max(newest[x.ID], x.Number)
	}
	for _, x := range executions {
		status := string(x.Status) + Within(" (", endedBy(x.Code, x.StopReason, x.SessionLimit), ")")
		back, by := value(x.TakenBack), "the next" // which is still to begin
		if back.By <= newest[x.ID] {
			by = grouped(back.By)
		}
		status += where(!x.ImportedAt.IsZero(), ", imported") + where(x.Cleared, ", cleared") +
			where(x.TakenBack != nil, ", "+where(back.AfterStep > 0, "after step "+grouped(back.AfterStep)+" ")+"taken back by "+by)
		t.Rows = append(t.Rows, []string{
			OneLine(x.ID), grouped(x.Number), status, cmp.Or(OneLine(x.Agent), "-"), countOf(x.Steps), countOf(x.TotalTokens),
			cell(paid{x.CostNanoUSD, x.TotalTokens}, now), took(x.StartedAt, x.EndedAt, x.Status.Terminal(), now), cmp.Or(moment(x.StartedAt), "-"), pastOrigin(executions, x.Origin), x.ExecutionID.String(),
		})
	}
	if !slices.ContainsFunc(executions, func(x client.Past) bool { return x.Agent != "" }) {
		t.drop("AGENT")
	}
	if !named {
		t.drop("ID")
	}
	return t
}

// NextOrigin says from where the next execution of a session would go on that was rewound; empty: it was not.
func NextOrigin(executions []client.Past) string {
	for _, x := range executions {
		if x.NextOrigin != nil {
			return fmt.Sprintf("execution %s, if there is to be one, goes on from %s", grouped(x.Number+1), pastOrigin(executions, x.NextOrigin))
		}
	}
	return ""
}

// pastOrigin says where an execution goes on from, by its number where that is of the same agent.
func pastOrigin(all []client.Past, origin *domain.Origin) string {
	if origin == nil {
		return "-"
	}
	id, _, _ := strings.Cut(origin.ExecutionID.String(), "-")
	if i := slices.IndexFunc(all, func(x client.Past) bool { return x.ExecutionID == origin.ExecutionID }); i >= 0 {
		id = grouped(all[i].Number)
	}
	return id + ", step " + grouped(origin.Step)
}
