package workflows

import (
	"fmt"
	"strings"

	"everstep/domain"
	"everstep/domain/hook"
	"everstep/domain/progress"
)

// runStep is one turn of the loop: an inference, then the tool calls that it
// asked for, with the hooks around them.
func (s *session) runStep() {
	step := s.beginStep()
	s.takeGrace(step)
	request := fire(s, domain.TriggerBeforeInference, hook.Request{WithoutTools: step.withoutTools})
	step.withoutTools, step.outputBound = request.WithoutTools, request.MaxOutputTokens
	step.open = true
	if step.halts > 0 {
		s.learn(step, progress.CutOff{By: progress.HookBefore})
	} else {
		s.infer(step)
	}
	s.keep(step)
	if len(step.calls) > 0 {
		s.runTools(step)
	}
	s.settle(step)
	s.fire(domain.TriggerAfterStep)
	s.guardStep(step)
	s.completeStep(step)
}

// A turn is the step in progress.
type turn struct {
	number    int
	execution domain.ExecutionID
	id        domain.StepID
	content   progress.Step
	calls     []domain.ToolCall
	// at is the index of the message that holds the calls.
	at int
	// messages counts the step's messages, for their ids.
	messages int
	// halts counts the hooks and tools that asked to stop: with one, nothing
	// of the step begins any more. halted are those of tools that became signals.
	halts, halted int
	// reroutes counts how often the model was found to have come under a rate
	// limit.
	reroutes int
	// failedOver says that another model takes over with the next step.
	failedOver bool
	// paused counts how often the provider paused in its answer.
	paused int
	// hookFailed says that a hook has failed, after which no other one runs at
	// its trigger.
	hookFailed bool
	// hooked is how many bytes hooks that are activities got and answered.
	hooked int
	// blocker is the hook that forbade a call last.
	blocker string
	// withoutTools offers no tools, outputBound bounds the answer further.
	withoutTools bool
	outputBound  int64
	// open means that the model's answer or results are still to come: what
	// hooks say meanwhile waits in pending, so that it parts no call from its
	// result.
	open    bool
	pending []domain.Entry
	// invalid says that the answer does not fit the response format.
	invalid bool
	// compacted says that an overflow has made the conversation shorter once,
	// and ended that it could not.
	compacted, ended bool
}

// beginStep numbers the step and makes it the one in progress.
func (s *session) beginStep() *turn {
	execution, _ := s.state.Execution()
	number := s.state.StepCount() + 1
	step := &turn{
		number: number, execution: execution.ID(), id: execution.ID().Step(number),
		content: progress.Begin(execution.ID().Step(number), number, s.conversation.StepInput()),
	}
	s.step = step
	s.startStep(step.id, number)
	return step
}

// settle ends the time in which messages wait: the answer and all results are
// there.
func (s *session) settle(step *turn) {
	step.open = false
	for _, e := range step.pending {
		s.interject(e.Message, e.Section)
	}
	step.pending = nil
	s.keep(step)
}

// completeStep makes the step one of the completed ones.
func (s *session) completeStep(step *turn) {
	s.keep(step)
	s.agent.completeStep()
}

// keep writes the step as it stands into the state.
func (s *session) keep(step *turn) {
	s.agent.keep(step.content.AgentStep)
}

// say adds a message of the step to the transcript and to the step's output.
func (s *session) say(step *turn, section string, m domain.Message, digest domain.Digest, tag domain.Tag) {
	m.ID = step.id.Message(step.messages)
	step.messages++
	tag.AgentID, tag.ExecutionID, tag.StepID = s.in.AgentID, step.execution, step.id
	step.content.Output = append(step.content.Output, s.join(section, m, digest, tag))
}

// join adds a message to a section of the conversation, tagged. The empty
// section is the default one.
func (s *session) join(section string, m domain.Message, digest domain.Digest, tag domain.Tag) domain.Message {
	m.CreatedAt = s.now()
	tagged := tag.Apply(m)
	s.conversation = s.conversation.Append(section, tagged, digest)
	return tagged
}

// interject adds a message that a hook or guard has made, as a trace of the
// step where there is one. It waits where it would part a call from its result.
func (s *session) interject(m domain.Message, section string) {
	if s.step != nil && s.step.open {
		s.step.pending = append(s.step.pending, domain.Entry{Section: section, Message: m})
		return
	}
	m.ID = domain.MessageID{}
	if s.step != nil {
		s.say(s.step, section, m, fingerprint(m, s.conversation.Log().Chain()), domain.Tag{Trace: true})
		s.keep(s.step)
		return
	}
	execution, _ := s.state.Execution()
	m.ID = execution.ID().Message(s.conversation.Len())
	s.join(section, m, fingerprint(m, s.conversation.Log().Chain()), domain.Tag{AgentID: s.in.AgentID, ExecutionID: execution.ID(), Trace: true})
}

// learn adds a fact to the step. What follows from it is decided there.
func (s *session) learn(step *turn, fact progress.Fact) {
	step.content = step.content.With(fact, progress.At{Time: s.now(), Price: s.resolved.Price, Stopped: s.mail.CutOff()})
}

// toolNames lists up to three names, for the one line that says what goes on.
func toolNames(calls []domain.ToolCall) string {
	const shown = 3
	names := make([]string, 0, shown)
	for _, call := range calls[:min(len(calls), shown)] {
		names = append(names, domain.Shorten(call.Name, 64))
	}
	if more := len(calls) - shown; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), more)
	}
	return strings.Join(names, ", ")
}
