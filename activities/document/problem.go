package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Problem is one thing that is wrong with a file.
type Problem struct {
	File string `json:"file"`
	// Line and Column count from 1; zero where the problem is the file itself.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Field is the key that is meant, such as budget.max_steps, if any.
	Field string `json:"field"`
	// Message says what is wrong, and what to do about it.
	Message string `json:"message"`
}

// String is file:line:column: field: message.
func (p Problem) String() string {
	text := p.File
	if p.Line > 0 {
		text = fmt.Sprintf("%s:%d:%d", text, p.Line, p.Column)
	}
	if p.Field != "" {
		text += ": " + p.Field
	}
	return text + ": " + p.Message
}

// Problems are all that is wrong with a file, sorted by line.
type Problems []Problem

// shownProblems bounds the text of an error. The value has all of them.
const shownProblems = 50

// Error is one problem a line, under a line that counts several.
func (p Problems) Error() string {
	if len(p) == 1 {
		return p[0].String()
	}
	var b strings.Builder
	if len(p) > 1 {
		fmt.Fprintf(&b, "%s has %d problems:", p[0].File, len(p))
	}
	for i, problem := range p {
		if i == shownProblems {
			fmt.Fprintf(&b, "\n  and %d more", len(p)-shownProblems)
			break
		}
		b.WriteString("\n  " + problem.String())
	}
	return b.String()
}

// Err is nil where nothing is wrong.
func (r *Reader) Err() error {
	if len(r.Problems) == 0 {
		return nil
	}
	r.Problems.Sort()
	return r.Problems
}

// Sort sorts them by their places.
func (p Problems) Sort() {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// ProblemAt notes what is wrong at a line and a column of the file.
func (r *Reader) ProblemAt(line, column int, field, format string, args ...any) {
	r.Problems = append(r.Problems, Problem{
		File: r.File, Line: line, Column: column, Field: field, Message: fmt.Sprintf(format, args...),
	})
}
