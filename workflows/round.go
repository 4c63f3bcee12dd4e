package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/hook"
	"everstep/domain/progress"
	"everstep/workflows/internal/mailbox"
)

// A round is the tool calls of one step.
type round struct {
	replies []domain.ToolReply
	// began says which calls were begun.
	began []bool
	// allowed and denied count the calls that the budget has room for, and
	// those that it has not.
	allowed, denied int64
	// limit is max_tool_calls as it was when a call was denied.
	limit          domain.LimitUse
	running, ended int
	// tools is the list that the model is told in place of an unknown one.
	tools string
}

// runTools makes the step's calls, all at once, and joins their results in call
// order. Every call gets exactly one result, whatever befell it.
func (s *session) runTools(step *turn) {
	r := &round{replies: make([]domain.ToolReply, len(step.calls)), began: make([]bool, len(step.calls))}
	s.learn(step, progress.Wanted{Calls: step.calls})
	for i := range step.calls {
		s.beginCall(step, r, i)
	}
	if r.denied > 0 {
		use := r.limit
		use.Used = domain.Count(use.Rule.Unit, s.Spent().ToolCalls-r.allowed)
		s.limited(use.DeniedSignal(r.allowed + r.denied))
	}
	s.note(fmt.Sprintf("step %d: running %s", step.number, toolNames(step.calls)))
	s.keep(step)
	for seen := 0; r.ended < r.running; seen = r.ended {
		s.wait(func() bool { return r.ended > seen })
		s.keep(step)
	}
	for i := range step.calls {
		s.afterCall(step, r, i)
	}
	for i, reply := range r.replies {
		s.joinResult(step, i, reply)
	}
}

// beginCall lets hooks and the budget have their say about a call, and begins it.
func (s *session) beginCall(step *turn, r *round, i int) {
	call := step.calls[i]
	permit, verdict := s.mayCall(step)
	if verdict == nil {
		made := fire(s, domain.TriggerBeforeToolUse, hook.Call{Position: i, Call: call})
		call = made.Call
		call.ID = step.calls[i].ID
		step.content.ToolExecutions[i].Call = call
		permit, verdict = s.mayCall(step)
		if message, blocked := made.Blocked(); blocked {
			verdict = domain.CodedErrorf(domain.Denied, domain.CodeBlocked, "blocked: %s", domain.Shorten(message, domain.MaxReason-16)).From(step.blocker)
		} else if verdict == nil {
			verdict = s.judge(step, r, i, call)
		}
	}
	if verdict != nil {
		r.replies[i] = progress.Unanswered(verdict)
		s.toolEnded(step, i, r.replies[i], false)
		s.emit(domain.ToolCallBlocked{
			EventHeader: s.head(), ToolExecutionID: step.id.Tool(i), Tool: domain.Shorten(call.Name, maxEventText),
			Code: verdict.Code, Source: verdict.Source,
		})
		return
	}
	r.began[i] = true
	r.running++
	s.counted(1)
	step.content.ToolExecutions[i].StartedAt = s.now()
	s.emit(domain.ToolCallStarted{EventHeader: s.head(), ToolExecutionID: step.id.Tool(i), Tool: domain.Shorten(call.Name, maxEventText)})
	workflow.GoNamed(s.root, "call", func(ctx workflow.Context) {
		r.replies[i] = s.runTool(ctx, permit, step, i, call)
		s.toolEnded(step, i, r.replies[i], true)
		s.tellCompleted(step, i)
		r.ended++
	})
}

func (s *session) tellCompleted(step *turn, i int) {
	execution := step.content.ToolExecutions[i]
	event := domain.ToolCallCompleted{
		EventHeader: s.head(), ToolExecutionID: execution.ID, Tool: domain.Shorten(execution.Call.Name, maxEventText), Milliseconds: execution.Duration().Milliseconds(),
	}
	if err := execution.Error; err != nil {
		event.Kind, event.Code = err.Kind, err.Code
	}
	s.emit(event)
}

// afterCall lets hooks change what came of a call that was begun.
func (s *session) afterCall(step *turn, r *round, i int) {
	if !r.began[i] || step.hookFailed {
		return
	}
	given := step.content.ToolExecutions[i]
	shown := given
	if given.Error != nil {
		shown.Error = new(*given.Error)
	}
	made := fire(s, domain.TriggerAfterToolUse, hook.Result{Position: i, Execution: shown}).Execution
	if made.SameOutcome(given) {
		return
	}
	execution, reply := &step.content.ToolExecutions[i], &r.replies[i]
	execution.Value, execution.Error = made.Value, nil
	reply.Content, reply.Error = made.Value, nil
	if made.Error != nil {
		execution.Value, execution.Error = "", progress.Bounded(made.Error)
		reply.Content, reply.Error = "", execution.Error
	}
	reply.Content = domain.Shorten(reply.Content, domain.MaxToolResult)
	execution.Value = reply.Content
	reply.Digest = domain.DigestOf([]byte(reply.Digest.String()), []byte(reply.Content))
}

// mayCall is the permit for a call, or why nothing more of the step may begin.
func (s *session) mayCall(step *turn) (mailbox.Permit, *domain.Error) {
	permit, ok := s.mail.Permit(mailbox.ForCall)
	switch {
	case !ok:
		return permit, domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: the execution was stopped")
	case step.halts > 0:
		return permit, domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: a hook or a tool has stopped the execution")
	}
	return permit, nil
}

// judge decides whether a call may run; what it returns is why it may not.
func (s *session) judge(step *turn, r *round, i int, call domain.ToolCall) *domain.Error {
	left, limited := s.callsLeft()
	_, known := s.resolved.Tool(call.Name)
	switch {
	case step.content.Response.Finish == domain.FinishLength:
		return domain.CodedErrorf(domain.TooLarge, domain.CodeNotRun, "not run: the answer was cut by its length limit inside the tool calls; make them smaller")
	case step.content.Response.Finish == domain.FinishContentFilter:
		return domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: the provider's filter cut the answer in which it stood")
	case step.withoutTools:
		return domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: no tools are available in this step; answer without")
	case i >= domain.MaxToolCalls:
		return domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: a step may make at most %d calls", domain.MaxToolCalls)
	case !known:
		if r.tools == "" {
			r.tools = s.toolList()
		}
		return domain.CodedErrorf(domain.Invalid, domain.CodeUnknownTool, "unknown tool %q; the tools are: %s", domain.Shorten(call.Name, 64), r.tools)
	case limited && left <= 0:
		r.denied++
		r.limit, _ = s.budget().UseOf(domain.LimitToolCalls, s.Spent(), s.now())
		return domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: the budget allows no more tool calls")
	}
	r.allowed++
	return nil
}
