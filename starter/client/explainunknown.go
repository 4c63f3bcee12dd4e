package client

import (
	"fmt"

	"everstep/domain"
)

// withSettlements adds to a step what people have said of its calls of unknown outcome.
func (e *explanation) withSettlements(s ExplainStep) ExplainStep {
	for i, t := range s.Tools {
		for _, c := range e.settled {
			if c.ID == t.id && t.Outcome == domain.ToolUnknown {
				s.Tools[i].Settlement = c.Settlement
			}
		}
	}
	return s
}

// adviceOnUnknown says what to do about the agent's calls of which nobody knows whether they took effect.
func (e *explanation) adviceOnUnknown(v ExplainView) []ExplainAdvice {
	advice := []ExplainAdvice{}
	for _, c := range e.unsettled {
		a := ExplainAdvice{Text: fmt.Sprintf("nobody knows whether the call of %s in step %d of execution %d took effect: look at the other side", c.Tool, c.Step, c.Number)}
		if e.open() || e.name == "" && !e.left && !e.byServer {
			a.Text += "; until somebody settles it, with --done or --not-done, the same call is not made again"
			a.Command = fmt.Sprintf("resolve %s %s --done --reason TEXT", v.ID, c.ID)
		}
		advice = append(advice, a)
	}
	return advice
}
