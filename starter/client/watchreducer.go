package client

import (
	"slices"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
)

// A watchReducer turns facts into events, for one goroutine.
type watchReducer struct {
	agent progress.Agent
	runID string
	// shown is the work that has not ended, by its id in the run, as it was shown.
	shown map[string]*shownWork
	// step is the newest that was shown of the execution, cut why the inference
	// before failed, summing that the newest is for a summary.
	step    int
	cut     *domain.Error
	summing bool
	// askedIn is the run in which the newest answer came, told counts the steps
	// whose calls that were not run have been told of.
	askedIn string
	told    int
	// lostCalls are calls of the step in progress that wait to be made again, by
	// position, and why.
	lostCalls map[int]*domain.Error
	// waits is an inference whose worker was lost, while nobody knows whether it is made
	// again: then its text is withdrawn, else it stays.
	waits *lostInference
	// lostHook is a hook whose worker was lost, or lacked it, while nobody knows whether it is asked again.
	lostHook *lostHook
	// withheld says that it was told that nothing of what the model says is shown.
	withheld bool
	out      []Event
	now      time.Time
}

type shownWork struct {
	progress.Work
	// try is the one of which text and reasoning are, as far as heartbeats have
	// told them.
	try             int
	text, reasoning liveText
	// progress is what a tool call has last told.
	progress contract.Progress
}

type lostInference struct {
	work *shownWork
	loss progress.Loss
}

type lostHook struct {
	request *contract.HookRequest
	err     *domain.Error
}

// tries is the newest attempt over all activities of the same inference.
func (w *shownWork) tries() int {
	switch {
	case w.Model != nil:
		return w.Model.Attempts + w.Attempt
	case w.Tool != nil:
		return w.Tool.Attempts + w.Attempt
	}
	return w.Attempt
}

func newWatchReducer(s snapshot) *watchReducer {
	return &watchReducer{agent: progress.NewAgent(s.id, s.firstRunID()), shown: map[string]*shownWork{}, lostCalls: map[int]*domain.Error{}}
}

func (r *watchReducer) number() int { return r.agent.Execution.Number }

func (r *watchReducer) inferring() bool {
	return slices.ContainsFunc(r.agent.Open, func(w progress.Work) bool { return w.Model != nil })
}

func (r *watchReducer) emit(e Event) {
	e.Time, e.Number = r.now, r.number()
	r.out = append(r.out, e)
}

func (r *watchReducer) take(recorded progress.Recorded) []Event {
	was := r.agent
	before := was.Execution
	r.out, r.now, r.runID = nil, recorded.At, recorded.Run
	r.agent = r.agent.With(recorded.Fact, recorded.At)
	r.begun(before, recorded.Fact)
	r.messages(was, recorded.Fact)
	r.unbegun()
	switch f := recorded.Fact.(type) {
	case progress.RunBegan:
		clear(r.shown)
	case progress.Asked:
		r.asked(f.Work)
	case progress.Attempted:
		if work := r.shown[f.ID]; work != nil {
			r.retried(work, f.Attempt, f.Before)
		}
	case progress.ModelReplied:
		r.replied(r.done(f.Work), f.Reply, 0)
	case progress.ToolReplied:
		r.toolReplied(f)
	case progress.ChildEnded:
		if f.Tool != nil {
			r.toolDone(f.Work, f.Reply().Error)
		}
	case progress.HandedOver:
		if f.Tool != nil {
			r.toolDone(f.Work, f.Why)
		}
	case progress.Finished:
		r.done(f.Work)
	case progress.Resolved:
		r.done(f.Work)
	case progress.Lost:
		r.lost(r.done(f.Work), f.Loss)
	case progress.StopAsked:
		if r.agent.Execution.Meant(f.Request) {
			r.emit(Event{Type: EventStopAsked, Mode: f.Request.Mode, Reason: f.Request.Reason})
		}
	case progress.Paused:
		switch now := r.agent.Execution.Paused; {
		case now && !before.Paused:
			r.emit(Event{Type: EventPaused})
		case before.Paused && !now:
			r.emit(Event{Type: EventResumed})
		}
	case progress.Awaiting, progress.Decided, progress.Replied:
		r.asking(before.Now)
	case progress.TaskFailed:
		r.emit(Event{Type: EventTrouble, Reason: "a workflow task failed: " + f.Why})
	case progress.RunEnded:
		if f.How == progress.Continued {
			r.emit(Event{Type: EventContinued, RunID: f.Next})
			break
		}
		r.ended(before)
	default:
		r.ended(before)
	}
	return r.out
}

// begun notes the beginning of an execution. One that a run took over has begun before.
func (r *watchReducer) begun(before progress.Execution, fact progress.Fact) {
	now := r.agent.Execution
	run, began := fact.(progress.RunBegan)
	if began && !progress.Carried(run.Input).Begins {
		r.step = max(r.step, now.Step)
		return
	}
	if !now.Running || now.Number == before.Number && !began {
		return
	}
	r.step, r.cut, r.told, r.withheld = 0, nil, 0, false
	r.emit(Event{Type: EventBegan, ExecutionID: now.ID, RunID: r.runID})
}

