package workflows

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// A run is one of a chain: what the chain shares, as the transcript's parts in storage, and how this run hands over to the
// next one, as a session that continues as new. It sees to it that this can be done.
type run struct {
	session      *session
	agent        *agent
	config       *configuration
	mail         *mailbox.Mailbox
	conversation *transcript
	info         *workflow.Info
	// segments are all, inheritedSegments those that hold what comes before the log's
	// base.
	segments, inheritedSegments []contract.Segment
	// stored is the index of the first message that is in no segment.
	stored int
	// copying are messages of an earlier workflow that are copied to storage
	// before anything else.
	copying *contract.RecordRequest
	// number counts the runs of the chain, this one included.
	number int
	// stays says that an idle session cannot continue as new: its next execution
	// will say why.
	stays bool
	// builds are those that have run it; nil: none was told yet.
	builds *contract.Builds
	// head is what the memo says of where the agent stands.
	head contract.HeadMemo
	// outage is of the storage, without which the run cannot continue as new.
	outage outage
	// successor is what the next run starts with, where this one continues.
	successor *contract.SessionInput
}

// belongsTo is told whose run it is, once that is made.
func (r *run) belongsTo(s *session) { r.session = s }

// tellBuild writes which build has begun this run, and which one carries it on where that is another, since no other need be
// able to replay it. The build of each task is recorded with the task itself, so any worker reads the same here.
func (r *run) tellBuild() {
	told := *cmp.Or(r.builds, &contract.Builds{})
	if builds := told.With(r.info.GetCurrentBuildID()); r.builds == nil || builds != told {
		r.builds = &builds
		upsertMemo(r.session.root, map[string]any{contract.MemoBuild: builds})
	}
}

// publishHead has the memo say where the agent stands now, where that has changed: each time takes an event.
func (r *run) publishHead() {
	if head := r.headNow(); head != r.head {
		r.head = head
		upsertMemo(r.session.root, map[string]any{contract.MemoHead: head})
	}
}

// inheritHead takes over what the memo says already: it goes from run to run, and with whatever a client starts.
func (r *run) inheritHead() { r.head = r.headNow() }

// headNow is where the agent stands. An execution that is about to begin counts. Of one that is over the rest stays as it is.
func (r *run) headNow() contract.HeadMemo {
	head, posted, active := r.head, r.mail.Posted(), r.agent.state.HasActiveExecution()
	if head.Number, head.Suspended = r.agent.state.ExecutionCount, r.mail.Settings.Suspended != nil; posted {
		head.Number++
	}
	if posted || active {
		head.Paused = r.mail.Settings.Paused
		_, within := r.agent.state.CurrentStepStartedAt()
		head.Stopping = within && r.mail.Stopping()
	}
	return head
}

// copyFirst takes over messages that an earlier workflow still has: what is to be copied comes before all that this run
// says.
func (r *run) copyFirst(messages *contract.RecordRequest, carry contract.Carry) error {
	if r.copying = messages; messages != nil {
		r.stored = messages.Log.Length
		if err := r.conversation.rebase(messages.Log, carry.Conversation.Entries); err != nil {
			return err
		}
	}
	return r.conversation.Check()
}

func (r *run) outgrown() bool {
	return r.info.GetContinueAsNewSuggested() || r.mail.Updates.Full()
}

// wantsNext reports whether an idle session is to continue as new.
func (r *run) wantsNext() bool { return !r.stays && r.outgrown() }

// continuesIdle makes an idle session ready to continue as new, and reports whether it is. After an outage it waits before it
// tries again, unless something wakes it.
func (r *run) continuesIdle() bool {
	if r.suffers() {
		r.agent.note("idle")
		r.mail.Idle(r.pause(time.Hour), func() bool { return false })
	}
	if admission, ok := r.mail.Admit(mailbox.WhileIdle); ok && r.carriable(admission) {
		return true
	}
	if !r.mail.Woken() && !r.suffers() {
		r.stays = true
	}
	return false
}

// prepare makes the run ready to continue as new: its messages are stored, and the input of the next run is made. False: it is
// not, and the check before the next step decides whether there is one. A stop has come, the conversation cannot be carried
// (which has ended the execution), or the storage failed while the run has room. Near the server's bounds, where no step fits
// any more, it tries the storage again until that works or a stop comes.
func (r *run) prepare() bool {
	for {
		admission, ok := r.mail.Admit(mailbox.BetweenSteps)
		switch {
		case !ok:
			return false
		case r.carriable(admission):
			return true
		case !r.suffers() || !r.nearBounds():
			return false
		}
		r.agent.note("waiting for the storage: " + r.outage.why)
		if !r.mail.BackOffUnlessStopped(r.pause(10 * time.Minute)) {
			return false // a stop has come: no step follows
		}
	}
}

