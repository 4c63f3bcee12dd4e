package workflows

import (
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
)

// execute is the workflow of one agent. An unnamed agent's ends with its one
// execution; a named agent's is a session, which goes idle after each and ends
// when it is closed.
//
// Whatever Everstep decides completes the workflow, a failed execution too, and
// the outcome is its result. It returns an error only where its input cannot
// be read, or to continue as new.
func (o Options) execute(ctx workflow.Context, in domain.SessionInput) (domain.Outcome, error) {
	s, err := open(ctx, in, o)
	if err != nil {
		return domain.Outcome{}, refusal(err)
	}
	if err := s.serve(ctx); err != nil {
		return domain.Outcome{}, err
	}
	for s.awaitWork() && !s.handOver {
		s.runExecution()
	}
	if s.handOver {
		return domain.Outcome{}, s.continueAsNew(ctx)
	}
	s.awaitHandlers()
	s.note("ended")
	return s.result(), nil
}
