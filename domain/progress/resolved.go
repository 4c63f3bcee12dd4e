package progress

import (
	"time"

	"everstep/domain/contract"
)

// resolvedAs takes what a worker makes of the definition: all of it, or the limits alone where the rest is as it was.
func (a Agent) resolvedAs(f Resolved, at time.Time) Agent {
	now := f.Catalog
	if f.Listing != nil {
		now.Definition = f.Listing.Definition
	}
	if a.resolved == nil {
		return a.inForce(now)
	}
	was := *a.resolved
	follows := f.Listing != nil && !f.Listing.Known.IsZero()
	if follows && f.Listing.Definition.Model.Provider == "" {
		now.Definition = was.Definition
	}
	another := !now.Definition.Model.Equal(was.Definition.Model) || !now.Definition.Format.Equal(was.Definition.Format)
	if now.Unchanged || !follows && !another {
		was.RateLimit, was.ToolLimits, was.Timing = now.RateLimit, now.ToolLimits, now.Timing
		return a.inForce(was)
	}
	now.Approvals = was.Approvals // decided for as long as the session
	if follows {
		now = now.Pinned(was)
		change := contract.ChangeOf(was, now)
		change.Number, change.At = a.Execution.Number, at
		a.Changes = contract.KeptChanges(a.Changes, change)
	}
	return a.inForce(now)
}

func (a Agent) inForce(r contract.Resolved) Agent {
	a.resolved = &r
	a.Price, a.Window, a.Limit, a.ToolLimits, a.Hooks = r.Price, r.ContextWindow, r.RateLimit, r.ToolLimits, r.Hooks
	return a
}

// ChangeOf is how what is in force for an execution differs from what was before; nil: in nothing, or too long ago.
func (a Agent) ChangeOf(number int) *contract.DefinitionChange {
	for _, change := range a.Changes {
		if change.Number == number {
			return &change
		}
	}
	return nil
}
