package workflows

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// records are the ended executions that are not among the records yet. A store that is down holds nothing up for
// good: what it did not take is tried again when the next execution has ended.
type records struct {
	pending []contract.EndedExecution
	// why is how the newest try failed; empty where none has.
	why string
	// lost counts those that were given up.
	lost int
}

// mostUnrecorded bounds the executions that wait for the store.
const mostUnrecorded = 64

func newRecords(carry contract.Carry) *records { return &records{pending: carry.Unrecorded} }

func (r *records) add(ended contract.EndedExecution) {
	r.pending = append(slices.Clip(r.pending), ended)
	if more := len(r.pending) - mostUnrecorded; more > 0 {
		r.pending, r.lost = r.pending[more:], r.lost+more
	}
}

// took is told that the store has the oldest, or that nobody can tell it any more.
func (r *records) took(told bool) {
	r.pending, r.why = r.pending[1:], ""
	if !told {
		r.lost++
	}
}

func (r *records) failed(why string) { r.why = why }

func (r *records) handOver(to *contract.Carry) { to.Unrecorded = r.pending }

// missing says which executions are not among the records; empty: all are that are to be.
func (r *records) missing() string {
	switch {
	case len(r.pending)+r.lost == 0:
		return ""
	case len(r.pending) == 0:
		return fmt.Sprintf("executions that could no longer be told: %d", r.lost)
	case r.why == "":
		return fmt.Sprintf("executions that wait for it: %d", len(r.pending)+r.lost)
	}
	return fmt.Sprintf("executions: %d; %s", len(r.pending)+r.lost, r.why)
}

// recordEnded puts the execution that has ended among the records, after those that still wait. Its outcome has been
// told by then. The activity may run twice: a record takes the place of the same one.
func (s session) recordEnded() {
	if s.resolved == nil || !s.resolved.Records {
		return
	}
	s.records.add(contract.EndedExecution{Number: s.state.ExecutionCount(), RunID: s.info.WorkflowExecution.RunID})
	s.recordPending()
	s.note("ended")
}

// recordPending tries those that wait, the oldest first. A session that closes tries once more.
func (s session) recordPending() {
	for len(s.records.pending) > 0 && !s.exhausted() {
		s.note("recording the execution")
		ended := s.records.pending[0]
		timeout, attempts := s.patienceWithStore()
		options := s.briefOptions(timeout, attempts, fmt.Sprintf("record execution %d", ended.Number))
		options.ScheduleToCloseTimeout = timeout
		_, err := mailbox.Await(s.mail.LastWord(), options, contract.Record, contract.RecordRequest{Ended: &ended})
		if err == nil {
			s.records.took(true)
			continue
		}
		why := lossOf(err).Err()
		workflow.GetLogger(s.root).Warn("an execution is not among the records", "number", ended.Number, "error", why)
		if why.Code != domain.CodeContextLost {
			s.records.failed(why.Message)
			return
		}
		s.records.took(false)
	}
}

// patienceWithStore is how long the store is tried, and how often. Nobody waits long for one beside a stop of mode now, nor
// does who has started a sub-agent: all above it would. Where one beside or below it has met an outage, it tries but once.
func (s session) patienceWithStore() (time.Duration, int) {
	switch {
	case s.in.Parent != nil && (s.in.Parent.StoreDown || s.children.storeDown):
		return outageTimeout / 5, 1
	case s.records.why != "" || s.children.storeDown:
		return outageTimeout, 1
	case s.in.Parent != nil || s.mail.CutOff():
		return outageTimeout, storeAttempts
	}
	return endedTimeout, storeAttempts
}

// ended is the newest execution with its events, as it is asked for when another one has begun.
func (s session) ended() endedExecution {
	return endedExecution{
		s.whole(), s.events, s.last - int64(len(s.events)) + 1, s.price() != nil,
		s.talk.from, s.talk.before, s.talk.Log().Ref(), s.archive.outcomeOf(s.state),
	}
}