func (r *watchReducer) ended(before progress.Execution) {
	now := r.agent.Execution
	if w := r.waits; w != nil && now.Outcome != nil {
		r.waits = nil
		r.kept(w.work, w.loss)
	}
	if now.Outcome != nil {
		r.hookLost()
	}
	if now.Outcome != nil && (before.Running || before.Number != now.Number) {
		r.emit(Event{Type: EventEnded, ExecutionID: now.Outcome.ExecutionID, Ended: now.Outcome})
	}
}

// unbegun notes, when a step is over, the calls that nobody began, or made again. History
// does not say why.
func (r *watchReducer) unbegun() {
	done := r.agent.Execution.Done
	for _, step := range done[min(r.told, len(done)):] {
		for i, call := range step.ToolExecutions {
			if _, lost := r.lostCalls[i]; lost {
				r.emit(Event{Type: EventToolDone, Step: step.Number, Position: i, Tool: call.Name(), Error: call.Error})
			} else if call.StartedAt.IsZero() {
				r.emit(Event{Type: EventNotRun, Step: step.Number, Position: i, Tool: call.Name(), Arguments: call.Args(), RunID: r.askedIn})
			}
		}
	}
	if r.told < len(done) {
		clear(r.lostCalls)
	}
	r.told = len(done)
}

func (r *watchReducer) done(w progress.Work) *shownWork {
	work := r.shown[w.ID]
	if work == nil {
		work = &shownWork{Work: w}
	}
	delete(r.shown, w.ID)
	return work
}

func (r *watchReducer) asked(w progress.Work) {
	work := &shownWork{Work: w}
	work.Attempt = 1
	r.shown[w.ID] = work
	switch {
	case w.Model != nil:
		r.inference(work)
	case w.Hook != nil && r.askedAgain(*w.Hook):
		r.lostHook = nil
	case w.Hook != nil:
		r.hookLost()
		r.emit(Event{Type: EventHook, Step: w.Hook.Step, Hook: w.Hook.Hook.Name, Trigger: w.Hook.Hook.Trigger})
	case w.Tool != nil && w.Tool.Pending != nil:
		delete(r.lostCalls, w.Tool.Position)
	case w.Tool != nil && w.Tool.Attempts > 0:
		work.Attempt = 0
		r.retried(work, 1, r.lostCalls[w.Tool.Position])
		delete(r.lostCalls, w.Tool.Position)
	case w.Tool != nil && !w.Tool.WaitUntil.IsZero():
		delete(r.lostCalls, w.Tool.Position)
	case w.Tool != nil:
		r.emit(Event{
			Type: EventTool, Step: w.Step(), Position: w.Tool.Position, Tool: w.Tool.Name, Arguments: w.Tool.Arguments, Approval: w.Tool.Approval, ChildID: w.ChildID, ChildName: childName(w),
		})
	}
}

// inference notes a step's first inference, another try, or one for a summary.
func (r *watchReducer) inference(work *shownWork) {
	if w := r.waits; w != nil {
		r.waits = nil
		r.replied(w.work, contract.ModelReply{Outcome: contract.BilledFailure, Error: w.loss.Err()}, 0)
	}
	again, summary := work.Step() == r.step, work.Model.Summary != nil
	if !again {
		r.step, r.cut, r.summing = work.Step(), nil, false
		r.emit(Event{Type: EventStep, Step: r.step})
		if hook := r.agent.Rewriter(); hook != "" && !r.withheld {
			r.withheld = true
			r.emit(Event{Type: EventWithheld, Step: r.step, Hook: hook})
		}
	}
	switch {
	case summary && !r.summing:
		r.emit(Event{Type: EventSummary, Step: r.step})
	case again && summary == r.summing && work.Model.Attempts+work.Model.Lost > 0:
		r.emit(Event{Type: EventRetry, Step: r.step, Attempt: work.Model.Attempts + 1, Reason: messageOf(r.cut), Error: r.cut})
	}
	r.summing = summary
}

// retried tells of another attempt of an inference or a call, by its number within the activity, and withdraws what was shown
// of the one before. The history and the description of pending work may both tell of it; the second says nothing new. The
// event's number counts over all activities.
func (r *watchReducer) retried(work *shownWork, ofActivity int, why *domain.Error) {
	if ofActivity <= work.Attempt || work.Model == nil && work.Tool == nil {
		return
	}
	work.Attempt = ofActivity
	r.withdraw(work, why)
	e := Event{Type: EventRetry, Step: work.Step(), Attempt: work.tries(), Reason: messageOf(why), Error: why}
	if work.Tool != nil {
		e.Tool, e.Position = work.Tool.Name, work.Tool.Position
	}
	r.emit(e)
}

