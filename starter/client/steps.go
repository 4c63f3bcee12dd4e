package client

import (
	"context"
	"errors"
	"iter"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"go.temporal.io/api/serviceerror"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
)

// sequence yields what a reading does, and its error in the end.
func sequence[T any](ctx context.Context, id, doing string, read func(yield func(T, error) bool) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err := read(yield); err != nil {
			var none T
			yield(none, fail(ctx, id, doing+id, err))
		}
	}
}

type readSteps struct {
	contract.StepsPage
	steps []domain.StepExecution
	// retold says that history has told them, and no worker.
	retold bool
}

// stepsOf yields the steps of an execution that was located, of runs that are gone as far as those have recorded them. It puts its first question by first, where
// given, and others only when that was answered, and tells seen of each page that a worker has answered.
// told, where given, is taken at its word.
func (c *Client) stepsOf(ctx context.Context, t target, first questioning[contract.StepsRequest, contract.StepsPage], told retelling, seen func(contract.StepsPage), yield func(domain.StepExecution, error) bool) error {
	parts, err := c.parts(ctx, t.agent, t.runID(), 1, t.part(func(took progress.Takeover) int { return took.FirstStep }))
	if err != nil {
		return err
	}
	held := false
	join := joining[domain.StepExecution, readSteps]{
		what:   "steps",
		alone:  first != nil,
		number: func(s domain.StepExecution) int { return s.Step.Number },
		ask: func(ctx context.Context, of part, from int, size contract.LargePage) (page readSteps, err error) {
			put := read[contract.StepsRequest, contract.StepsPage]
			if first != nil && of == parts[len(parts)-1] && from == max(of.first, 1) {
				put = first
			}
			page.StepsPage, err = put(ctx, c, t.agent, of.runID, contract.QuerySteps, contract.StepsRequest{Number: t.asked, From: from, LargePage: size})
			if err == nil {
				page.steps, err = page.Kept()
			}
			return page, err
		},
		open: func(page readSteps) ([]domain.StepExecution, bool) {
			if page.ExecutionID != t.want() || page.Number != t.asked {
				return nil, false
			}
			if held = true; !page.retold {
				seen(page.StepsPage)
			}
			return page.steps, page.Next > 0
		},
	}
	if told != nil {
		join.told = func(ctx context.Context, of part, from int) (readSteps, bool) {
			run, ok := told(ctx, of)
			return t.pageOf(run, ok, from)
		}
	}
	err = join.over(ctx, parts, 1, func(step domain.StepExecution, err error) bool {
		if lost, ok := errors.AsType[gap](err); ok {
			return c.fillGap(ctx, t, lost, yield)
		}
		return yield(step, err)
	})
	if err == nil && !held {
		err = gone("the steps of execution %d of %s have left the runs that can still be asked", t.asked, t.called())
	}
	return err
}

// part says from which number on a run holds what is numbered within the execution that is wanted, by what
// the run began with: zero where that cannot be read. It reports false where the run holds nothing.
func (t target) part(first func(progress.Takeover) int) func(progress.RunBegan) (int, bool) {
	return func(began progress.RunBegan) (int, bool) {
		took := progress.Carried(began.Input)
		switch {
		case !began.Readable():
			return 0, true
		case took.Number < t.asked:
			return 1, true
		}
		return first(took), took.Number == t.asked
	}
}

type asking func(ctx context.Context, runID string, r contract.MessagesRequest) (contract.MessagesPage, error)

func (c *Client) reading(a agent) asking {
	return func(ctx context.Context, runID string, r contract.MessagesRequest) (contract.MessagesPage, error) {
		return read(ctx, c, a, runID, contract.QueryMessages, r)
	}
}

// entries joins what a run and those before it hold from an index on.
func (c *Client) entries(ctx context.Context, a agent, runID string, from int, ask asking) iter.Seq2[domain.Entry, error] {
	return func(yield func(domain.Entry, error) bool) {
		// Counted from 1, so that zero is unknown here too.
		parts, err := c.partsOver(ctx, a, runID, from+1, func(began progress.RunBegan) (int, bool) {
			if !began.Readable() {
				return 0, true
			}
			return progress.Carried(began.Input).FirstMessage + 1, true
		}, copiedFrom)
		if err == nil {
			err = joining[domain.Entry, contract.MessagesPage]{
				what:   "messages",
				offset: 1,
				number: func(e domain.Entry) int { return e.Index + 1 },
				told: func(ctx context.Context, of part, from int) (contract.MessagesPage, bool) {
					run, ok := c.retold(of.of)(ctx, of)
					return messagesOf(run, ok, from-1)
				},
				ask: func(ctx context.Context, of part, from int, size contract.LargePage) (contract.MessagesPage, error) {
					put := ask
					if of.of != a {
						put = c.reading(of.of)
					}
					return put(ctx, of.runID, contract.MessagesRequest{From: from - 1, LargePage: size})
				},
				open: func(page contract.MessagesPage) ([]domain.Entry, bool) {
					return page.Entries, page.From+len(page.Entries) < page.Length
				},
			}.over(ctx, parts, from+1, yield)
		}
		if err != nil {
			yield(domain.Entry{}, err)
		}
	}
}

// copiedFrom is the run of another agent whose messages a fork has in storage alone.
func copiedFrom(began progress.RunBegan) (agent, string) {
	in := began.Input
	if in.Fork == nil || in.Fork.Copy == nil {
		return agent{}, ""
	}
	origin, err := agentOf(strings.TrimPrefix(in.Fork.Copy.WorkflowID, domain.WorkflowIDPrefix))
	if err != nil {
		return agent{}, ""
	}
	return origin, in.Fork.Copy.RunID
}

