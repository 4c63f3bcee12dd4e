package client

import (
	"context"

	"everstep/domain"
)

// read asks one run what only a worker can tell; a closed run is replayed.
func read[In, Out any](ctx context.Context, c *Client, s snapshot, runID string, query domain.Query[In, Out], in In) (Out, error) {
	q := question{workflowID: s.workflowID(), runID: runID, deadline: readTimeout}
	return ask(ctx, c, q, query, in)
}

// A part is the range of something numbered that one run holds: from first up
// to but not including end.
type part struct {
	runID      string
	first, end int
}

// A holding is what one run says that it holds.
type holding struct {
	part
	// held is false where the run knows nothing of what is asked for.
	held bool
}

// parts walks a chain of runs back from the newest until all from the lowest
// number on is found, and returns the parts in order. held reports whether any
// run knew of what was asked for. Runs that were deleted end the walk.
func (c *Client) parts(ctx context.Context, s snapshot, lowest int, holds func(runID string) (holding, error)) (found []part, held bool, err error) {
	runID := s.runID()
	for runID != "" {
		h, err := holds(runID)
		if deleted(err) {
			break
		}
		if err != nil {
			return nil, held, err
		}
		held = held || h.held
		if h.held && h.end > h.first {
			if len(found) > 0 {
				h.end = min(h.end, found[0].first)
			}
			found = append([]part{h.part}, found...)
			if h.first <= lowest {
				break
			}
		}
		if runID, err = c.previous(ctx, s.agent, runID); deleted(err) {
			break
		} else if err != nil {
			return nil, held, err
		}
	}
	return found, held, nil
}
