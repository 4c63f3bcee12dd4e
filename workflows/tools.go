package workflows

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/progress"
	"everstep/workflows/internal/mailbox"
)

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
func (s *session) runTool(ctx workflow.Context, permit mailbox.Permit, step *turn, position int, wanted domain.ToolCall) domain.ToolReply {
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
		scheduled, err := mailbox.Call(permit, s.toolActivity(tool, summary), domain.CallTool, request)
		if err != nil {
			return progress.Unanswered(domain.AsError(err))
		}
		reply, err := scheduled.Get(ctx)
		if err != nil {
			return lossOf(err).ToolReply(tool.Effect)
		}
		if !reply.NotStarted || try == unstarted {
			return reply
		}
		again, ok := s.mail.BackOffCall(ctx, s.backoff(try), func() bool { return step.halts > 0 })
		if !ok {
			return reply
		}
		permit = again
	}
}

// toolEnded writes a call's outcome into the step as it ends. The state follows
// with the next keep, once for all that end together. A call that never ran uses
// up no budget.
func (s *session) toolEnded(step *turn, position int, reply domain.ToolReply, began bool) {
	if began && !progress.Began(reply) {
		s.counted(-1)
	}
	s.learn(step, progress.ToolReplied{Work: progress.Work{Tool: &domain.ToolRequest{Position: position}}, Reply: reply})
	if reply.Stop != nil {
		step.halts++
	}
}

// maxToolStops is how many requests to stop one step keeps as signals. One
// stops the execution as well as a thousand.
const maxToolStops = 20

// joinResult adds a call's result to the transcript.
func (s *session) joinResult(step *turn, position int, reply domain.ToolReply) {
	call := step.calls[position]
	content := reply.Content
	if reply.Error != nil && content == "" {
		content = reply.Error.Message
	}
	result := domain.ToolResult{CallID: call.ID, Name: call.Name, Content: content, IsError: reply.Error != nil}
	s.say(step, "", domain.ToolMessage(result), reply.Digest, domain.Tag{Trace: true, ToolExecutionID: step.id.Tool(position)})
	if reply.Stop != nil && step.halted < maxToolStops {
		step.halted++
		s.Signal(domain.StopSignal{
			Reason: domain.StopRequested, Message: domain.Shorten(reply.Stop.Message, domain.MaxReason),
			Context: reply.Stop.Context, Source: call.Name,
		})
	}
}