// replied notes how an inference ended; lost is how much before its text is not known.
func (r *watchReducer) replied(work *shownWork, reply contract.ModelReply, lost int) {
	work.Attempt = max(work.Attempt, reply.Tries)
	e := Event{
		Type: EventAnswered, Step: work.Step(), Attempt: work.tries(), Finish: reply.Response.Finish, Outcome: reply.Outcome,
		Usage: reply.Response.Usage.Add(reply.Spent), Error: reply.Error, Skipped: lost,
	}
	if reply.Message != nil && work.Model.Summary == nil {
		e.Text, e.Calls = reply.Message.Text(), reply.Message.ToolCalls
	}
	switch {
	case reply.Outcome != contract.Answered:
		e.Type, r.cut = EventCut, reply.Error
	case work.Model.Summary != nil: // no answer of the agent's
		return
	default:
		r.askedIn = r.runID
	}
	if r.agent.Rewriter() != "" {
		e.Text, e.Skipped = "", 0
	}
	switch shown, ok := work.text.within(e.Text); {
	case lost > 0:
		e.Shown = len(e.Text) // the heartbeat that told it was shown
	case !ok || reply.Outcome == contract.BilledFailure || reply.Outcome == contract.ShutDown:
		r.withdraw(work, reply.Error)
	default:
		e.Shown = shown
	}
	r.emit(e)
}

func (r *watchReducer) lost(work *shownWork, loss progress.Loss) {
	switch {
	case work.Tool != nil && loss.MadeAgain(*work.Tool):
		r.lostCalls[work.Tool.Position] = loss.Err()
	case work.Tool != nil:
		r.toolDone(work.Work, loss.ToolReply(*work.Tool).Error)
	case work.Hook != nil && loss.How != progress.Cancelled:
		r.lostHook = &lostHook{work.Hook, loss.Err()}
		if loss.How != progress.TimedOut && !loss.Err().Lacking {
			r.hookLost()
		}
	case work.Model == nil:
	case loss.Beat != nil && work.Model.Summary == nil && r.agent.Execution.Halted(r.now):
		r.kept(work, loss)
	case loss.Beat != nil && work.Model.Summary == nil && loss.AskedAgain(*work.Model):
		r.beat(work, *loss.Beat)
		r.waits = &lostInference{work, loss}
	case loss.How == progress.Cancelled:
		r.replied(work, contract.ModelReply{Outcome: contract.Interrupted, Error: loss.Err()}, 0)
	default:
		r.replied(work, contract.ModelReply{Outcome: contract.BilledFailure, Error: loss.Err()}, 0)
	}
}

// askedAgain reports whether a hook is that whose worker was lost, or lacked it.
func (r *watchReducer) askedAgain(h contract.HookRequest) bool {
	lost := r.lostHook
	return h.Lost > 0 || lost != nil && lost.err.Lacking && lost.request.Hook == h.Hook && lost.request.Step == h.Step && lost.request.ToolExecutionID == h.ToolExecutionID
}

// hookLost notes that a hook that failed is not asked again.
func (r *watchReducer) hookLost() {
	if lost := r.lostHook; lost != nil {
		r.lostHook = nil
		hook := lost.request.Hook
		r.emit(Event{Type: EventHookFailed, Step: lost.request.Step, Hook: hook.Name, Trigger: hook.Trigger, Error: lost.err})
	}
}

// kept notes that a stop or a limit keeps what the worker had told before it was lost.
func (r *watchReducer) kept(work *shownWork, loss progress.Loss) {
	r.beat(work, *loss.Beat)
	reply := contract.ModelReply{Outcome: contract.Interrupted, Error: loss.Err()}
	if loss.Beat.Tail != "" {
		reply.Message = &domain.Message{Parts: []domain.Part{{Type: domain.PartText, Text: loss.Beat.Tail}}}
	}
	r.replied(work, reply, max(loss.Beat.Length-len(loss.Beat.Tail), 0))
}

// toolReplied notes that a call is over, until when it waits, or what its other side says that
// goes on with it, where that is news.
func (r *watchReducer) toolReplied(f progress.ToolReplied) {
	text, pending, before := "", f.Reply.Pending, f.Tool.Pending
	switch {
	case pending != nil && before != nil && before.Status == pending.Status:
	case pending != nil:
		text = pending.Says()
	case f.Reply.Question != nil:
		r.questioned(f)
		return
	case !f.Reply.WaitUntil.IsZero():
		text = "waits until " + f.Reply.WaitUntil.Format(time.RFC3339)
	default:
		r.toolDone(f.Work, f.Reply.Error)
		return
	}
	r.done(f.Work)
	r.lostCalls[f.Tool.Position] = f.Reply.Error
	if text != "" {
		r.emit(Event{Type: EventToolProgress, Step: f.Step(), Position: f.Tool.Position, Tool: f.Tool.Name, Text: text})
	}
}

func (r *watchReducer) toolDone(w progress.Work, err *domain.Error) {
	r.done(w)
	r.emit(Event{Type: EventToolDone, Step: w.Step(), Position: w.Tool.Position, Tool: w.Tool.Name, Error: err, ChildID: w.ChildID, ChildName: childName(w)})
}

// childName is the name of the sub-agent that the work is, if it is one.
func childName(w progress.Work) string {
	if w.Child == nil {
		return ""
	}
	return w.Child.Subagent
}
