package account

import (
	"cmp"
	"slices"

	"everstep/domain"
	"everstep/domain/contract"
)

// Query asks a run of an agent's workflow for a page of the account of what the run holds.
const Query contract.Query[Request, Page] = "account"

// A Request asks for a page.
type Request struct {
	// Want are the parts to be read. Without the head among them the last page has none.
	Want []Part `json:"want"`
	// Execution names the one execution that is wanted, with its steps, events and messages: by its number, or as [Newest].
	// Zero: all that the run holds.
	Execution int `json:"execution_number,omitzero"`
	// After leaves out what a reader of one execution has of it already.
	After Seen `json:"after,omitzero"`
	// From is where the page begins: the Next of the page before.
	From Cursor `json:"from,omitzero"`
	// Bytes bounds the page, where that is less than what a page may have.
	Bytes int `json:"bytes,omitzero"`
	// Unbounded is set by a reader in the same process, to which no page has to be sent: all is on one.
	Unbounded bool `json:"-"`
	contract.LargePage
}

// RequestOf asks for parts of one execution, by its number or as [Newest], or of all where that is zero.
func RequestOf(execution int, want ...Part) Request { return Request{Want: want, Execution: execution} }

// Seen is how far a reader has read an execution: the numbers of the newest step and event that it has.
type Seen struct {
	Step  int   `json:"step,omitzero"`
	Event int64 `json:"event,omitzero"`
}

// Newest stands for the number of the agent's newest execution.
const Newest = -1

// Wants reports whether a part is to be read.
func (r Request) Wants(part Part) bool { return slices.Contains(r.Want, part) }

// leavesOut reports whether what stands at a place is not wanted, or comes before the beginning, or is known to the reader.
func (r Request) leavesOut(at Cursor) bool {
	seen := at.Part == Steps && at.Item <= r.After.Step || at.Part == Events && int64(at.Item) <= r.After.Event
	return seen || !r.Wants(at.Part) || at.before(r.From)
}

// A Cursor is a place in an account: an item of a list. The zero cursor is its beginning.
type Cursor struct {
	Part Part `json:"part,omitzero"`
	// Execution is the number of the item's execution, and Item its own, counted as its list counts: steps and events from 1
	// in each execution, messages from 0 over all.
	Execution int `json:"execution_number,omitzero"`
	Item      int `json:"item,omitzero"`
}

// order is that of the parts on pages.
var order = []Part{"", Executions, Steps, Events, Messages, Current, HeadOf}

// Check refuses a request that names no part of an account.
func (r Request) Check() error {
	for _, part := range r.Want {
		if known := append(slices.Clone(order[1:]), State, Definition, Carry); !slices.Contains(known, part) {
			return domain.Invalidf("want: %q is no part of an account; give some of %v", part, known)
		}
	}
	if r.Execution < Newest {
		return domain.Invalidf("execution_number: is %d; executions are counted from 1, 0 stands for all, and %d for the newest", r.Execution, Newest)
	}
	if r.After != (Seen{}) && (r.Execution == 0 || r.After.Step < 0 || r.After.Event < 0) {
		return domain.Invalidf("after: is step %d and event %d of execution %d; steps, events and executions are counted from 1", r.After.Step, r.After.Event, r.Execution)
	}
	if r.Bytes < 0 {
		return domain.Invalidf("bytes: is %d; give a number from 1 on, or 0 for as many as a page may have", r.Bytes)
	}
	if from := r.From; from != (Cursor{}) && (!slices.Contains(order[1:], from.Part) || !r.Wants(from.Part) || from.Execution < 0 || from.Item < 0) {
		return domain.Invalidf("from: %s %d of execution %d is no place in what is wanted; give back what the page before had as next", from.Part, from.Item, from.Execution)
	}
	return nil
}

// Of returns the request with the number of the newest execution, where that is wanted and a run holds any.
func (r Request) Of(held Held) Request {
	if r.Execution == Newest {
		r.Execution = cmp.Or(held.Newest(), Newest)
	}
	return r
}

// before reports whether a place comes before another.
func (c Cursor) before(other Cursor) bool {
	return cmp.Or(slices.Index(order, c.Part)-slices.Index(order, other.Part), c.Execution-other.Execution, c.Item-other.Item) < 0
}

// A Page is a part of an account: as much as has room, at least one item.
type Page struct {
	Account
	PageEnd
}

// A PageEnd says of a page how it fits to others of the same run.
type PageEnd struct {
	// Next is where the next page begins; absent on the last, which alone has the head.
	Next *Cursor `json:"next,omitempty"`
	// Held is what the run holds of each list.
	Held Held `json:"held"`
	// Revision names what is marked and changed of what the lists have. Pages of different ones do not fit together.
	Revision domain.Digest `json:"revision"`
}

// Held says what a run holds: the rest is with the runs before it, in storage or among the records.
type Held struct {
	Run Run `json:"run"`
	// Executions are the numbers of those that the run holds, the oldest first, each with the first of its steps and events
	// that it holds.
	Executions []HeldExecution `json:"executions"`
	// Messages is the index of the first message that it holds.
	Messages int `json:"messages"`
}

