package activities

import (
	"context"

	"everstep/domain"
)

// CheckOutput says whether a text fits a response format, for an answer that a
// hook has replaced. It changes nothing and may run any number of times. It
// fails for good where the format itself is wrong.
func (a *Activities) CheckOutput(_ context.Context, request domain.OutputRequest) (domain.OutputReply, error) {
	checker, err := a.outputs.of(request.Format)
	if err != nil {
		return domain.OutputReply{}, failure(domain.AsError(err))
	}
	return domain.OutputReply{Invalid: checker.Check(request.Text)}, nil
}
