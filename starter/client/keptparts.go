package client

import (
	"context"
	"fmt"

	"everstep/activities/record"
	"everstep/domain"
)

// PartRecords are Records that also hold steps of executions in progress, of runs that have continued as new. record.Store is
// such.
type PartRecords interface {
	// Parts are those of an execution, in no order; none is no error.
	Parts(ctx context.Context, ref record.Ref) ([]record.Part, error)
}

// A gap is what no run holds any more, up to but not including its end.
type gap struct{ from, to int }

func (g gap) Error() string { return fmt.Sprintf("%d to %d are missing", g.from, g.to-1) }

func lostSteps(g gap) *Error {
	return errorf(Gone, g, "steps %d to %d can no longer be read", g.from, g.to-1)
}

// fillGap yields the steps of a gap that runs have recorded before they continued as new, and Gone for those that are not
// there. It reports whether more is wanted.
func (c *Client) fillGap(ctx context.Context, t target, lost gap, yield func(domain.StepExecution, error) bool) bool {
	store, ok := c.cfg.Records.(PartRecords)
	if !ok {
		return yield(domain.StepExecution{}, lostSteps(lost))
	}
	parts, err := store.Parts(ctx, record.Ref{AgentID: t.id, ExecutionID: t.want(), Number: t.asked})
	if err != nil {
		return yield(domain.StepExecution{}, fail(ctx, t.called(), "reading the records of "+t.called(), err))
	}
	held := map[int]domain.StepExecution{}
	for _, part := range parts {
		for _, step := range part.Steps {
			held[step.Step.Number] = step
		}
	}
	next := lost.from
	for n := lost.from; n < lost.to; n++ {
		step, ok := held[n]
		if !ok {
			continue
		}
		if n > next && !yield(domain.StepExecution{}, lostSteps(gap{next, n})) || !yield(step, nil) {
			return false
		}
		next = n + 1
	}
	return next == lost.to || yield(domain.StepExecution{}, lostSteps(gap{next, lost.to}))
}
