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

// A listColumn is what a list can show of an agent, and sort by.
type listColumn struct {
	name, head string
	cell       func(client.Listed, time.Time) string
	compare    func(a, b client.Listed) int
}

// listColumns are all that there are. The usual ones come first, and what matters least of them on the right.
var listColumns = []listColumn{
	{"id", "ID", func(a client.Listed, _ time.Time) string { return OneLine(a.ID) }, by(func(a client.Listed) string { return a.ID })},
	{"status", "STATUS", func(a client.Listed, _ time.Time) string { return listStatus(a) }, by(listStatus)},
	{"exec", "EXEC", func(a client.Listed, _ time.Time) string { return grouped(int64(a.Number)) }, by(func(a client.Listed) int { return a.Number })},
	{"age", "AGE", func(a client.Listed, now time.Time) string { return ago(a.StartedAt, now) }, func(a, b client.Listed) int { return b.StartedAt.Compare(a.StartedAt) }},
	{"steps", "STEPS", func(a client.Listed, _ time.Time) string { return countOf(a.Steps) }, by(func(a client.Listed) int { return known(a.Steps) })},
	{"tokens", "TOKENS", func(a client.Listed, _ time.Time) string { return countOf(a.TotalTokens) }, by(func(a client.Listed) int64 { return known(a.TotalTokens) })},
	{"cost", "COST", func(a client.Listed, _ time.Time) string { return costCell(a.CostNanoUSD, a.TotalTokens) }, by(func(a client.Listed) int64 { return known(a.CostNanoUSD) })},
	{"reason", "REASON", func(a client.Listed, _ time.Time) string { return cmp.Or(listReason(a), "-") }, by(listReason)},
	{"waiting", "WAITING", func(a client.Listed, _ time.Time) string { return grouped(int64(a.Waiting)) }, by(func(a client.Listed) int { return a.Waiting })},
	{"unknown", "UNKNOWN", func(a client.Listed, _ time.Time) string { return grouped(int64(a.Unknown)) }, by(func(a client.Listed) int { return a.Unknown })},
	{"parent", "PARENT", func(a client.Listed, _ time.Time) string { return parentCell(a) }, by(func(a client.Listed) string { return a.ParentID })},
	{"schedule", "SCHEDULE", func(a client.Listed, _ time.Time) string { return cmp.Or(OneLine(a.Schedule), "-") }, by(func(a client.Listed) string { return a.Schedule })},
	{"build", "BUILD", func(a client.Listed, _ time.Time) string { return cmp.Or(OneLine(a.Build), "-") }, by(func(a client.Listed) string { return a.Build })},
	{"ended", "ENDED", func(a client.Listed, now time.Time) string { return ago(a.ClosedAt, now) }, func(a, b client.Listed) int { return b.ClosedAt.Compare(a.ClosedAt) }},
	{"server", "SERVER", func(a client.Listed, _ time.Time) string { return OneLine(a.ServerStatus) }, by(func(a client.Listed) string { return a.ServerStatus })},
	{"run", "RUN", func(a client.Listed, _ time.Time) string { return OneLine(a.RunID) }, by(func(a client.Listed) string { return a.RunID })},
}

// usualColumns is how many columns a list has unless others are asked for.
const usualColumns = 5

// ListColumns are the names of what a list can show.
func ListColumns() []string {
	var names []string
	for _, column := range listColumns {
		names = append(names, column.name)
	}
	return names
}