// A HeldExecution says from where on a run holds an execution.
type HeldExecution struct {
	Number int                `json:"execution_number"`
	ID     domain.ExecutionID `json:"execution_id"`
	// Step and Event are the first that it holds; one more than there are: none.
	Step  int   `json:"step"`
	Event int64 `json:"event"`
	// Message is the index of the execution's first message, which the run may hold or not.
	Message int `json:"message"`
	// EndedBefore says that it ended in an earlier run: this one has none of its events, and only remembers it.
	EndedBefore bool `json:"ended_before,omitzero"`
}

// A Writer fills the page that a request asks for.
type Writer struct {
	Request
	Page Page
	used int
}

// Add puts an item of an execution on the page, unless it is not wanted or comes before the page's beginning. It reports
// false where the page is full, and then adds nothing more. It asks for the size, which costs an encoding, only where a page
// has bounds.
func (w *Writer) Add(at Cursor, execution int, size func() int, put func(*Account)) bool {
	if w.Page.Next != nil {
		return false
	}
	if w.leavesOut(at) || w.Execution > 0 && execution != w.Execution {
		return true
	}
	if !w.Unbounded {
		bytes := size()
		if w.used > 0 && w.used+bytes > min(cmp.Or(w.Bytes, w.MaxBytes()), w.MaxBytes()) {
			w.Page.Next = new(at)
			return false
		}
		w.used += bytes
	}
	put(&w.Page.Account)
	return true
}

// StepExecutions are the account's steps, without the numbers of their executions.
func (a Account) StepExecutions() []domain.StepExecution {
	steps := make([]domain.StepExecution, len(a.Steps))
	for i, step := range a.Steps {
		steps[i] = step.StepExecution
	}
	return steps
}

// With returns the account with what the next page of the same run has.
func (a Account) With(next Account) Account {
	a.Executions = append(a.Executions, next.Executions...)
	a.Steps, a.Messages, a.Events = append(a.Steps, next.Steps...), append(a.Messages, next.Messages...), append(a.Events, next.Events...)
	a.Missing = append(a.Missing, next.Missing...)
	a.Current, a.Head = cmp.Or(next.Current, a.Current), cmp.Or(next.Head, a.Head)
	return a
}

// Only returns the account with what alone is wanted of its lists, from where the request begins.
func (a Account) Only(r Request) Account {
	only := Account{Head: a.Head, Missing: a.Missing}
	numbers := map[domain.ExecutionID]int{}
	for _, e := range a.Executions {
		numbers[e.ExecutionID] = e.Number
	}
	only.Executions = wanted(r, a.Executions, func(e Execution) Cursor { return Cursor{Executions, e.Number, 0} })
	only.Steps = wanted(r, a.Steps, func(s Step) Cursor { return Cursor{Steps, s.Execution, s.Number} })
	only.Events = wanted(r, a.Events, func(e domain.Event) Cursor {
		return Cursor{Events, numbers[e.ExecutionID], int(e.Sequence)}
	})
	only.Messages = wanted(r, a.Messages, func(e domain.Entry) Cursor { return Cursor{Messages, 0, e.Index} })
	return only
}

// wanted are the items of a list that a request asks for.
func wanted[T any](r Request, list []T, at func(T) Cursor) []T {
	return slices.DeleteFunc(slices.Clone(list), func(one T) bool { return r.leavesOut(at(one)) })
}

// After returns the account of a run with what an earlier run has of what comes before.
func (a Account) After(earlier Account, held Held) Account {
	steps, events, remembered := map[int]int{}, map[domain.ExecutionID]int64{}, map[int]bool{}
	for _, e := range held.Executions {
		steps[e.Number], events[e.ID], remembered[e.Number] = e.Step, e.Event, e.EndedBefore
	}
	oldest := Account{}
	for _, e := range earlier.Executions {
		_, again := steps[e.Number]
		at := slices.IndexFunc(a.Executions, func(later Execution) bool { return later.Number == e.Number })
		if at >= 0 && e.Ended != nil && remembered[e.Number] {
			a.Executions = slices.Clone(a.Executions)
			a.Executions[at] = e
		}
		if !again {
			oldest.Executions = append(oldest.Executions, e)
		}
	}
	for _, step := range earlier.Steps {
		if first, again := steps[step.Execution]; !again || step.Number < first {
			oldest.Steps = append(oldest.Steps, step)
		}
	}
	for _, event := range earlier.Events {
		if first, again := events[event.ExecutionID]; !again || event.Sequence < first {
			oldest.Events = append(oldest.Events, event)
		}
	}
	for _, entry := range earlier.Messages {
		if entry.Index < held.Messages {
			oldest.Messages = append(oldest.Messages, entry)
		}
	}
	oldest.Missing = earlier.Missing
	whole := oldest.With(a)
	whole.Head, whole.Server, whole.Current = a.Head, a.Server, a.Current
	return whole
}

