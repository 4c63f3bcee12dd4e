package client

import (
	"context"

	"everstep/activities/record"
)

// PartRecords are Records that also hold steps of executions in progress, of runs that have continued as new. record.Store is
// such.
type PartRecords interface {
	// Parts are those of an execution, in no order; none is no error.
	Parts(ctx context.Context, ref record.Ref) ([]record.Part, error)
}
