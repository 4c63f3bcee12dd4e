package domain

import (
	"fmt"
	"slices"
)

// shortest is how much of a text is always left.
const shortest = 64

// Trimmed returns the step with its longest texts cut, each with a note, until it takes about limit bytes
// when encoded, as far as that can do. The transcript has the whole texts.
func (s AgentStep) Trimmed(limit int) AgentStep {
	size := s.Size()
	if size <= limit {
		return s
	}
	longest := MaxToolResult
	for {
		trimmed := s.cutTo(longest)
		left := trimmed.Size()
		if left <= limit || longest == shortest {
			return trimmed
		}
		// Scale by what is too much: a step of many megabytes is read a few times only.
		longest = max(min(longest/2, longest*limit/left), shortest)
	}
}

// cutTo returns the step with no longer texts, notes aside. What a provider wants back with its reasoning
// goes: it is good only when whole.
func (s AgentStep) cutTo(longest int) AgentStep {
	s = s.clone()
	for i, m := range s.Output {
		m.Parts, m.ToolCalls = slices.Clone(m.Parts), slices.Clone(m.ToolCalls)
		for k, p := range m.Parts {
			p.Text, p.Data, p.Opaque, p.Signature = cut(p.Text, longest), nil, nil, ""
			m.Parts[k] = p
		}
		for k, c := range m.ToolCalls {
			m.ToolCalls[k] = c.cutTo(longest)
		}
		if m.ToolResult != nil {
			result := *m.ToolResult
			result.Content = cut(result.Content, longest)
			m.ToolResult = &result
		}
		s.Output[i] = m
	}
	for i, t := range s.ToolExecutions {
		t.Call, t.Value = t.Call.cutTo(longest), cut(t.Value, longest)
		if t.Error != nil {
			t.Error = new(t.Error.cutTo(longest))
		}
		s.ToolExecutions[i] = t
	}
	for i, e := range s.Errors {
		s.Errors[i] = e.cutTo(longest)
	}
	return s
}

// said is about how many bytes the reasons take that were given for calls, which no size of a step counts.
func (s AgentStep) said() int {
	n := 0
	for _, t := range s.ToolExecutions {
		n += encodedLen(t.Approval.Reason) + encodedLen(t.Answer.Reason)
		if t.Settlement != nil {
			n += encodedLen(t.Settlement.Reason) + encodedLen(t.Settlement.Result)
		}
	}
	return n
}

// saidWithin returns the step with no longer reasons, notes aside.
func (s AgentStep) saidWithin(longest int) AgentStep {
	s = s.clone()
	for i, t := range s.ToolExecutions {
		t.Approval.Reason, t.Answer.Reason = cut(t.Approval.Reason, longest), cut(t.Answer.Reason, longest)
		if t.Settlement != nil {
			settled := *t.Settlement
			settled.Reason, settled.Result = cut(settled.Reason, longest), cut(settled.Result, longest)
			t.Settlement = &settled
		}
		s.ToolExecutions[i] = t
	}
	return s
}

func (c ToolCall) cutTo(longest int) ToolCall {
	c.ID, c.Name, c.Arguments = cut(c.ID, longest), cut(c.Name, longest), cut(c.Arguments, longest)
	return c
}

func (e Error) cutTo(longest int) Error {
	e.Message = cut(e.Message, longest)
	return e
}

func cut(text string, longest int) string {
	if len(text) <= longest+32 {
		return text
	}
	return Shorten(text, longest) + fmt.Sprintf("… [cut, %d bytes in all]", len(text))
}

// roomBeside is what a state takes beside its steps: its signals, errors and context.
const roomBeside = 64 << 10

// WithStepsWithin returns the state such that its steps take at most about limit bytes when encoded: as it
// is, else with all but the last folded and that one trimmed. It reckons and does not encode.
func (s AgentState) WithStepsWithin(limit int) AgentState {
	size := 0
	for _, step := range s.Execution.Steps {
		size += step.Size()
	}
	if current := s.Execution.CurrentStep; current != nil {
		size += current.Size()
	}
	if size <= limit {
		return s
	}
	return s.WithStepsFolded(1).WithStepsTrimmed(max(limit-roomBeside, limit/2))
}

// WithStepsTrimmed returns the state with its steps in memory trimmed, each to its share of limit bytes.
func (s AgentState) WithStepsTrimmed(limit int) AgentState {
	e := &s.Execution
	share := limit / (len(e.Steps) + 1)
	e.Steps = slices.Clone(e.Steps)
	for i, step := range e.Steps {
		trimmed := *step
		trimmed.Step = step.Step.Trimmed(share)
		e.Steps[i] = &trimmed
	}
	if e.CurrentStep != nil {
		e.CurrentStep = new(e.CurrentStep.Trimmed(share))
	}
	return s
}
