package client

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// UpdateOptions are another definition for an open session: the whole, or the fields of it that are named. By is who asks for it,
// by their own word; empty: the process, as Config.By names it. The reason is recorded.
type UpdateOptions = contract.UpdateRequest

// An Updated says what of a session is another, and from which execution on.
type Updated struct {
	ID string `json:"id"`
	contract.Change
}

// Update gives an open session another definition, from its next execution on: one in progress goes on as it began. Who
// has done so, when and why is recorded. It is refused by agents without a name and sessions that have ended; what the
// workers make of it shows when the execution begins. It needs a worker, as Send does.
func (c *Client) Update(ctx context.Context, id string, o UpdateOptions) (none Updated, _ error) {
	if err := contract.CheckSaid(o.By, o.Reason); err != nil {
		return none, invalid(err)
	}
	whole := o.Definition
	if len(o.Fields) > 0 && !slices.Contains(o.Fields, "model") {
		whole.Model.Provider, whole.Model.Model = "any", "any" // the session has one
	}
	if err := cmp.Or(whole.Check(), whole.Budget.CheckDeadline(time.Now()), domain.CheckFits("definition", o.Definition, domain.MaxResolved)); err != nil {
		return none, invalid(err)
	}
	p, err := c.describe(ctx, id)
	switch {
	case err != nil:
		return none, err
	case p.name == "":
		return none, refused("agent %s has no name and takes one prompt, so no execution follows; start another, with a name", id)
	case !p.open():
		return none, ended(id, nil)
	}
	o.By = c.speaker(o.By)
	reply, err := update(ctx, c, p.agent, "", contract.UpdateDefinition, o)
	if errors.Is(err, errClosed) {
		return none, errorf(Refused, err, "%s has just ended", id)
	}
	return Updated{id, reply}, p.fail(ctx, "updating", err)
}
