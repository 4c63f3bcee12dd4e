package workflows

import (
	"fmt"
	"slices"

	"everstep/domain"
	"everstep/domain/progress"
)

// The sources of what guards signal. They are recorded, and must never change.
const (
	guardFinish   = "finish_reasons"
	guardRepeated = "repeated_calls"
	guardOutput   = progress.SourceOutput
	guardCalls    = "misguided_calls"
)

// guardStep is what the guards say after a step, when the hooks have spoken.
func (s *session) guardStep(step *turn) {
	if guards := s.resolved.Guards; guards != nil {
		s.guardBy(step, guards)
	}
	// Last: it asks to go on only where nothing asks to stop.
	s.guardOutputs(step)
	if _, signalled := s.state.StopSignal(); step.failedOver && !signalled {
		s.requestContinuation()
	}
}

func (s *session) guardBy(step *turn, guards *domain.Guards) {
	if r := step.content.Response; r != nil && slices.Contains(guards.FinishReasons, r.Finish) {
		s.signal(domain.FinishReasonReceived, guardFinish, fmt.Sprintf(
			"the model ended with %q, which guards.finish_reasons lists", r.Finish))
	}
	s.guardCalls(step)
	if guards.Repetition != nil {
		s.guardRepetition(step, *guards.Repetition)
	}
}

// maxMisguided is how many steps in a row may ask for tools in vain.
const maxMisguided = 3

// guardCalls stops a model that asks, time and again, for tools that there are
// not or with arguments that cannot be read. Each time it was told what is wrong.
func (s *session) guardCalls(step *turn) {
	for _, e := range step.content.ToolExecutions {
		misguided := e.Error != nil && e.Error.Kind == domain.Invalid &&
			(e.Error.Code == domain.CodeUnknownTool || e.Error.Code == domain.CodeMalformed)
		if !misguided {
			s.guarded.Misguided = 0
			return
		}
	}
	if len(step.content.ToolExecutions) == 0 {
		s.guarded.Misguided = 0
		return
	}
	if s.guarded.Misguided++; s.guarded.Misguided >= maxMisguided {
		s.signal(domain.StopRequested, guardCalls, fmt.Sprintf(
			"in %d steps in a row the model asked only for unknown tools or with arguments that no tool takes (%s)",
			s.guarded.Misguided, toolNames(step.calls)))
	}
}

// guardRepetition watches for steps in a row that make the same calls and get
// the same results.
func (s *session) guardRepetition(step *turn, limits domain.Repetition) {
	if len(step.content.ToolExecutions) == 0 {
		s.guarded.Calls, s.guarded.Repeated = domain.Digest{}, 0
		return
	}
	calls := digestOfCalls(step.content.ToolExecutions)
	if calls != s.guarded.Calls {
		s.guarded.Calls, s.guarded.Repeated = calls, 1
		return
	}
	s.guarded.Repeated++
	switch n := s.guarded.Repeated; {
	case limits.Stop > 0 && n >= limits.Stop:
		s.signal(domain.StopRequested, guardRepeated, fmt.Sprintf(
			"%d steps in a row made the same tool calls (%s) and got the same results; "+
				"guards.repeated_calls.stop_after is %d", n, toolNames(step.calls), limits.Stop))
	case n == limits.Nudge:
		s.interject(domain.UserMessage(fmt.Sprintf(
			"The last %d steps made the same tool calls with the same arguments and got the same results. "+
				"Repeating them will not help: try something else, or answer with what you have.", n)), "")
	}
}

// digestOfCalls is of what was called, with what, and what came of it.
func digestOfCalls(executions []domain.ToolExecution) domain.Digest {
	parts := make([][]byte, 0, 4*len(executions))
	for _, e := range executions {
		failed := ""
		if e.Error != nil {
			failed = string(e.Error.Code) + e.Error.Message
		}
		parts = append(parts, []byte(e.Call.Name), []byte(e.Call.Arguments), []byte(e.Value), []byte(failed))
	}
	return domain.DigestOf(parts...)
}

// takeGrace withholds the tools at the last step that max_steps allows, where
// the agent wants that, and tells the model to answer.
func (s *session) takeGrace(step *turn) {
	limit, guards := s.budget().MaxSteps, s.resolved.Guards
	if guards == nil || !guards.FinalAnswer || limit == nil || s.Spent().Steps < *limit || len(s.resolved.Tools) == 0 {
		return
	}
	step.withoutTools = true
	s.interject(domain.UserMessage("This is the last step that the budget allows, so no tools are available any more. Answer now with what you have."), "")
}
