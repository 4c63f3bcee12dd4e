package activities

import (
	"context"

	"go.temporal.io/sdk/activity"

	"everstep/domain"
	"everstep/domain/contract"
)

// CheckOutput says whether a text fits a response format, for an answer that a
// hook has replaced. It changes nothing and may run any number of times. It
// fails for good where the format itself is wrong.
func (a *Activities) CheckOutput(ctx context.Context, request contract.OutputRequest) (contract.OutputReply, error) {
	a.config.At(contract.WithPlace(ctx, contract.Place{WorkflowID: activity.GetInfo(ctx).WorkflowExecution.ID}), contract.Checking)
	checker, err := a.outputs.of(request.Format)
	if err != nil {
		return contract.OutputReply{}, failure(domain.AsError(err))
	}
	return contract.OutputReply{Invalid: checker.Check(request.Text)}, nil
}
