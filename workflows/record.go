package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// records are the ended executions that are not among the records yet, and the position of the session. A store that is down
// holds nothing up for good: the executions that it did not take are tried again when the next one has ended.
type records struct {
	root   workflow.Context
	in     *contract.SessionInput
	agent  *agent
	config *configuration
	mail   *mailbox.Mailbox
	run    *run
	policy *policy
	budget *budget

	contract.CarriedRecords
	// why is how the newest try failed; empty where none has.
	why string
	// lost counts those that were given up.
	lost int
	// positionFailed says that the store did not take the position that is due in this run. It is tried again when the session
	// closes, or in the next run.
	positionFailed bool
}

// mostUnrecorded bounds the executions that wait for the store.
const mostUnrecorded = 64

// move notes where the session stands from now on, which is due to be recorded where anything is.
func (r *records) move() {
	move := contract.Move{Number: 1, After: r.agent.state.ExecutionCount, At: r.agent.now()}
	if r.Moved != nil {
		move.Number = r.Moved.Number + 1
	}
	if r.Moved = &move; r.config.hasRecords() && move.After > 0 {
		r.PositionDue, r.positionFailed = true, false
	}
}

// forgetPosition is for an execution that begins: its own record will say from where it went on.
func (r *records) forgetPosition() { r.PositionDue = false }

// missing says what is not among the records; empty: all is that is to be.
func (r *records) missing() string {
	switch n := len(r.Ended) + r.lost; {
	case n == 0 && !r.PositionDue:
		return ""
	case n == 0 && r.why == "":
		return "the position of the session, which waits for it"
	case n == 0:
		return "the position of the session; " + r.why
	case n == r.lost:
		return fmt.Sprintf("executions that could no longer be told: %d", n)
	case r.why == "":
		return fmt.Sprintf("executions that wait for it: %d", n)
	default:
		return fmt.Sprintf("executions: %d; %s", n, r.why)
	}
}

// recordEnded puts the execution that has ended among the records, after those that still wait. Its outcome has been
// told by then, and left the transcript that log names. The activity may run twice: a record takes the place of the same one.
func (r *records) recordEnded(log domain.LogRef) {
	if !r.config.hasRecords() {
		return
	}
	r.Ended = append(slices.Clip(r.Ended), contract.EndedExecution{Number: r.agent.state.ExecutionCount, RunID: r.run.info.WorkflowExecution.RunID, Log: log})
	if more := len(r.Ended) - mostUnrecorded; more > 0 {
		r.Ended, r.lost = r.Ended[more:], r.lost+more
	}
	r.recordPending()
	r.agent.note("ended")
}

func (c *configuration) hasRecords() bool { return c.Resolved != nil && c.Resolved.Records }

// recordsPosition reports whether the position is to be recorded now.
func (r *records) recordsPosition() bool {
	return r.PositionDue && !r.positionFailed && r.canRecordPosition()
}

// canRecordPosition reports whether the position can be recorded: after the executions, so that while they wait for the store
// it waits too.
func (r *records) canRecordPosition() bool {
	return len(r.Ended) == 0 && r.config.hasRecords() && !r.run.exhausted()
}

// recordLast tries once more what is missing, as the session is over.
func (r *records) recordLast() {
	r.recordPending()
	if r.PositionDue && r.canRecordPosition() {
		r.recordPosition(r.mail.LastAdmission())
	}
}

// recordPosition puts where the session stands among the records. A message that begins an execution cuts it off where the
// admission lets it, since the record of that execution says from where it went on. The activity may run twice: it writes the
// same record.
func (r *records) recordPosition(admission mailbox.Admission) {
	r.agent.note("recording the position")
	moved := *r.Moved
	options := r.storeOptions(fmt.Sprintf("record the position after execution %d", moved.After))
	_, cutOff, err := mailbox.Call(r.root, admission, options, contract.Record, contract.RecordRequest{Moved: &moved})
	switch {
	case cutOff, r.Moved.Number != moved.Number: // it is still due
	case err == nil:
		r.PositionDue, r.why = false, ""
	default:
		why := errorOf(err)
		workflow.GetLogger(r.root).Warn("the position of the session is not among the records", "after", moved.After, "error", why)
		r.PositionDue, r.positionFailed, r.why = true, true, why.Message
	}
}

// recordPending tries those that wait, the oldest first. A session that closes tries once more.
func (r *records) recordPending() {
	for len(r.Ended) > 0 && !r.run.exhausted() {
		r.agent.note("recording the execution")
		ended := r.Ended[0]
		options := r.storeOptions(fmt.Sprintf("record execution %d", ended.Number))
		_, err := mailbox.Await(r.mail.LastAdmission(), options, contract.Record, contract.RecordRequest{Ended: &ended})
		if err != nil {
			why := errorOf(err)
			workflow.GetLogger(r.root).Warn("an execution is not among the records", "number", ended.Number, "error", why)
			if why.Code != domain.CodeContextLost {
				r.why = why.Message
				return
			}
			r.lost++ // nobody can tell it any more
		}
		r.Ended, r.why = r.Ended[1:], ""
	}
}

// storeOptions say how long the store is tried, and how often. Nobody waits long for one beside a stop of mode now, nor
// does who has started a sub-agent: all above it would. Where one beside or below it has met an outage, it tries but once.
func (r *records) storeOptions(summary string) workflow.ActivityOptions {
	timeout, attempts := endedTimeout, storeAttempts
	switch {
	case r.in.Parent != nil && (r.in.Parent.StoreDown || r.budget.storeDown):
		timeout, attempts = outageTimeout/5, 1
	case r.why != "" || r.budget.storeDown:
		timeout, attempts = outageTimeout, 1
	case r.in.Parent != nil || r.mail.CutOff():
		timeout = outageTimeout
	}
	options := r.policy.briefOptions(timeout, attempts, summary)
	options.ScheduleToCloseTimeout = timeout
	return options
}

// newest is the newest execution with its events, ended or not. The archive keeps it when another one begins.
func (s *session) newest() heldExecution {
	return heldExecution{
		s.agent.whole(), s.agent.events, s.agent.last - int64(len(s.agent.events)) + 1, s.config.priced(),
		s.conversation.from, s.conversation.before, s.conversation.Log().Ref(), s.archive.outcomeOf(s.agent.state), s.config.Agent,
	}
}
