package render

import (
	"strings"
	"time"

	"everstep/domain"
	"everstep/starter/client"

	"charm.land/lipgloss/v2"
)

// A Table is rows of cleaned, single-line cells under a head.
type Table struct {
	Head []string
	Rows [][]string
}

const columnGap = "  "

// Render aligns the columns. On a terminal that is too narrow for all of them
// those on the right are left out, as far as two; these two are cut.
func (t Table) Render(out *Output) string {
	widths := t.widths(out.Width())
	var b strings.Builder
	writeRow(&b, t.Head, widths, out.Theme.Faint)
	for _, row := range t.Rows {
		writeRow(&b, row, widths, plain)
	}
	return b.String()
}

// widths are those of the columns that are shown; limit is the terminal's,
// zero for none.
func (t Table) widths(limit int) []int {
	const least = 2
	widths := make([]int, len(t.Head))
	total := -len(columnGap)
	for i := range widths {
		widths[i] = lipgloss.Width(t.Head[i])
		for _, row := range t.Rows {
			widths[i] = max(widths[i], lipgloss.Width(row[i]))
		}
		total += widths[i] + len(columnGap)
	}
	for limit > 0 && total > limit && len(widths) > least {
		total -= widths[len(widths)-1] + len(columnGap)
		widths = widths[:len(widths)-1]
	}
	if excess := total - limit; limit > 0 && excess > 0 {
		widths[0] = max(widths[0]-excess, lipgloss.Width(t.Head[0]))
	}
	return widths
}

func writeRow(b *strings.Builder, cells []string, widths []int, paint func(...string) string) {
	var row strings.Builder
	for i, cell := range cells[:len(widths)] {
		if i > 0 {
			row.WriteString(columnGap)
		}
		cell = fitted(cell, widths[i])
		row.WriteString(cell + strings.Repeat(" ", max(widths[i]-lipgloss.Width(cell), 0)))
	}
	b.WriteString(paint(strings.TrimRight(row.String(), " ")) + "\n")
}

func fitted(text string, width int) string {
	if lipgloss.Width(text) <= width {
		return text
	}
	return lipgloss.NewStyle().Inline(true).MaxWidth(width-1).Render(text) + "…"
}

// List is the table of a list, what matters least on the right.
func List(agents []client.Listed, now time.Time) Table {
	t := Table{Head: []string{"ID", "STATUS", "SESSION", "STEPS", "AGE", "EXECUTION", "WHY"}}
	for _, a := range agents {
		steps, session, age := "-", "ended", "-"
		if a.Steps != nil {
			steps = grouped(int64(*a.Steps))
		}
		switch {
		case a.Foreign:
			session = "foreign"
		case a.Open && a.Status.Terminal():
			session = "idle"
		case a.Open:
			session = "running"
		}
		if !a.StartedAt.IsZero() {
			age = Duration(now.Sub(a.StartedAt))
		}
		why := string(a.Code)
		if a.Foreign {
			why = "not started by Everstep"
		} else if why == "" && a.StopReason != domain.Completed {
			why = string(a.StopReason)
		}
		t.Rows = append(t.Rows, []string{
			OneLine(a.ID), string(a.Status), session, steps, age, grouped(int64(a.Number)), OneLine(why),
		})
	}
	return t
}
