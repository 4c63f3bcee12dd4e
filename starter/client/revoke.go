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
func (c *Client) Revoke(ctx context.Context, id string, o RevokeOptions) (Revoked, error) {
	if err := contract.CheckSaid(o.By, o.Reason); err != nil {
		return Revoked{}, invalid(err)
	}
	p, err := c.locate(ctx, id)
	if err != nil {
		return Revoked{}, err
	}
	if p.ended != nil && !p.open() {
		return Revoked{}, p.nothingTo("revoke")
	}
	status, err := c.Status(ctx, id)
	if err != nil {
		return Revoked{}, err
	}
	rule, err := standingOf(status.AlwaysAllowed, o.Rule)
	if err != nil {
		return Revoked{}, err
	}
	reply, err := update(ctx, c, p.agent, "", contract.UpdateRevoke, contract.RevokeRequest{ID: rule, By: c.speaker(o.By), Reason: o.Reason})
	if errors.Is(err, errClosed) {
		return Revoked{}, errorf(Refused, err, "%s has just ended, and its standing approvals with it", id)
	}
	return Revoked{id, reply.Standing}, fail(ctx, id, "revoking a standing approval of "+id, err)
}

// standingOf finds a standing approval by its id or the beginning of it. What the workflow knows better it says itself.
func standingOf(all []domain.StandingApproval, rule string) (id domain.ToolExecutionID, _ error) {
	if id.UnmarshalText([]byte(rule)) == nil {
		return id, nil
	}
	holding := slices.DeleteFunc(slices.Clone(all), func(a domain.StandingApproval) bool { return a.Revocation != nil })
	var ids []string
	for _, a := range holding {
		ids = append(ids, a.ID.String())
	}
	at, err := beginning("rule", "the standing approvals that hold", rule, ids)
	if err != nil {
		return id, err
	}
	return holding[at].ID, nil
}