// carriable makes the run ready to continue as new: with storage the live
// messages become a segment. It answers false where something came in between
// that this run has to see to, and where the conversation cannot be carried,
// which ends an execution in progress. Nothing may wait between its answer and
// the continuation.
func (r *run) carriable(admission mailbox.Admission) bool {
	storage := r.config.stores()
	var unstored *domain.Error
	if storage {
		unstored = r.storeSegment(admission)
	}
	r.mail.WaitUntil(func() bool { return !r.mail.Updates.Answering() })
	active, stopped := r.agent.state.HasActiveExecution(), r.mail.Stopped()
	if active && stopped || !active && r.mail.Woken() {
		return false
	}
	// What could not be stored may still be short enough to be carried.
	in, lost := r.handed()
	switch {
	case lost == nil:
		r.successor = &in
		return true
	case active && !storage && r.config.Resolved.Compacts() && r.conversation.force(): // the next step makes it shorter
	case unstored != nil && r.outlives(unstored): // the storage is tried again
	default:
		r.contextLost(cmp.Or(unstored, lost))
	}
	return false
}

// awaitHandlers lets those that wait for an end answer, once nothing else is to come in this run.
func (r *run) awaitHandlers() {
	r.mail.WaitUntil(func() bool { return workflow.AllHandlersFinished(r.session.root) })
}

// contextLost ends the execution in progress. An idle session just stays.
func (r *run) contextLost(why *domain.Error) {
	if r.agent.state.HasActiveExecution() {
		message := "the conversation outgrew one run and could not be carried to the next: " + why.Message
		if r.exhausted() {
			message += fmt.Sprintf(" (the server ends a run at %d events or %d MiB, and this one has %d and %d)",
				mostEvents, mostBytes>>20, r.info.GetCurrentHistoryLength(), r.info.GetCurrentHistorySize()>>20)
		}
		r.agent.fail(domain.CodedErrorf(domain.TooLarge, domain.CodeContextLost, "%s", message))
	}
}

// storeSegment writes the messages that no segment holds to storage. They stay
// in this run's memory, so that it can still be asked for them when it is over.
// A stop cuts it off, and whatever wakes an idle session: the run goes on.
func (r *run) storeSegment(admission mailbox.Admission) *domain.Error {
	if r.conversation.Len() == r.stored {
		return nil
	}
	r.agent.note("continuing as new")
	request := contract.RecordRequest{From: r.stored, Log: r.conversation.Log().Ref()}
	options := r.session.policy.briefOptions(recordTimeout, storeAttempts, "record the transcript")
	options.ScheduleToCloseTimeout = recordTimeout + time.Minute // a storage that hangs does so once
	segment, err := mailbox.Await(admission, options, contract.Record, request)
	if err != nil {
		return errorOf(err)
	}
	r.segments, r.stored, r.outage = append(r.segments, *segment), segment.To, outage{}
	return nil
}

// copyMessages stores what an earlier workflow holds, where it is too long to be carried.
func (r *run) copyMessages() {
	if r.copying == nil || r.config.Resolved == nil {
		return
	}
	admission, ok := r.mail.Admit(mailbox.BetweenSteps)
	switch {
	case !ok:
		return
	case !r.config.Resolved.Storage:
		r.contextLost(domain.Errorf(domain.TooLarge,
			"the messages of the execution that ended are too long to be carried, and the workers have no storage"))
		return
	}
	r.agent.note("copying the conversation")
	segment, err := mailbox.Await(admission, r.session.policy.briefOptions(recordTimeout, ownAttempts, "copy the transcript"), contract.Record, *r.copying)
	switch {
	case err == nil:
		r.segments, r.copying = append(slices.Clip(r.segments), *segment), nil
		r.inheritedSegments = r.segments
	case !r.mail.Stopped():
		r.contextLost(errorOf(err))
	}
}

// continueAsNew ends the run. Its error, which the workflow has to return, has the server begin the next run with the input that
// prepare has made. Before that the time limits stop counting here, and the updates under way get their answers.
func (r *run) continueAsNew(ctx workflow.Context) error {
	r.agent.note("continuing as new")
	r.mail.CancelAlarms()
	r.awaitHandlers()
	return workflow.NewContinueAsNewError(ctx, string(contract.Execute), *r.successor)
}
