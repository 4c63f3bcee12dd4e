package account

import (
	"fmt"
	"slices"

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

func (m Missing) String() string {
	if m.Execution > 0 {
		return fmt.Sprintf("%s %d to %d of execution %d", m.Part, m.From, m.To, m.Execution)
	}
	return fmt.Sprintf("%s %d to %d", m.Part, m.From, m.To)
}

// Gaps are the ranges from first to last in which a list of numbers, in their order, has nothing.
func Gaps(part Part, execution, first, last int, numbers []int) (gaps []Missing) {
	next := first
	for _, n := range append(numbers[:len(numbers):len(numbers)], last+1) {
		if n > next {
			gaps = append(gaps, Missing{part, execution, next, n - 1})
		}
		next = n + 1
	}
	return gaps
}

// WithMissing returns the account, which has a head, with what is missing of the lists that were asked for. Held says from
// where on the runs that were read have them.
func (a Account) WithMissing(r Request, held Held) Account {
	a.Missing = nil
	newest := 0
	if a.Head.Newest != nil {
		newest = a.Head.Newest.Number
	}
	if r.Wants(Executions) {
		a.Missing = Gaps(Executions, 0, 1, newest, numbers(a.Executions, func(e Execution) int { return e.Number }))
	}
	if r.Wants(Steps) {
		a.Missing = append(a.Missing, a.missingSteps(held)...)
	}
	if r.Wants(Events) {
		a.Missing = append(a.Missing, a.missingEvents(held)...)
	}
	if r.Wants(Messages) {
		a.Missing = append(a.Missing, Gaps(Messages, 0, 0, a.Head.Position.Length-1, numbers(a.Messages, func(e domain.Entry) int { return e.Index }))...)
	}
	return a
}

// missingSteps are those before what the runs hold. Of an execution that none of them holds nobody knows how many there were.
func (a Account) missingSteps(held Held) (gaps []Missing) {
	of := map[int][]int{}
	for _, step := range a.Steps {
		of[step.Execution] = append(of[step.Execution], step.Number)
	}
	for _, e := range held.Executions {
		gaps = append(gaps, Gaps(Steps, e.Number, 1, e.Step-1, before(e.Step, of[e.Number]))...)
	}
	return gaps
}

// missingEvents are found as missing steps are.
func (a Account) missingEvents(held Held) (gaps []Missing) {
	of := map[domain.ExecutionID][]int{}
	for _, event := range a.Events {
		head := event.Head()
		of[head.ExecutionID] = append(of[head.ExecutionID], int(head.Sequence))
	}
	for _, e := range held.Executions {
		gaps = append(gaps, Gaps(Events, e.Number, 1, int(e.Event)-1, before(int(e.Event), of[e.ID]))...)
	}
	return gaps
}

// before are those of some numbers, in their order, that are less than another.
func before(end int, numbers []int) []int {
	n, _ := slices.BinarySearch(numbers, end)
	return numbers[:n]
}

func numbers[T any](all []T, number func(T) int) []int {
	list := make([]int, len(all))
	for i, one := range all {
		list[i] = number(one)
	}
	return list
}