// A part is what one run holds of something numbered from 1 on, up to but not including end. Where first
// is zero it is not known what the run holds.
type part struct {
	runID      string
	first, end int
	// of is the agent whose run it is.
	of agent
	// began is with what the run began, and next with what the one that goes on did, if any.
	began, next *progress.RunBegan
}

// parts walks a chain of runs back until all from the lowest number on is found, or a run is deleted.
// holds says from which number on a run holds it, zero where that is unknown, by what the run began
// with: to ask would replay it.
func (c *Client) parts(ctx context.Context, a agent, runID string, lowest int, holds func(progress.RunBegan) (first int, some bool)) (found []part, err error) {
	return c.partsOver(ctx, a, runID, lowest, holds, func(progress.RunBegan) (agent, string) { return agent{}, "" })
}

// partsOver is parts that goes on in a run of another agent, where before says that this has what is missing.
func (c *Client) partsOver(
	ctx context.Context, a agent, runID string, lowest int, holds func(progress.RunBegan) (first int, some bool), before func(progress.RunBegan) (agent, string),
) (found []part, err error) {
	end := math.MaxInt
	var next *progress.RunBegan
	for runID != "" {
		began, err := c.reader(a).First(ctx, runID)
		if deleted(err) {
			break
		}
		if err != nil {
			return nil, err
		}
		if first, some := holds(began); some && first < end {
			found = append([]part{{runID: runID, first: first, end: end, of: a, began: &began, next: next}}, found...)
			if first > 0 {
				end = first
			}
		}
		if end <= lowest {
			break
		}
		if runID, next = began.Previous(), &began; runID == "" {
			a, runID = before(began)
			next = nil
		}
	}
	return found, nil
}

// A joining reads something that is numbered from the runs that hold it.
type joining[T, Page any] struct {
	what string
	// offset is what the numbers here have before those that people see.
	offset int
	// alone says that the question to the newest run is put before all others.
	alone  bool
	number func(T) int
	// told is what history tells of a run from a number on, instead of a worker; nil: nothing.
	told func(ctx context.Context, of part, from int) (Page, bool)
	// ask asks a run for what it holds from a number on, from any goroutine; open tells what is on
	// the page, and whether there is more.
	ask  func(ctx context.Context, of part, from int, size contract.LargePage) (Page, error)
	open func(Page) (all []T, more bool)
}

// over yields what the parts hold from next on, each once, and Gone for what is missing before or between.
func (j joining[T, Page]) over(ctx context.Context, parts []part, next int, yield func(T, error) bool) error {
	skip := func(to int) bool {
		from := next
		next = max(next, to)
		var none T
		return to <= from || yield(none, errorf(Gone, gap{from, to}, "%s %d to %d can no longer be read", j.what, from-j.offset, to-1-j.offset))
	}
	for of, page := range j.pages(ctx, parts, next) {
		if page.err != nil {
			return page.err
		}
		if !skip(of.first) {
			return nil
		}
		for _, one := range page.all {
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
	}
	return nil
}

// A read page is what was on it, or why it could not be read.
type readPage[T any] struct {
	all []T
	err error
}

// askedAtOnce bounds how many runs are asked side by side.
const askedAtOnce = 3

// pages yields the pages of the parts from a number on, those of a part in their order. They are large, as
// each question to a run that has ended replays the whole run, and for that reason
// the parts that come next are asked meanwhile, as is the next page; the newest, of which
// no history tells enough, is asked first.
func (j joining[T, Page]) pages(ctx context.Context, parts []part, from int) iter.Seq2[part, readPage[T]] {
	return func(yield func(part, readPage[T]) bool) {
		var asked sync.WaitGroup
		defer asked.Wait()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var answered atomic.Bool
		ask := func(of part, from int, told func(ctx context.Context, of part, from int) (Page, bool)) func() (Page, error) {
			var page Page
			var err error
			done := make(chan struct{})
			asked.Go(func() {
				defer close(done)
				if told != nil {
					var ok bool
					if page, ok = told(ctx, of, from); ok {
						return
					}
				}
				page, err = j.ask(ctx, of, from, contract.LargePage{Large: true})
				switch {
				case isAs[*serviceerror.QueryFailed](err): // it may be too large for the server
					page, err = j.ask(ctx, of, from, contract.LargePage{})
				case answered.Load() && errors.Is(err, errBusy): // with the others, and not gone
					page, err = j.ask(ctx, of, from, contract.LargePage{Large: true})
				}
				if err == nil {
					answered.Store(true)
				}
			})
			return func() (Page, error) { <-done; return page, err }
		}
		firsts := make([]func() (Page, error), len(parts))
		begin := func(k int) {
			if firsts[k] == nil {
				firsts[k] = ask(parts[k], max(parts[k].first, from), j.told)
			}
		}
		if newest := len(parts) - 1; newest >= 0 {
			begin(newest)
			if j.alone {
				if _, err := firsts[newest](); err != nil {
					yield(parts[newest], readPage[T]{err: goneIfDeleted(err, "the last %s: their run has been deleted", j.what)})
					return
				}
			}
		}
		for i, of := range parts {
			for k := i; k < min(i+askedAtOnce, len(parts)); k++ {
				begin(k)
			}
			for wanted, more := firsts[i], true; more; {
				page, err := wanted()
				if deleted(err) && i < len(parts)-1 { // since its beginning was read
					break
				}
				if err != nil {
					yield(of, readPage[T]{err: goneIfDeleted(err, "the last %s: their run has been deleted", j.what)})
					return
				}
				var got readPage[T]
				got.all, more = j.open(page)
				if more = more && len(got.all) > 0 && j.number(got.all[len(got.all)-1])+1 < of.end; more {
					wanted = ask(of, j.number(got.all[len(got.all)-1])+1, nil)
				}
				if !yield(of, got) {
					return
				}
			}
		}
	}
}
