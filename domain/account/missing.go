package account

import (
	"fmt"

	"everstep/domain"
)

// A Missing names a range of a list that nobody has any more.
type Missing struct {
	Part Part `json:"part"`
	// Execution is the number of the execution of which they are; zero: messages and executions are counted over all.
	Execution int `json:"execution_number,omitzero"`
	// From is the first that is missing, and To the last.
	From int `json:"from"`
	To   int `json:"to"`
}

// String names the range to whoever knows of which execution it is.
func (m Missing) String() string { return fmt.Sprintf("%s %d to %d", m.Part, m.From, m.To) }

// Gaps are the ranges from first to last in which a list, in the order of its numbers, has nothing.
func Gaps[T any](part Part, execution, first, last int, list []T, number func(T) int) (gaps []Missing) {
	next := first
	reach := func(n int) {
		if n > next {
			gaps = append(gaps, Missing{part, execution, next, n - 1})
		}
		next = n + 1
	}
	for _, one := range list {
		reach(number(one))
	}
	reach(last + 1)
	return gaps
}

// WithMissing returns the account, which has a head, with what is missing of the lists that were asked for.
func (a Account) WithMissing(r Request) Account {
	a.Missing = nil
	newest := 0
	if a.Head.Newest != nil {
		newest = a.Head.Newest.Number
	}
	if r.Wants(Executions) {
		a.Missing = Gaps(Executions, 0, 1, newest, a.Executions, func(e Execution) int { return e.Number })
	}
	if r.Wants(Steps) {
		a.Missing = append(a.Missing, a.missingSteps()...)
	}
	if r.Wants(Messages) {
		a.Missing = append(a.Missing, Gaps(Messages, 0, 0, a.Head.Position.Length-1, a.Messages, func(e domain.Entry) int { return e.Index })...)
	}
	return a
}

// missingSteps are those of executions that the account knows of. Of others nobody knows how many there were.
func (a Account) missingSteps() (gaps []Missing) {
	of := map[int][]Step{}
	for _, step := range a.Steps {
		of[step.Execution] = append(of[step.Execution], step)
	}
	for _, e := range a.Executions {
		gaps = append(gaps, Gaps(Steps, e.Number, 1, e.Steps, of[e.Number], func(s Step) int { return s.Number })...)
	}
	return gaps
}
