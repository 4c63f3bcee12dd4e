package workflows

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
)

// runTools makes the step's calls, all at once, and joins their results in call
// order. Every call gets exactly one result, whatever befell it.
func (s *session) runTools(step *turn) {
	s.heed()
	verdicts := s.judge(step)
	step.content.ToolExecutions = make([]domain.ToolExecution, len(step.calls))
	replies := make([]domain.ToolReply, len(step.calls))
	running, ended := 0, 0
	for i, call := range step.calls {
		step.content.ToolExecutions[i] = domain.ToolExecution{ID: step.id.Tool(i), Call: call}
		if verdicts[i] != nil {
			replies[i] = notRun(verdicts[i])
			s.toolEnded(step, i, replies[i])
			continue
		}
		running++
		step.content.ToolExecutions[i].StartedAt = s.now()
		workflow.GoNamed(s.root, "call", func(ctx workflow.Context) {
			replies[i] = s.runTool(ctx, step, i)
			s.toolEnded(step, i, replies[i])
			ended++
		})
	}
	s.note(fmt.Sprintf("step %d: running %s", step.number, toolNames(step.calls)))
	s.keep(step)
	for seen := 0; ended < running; seen = ended {
		s.wait(func() bool { return ended > seen })
		s.keep(step)
	}
	for i, reply := range replies {
		s.joinResult(step, i, reply, verdicts[i] == nil)
	}
}

// judge decides which calls may run. A verdict that is not nil is why one may not.
func (s *session) judge(step *turn) []*domain.Error {
	verdicts := make([]*domain.Error, len(step.calls))
	cut := step.content.Response.Finish == domain.FinishLength
	left, limited := s.callsLeft()
	allowed, denied, tools := int64(0), 0, ""
	for i, call := range step.calls {
		_, known := s.resolved.Tool(call.Name)
		switch {
		case s.stop.noTools():
			verdicts[i] = domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: the execution was stopped")
		case cut:
			verdicts[i] = domain.CodedErrorf(domain.TooLarge, domain.CodeNotRun, "not run: the answer was cut by its length limit inside the tool calls; make them smaller")
		case i >= domain.MaxToolCalls:
			verdicts[i] = domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: a step may make at most %d calls", domain.MaxToolCalls)
		case !known:
			if tools == "" {
				tools = s.toolList()
			}
			verdicts[i] = domain.CodedErrorf(domain.Invalid, domain.CodeUnknownTool, "unknown tool %q; the tools are: %s", domain.Shorten(call.Name, 64), tools)
		case limited && allowed >= left:
			denied++
			verdicts[i] = domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: the budget allows no more tool calls")
		default:
			allowed++
		}
	}
	if denied > 0 {
		s.signal(domain.ToolCallLimitReached, "budget", fmt.Sprintf(
			"max_tool_calls is %d, %d were used, and the model asked for %d more", *s.budget().MaxToolCalls, s.tally.toolCalls, allowed+int64(denied)))
	}
	s.tally.toolCalls += allowed
	return verdicts
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
func (s *session) runTool(ctx workflow.Context, step *turn, position int) domain.ToolReply {
	wanted := step.calls[position]
	tool, _ := s.resolved.Tool(wanted.Name)
	request := domain.ToolRequest{
		ExecutionID: step.execution, Step: step.number, Position: position, Name: wanted.Name, Effect: tool.Effect,
	}
	if len(wanted.Arguments) > domain.MaxInlineArguments {
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
	s.say(step, domain.ToolMessage(result), reply.Digest, domain.Tag{Trace: true, ToolExecutionID: step.id.Tool(position)})
	if reply.Stop != nil && step.halted < maxToolStops {
		step.halted++
		s.state = must(s.state.WithStopSignal(domain.StopSignal{
			Reason: domain.StopRequested, Message: domain.Shorten(reply.Stop.Message, domain.MaxReason),
			Context: reply.Stop.Context, Source: call.Name,
		}, s.now()))
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
