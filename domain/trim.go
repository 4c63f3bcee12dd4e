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
	s = Texts(s, func(text string, raw bool) string {
		if raw || len(text) <= longest+32 {
			return text
		}
		return Shorten(text, longest) + fmt.Sprintf("… [cut, %d bytes in all]", len(text))
	})
	for _, m := range s.Output {
		for k := range m.Parts {
			m.Parts[k].Data, m.Parts[k].Opaque, m.Parts[k].Signature = nil, nil, ""
		}
	}
	return s
}