// With returns what a run holds together with an earlier one, which holds more of an execution that both have.
func (h Held) With(earlier Held) Held {
	all := Held{Run: earlier.Run, Executions: slices.Clone(earlier.Executions), Messages: min(h.Messages, earlier.Messages)}
	for _, e := range h.Executions {
		if n := len(all.Executions); n == 0 || e.Number > all.Executions[n-1].Number {
			all.Executions = append(all.Executions, e)
		}
	}
	return all
}

// ofOne is what a run holds that is asked for one execution: of messages before those of the oldest execution that it holds it
// does not know whose they are, and gives none.
func (h Held) ofOne(r Request) Held {
	if r.Execution > 0 && len(h.Executions) > 0 {
		h.Messages = max(h.Messages, h.Executions[0].Message)
	}
	return h
}

// Newest is the number of the newest execution of which a run knows; zero: none has begun.
func (h Held) Newest() int {
	if len(h.Executions) == 0 {
		return 0
	}
	return h.Executions[len(h.Executions)-1].Number
}

// Reaches reports whether a run that holds this holds all that a request asks for, from the beginning on.
func (h Held) Reaches(r Request) bool {
	if r.Wants(Messages) && h.Messages > r.firstMessage(h) {
		return false
	}
	if len(h.Executions) == 0 {
		return true // nothing has begun
	}
	oldest, from := h.Executions[0], max(r.Execution, 1)
	if oldest.Number != from {
		return oldest.Number < from || !r.Wants(Executions) && !r.Wants(Steps) && !r.Wants(Events)
	}
	return (!r.Wants(Steps) || oldest.Step <= r.first(Steps, oldest.Number)) && (!r.Wants(Events) || oldest.Event <= int64(r.first(Events, oldest.Number)))
}

// first is the number of the first step or event of an execution that is wanted.
func (r Request) first(part Part, execution int) int {
	first := 1
	if r.Execution == execution {
		first += map[Part]int{Steps: r.After.Step, Events: int(r.After.Event)}[part]
	}
	if r.From.Part == part && r.From.Execution == execution {
		first = max(r.From.Item, first)
	}
	return first
}

// firstMessage is the index of the first message that is wanted, as far as that is known.
func (r Request) firstMessage(h Held) (first int) {
	if at := h.at(r.Execution); at >= 0 {
		first = h.Executions[at].Message
	}
	if r.From.Part == Messages {
		first = max(first, r.From.Item)
	}
	return first
}

// at is where an execution stands among those that are held; -1: it is not held.
func (h Held) at(number int) int {
	return slices.IndexFunc(h.Executions, func(e HeldExecution) bool { return e.Number == number })
}

// readings is how often lists are read that change while they are.
const readings = 3

// ReadRun reads all pages of a run, and says what the run holds. It begins anew where what is listed changes meanwhile.
func ReadRun(r Request, ask func(Request) (Page, error)) (Account, Held, error) {
	for range readings {
		var all Account
		var first *PageEnd
		for next := r; ; {
			page, err := ask(next)
			if err != nil {
				return Account{}, Held{}, err
			}
			if first != nil && page.Revision != first.Revision {
				break
			}
			if first == nil {
				first, all = &page.PageEnd, page.Account
			} else {
				all = all.With(page.Account)
			}
			if page.Next == nil {
				return all, first.Held, nil
			}
			next.From = *page.Next
		}
	}
	return Account{}, Held{}, domain.Errorf(domain.Unavailable, "the account changed while it was read, %d times; ask again", readings)
}

// Runs reads the runs of one agent's workflow, each of which continues the one before, as one account.
type Runs struct {
	// Read reads what a run holds.
	Read func(runID string, r Request) (Account, Held, error)
	// Before names the run before one; empty: there is none.
	Before func(Run) (string, error)
	// Gone reports whether an error means that nobody can read a run any more.
	Gone func(error) bool
}

// Account reads an account from a run on backwards, as far as a request reaches, and says what the runs that were
// read hold. What earlier runs held that are gone is missing.
func (runs Runs) Account(runID string, r Request) (Account, Held, error) {
	all, held, err := runs.Read(runID, r)
	if err != nil {
		return all, held, err
	}
	r = r.Of(held)
	held = held.ofOne(r)
	r.Want = slices.DeleteFunc(slices.Clone(r.Want), func(p Part) bool { return p == HeadOf }) // that of the newest run is the agent's
	for len(r.Want) > 0 && !held.Reaches(r) {
		var earlier Account
		var heldEarlier Held
		if runID, err = runs.Before(held.Run); err == nil && runID != "" {
			earlier, heldEarlier, err = runs.Read(runID, r)
		}
		if runID == "" || runs.Gone(err) {
			break
		}
		if err != nil {
			return all, held, err
		}
		all, held = all.After(earlier, held), held.With(heldEarlier.ofOne(r))
	}
	return all, held, nil
}
