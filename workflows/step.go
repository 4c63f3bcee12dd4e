package workflows

import (
	"fmt"
	"strings"

	"everstep/domain"
)

// runStep is one turn of the loop: an inference, then the tool calls that it
// asked for.
func (s *session) runStep() {
	execution, _ := s.state.Execution()
	number := s.state.StepCount() + 1
	step := &turn{
		number: number, execution: execution.ID(), id: execution.ID().Step(number),
		content: domain.AgentStep{ID: execution.ID().Step(number), Number: number, Input: s.input()},
	}
	s.state = must(s.state.WithStepStarted(step.id, s.now()))
	s.infer(step)
	s.keep(step)
	if len(step.calls) > 0 {
		s.runTools(step)
	}
	s.keep(step)
	s.state = must(s.state.WithCurrentStepCompleted(s.now()))
}

// A turn is the step in progress.
type turn struct {
	number    int
	execution domain.ExecutionID
	id        domain.StepID
	content   domain.AgentStep
	calls     []domain.ToolCall
	// at is the index of the message that holds the calls.
	at int
	// messages counts the step's messages, for their ids.
	messages int
	// halts counts the tools that asked to stop: with one, no call of the step
	// begins any more. halted are those that became signals.
	halts, halted int
}

// input says what goes into the step: a reference, never a copy.
func (s *session) input() domain.StepInput {
	compiler := s.resolved.Definition.Compiler
	if compiler == "" {
		compiler = domain.CurrentTrace
	}
	return domain.StepInput{Compiler: compiler, Messages: s.log.Len(), Digest: s.log.Chain()}
}

// keep writes the step as it stands into the state.
func (s *session) keep(step *turn) {
	s.state = must(s.state.WithCurrentStep(step.content, s.now()))
}

// say adds a message of the step to the transcript and to the step's output.
func (s *session) say(step *turn, m domain.Message, digest domain.Digest, tag domain.Tag) {
	m.ID = step.id.Message(step.messages)
	step.messages++
	tag.AgentID, tag.ExecutionID, tag.StepID = s.in.AgentID, step.execution, step.id
	step.content.Output = append(step.content.Output, s.join(m, digest, tag))
}

// spend adds usage to the step, at once: whoever asks sees it, and the budget
// counts it before anything else is reserved.
func (s *session) spend(step *turn, usage domain.Usage) {
	step.content.Usage = step.content.Usage.Add(usage)
	s.keep(step)
}

// cutOff notes that the step did not come to its own end.
func (t *turn) cutOff(kind domain.Kind, why string) {
	t.content.Interrupted = true
	t.err(domain.CodedErrorf(kind, domain.CodeInterrupted, "%s", why))
}

// err notes an error of the step.
func (t *turn) err(err *domain.Error) { t.content.Errors = append(t.content.Errors, *err) }

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