// List is the table of a list: with some columns, or with the usual ones, among which is the parent where one has such.
func List(agents []client.Listed, now time.Time, columns ...string) Table {
	if len(columns) == 0 {
		columns = ListColumns()[:usualColumns]
		if slices.ContainsFunc(agents, func(a client.Listed) bool { return a.ParentID != "" }) {
			columns = slices.Insert(slices.Clone(columns), 2, "parent")
		}
	}
	t, shown := Table{Columns: "--columns", Gives: "STATUS"}, []listColumn{}
	for _, name := range columns {
		if i := slices.IndexFunc(listColumns, func(c listColumn) bool { return c.name == name }); i >= 0 {
			shown = append(shown, listColumns[i])
			t.Head = append(t.Head, listColumns[i].head)
		}
	}
	for _, a := range agents {
		var row []string
		for _, column := range shown {
			row = append(row, column.cell(a, now))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// SortList sorts agents by a column: texts from a on, and numbers, times and ages from the smallest; reverse turns
// that round. Among equals the order stays.
func SortList(agents []client.Listed, column string, reverse bool) {
	i := slices.IndexFunc(listColumns, func(c listColumn) bool { return c.name == column })
	if i < 0 {
		return
	}
	slices.SortStableFunc(agents, func(a, b client.Listed) int {
		if reverse {
			a, b = b, a
		}
		return listColumns[i].compare(a, b)
	})
}

// parentCell names the agent that started one: by its name, or by how its id begins, which is enough for every command.
func parentCell(a client.Listed) string {
	return cmp.Or(shortAgent(a.ParentID), "-")
}

// shortAgent is a name, or how an agent's id begins.
func shortAgent(id string) string {
	if len(id) == 36 && domain.CheckAgentName(id) != nil {
		id = id[:8]
	}
	return OneLine(id)
}

func by[T cmp.Ordered](key func(client.Listed) T) func(a, b client.Listed) int {
	return func(a, b client.Listed) int { return cmp.Compare(key(a), key(b)) }
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
	return grouped(int64(*n))
}

// costCell is what was paid, as far as it is told: of an execution in progress neither tokens nor cost are.
func costCell(nano, tokens *int64) string {
	if nano == nil && known(tokens) <= 0 {
		return "-"
	}
	return costWords(nano)
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
	case a.Waiting > 0 && a.Questions == a.Waiting:
		status = "waits for an answer"
	case a.Waiting > 0:
		status = "waits for approval"
	case a.Paused:
		status = "paused"
	}
	if a.Suspended {
		status = strings.TrimSuffix(status, ", idle") + ", suspended"
	}
	if a.Unknown > 0 {
		status += ", " + Counted(int64(a.Unknown), "outcome") + " unknown"
	}
	if why := listReason(a); why != "" {
		status += " (" + why + ")"
	}
	return status
}

// Executions is the table of an agent's executions. named says that they are of several sessions.
func Executions(executions []client.Past, now time.Time, named bool) Table {
	t := Table{Head: []string{"EXEC", "STATUS", "STEPS", "TOKENS", "COST", "TOOK", "BEGAN", "FROM", "EXECUTION ID"}}
	handed := slices.ContainsFunc(executions, func(x client.Past) bool { return x.Agent != "" })
	if handed {
		t.Head = slices.Insert(t.Head, 2, "AGENT")
	}
	if named {
		t.Head = append([]string{"ID"}, t.Head...)
	}
	newest := map[string]int{}
	for _, x := range executions {
		newest[x.ID] = max(newest[x.ID], x.Number)
	}
	for _, x := range executions {
		status := string(x.Status) + within(" (", endedBy(x.Code, x.StopReason, x.SessionLimit), ")")
		if !x.ImportedAt.IsZero() {
			status += ", imported"
		}
		status += where(x.Cleared, ", cleared") + takenBack(x.TakenBack, newest[x.ID])
		took, end := "-", x.EndedAt
		if end.IsZero() && !x.Status.Terminal() {
			end = now
		}
		if !x.StartedAt.IsZero() && !end.IsZero() {
			took = Duration(end.Sub(x.StartedAt))
		}
		row := []string{
			grouped(int64(x.Number)), status, countOf(x.Steps), countOf(x.TotalTokens), costCell(x.CostNanoUSD, x.TotalTokens), took, cmp.Or(moment(x.StartedAt), "-"),
			pastOrigin(executions, x.Origin), x.ExecutionID.String(),
		}
		if handed {
			row = slices.Insert(row, 2, cmp.Or(OneLine(x.Agent), "-"))
		}
		if named {
			row = append([]string{OneLine(x.ID)}, row...)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// takenBack says which execution goes on without one, or without its last steps: where that is later than the newest it is
// still to begin.
func takenBack(t *client.TakenBack, newest int) string {
	if t == nil {
		return ""
	}
	by := grouped(int64(t.By))
	if t.By > newest {
		by = "the next"
	}
	return ", " + where(t.AfterStep > 0, "after step "+grouped(int64(t.AfterStep))+" ") + "taken back by " + by
}

// NextOrigin says from where the next execution of a session goes on that was rewound; empty: it was not.
func NextOrigin(executions []client.Past) string {
	for _, x := range executions {
		if x.NextOrigin != nil {
			return fmt.Sprintf("execution %s will go on from %s", grouped(int64(x.Number)+1), pastOrigin(executions, x.NextOrigin))
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
		id = grouped(int64(all[i].Number))
	}
	return id + ", step " + grouped(int64(origin.Step))
}
