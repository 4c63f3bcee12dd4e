package progress

import (
	"everstep/domain"
)

// What a reader of a history concludes of a step, where a workflow decides.

// An unmade is the reply of a call that may be made again, where it is not: it
// surely did not begin, or may be repeated, or is only asked about.
type unmade struct{ ToolReplied }

// A closing is what is known when a step is over.
type closing struct {
	At
	// attempts bounds the tries of an inference.
	attempts int
	// short says that an inference did not fit what was left of the budget,
	// underWay that the server ended the workflow while work was under way.
	short, underWay bool
	// asked says that somebody asked to stop, failed that an error ended the execution.
	asked, failed bool
}

// Execution returns the step as one that is over.
func (s Step) Execution() domain.StepExecution {
	return domain.StepExecution{Step: s.AgentStep, StartedAt: s.StartedAt, CompletedAt: s.SeenAt}
}
