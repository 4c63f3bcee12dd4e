package client

import (
	"everstep/domain"
	"everstep/domain/progress"
)

// asking tells about what people are asked since before, and what they have said.
func (r *watchReducer) asking(before *progress.Step) {
	now := r.agent.Execution.Now
	if now == nil || before == nil {
		return
	}
	for i, call := range now.ToolExecutions {
		var was domain.ToolExecution
		if i < len(before.ToolExecutions) {
			was = before.ToolExecutions[i]
		}
		e := Event{Step: now.Number, Position: i, Tool: call.Name(), Arguments: call.Args(), ToolExecutionID: call.ID}
		r.approval(e, was.Approval, call.Approval)
		r.answer(e, was.Answer, call)
	}
}

func (r *watchReducer) approval(e Event, was, is domain.Approval) {
	if is == was {
		return
	}
	e.Type, e.Approval = EventApprovalDecided, &is
	if is.Waits() {
		e.Type = EventApprovalAsked
	}
	if is.Runs() != domain.CallDigest(e.Tool, e.Arguments) {
		e.Arguments = "" // a hook has changed them
	}
	r.emit(e)
}

// answer tells that a question was answered, or that its time was over: its call is done.
func (r *watchReducer) answer(e Event, was domain.Answer, call domain.ToolExecution) {
	if is := call.Answer; is != was && is.Outcome != "" {
		e.Type, e.Arguments, e.Answer, e.Text = EventQuestionAnswered, "", &is, call.Value
		r.emit(e)
		delete(r.lostCalls, e.Position)
		r.emit(Event{Type: EventToolDone, Step: e.Step, Position: e.Position, Tool: e.Tool})
	}
}

// questioned tells what a call asks.
func (r *watchReducer) questioned(f progress.ToolReplied) {
	r.done(f.Work)
	r.lostCalls[f.Tool.Position] = f.Reply.Error
	r.emit(Event{
		Type: EventQuestionAsked, Step: f.Step(), Position: f.Tool.Position, Tool: f.Tool.Name, ToolExecutionID: f.Tool.ID(), Question: f.Reply.Question,
	})
}
