package workflows

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/hook"
)

// A round is the tool calls of one step.
type round struct {
	replies []domain.ToolReply
	// began says which calls were begun.
	began []bool
	// allowed and denied count the calls that the budget has room for, and
	// those that it has not.
	allowed, denied int64
	running, ended  int
	// tools is the list that the model is told in place of an unknown one.
	tools string
}

// runTools makes the step's calls, all at once, and joins their results in call
// order. Every call gets exactly one result, whatever befell it.
func (s *session) runTools(step *turn) {
	r := &round{replies: make([]domain.ToolReply, len(step.calls)), began: make([]bool, len(step.calls))}
	step.content.ToolExecutions = make([]domain.ToolExecution, len(step.calls))
	for i, call := range step.calls {
		step.content.ToolExecutions[i] = domain.ToolExecution{ID: step.id.Tool(i), Call: call}
	}
	for i := range step.calls {
		s.beginCall(step, r, i)
	}
	if r.denied > 0 {
		s.signal(domain.ToolCallLimitReached, guardBudget, fmt.Sprintf(
			"max_tool_calls is %d, %d were used, and the model asked for %d more; extend it with a higher max_tool_calls to go on",
			*s.budget().MaxToolCalls, s.spent().ToolCalls-r.allowed, r.allowed+r.denied))
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
		s.joinResult(step, i, reply, r.began[i])
	}
}

// beginCall lets hooks and the budget have their say about a call, and begins it.
func (s *session) beginCall(step *turn, r *round, i int) {
	s.hold()
	call := step.calls[i]
	verdict := s.halted(step)
	if verdict == nil {
		made := fire(s, domain.TriggerBeforeToolUse, hook.Call{Position: i, Call: call})
		call = made.Call
		call.ID = step.calls[i].ID
		step.content.ToolExecutions[i].Call = call
		if message, blocked := made.Blocked(); blocked {
			verdict = domain.CodedErrorf(domain.Denied, domain.CodeBlocked, "blocked: %s", domain.Shorten(message, domain.MaxReason-16))
		} else if verdict = s.halted(step); verdict == nil {
			verdict = s.judge(step, r, i, call)
		}
	}
	if verdict != nil {
		r.replies[i] = notRun(verdict)
		s.toolEnded(step, i, r.replies[i])
		s.tell(domain.ToolCallBlocked{
			EventHeader: s.head(), ToolExecutionID: step.id.Tool(i), Tool: domain.Shorten(call.Name, maxEventName),
			Code: verdict.Code, Source: verdict.Source,
		})
		return
	}
	r.began[i] = true
	r.running++
	s.tally.toolCalls++
	step.content.ToolExecutions[i].StartedAt = s.now()
	s.tell(domain.ToolCallStarted{EventHeader: s.head(), ToolExecutionID: step.id.Tool(i), Tool: call.Name})
	workflow.GoNamed(s.root, "call", func(ctx workflow.Context) {
		r.replies[i] = s.runTool(ctx, step, i, call)
		s.toolEnded(step, i, r.replies[i])
		s.tellCompleted(step, i)
		r.ended++
	})
}

// maxEventName bounds the name of a tool that nobody has.
const maxEventName = 64

func (s *session) tellCompleted(step *turn, i int) {
	execution := step.content.ToolExecutions[i]
	event := domain.ToolCallCompleted{
		EventHeader: s.head(), ToolExecutionID: execution.ID, Tool: execution.Call.Name, Milliseconds: execution.Duration().Milliseconds(),
	}
	if err := execution.Error; err != nil {
		event.Kind, event.Code = err.Kind, err.Code
	}
	s.tell(event)
}

// afterCall lets hooks change what came of a call that was begun.
func (s *session) afterCall(step *turn, r *round, i int) {
	if !r.began[i] {
		return
	}
	given := step.content.ToolExecutions[i]
	made := fire(s, domain.TriggerAfterToolUse, hook.Result{Position: i, Execution: given}).Execution
	if made.Value == given.Value && made.Error == given.Error {
		return
	}
	execution, reply := &step.content.ToolExecutions[i], &r.replies[i]
	execution.Value, execution.Error = made.Value, nil
	reply.Content, reply.Error = made.Value, nil
	if made.Error != nil {
		execution.Value, execution.Error = "", bounded(made.Error)
		reply.Content, reply.Error = "", execution.Error
	}
	reply.Content = domain.Shorten(reply.Content, domain.MaxToolResult)
	execution.Value = reply.Content
	reply.Digest = domain.DigestOf([]byte(reply.Digest.String()), []byte(reply.Content))
}

// halted says why nothing more of the step may begin, where that is so.
func (s *session) halted(step *turn) *domain.Error {
	s.heed()
	switch {
	case s.stop.noTools():
		return domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: the execution was stopped")
	case step.halts > 0:
		return domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: a hook or a tool has stopped the execution")
	}
	return nil
}

// judge decides whether a call may run; what it returns is why it may not.
func (s *session) judge(step *turn, r *round, i int, call domain.ToolCall) *domain.Error {
	left, limited := s.callsLeft()
	_, known := s.resolved.Tool(call.Name)
	switch {
	case step.content.Response.Finish == domain.FinishLength:
		return domain.CodedErrorf(domain.TooLarge, domain.CodeNotRun, "not run: the answer was cut by its length limit inside the tool calls; make them smaller")
	case i >= domain.MaxToolCalls:
		return domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: a step may make at most %d calls", domain.MaxToolCalls)
	case !known:
		if r.tools == "" {
			r.tools = s.toolList()
		}
		return domain.CodedErrorf(domain.Invalid, domain.CodeUnknownTool, "unknown tool %q; the tools are: %s", domain.Shorten(call.Name, 64), r.tools)
	case limited && left <= 0:
		r.denied++
		return domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: the budget allows no more tool calls")
	}
	r.allowed++
	return nil
}

