package transcript

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
	"gocloud.dev/blob"

	"everstep/domain"
	"everstep/domain/contract"
)

// A Querier asks a workflow. Temporal's client is one.
type Querier interface {
	QueryWorkflow(ctx context.Context, workflowID, runID, queryType string, args ...any) (converter.EncodedValue, error)
}

// A Source finds the transcript that an activity's input names. Its fields are set once; its methods
// are safe for concurrent use. Activities of one agent that miss at the same time ask once.
type Source struct {
	// Cache is what this worker already knows. It is required.
	Cache *Cache
	// Client asks the workflow for what the cache lacks. It is required.
	Client Querier
	// Storage holds the segments. Nil: a transcript that has some cannot be read.
	Storage *blob.Bucket

	patience, pause time.Duration
	// sync, where set, takes the place of a file's own.
	sync func(*os.File) error

	// asking holds, by agent, a channel that is closed when it was asked.
	asking sync.Map
}

// A Conversation is a transcript, with the definition in force. Neither may be changed.
type Conversation struct {
	// Log holds at least what was needed.
	Log domain.Log
	// Entries are those that were needed, and no others.
	Entries  []domain.Entry
	Resolved contract.Resolved
}

// request is for the messages from an index on, and for the definition unless zero.
type request struct {
	from     int
	ref      domain.LogRef
	resolved domain.Digest
}

// Fetch returns the messages of the transcript that ref names from the index
// needed on, and the definition that resolved names; the zero digest asks for no
// definition. It must be called by an activity: the run that scheduled it is
// asked for what the cache lacks. What is before needed may be lost.
//
// A workflow that does not answer is Unavailable, and Lacking where the worker that was asked
// cannot tell. What does not match its digest,
// even when asked for anew, or is missing from storage, has the code context_lost.
// When ctx ends, its cause is in the error's chain.
func (s *Source) Fetch(ctx context.Context, ref domain.LogRef, resolved domain.Digest, needed int) (Conversation, error) {
	from := min(max(needed, 0), ref.Length)
	return s.fetch(ctx, activity.GetInfo(ctx).WorkflowExecution, request{from: from, ref: ref, resolved: resolved})
}

func (s *Source) fetch(ctx context.Context, run workflow.Execution, want request) (none Conversation, _ error) {
	if found, ok := s.cached(run.ID, want); ok {
		return found, nil
	}
	done, err := s.turn(ctx, run.ID)
	if err != nil {
		return none, err
	}
	defer done()
	if found, ok := s.cached(run.ID, want); ok {
		return found, nil
	}
	log, resolved, _ := s.Cache.Find(run.ID)
	found, err := s.assemble(ctx, run, want, Conversation{Log: log, Resolved: resolved})
	if _, differs := errors.AsType[*mismatch](err); differs {
		s.Cache.Drop(run.ID)
		found, err = s.assemble(ctx, run, want, Conversation{})
	}
	if differs, ok := errors.AsType[*mismatch](err); ok {
		return none, domain.CodedErrorf(domain.Unavailable, domain.CodeContextLost, "transcript: %s", differs.what)
	}
	if err != nil {
		return none, err
	}
	s.Cache.Feed(run.ID, found.Log, found.Resolved)
	return found, nil
}

// turn waits until nobody else asks an agent, and returns what ends the turn.
func (s *Source) turn(ctx context.Context, agent string) (func(), error) {
	mine := make(chan struct{})
	for {
		ahead, busy := s.asking.LoadOrStore(agent, mine)
		if !busy {
			return func() {
				s.asking.Delete(agent)
				close(mine)
			}, nil
		}
		select {
		case <-ahead.(chan struct{}):
		case <-ctx.Done():
			return nil, fmt.Errorf("transcript: wait for another query of %s: %w", agent, context.Cause(ctx))
		}
	}
}

func (s *Source) cached(agent string, want request) (Conversation, bool) {
	log, resolved, ok := s.Cache.Find(agent)
	if !ok || !want.resolved.IsZero() && resolved.Digest != want.resolved {
		return Conversation{}, false
	}
	log, ok = covered(log, want.from, want.ref)
	return Conversation{Log: log, Entries: log.From(want.from), Resolved: resolved}, ok
}

// assemble completes what is held from the workflow and, before that, from storage.
func (s *Source) assemble(ctx context.Context, run workflow.Execution, want request, held Conversation) (none Conversation, _ error) {
	known := held.Log
	if known.Len() > want.ref.Length {
		known, _ = known.Upto(want.ref.Length)
	}
	if known.Len() == want.ref.Length && known.Ref() != want.ref {
		known = domain.Log{}
	}
	got, err := s.ask(ctx, run, want, known, held.Resolved)
	if err != nil {
		return none, err
	}
	if got.log.Base() > want.from {
		if got.log, err = s.complete(ctx, run, want, held.Log, got); err != nil {
			return none, err
		}
	}
	if !want.resolved.IsZero() && got.resolved.Digest != want.resolved {
		return none, mismatchf("the workflow's definition is %q, not %q as asked for", got.resolved.Digest, want.resolved)
	}
	return Conversation{Log: got.log, Entries: got.log.From(want.from), Resolved: got.resolved}, nil
}

// Arguments returns the exact arguments of the call at a position of a message, and
// fails with the code context_lost where they are not those that ref names. It must
// be called by an activity.
func (s *Source) Arguments(ctx context.Context, ref contract.ArgumentsRef, position int) (string, error) {
	return s.arguments(ctx, activity.GetInfo(ctx).WorkflowExecution, ref, position)
}

func (s *Source) arguments(ctx context.Context, run workflow.Execution, ref contract.ArgumentsRef, position int) (string, error) {
	index := ref.Message
	right := func(e domain.Entry) (arguments string, ok bool) {
		calls := e.Message.ToolCalls
		if position < 0 || position >= len(calls) {
			return "", false
		}
		return calls[position].Arguments, domain.DigestOf([]byte(calls[position].Arguments)) == ref.Digest
	}
	log, _, _ := s.Cache.Find(run.ID)
	if found, ok := log.At(index); ok {
		if arguments, ok := right(found); ok {
			return arguments, nil
		}
	}
	page, err := s.query(ctx, run, contract.MessagesRequest{From: index, Limit: 1})
	entries := page.Entries
	if err == nil && index < page.Base {
		entries, err = s.readAround(ctx, run.ID, page.Segments, index)
	}
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(entries, func(e domain.Entry) bool { return e.Index == index })
	if at < 0 {
		return "", lostf("there is no message %d; the workflow holds %d", index, page.Length)
	}
	arguments, ok := right(entries[at])
	if !ok {
		return "", lostf("message %d is not the one that the activity was given", index)
	}
	return arguments, nil
}

// readAround reads the segment that holds a message: the workflow has handed it
// on.
func (s *Source) readAround(ctx context.Context, workflowID string, segments []contract.Segment, index int) ([]domain.Entry, error) {
	for _, segment := range segments {
		if segment.From <= index && index < segment.To {
			found, err := s.read(ctx, workflowID, segment)
			return found.entries, err
		}
	}
	return nil, lostf("message %d is in no segment", index)
}

// A mismatch is a wrong digest: it is worth asking once more with nothing assumed.
type mismatch struct{ what string }

func (m *mismatch) Error() string { return m.what }

func mismatchf(format string, args ...any) error { return &mismatch{fmt.Sprintf(format, args...)} }

func lostf(format string, args ...any) error {
	return domain.CodedErrorf(domain.Invalid, domain.CodeContextLost, "transcript: "+format, args...)
}
