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
	verdicts := s.judge(step)
	step.content.ToolExecutions = make([]domain.ToolExecution, len(step.calls))
	replies := make([]domain.ToolReply, len(step.calls))
	running := 0
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
			running--
		})
	}
	s.note(fmt.Sprintf("step %d: running %s", step.number, toolNames(step.calls)))
	s.keep(step)
	s.wait(func() bool { return running == 0 })
	for i, reply := range replies {
		s.joinResult(step, i, reply)
	}
}

// judge decides which calls may run. A verdict that is not nil is why one may not.
func (s *session) judge(step *turn) []*domain.Error {
	verdicts := make([]*domain.Error, len(step.calls))
	cut := step.content.Response.Finish == domain.FinishLength
	left, limited := s.callsLeft()
	allowed := int64(0)
	for i, call := range step.calls {
		_, known := s.resolved.Tool(call.Name)
		switch {
		case s.stop.noTools():
			verdicts[i] = domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: the execution was stopped")
		case cut:
			verdicts[i] = domain.CodedErrorf(domain.TooLarge, domain.CodeNotRun, "not run: the answer was cut by its length limit inside the tool calls; make them smaller")
		case !known:
			verdicts[i] = domain.CodedErrorf(domain.Invalid, domain.CodeUnknownTool, "unknown tool %q; the tools are: %s", domain.Shorten(call.Name, 64), s.toolList())
		case limited && allowed >= left:
			verdicts[i] = domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: the budget allows no more tool calls")
		case allowed >= domain.MaxToolCalls:
			verdicts[i] = domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: a step may make at most %d calls", domain.MaxToolCalls)
		default:
			allowed++
		}
	}
	if limited && int64(len(step.calls)) > left {
		s.signal(domain.ToolCallLimitReached, "budget", fmt.Sprintf(
			"max_tool_calls is %d, %d are used, and the model asked for %d", *s.budget().MaxToolCalls, s.tally.toolCalls, len(step.calls)))
	}
	s.tally.toolCalls += allowed
	return verdicts
}

func (s *session) toolList() string {
	if len(s.resolved.Tools) == 0 {
		return "none"
	}
	names := make([]string, len(s.resolved.Tools))
	for i, tool := range s.resolved.Tools {
		names[i] = tool.Name
	}
	return strings.Join(names, ", ")
}

// unstarted bounds how often a call is made again after it surely did not begin.
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
	var reply domain.ToolReply
	for range unstarted {
		scheduled, err := call(s.toolActivity(tool, summary), domain.CallTool, request)
		if err == nil {
			reply, err = scheduled.get(ctx)
		}
		if err != nil {
			return notRun(toolFailure(tool.Effect, err))
		}
		if !reply.NotStarted || s.stop.noTools() {
			return reply
		}
	}
	return reply
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

// toolEnded writes a call's outcome into the step as it ends.
func (s *session) toolEnded(step *turn, position int, reply domain.ToolReply) {
	executions := append([]domain.ToolExecution(nil), step.content.ToolExecutions...)
	execution := &executions[position]
	execution.CompletedAt, execution.Attempts = s.now(), reply.Attempts
	if reply.Error != nil {
		execution.Error = reply.Error
	} else {
		execution.Value = reply.Content
	}
	step.content.ToolExecutions = executions
	s.keep(step)
}

// joinResult adds a call's result to the transcript.
func (s *session) joinResult(step *turn, position int, reply domain.ToolReply) {
	call := step.calls[position]
	content := reply.Content
	if reply.Error != nil {
		if content == "" {
			content = reply.Error.Message
		}
		if reply.Error.Code == domain.CodeInterrupted {
			step.content.Interrupted = true
		}
	}
	result := domain.ToolResult{CallID: call.ID, Name: call.Name, Content: content, IsError: reply.Error != nil}
	s.say(step, domain.ToolMessage(result), reply.Digest, domain.Tag{Trace: true, ToolExecutionID: step.id.Tool(position)})
	if reply.Stop != nil {
		s.state = must(s.state.WithStopSignal(domain.StopSignal{
			Reason: domain.StopRequested, Message: reply.Stop.Message, Context: reply.Stop.Context, Source: call.Name,
		}, s.now()))
	}
}
