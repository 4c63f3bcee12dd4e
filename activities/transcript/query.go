package transcript

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

const (
	// queryPatience bounds one query, half of which the server may use up.
	queryPatience = 12 * time.Second
	// queryTries is how often an attempt asks.
	queryTries = 3
	queryPause = 200 * time.Millisecond
)

type answer struct {
	// log ends at what was asked for, or begins after it; it continues the held one where that fits.
	log      domain.Log
	resolved contract.Resolved
	// segments are those before the run's first message, where located says so.
	segments []contract.Segment
	located  bool
}

// ask queries the run for what known lacks, page by page.
func (s *Source) ask(ctx context.Context, run workflow.Execution, want request, known domain.Log, resolved contract.Resolved) (answer, error) {
	got := answer{log: known, resolved: resolved}
	for first := true; first || got.log.Len() < want.ref.Length; first = false {
		chain := got.log.Chain()
		ask := contract.MessagesRequest{From: got.log.Len(), Chain: &chain}
		if first && !want.resolved.IsZero() {
			ask.Resolved = &resolved.Digest
		}
		page, err := s.query(ctx, run, ask)
		if err != nil {
			return got, err
		}
		if first && page.Resolved != nil {
			got.resolved = *page.Resolved
		}
		if page.From == page.Base {
			got.segments, got.located = page.Segments, true
		}
		if page.From != got.log.Len() || page.Before != chain {
			if !first {
				return got, mismatchf("the workflow's messages changed while they were read, at %d", got.log.Len())
			}
			got.log = domain.LogAt(page.From, page.Before)
		}
		got.log, err = got.log.Join(page.Entries...)
		if err != nil {
			return got, mismatchf("the workflow's messages are out of order: %v", err)
		}
		if len(page.Entries) == 0 && got.log.Len() < want.ref.Length {
			return got, mismatchf("the workflow holds %d of %d messages", got.log.Len(), want.ref.Length)
		}
	}
	if got.log.Base() > want.ref.Length { // all of it is in segments, which vouch for it
		return got, nil
	}
	log, ok := prefix(got.log, want.ref.Length)
	if !ok || log.Ref() != want.ref {
		return got, mismatchf("the workflow's first %d messages are not those that the activity was given", want.ref.Length)
	}
	got.log = log
	return got, nil
}

func (s *Source) query(ctx context.Context, run workflow.Execution, ask contract.MessagesRequest) (contract.MessagesPage, error) {
	return put(ctx, s, run, contract.QueryMessages, ask)
}

// put puts a question to a run, a few times where that may help.
func put[In, Out any](ctx context.Context, s *Source, run workflow.Execution, query contract.Query[In, Out], ask In) (Out, error) {
	for try := 1; ; try++ {
		page, err := putOnce(ctx, s, run, query, ask)
		if err == nil {
			return page, nil
		}
		if ctx.Err() != nil {
			return page, fmt.Errorf("transcript: query the workflow: %w", context.Cause(ctx))
		}
		if own := s.unanswered(run, err, try); own != nil {
			own.Detail = err.Error()
			return page, own
		}
		select {
		case <-ctx.Done():
		case <-time.After(cmp.Or(s.pause, queryPause)):
		}
	}
}

func putOnce[In, Out any](ctx context.Context, s *Source, run workflow.Execution, query contract.Query[In, Out], ask In) (Out, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.patience, queryPatience))
	defer cancel()
	var page Out
	value, err := s.Client.QueryWorkflow(ctx, run.ID, run.RunID, string(query), ask)
	if err != nil {
		return page, err
	}
	if err := value.Get(&page); err != nil {
		return page, &unreadable{err}
	}
	return page, nil
}

type unreadable struct{ error }

// unanswered is the error of a query that is not made again. Others are passing states.
func (s *Source) unanswered(run workflow.Execution, err error, try int) *domain.Error {
	_, gone := errors.AsType[*serviceerror.NotFound](err)
	_, failed := errors.AsType[*serviceerror.QueryFailed](err)
	_, garbled := errors.AsType[*unreadable](err)
	if gone {
		return domain.CodedErrorf(domain.Invalid, domain.CodeContextLost,
			"transcript: run %s of %s is gone from the server, and its messages with it", run.RunID, run.ID)
	}
	if garbled {
		return domain.CodedErrorf(domain.Internal, domain.CodeContextLost,
			"transcript: the workflow cannot tell its messages; are all workers of the same version?")
	}
	if failed && try == queryTries {
		// While workers are replaced the one that was asked may lack a hook, or what replays a
		// newer one's history: another one can tell.
		own := domain.CodedErrorf(domain.Unavailable, domain.CodeContextLost,
			"transcript: the worker that was asked for the workflow's messages cannot tell them; are all workers of the same version?")
		own.Lacking = true
		return own
	}
	if try == queryTries {
		return domain.CodedErrorf(domain.Unavailable, domain.CodeTimeout,
			"transcript: the workflow did not tell its messages in %d tries of %s; is a worker of its task queue up?",
			queryTries, cmp.Or(s.patience, queryPatience))
	}
	return nil
}
