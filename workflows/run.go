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

// A run is what a chain of runs shares: the transcript's parts in storage, and
// how one hands over to the next.
type run struct {
	root workflow.Context
	info *workflow.Info
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

// newRun takes over a carry; the first run's is zero.
func newRun(root workflow.Context, carry contract.Carry) *run {
	return &run{
		root: root, info: workflow.GetInfo(root),
		segments: carry.Segments, inheritedSegments: carry.Segments, stored: carry.Conversation.Base, copying: carry.Copy, number: carry.Runs + 1,
	}
}

// tellBuild writes which build has begun this run, and which one carries it on where that is another, since no other need be
// able to replay it. The build of each task is recorded with the task itself, so any worker reads the same here.
func (r *run) tellBuild() {
	var told contract.Builds
	if r.builds != nil {
		told = *r.builds
	}
	if builds := told.With(r.info.GetCurrentBuildID()); r.builds == nil || builds != told {
		r.builds = &builds
		upsertMemo(r.root, map[string]any{contract.MemoBuild: builds})
	}
}

// publishHead writes where the agent stands into the memo, where that has changed: each time takes an event.
func (r *run) publishHead(head contract.HeadMemo) {
	if head != r.head {
		r.head = head
		upsertMemo(r.root, map[string]any{contract.MemoHead: head})
	}
}

// inheritHead takes over what the memo says already: it goes from run to run, and with whatever a client starts.
func (r *run) inheritHead(head contract.HeadMemo) { r.head = head }

func (r *run) ends() bool { return r.successor != nil }

func (r *run) stay() { r.stays = true }

func (r *run) copyFirst(messages *contract.RecordRequest) {
	if r.copying = messages; messages != nil {
		r.stored = messages.Log.Length
	}
}

func (r *run) copied(segment contract.Segment) {
	r.segments, r.copying = append(slices.Clip(r.segments), segment), nil
	r.inheritedSegments = r.segments
}

func (r *run) recorded(segment contract.Segment) {
	r.segments, r.stored, r.outage = append(r.segments, segment), segment.To, outage{}
}

func (r *run) continueWith(in contract.SessionInput) { r.successor = &in }

func (h *handover) outgrown() bool {
	return h.run.info.GetContinueAsNewSuggested() || h.mail.Updates.Full()
}

// wantsNewRun reports whether an idle session is to continue as new.
func (h *handover) wantsNewRun() bool {
	return !h.run.stays && h.outgrown()
}

// prepare makes the run ready to continue as new: its messages are stored, and the input of the next run is made. False: it is
// not, and the check before the next step decides whether there is one. A stop has come, the conversation cannot be carried
// (which has ended the execution), or the storage failed while the run has room. Near the server's bounds, where no step fits
// any more, it tries the storage again until that works or a stop comes.
func (h *handover) prepare() bool {
	for {
		admission, ok := h.mail.Admit(mailbox.BetweenSteps)
		switch {
		case !ok:
			return false
		case h.carriable(admission):
			return true
		case !h.run.suffers() || !h.run.nearBounds():
			return false
		}
		h.agent.note("waiting for the storage: " + h.run.outage.why)
		if !h.mail.BackOffUnlessStopped(h.run.pause(10 * time.Minute)) {
			return false // a stop has come: no step follows
		}
	}
}

// carriable makes the run ready to continue as new: with storage the live
// messages become a segment. It answers false where something came in between
// that this run has to see to, and where the conversation cannot be carried,
// which ends an execution in progress. Nothing may wait between its answer and
// the continuation.
func (h *handover) carriable(admission mailbox.Admission) bool {
	storage := h.config.stores()
	var unstored *domain.Error
	if storage {
		unstored = h.storeSegment(admission)
	}
	h.mail.WaitUntil(func() bool { return !h.mail.Updates.Answering() })
	active, stopped := h.agent.state.HasActiveExecution(), h.mail.Stopped()
	if active && stopped || !active && h.mail.Woken() {
		return false
	}
	// What could not be stored may still be short enough to be carried, or can
	// be made so.
	in, lost := h.handed()
	if lost == nil {
		h.run.continueWith(in)
		return true
	}
	if h.config.Resolved != nil && active && h.config.Resolved.Compacts() && !storage && h.conversation.force() {
		return false
	}
	if unstored != nil {
		if h.run.outlives(unstored) {
			return false
		}
		lost = unstored
	}
	h.contextLost(lost)
	return false
}

// awaitHandlers lets those that wait for an end answer, once nothing else is to come in this run.
func (s *session) awaitHandlers() {
	s.mail.WaitUntil(func() bool { return workflow.AllHandlersFinished(s.root) })
}

// contextLost ends the execution in progress. An idle session just stays.
func (h *handover) contextLost(why *domain.Error) {
	if h.agent.state.HasActiveExecution() {
		message := "the conversation outgrew one run and could not be carried to the next: " + why.Message
		if h.run.exhausted() {
			message += fmt.Sprintf(" (the server ends a run at %d events or %d MiB, and this one has %d and %d)",
				mostEvents, mostBytes>>20, h.run.info.GetCurrentHistoryLength(), h.run.info.GetCurrentHistorySize()>>20)
		}
		h.agent.fail(domain.CodedErrorf(domain.TooLarge, domain.CodeContextLost, "%s", message))
	}
}

// storeSegment writes the messages that no segment holds to storage. They stay
// in this run's memory, so that it can still be asked for them when it is over.
// A stop cuts it off, and whatever wakes an idle session: the run goes on.
func (h *handover) storeSegment(admission mailbox.Admission) *domain.Error {
	if h.conversation.Len() == h.run.stored {
		return nil
	}
	h.agent.note("continuing as new")
	request := contract.RecordRequest{From: h.run.stored, Log: h.conversation.Log().Ref()}
	options := h.session.policy.briefOptions(recordTimeout, storeAttempts, "record the transcript")
	options.ScheduleToCloseTimeout = recordTimeout + time.Minute // a storage that hangs does so once
	segment, err := mailbox.Await(admission, options, contract.Record, request)
	if err != nil {
		return lossOf(err).Err()
	}
	h.run.recorded(*segment)
	return nil
}

// copyMessages stores what an earlier workflow holds, where it is too long to be carried.
func (h *handover) copyMessages() {
	if h.run.copying == nil || h.config.Resolved == nil {
		return
	}
	admission, ok := h.mail.Admit(mailbox.BetweenSteps)
	switch {
	case !ok:
		return
	case !h.config.Resolved.Storage:
		h.contextLost(domain.Errorf(domain.TooLarge,
			"the messages of the execution that ended are too long to be carried, and the workers have no storage"))
		return
	}
	h.agent.note("copying the conversation")
	segment, err := mailbox.Await(admission, h.session.policy.briefOptions(recordTimeout, ownAttempts, "copy the transcript"), contract.Record, *h.run.copying)
	switch {
	case err == nil:
		h.run.copied(*segment)
	case !h.mail.Stopped():
		h.contextLost(lossOf(err).Err())
	}
}

// continueAsNew ends the run. Its error, which the workflow has to return, has the server begin the next run with the input that
// prepare has made. Before that the time limits stop counting here, and the updates under way get their answers.
func (h *handover) continueAsNew(ctx workflow.Context) error {
	h.agent.note("continuing as new")
	h.mail.CancelAlarms()
	h.session.awaitHandlers()
	return workflow.NewContinueAsNewError(ctx, string(contract.Execute), *h.run.successor)
}