// maxToolList bounds the names that the model is told in place of an unknown one.
const maxToolList = 1000

func (s *session) toolList() string {
	if len(s.resolved.Tools) == 0 {
		return "none"
	}
	names := make([]string, len(s.resolved.Tools))
	for i, tool := range s.resolved.Tools {
		names[i] = tool.Name
	}
	list := strings.Join(names, ", ")
	if len(list) > maxToolList {
		return domain.Shorten(list, maxToolList) + "…"
	}
	return list
}

// unstarted bounds how often a call is made after it surely did not begin.
const unstarted = 3

// runTool makes one call and waits for it, in a coroutine of its own.
func (s *session) runTool(ctx workflow.Context, step *turn, position int, wanted domain.ToolCall) domain.ToolReply {
	tool, _ := s.resolved.Tool(wanted.Name)
	request := domain.ToolRequest{
		ExecutionID: step.execution, Step: step.number, Position: position, Name: wanted.Name, Effect: tool.Effect,
	}
	// What a hook has changed stands nowhere in the transcript.
	own := wanted.Arguments == step.calls[position].Arguments
	if own && len(wanted.Arguments) > domain.MaxInlineArguments {
		request.Reference = &domain.ArgumentsRef{Message: step.at, Digest: domain.DigestOf([]byte(wanted.Arguments))}
	} else {
		request.Arguments = wanted.Arguments
	}
	summary := fmt.Sprintf("step %d · %s", step.number, wanted.Name)
	for try := 1; ; try++ {
		scheduled, err := call(s.toolActivity(tool, summary), domain.CallTool, request)
		if err != nil {
			return notRun(domain.AsError(err))
		}
		reply, err := scheduled.get(ctx)
		if err != nil {
			return notRun(toolFailure(tool.Effect, err))
		}
		if !reply.NotStarted || try == unstarted || !s.mayBeginAgain(ctx, step, try) {
			return reply
		}
	}
}

// mayBeginAgain waits a while before a call that did not begin is made again,
// and reports whether it still may.
func (s *session) mayBeginAgain(ctx workflow.Context, step *turn, try int) bool {
	s.heed()
	if s.stop.noTools() || step.halts > 0 {
		return false
	}
	pause, cancel := workflow.WithCancel(ctx)
	defer cancel()
	timer := workflow.NewTimer(pause, s.backoff(try))
	stopped := func() bool { return s.stop.noTools() || step.halts > 0 }
	_ = workflow.Await(ctx, func() bool { return timer.IsReady() || stopped() })
	s.heed()
	return !stopped()
}

// toolFailure says what an activity's failure means for its call.
func toolFailure(effect domain.Effect, err error) *domain.Error {
	switch {
	case temporal.IsCanceledError(err):
		// A call that had begun reports for itself; this one had not.
		return domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: the execution was stopped")
	case !effect.Repeatable():
		return domain.CodedErrorf(domain.Unavailable, domain.CodeOutcomeUnknown,
			"outcome unknown: the call began and its worker was lost; it may or may not have taken effect, and was not repeated")
	}
	return failureOf(err)
}

// notRun is the reply for a call that no activity answered.
func notRun(err *domain.Error) domain.ToolReply {
	return domain.ToolReply{
		Content: err.Message, Error: err,
		Digest: domain.DigestOf([]byte(err.Code), []byte(err.Message)),
	}
}

// toolEnded writes a call's outcome into the step as it ends. The state follows
// with the next keep, once for all that end together.
func (s *session) toolEnded(step *turn, position int, reply domain.ToolReply) {
	execution := &step.content.ToolExecutions[position]
	execution.CompletedAt, execution.Attempts = s.now(), reply.Attempts
	if reply.Error != nil {
		execution.Error = bounded(reply.Error)
		execution.Value = ""
	} else {
		execution.Value = reply.Content
	}
	if reply.Stop != nil {
		step.halts++
	}
}

// maxToolStops is how many requests to stop one step keeps as signals. One
// stops the execution as well as a thousand.
const maxToolStops = 20

// joinResult adds a call's result to the transcript.
func (s *session) joinResult(step *turn, position int, reply domain.ToolReply, allowed bool) {
	call := step.calls[position]
	content := reply.Content
	if reply.Error != nil {
		if content == "" {
			content = reply.Error.Message
		}
		s.notDone(step, reply, allowed)
	}
	result := domain.ToolResult{CallID: call.ID, Name: call.Name, Content: content, IsError: reply.Error != nil}
	s.say(step, "", domain.ToolMessage(result), reply.Digest, domain.Tag{Trace: true, ToolExecutionID: step.id.Tool(position)})
	if reply.Stop != nil && step.halted < maxToolStops {
		step.halted++
		s.stopFor(domain.StopSignal{
			Reason: domain.StopRequested, Message: domain.Shorten(reply.Stop.Message, domain.MaxReason),
			Context: reply.Stop.Context, Source: call.Name,
		})
	}
}

// notDone notes what a call that failed means for its step: a stop that cut it
// off interrupted the step too, and one that never ran uses up no budget.
func (s *session) notDone(step *turn, reply domain.ToolReply, allowed bool) {
	code := reply.Error.Code
	if allowed && (reply.NotStarted || code == domain.CodeNotRun) {
		s.tally.toolCalls--
	}
	cut := code == domain.CodeInterrupted || s.stop.now() && (code == domain.CodeNotRun || code == domain.CodeOutcomeUnknown)
	if cut && !step.content.Interrupted {
		step.cutOff(domain.Unavailable, "the tool calls were cut off by a stop")
	}
}
