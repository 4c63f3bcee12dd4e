package workflows

import (
	"encoding/json"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
)

// A pending result of an activity, of the type that its contract fixes.
type pending[Out any] struct{ future workflow.Future }

// call schedules an activity. An input that the server would refuse is an
// error here, before any command is issued.
func call[In, Out any](ctx workflow.Context, activity domain.Activity[In, Out], in In) (pending[Out], error) {
	if err := checkSize(string(activity), in); err != nil {
		return pending[Out]{}, err
	}
	return pending[Out]{workflow.ExecuteActivity(ctx, string(activity), in)}, nil
}

// get waits for the result.
func (p pending[Out]) get(ctx workflow.Context) (Out, error) {
	var out Out
	err := p.future.Get(ctx, &out)
	return out, err
}

// await schedules an activity and waits for its result.
func await[In, Out any](ctx workflow.Context, activity domain.Activity[In, Out], in In) (Out, error) {
	p, err := call(ctx, activity, in)
	if err != nil {
		var none Out
		return none, err
	}
	return p.get(ctx)
}

// answer registers the handler of a query.
func answer[In, Out any](ctx workflow.Context, query domain.Query[In, Out], handle func(In) (Out, error)) error {
	return workflow.SetQueryHandler(ctx, string(query), handle)
}

// accept registers the handler of an update. The validator only rejects.
func accept[In, Out any](
	ctx workflow.Context, update domain.Update[In, Out],
	validate func(workflow.Context, In) error, handle func(workflow.Context, In) (Out, error),
) error {
	return workflow.SetUpdateHandlerWithOptions(ctx, string(update), handle,
		workflow.UpdateHandlerOptions{Validator: validate})
}

// checkSize refuses a payload above our own limit, which comes before the
// server's.
func checkSize(what string, value any) error {
	if err := checkFits(what, value, domain.MaxPayload); err != nil {
		return err
	}
	return nil
}

// checkFits refuses what takes more than a number of bytes when encoded.
func checkFits(what string, value any, limit int) *domain.Error {
	encoded, err := json.Marshal(value)
	if err != nil {
		return domain.Errorf(domain.Internal, "%s: encode: %v", what, err)
	}
	if len(encoded) > limit {
		return domain.Errorf(domain.TooLarge, "%s: takes %d bytes; at most %d fit", what, len(encoded), limit)
	}
	return nil
}
