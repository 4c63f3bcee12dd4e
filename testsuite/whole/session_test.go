package whole_test

import (
	"cmp"
	"testing"

	"everstep/starter/client"
)

// answers starts an agent, with a prompt where it has none, and waits for its first execution.
func (s *stack) answers(t *testing.T, start client.Start) client.Execution {
	t.Helper()
	start.Prompt = cmp.Or(start.Prompt, "go")
	begun := s.starts(t, start)
	return s.ended(t, begun)
}

// sends sends an idle session a message, with a prompt where it has none, and waits for what it began.
func (s *stack) sends(t *testing.T, name string, options ...client.SendOptions) client.Execution {
	t.Helper()
	o := append(options, client.SendOptions{})[0]
	o.Prompt = cmp.Or(o.Prompt, "more")
	sent := s.sent(t, name, o)
	return s.ended(t, sent)
}

// closesAfter closes the session whose newest execution is given.
func (s *stack) closesAfter(t *testing.T, last client.Execution) client.Execution {
	t.Helper()
	s.closes(t, last.ID)
	return last
}

// ended waits for an execution.
func (s *stack) ended(t *testing.T, begun client.Execution) client.Execution {
	t.Helper()
	s.result(t, begun.ID, begun.Number)
	s.ran = append(s.ran, begun)
	return begun
}
