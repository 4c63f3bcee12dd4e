package main

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// A table is rows of cleaned, single-line cells under a head.
type table struct {
	head []string
	rows [][]string
}

const columnGap = "  "

// render aligns the columns. On a terminal that is too narrow for all of them
// those on the right are left out, as far as two; these two are cut.
func (t table) render(out *output) string {
	widths := t.widths(out.width())
	var b strings.Builder
	writeRow(&b, t.head, widths, out.theme.faint)
	for _, row := range t.rows {
		writeRow(&b, row, widths, func(words ...string) string { return strings.Join(words, " ") })
	}
	return b.String()
}

// widths are those of the columns that are shown; limit is the terminal's,
// zero for none.
func (t table) widths(limit int) []int {
	const least = 2
	widths := make([]int, len(t.head))
	total := -len(columnGap)
	for i := range widths {
		widths[i] = lipgloss.Width(t.head[i])
		for _, row := range t.rows {
			widths[i] = max(widths[i], lipgloss.Width(row[i]))
		}
		total += widths[i] + len(columnGap)
	}
	for limit > 0 && total > limit && len(widths) > least {
		total -= widths[len(widths)-1] + len(columnGap)
		widths = widths[:len(widths)-1]
	}
	if excess := total - limit; limit > 0 && excess > 0 {
		widths[0] = max(widths[0]-excess, lipgloss.Width(t.head[0]))
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

// fitted cuts a text to a width, and shows that it did.
func fitted(text string, width int) string {
	if lipgloss.Width(text) <= width {
		return text
	}
	return lipgloss.NewStyle().Inline(true).MaxWidth(width-1).Render(text) + "…"
}
