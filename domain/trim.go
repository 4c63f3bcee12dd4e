package domain

import "fmt"

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
	for _, m := range s.Output {
		for k := range m.Parts {
			p := &m.Parts[k]
			p.Text, p.Data, p.Opaque, p.Signature = cut(p.Text, longest), nil, nil, ""
		}
		for k, c := range m.ToolCalls {
			m.ToolCalls[k] = c.cutTo(longest)
		}
		if m.ToolResult != nil {
			m.ToolResult.Content = cut(m.ToolResult.Content, longest)
		}
	}
	for i, t := range s.ToolExecutions {
		t.Call, t.Value = t.Call.cutTo(longest), cut(t.Value, longest)
		for _, w := range t.Waits {
			if w.Answer != nil {
				w.Answer.Reason = cut(w.Answer.Reason, longest)
			}
		}
		if t.Error != nil {
			t.Error.Message = cut(t.Error.Message, longest)
		}
		s.ToolExecutions[i] = t
	}
	for i := range s.Errors {
		s.Errors[i].Message = cut(s.Errors[i].Message, longest)
	}
	return s
}

func (c ToolCall) cutTo(longest int) ToolCall {
	c.ID, c.Name, c.Arguments = cut(c.ID, longest), cut(c.Name, longest), cut(c.Arguments, longest)
	return c
}

func cut(text string, longest int) string {
	if len(text) <= longest+32 {
		return text
	}
	return Shorten(text, longest) + fmt.Sprintf("… [cut, %d bytes in all]", len(text))
}

// roomBeside is what a state takes beside its steps: its signals, errors and context.
const roomBeside = 64 << 10
