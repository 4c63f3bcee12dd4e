package main

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// A theme paints words. It uses the terminal's own sixteen colours, which are
// legible on light and dark grounds alike.
type theme struct {
	name  func(...string) string
	good  func(...string) string
	bad   func(...string) string
	warn  func(...string) string
	faint func(...string) string
	head  func(...string) string
}

func newTheme() theme {
	style := lipgloss.NewStyle
	return theme{
		name:  style().Foreground(lipgloss.Cyan).Render,
		good:  style().Foreground(lipgloss.Green).Render,
		bad:   style().Foreground(lipgloss.Red).Render,
		warn:  style().Foreground(lipgloss.Yellow).Render,
		faint: style().Faint(true).Render,
		head:  style().Bold(true).Render,
	}
}

// noTheme paints nothing.
func noTheme() theme {
	plain := func(words ...string) string { return strings.Join(words, " ") }
	return theme{name: plain, good: plain, bad: plain, warn: plain, faint: plain, head: plain}
}
