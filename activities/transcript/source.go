package transcript

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
	"gocloud.dev/blob"

	"everstep/domain"
)

// A Querier asks a workflow. Temporal's client is one.
type Querier interface {
	QueryWorkflow(ctx context.Context, workflowID, runID, queryType string, args ...any) (converter.EncodedValue, error)
}

// A Source finds the transcript that an activity's input names. Its fields are
// set once, before its first use; its methods may be called from several
// goroutines. Activities of one agent that miss at the same time ask once.
type Source struct {
	// Cache is what this worker already knows. It is required.
	Cache *Cache
	// Client asks the workflow for what the cache lacks. It is required.
	Client Querier
	// Storage holds the segments. Nil: a transcript that has some cannot be read.
	Storage *blob.Bucket

	// patience bounds one query, and pause parts the tries. Zero: 12 s, 200 ms.
	patience, pause time.Duration

	asking turns
}

// A Conversation is a transcript from its first message on, with the definition
// that was in force when it was asked for. Neither may be changed.
type Conversation struct {
	Log      domain.Log
	Entries  []domain.Entry
	Resolved domain.Resolved
}

// request says what is wanted: the messages from an index on, as they were at
// ref, and the definition, unless its digest is zero.
type request struct {
	from     int
	ref      domain.LogRef
	resolved domain.Digest
}

// Fetch returns the transcript that ref names, and the definition that resolved
// names; the zero digest asks for no definition. It must be called by an
// activity: the run that scheduled it is asked for what the cache lacks.
//
// A workflow that does not answer is Unavailable. What does not match its
// digest, even when all of it was asked for anew, or is missing from storage,
// has the code context_lost. When ctx ends, its cause is in the error's chain.
func (s *Source) Fetch(ctx context.Context, ref domain.LogRef, resolved domain.Digest) (Conversation, error) {
	return s.fetch(ctx, activity.GetInfo(ctx).WorkflowExecution, request{ref: ref, resolved: resolved})
}

func (s *Source) fetch(ctx context.Context, run workflow.Execution, want request) (Conversation, error) {
	if found, ok := s.cached(run.ID, want); ok {
		return found, nil
	}
	done, err := s.asking.enter(ctx, run.ID)
	if err != nil {
		return Conversation{}, err
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
		return Conversation{}, domain.CodedErrorf(domain.Unavailable, domain.CodeContextLost, "transcript: %s", differs.what)
	}
	if err != nil {
		return Conversation{}, err
	}
	s.Cache.Feed(run.ID, found.Log, found.Resolved)
	return found, nil
}

// cached answers from memory alone.
func (s *Source) cached(agent string, want request) (Conversation, bool) {
	log, resolved, ok := s.Cache.Find(agent)
	if !ok || log.Base() > want.from || !want.resolved.IsZero() && resolved.Digest != want.resolved {
		return Conversation{}, false
	}
	if at, known := log.ChainAt(want.ref.Length); !known || at != want.ref.Digest {
		return Conversation{}, false
	}
	log, ok = prefix(log, want.ref.Length)
	return Conversation{Log: log, Entries: log.Entries(), Resolved: resolved}, ok
}

// assemble completes what is held with what the workflow holds and, before
// that, with what is in storage.
func (s *Source) assemble(ctx context.Context, run workflow.Execution, want request, held Conversation) (Conversation, error) {
	known := held.Log
	if known.Len() > want.ref.Length {
		known, _ = known.Upto(want.ref.Length)
	}
	if at, ok := known.ChainAt(want.ref.Length); ok && at != want.ref.Digest {
		known = domain.Log{}
	}
	got, err := s.ask(ctx, run, want, known, held.Resolved)
	if err != nil {
		return Conversation{}, err
	}
	if got.log.Base() > want.from {
		if !got.located {
			if got.segments, err = s.locate(ctx, run); err != nil {
				return Conversation{}, err
			}
		}
		before, _ := got.log.ChainAt(got.log.Base())
		earlier, err := s.earlier(ctx, run.ID, got.segments, held.Log, domain.LogRef{Length: got.log.Base(), Digest: before})
		if err != nil {
			return Conversation{}, err
		}
		if got.log, err = earlier.Join(got.log.Entries()...); err != nil {
			return Conversation{}, err
		}
	}
	if !want.resolved.IsZero() && got.resolved.Digest != want.resolved {
		return Conversation{}, mismatchf("the workflow's definition is %q, not %q as asked for", got.resolved.Digest, want.resolved)
	}
	return Conversation{Log: got.log, Entries: got.log.Entries(), Resolved: got.resolved}, nil
}

// earlier returns the messages before the first one that the workflow holds:
// from memory where it has them, else from segments.
func (s *Source) earlier(ctx context.Context, workflowID string, segments []domain.Segment, held domain.Log, upto domain.LogRef) (domain.Log, error) {
	if at, ok := held.ChainAt(upto.Length); ok && at == upto.Digest && held.Base() == 0 {
		held, _ = prefix(held, upto.Length)
		return held, nil
	}
	var log domain.Log
	for _, segment := range segments {
		if log.Len() >= upto.Length {
			break
		}
		if segment.From != log.Len() {
			return log, lostf("messages %d to %d are in no segment", log.Len(), segment.From-1)
		}
		if at, ok := held.ChainAt(segment.To); ok && at == segment.Digest && held.Base() == 0 {
			log, _ = prefix(held, segment.To)
			continue
		}
		entries, err := s.read(ctx, workflowID, segment)
		if err != nil {
			return log, err
		}
		log, err = log.Join(entries...)
		if err != nil || log.Len() != segment.To || log.Chain() != segment.Digest {
			return log, mismatchf("messages %d to %d, as stored in %s, are not those that were recorded",
				segment.From, segment.To-1, segment.Key(workflowID))
		}
	}
	if log.Len() < upto.Length {
		return log, lostf("messages %d to %d are in no segment", log.Len(), upto.Length-1)
	}
	if log.Ref() != upto {
		return log, mismatchf("the stored messages before %d are not those that the workflow continues", upto.Length)
	}
	return log, nil
}

// A mismatch is an answer that does not have the digest it should have. It is
// worth asking once more with nothing assumed.
type mismatch struct{ what string }

func (m *mismatch) Error() string { return m.what }

func mismatchf(format string, args ...any) error { return &mismatch{fmt.Sprintf(format, args...)} }

// lostf is the error of what no further attempt will find.
func lostf(format string, args ...any) error {
	return domain.CodedErrorf(domain.Invalid, domain.CodeContextLost, "transcript: "+format, args...)
}
