package activities

import (
	"context"

	"go.temporal.io/sdk/activity"

	"everstep/domain"
)

// CheckOutput says whether a text fits a response format, for an answer that a
// hook has replaced. It changes nothing and may run any number of times. It
// fails for good where the format itself is wrong.
func (a *Activities) CheckOutput(ctx context.Context, request domain.OutputRequest) (domain.OutputReply, error) {
	a.config.At(domain.WithPlace(ctx, domain.Place{WorkflowID: activity.GetInfo(ctx).WorkflowExecution.ID}), domain.Checking)
	checker, err := a.outputs.of(request.Format)
	if err != nil {
		return domain.OutputReply{}, failure(domain.AsError(err))
	}
	return domain.OutputReply{Invalid: checker.Check(request.Text)}, nil
}
