package client

import (
	"context"
	"errors"
	"slices"

	"everstep/domain"
	"everstep/domain/contract"
)

// RevokeOptions say which standing approval is taken back.
type RevokeOptions struct {
	// Rule is its id, or as much of its beginning as no other of the session has that holds.
	Rule string
	// By is who takes it back, by their own word. Empty: the process, as Config.By names it.
	By string
	// Reason is recorded.
	Reason string
}

// A Revoked says which standing approval was taken back.
type Revoked struct {
	ID       string                  `json:"id"`
	Standing domain.StandingApproval `json:"standing_approval"`
}

// Revoke takes a standing approval of a session back: from now on people are asked again about the calls that it let run.
// One that has begun goes on. It is refused where the agent has ended, and where there is none, or it was taken back
// before. Status tells which there are. It needs a worker, as Send does.
func (c *Client) Revoke(ctx context.Context, id string, o RevokeOptions) (none Revoked, _ error) {
	if err := contract.CheckSaid(o.By, o.Reason); err != nil {
		return none, invalid(err)
	}
	p, err := c.describe(ctx, id)
	if err != nil {
		return none, err
	}
	if p.ended != nil && !p.open() {
		return none, p.nothingTo("revoke")
	}
	status, err := c.Status(ctx, id)
	if err != nil {
		return none, err
	}
	holding := slices.DeleteFunc(slices.Clone(status.AlwaysAllowed), func(a domain.StandingApproval) bool { return a.Revocation != nil })
	rule, err := chosen("rule", o.Rule, "no standing approval of this session holds", "the standing approvals that hold", holding, func(a domain.StandingApproval) (domain.ToolExecutionID, string) {
		return a.ID, a.ID.String()
	})
	if err != nil {
		return none, err
	}
	reply, err := update(ctx, c, p.agent, "", contract.UpdateRevoke, contract.RevokeRequest{ID: rule, By: c.speaker(o.By), Reason: o.Reason})
	if errors.Is(err, errClosed) {
		return none, errorf(Refused, err, "%s has just ended, and its standing approvals with it", id)
	}
	return Revoked{id, reply.Standing}, p.fail(ctx, "revoking a standing approval of", err)
}
