package account

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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
func (m Missing) String() string {
	if m.From == m.To {
		return fmt.Sprintf("%s %d", strings.TrimSuffix(string(m.Part), "s"), m.From)
	}
	return fmt.Sprintf("%s %d to %d", m.Part, m.From, m.To)
}

// Ranges names ranges, one after the other; empty: there is none.
func Ranges(missing []Missing) string {
	names := make([]string, len(missing))
	for i, m := range missing {
		names[i] = m.String()
	}
	return strings.Join(names, ", ")
}

// StepNumber counts the steps of an execution.
func StepNumber(s Step) int { return s.Number }

// EventNumber counts the events of an execution.
func EventNumber(e domain.Event) int { return int(e.Sequence) }

// MessageIndex counts the messages over all executions.
func MessageIndex(e domain.Entry) int { return e.Index }

// ByNumber sorts a list by its numbers, and keeps the first of each.
func ByNumber[T any](list []T, number func(T) int) []T {
	slices.SortStableFunc(list, func(x, y T) int { return cmp.Compare(number(x), number(y)) })
	return slices.CompactFunc(list, func(x, y T) bool { return number(x) == number(y) })
}

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

// WithMissing returns the account with what is missing of the lists that were asked for: what comes before all that the runs
// and records hold which were read, and holes between. What they hold is there, or has come since.
func (a Account) WithMissing(r Request, held Held) Account {
	r = r.Of(held)
	a.Missing = slices.Clip(a.Missing)
	if r.Wants(Executions) || r.Wants(Steps) || r.Wants(Events) { // of an execution that is missing nobody knows how many steps it had
		a.Missing = append(a.Missing, a.missingExecutions(r, held)...)
	}
	var steps, events []Missing // before the first that the runs hold; of an execution that none of them holds nobody knows how many there were
	for _, e := range held.Executions {
		if r.Execution > 0 && e.Number != r.Execution || e.Step <= 1 && e.Event <= 1 { // which they hold whole
			continue
		}
		ownSteps := slices.DeleteFunc(slices.Clone(a.Steps), func(s Step) bool { return s.Execution != e.Number || s.Number >= e.Step })
		steps = append(steps, Gaps(Steps, e.Number, r.first(Steps, e.Number), e.Step-1, ownSteps, StepNumber)...)
		ownEvents := slices.DeleteFunc(slices.Clone(a.Events), func(event domain.Event) bool { return event.ExecutionID != e.ID || event.Sequence >= e.Event })
		events = append(events, Gaps(Events, e.Number, r.first(Events, e.Number), int(e.Event)-1, ownEvents, EventNumber)...)
	}
	if r.Wants(Steps) {
		a.Missing = append(a.Missing, steps...)
	}
	if r.Wants(Events) {
		a.Missing = append(a.Missing, events...)
	}
	if r.Wants(Messages) {
		a.Missing = append(a.Missing, a.missingMessages(r, held)...)
	}
	return a
}

// missingExecutions are those before the newest that is known, of which nothing is.
func (a Account) missingExecutions(r Request, held Held) []Missing {
	var known []int
	for _, e := range held.Executions {
		known = append(known, e.Number)
	}
	for _, e := range a.Executions {
		known = append(known, e.Number)
	}
	if len(known) == 0 {
		return nil
	}
	first, last := 1, slices.Max(known)
	if r.Execution > 0 {
		first, last = r.Execution, min(r.Execution, last)
	}
	itself := func(n int) int { return n }
	known = slices.DeleteFunc(ByNumber(known, itself), func(n int) bool { return n < first || n > last })
	return Gaps(Executions, 0, first, last, known, itself)
}

// missingMessages are those before what the runs hold, and holes. Of an execution that none of them holds nobody knows which
// were its.
func (a Account) missingMessages(r Request, held Held) []Missing {
	first, last, at := r.firstMessage(held), held.Messages-1, held.at(r.Execution)
	if r.Execution > 0 && at < 0 {
		return nil
	}
	if n := len(a.Messages); r.Execution == 0 && n > 0 {
		last = max(last, a.Messages[n-1].Index)
	}
	if r.Execution > 0 && at+1 < len(held.Executions) {
		last = min(last, held.Executions[at+1].Message-1)
	}
	meant := slices.DeleteFunc(slices.Clone(a.Messages), func(e domain.Entry) bool { return e.Index < first || e.Index > last })
	return Gaps(Messages, 0, first, last, meant, MessageIndex)
}
