package client

import (
	"context"
	"iter"
	"math"

	"go.temporal.io/api/serviceerror"

	"everstep/domain"
	"everstep/domain/contract"
)

// Steps yields the completed steps of an execution in order. Number zero is the newest. Where earlier
// ones can no longer be read it first yields an error of class Gone that says which; any other error
// ends the sequence. It needs a worker.
func (c *Client) Steps(ctx context.Context, id string, number int) iter.Seq2[domain.StepExecution, error] {
	return sequence(ctx, id, "reading the steps of ", func(yield func(domain.StepExecution, error) bool) error { return c.steps(ctx, id, number, yield) })
}

// sequence yields what a reading does, and its error in the end.
func sequence[T any](ctx context.Context, id, doing string, read func(yield func(T, error) bool) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err := read(yield); err != nil {
			var none T
			yield(none, fail(ctx, id, doing+id, err))
		}
	}
}

func (c *Client) steps(ctx context.Context, id string, number int, yield func(domain.StepExecution, error) bool) error {
	t, err := c.target(ctx, id, number)
	if err != nil {
		return err
	}
	page := func(runID string, from int) (contract.StepsPage, error) {
		return read(ctx, c, t.agent, runID, contract.QuerySteps, contract.StepsRequest{Number: t.asked, From: from})
	}
	parts, held, err := c.parts(ctx, t.agent, t.runID(), 1, func(runID string) (part, bool, error) {
		page, err := page(runID, math.MaxInt32)
		if err != nil {
			return part{}, false, unheld(err, t.asked < t.number)
		}
		return partFrom(page.First), page.Number == t.asked && page.ExecutionID == t.want(), nil
	})
	switch {
	case err != nil:
		return err
	case !held:
		return gone("the steps of execution %d of %s have left the runs that can still be asked", t.asked, id)
	}
	return joining[domain.StepExecution]{
		what:   "steps",
		number: func(s domain.StepExecution) int { return s.Step.Number },
		page: func(runID string, from int) ([]domain.StepExecution, bool, error) {
			page, err := page(runID, from)
			return page.Steps, page.Next > from, err
		},
	}.over(parts, 1, 0, yield)
}

// unheld forgives a run that refuses to tell of an execution, where it may not hold it.
func unheld(err error, earlier bool) error {
	if earlier && isAs[*serviceerror.QueryFailed](err) {
		return nil
	}
	return err
}

// Messages yields the agent's transcript over all its executions in order. Where a part can no longer
// be read it yields an error of class Gone that says which, and then what follows; any other error
// ends the sequence. It needs a worker.
func (c *Client) Messages(ctx context.Context, id string) iter.Seq2[domain.Entry, error] {
	return func(yield func(domain.Entry, error) bool) {
		s, err := c.describe(ctx, id)
		if err != nil {
			yield(domain.Entry{}, err)
			return
		}
		for entry, err := range c.entries(ctx, s.agent, s.runID(), 0, c.reading(ctx, s.agent)) {
			if !yield(entry, fail(ctx, id, "reading the messages of "+id, err)) {
				return
			}
		}
	}
}

type asking func(runID string, r contract.MessagesRequest) (contract.MessagesPage, error)

func (c *Client) reading(ctx context.Context, a agent) asking {
	return func(runID string, r contract.MessagesRequest) (contract.MessagesPage, error) {
		return read(ctx, c, a, runID, contract.QueryMessages, r)
	}
}

// entries joins what a run and those before it hold from an index on.
func (c *Client) entries(ctx context.Context, a agent, runID string, from int, ask asking) iter.Seq2[domain.Entry, error] {
	return func(yield func(domain.Entry, error) bool) {
		length := 0
		parts, _, err := c.parts(ctx, a, runID, from, func(runID string) (part, bool, error) {
			page, err := ask(runID, contract.MessagesRequest{Limit: 1})
			length = max(length, page.Length)
			return part{first: page.Base, end: page.Length}, true, err
		})
		if err == nil {
			err = joining[domain.Entry]{
				what:   "messages",
				number: func(e domain.Entry) int { return e.Index },
				page: func(runID string, from int) ([]domain.Entry, bool, error) {
					page, err := ask(runID, contract.MessagesRequest{From: from})
					return page.Entries, true, err
				},
			}.over(parts, from, length, yield)
		}
		if err != nil {
			yield(domain.Entry{}, err)
		}
	}
}

// A part is what one run holds of something numbered, up to but not including end.
type part struct {
	runID      string
	first, end int
}

// partFrom is all from a number on; from zero on it is nothing.
func partFrom(first int) part {
	if first < 1 {
		return part{}
	}
	return part{first: first, end: math.MaxInt}
}

// parts walks a chain of runs back until all from the lowest number on is found, or a run is
// deleted. held: some run knew of what was asked for.
func (c *Client) parts(ctx context.Context, a agent, runID string, lowest int, holds func(runID string) (part, bool, error)) (found []part, held bool, err error) {
	for runID != "" {
		here, knows, err := holds(runID)
		if err == nil {
			held = held || knows
			if knows && here.end > here.first {
				if here.runID = runID; len(found) > 0 {
					here.end = min(here.end, found[0].first)
				}
				found = append([]part{here}, found...)
				if here.first <= lowest {
					break
				}
			}
			runID, err = c.previous(ctx, a, runID)
		}
		if deleted(err) {
			break
		}
		if err != nil {
			return nil, held, err
		}
	}
	return found, held, nil
}

// A joining reads something that is numbered from the runs that hold it.
type joining[T any] struct {
	what   string
	number func(T) int
	// page asks a run for what it holds from a number on, and says whether there
	// may be more.
	page func(runID string, from int) ([]T, bool, error)
}

// over yields what the parts hold from next on, each once, and Gone for what is missing up to until.
func (j joining[T]) over(parts []part, next, until int, yield func(T, error) bool) error {
	skip := func(to int) bool {
		from := next
		next = max(next, to)
		var none T
		return to <= from || yield(none, gone("%s %d to %d can no longer be read", j.what, from, to-1))
	}
	for _, of := range parts {
		if !skip(of.first) {
			return nil
		}
		for more := true; more && next < of.end; {
			page, further, err := j.page(of.runID, next)
			if err != nil {
				return err
			}
			before := next
			for _, one := range page {
				n := j.number(one)
				if n < next || n >= of.end {
					continue
				}
				if !skip(n) {
					return nil
				}
				if next = n + 1; !yield(one, nil) {
					return nil
				}
			}
			more = further && next > before
		}
	}
	skip(until)
	return nil
}
