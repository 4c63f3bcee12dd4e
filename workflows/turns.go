package workflows

import (
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
)

// ownEffect is the key of the call's effect, where it may not be made twice at a time; zero elsewhere.
func (c *call) ownEffect() (key domain.Digest) {
	tool := c.tool()
	if len(c.batch.calls) == 1 || tool.Effect != domain.AtMostOnce && tool.Effect != domain.Keyed {
		return key
	}
	return tool.EffectKeyOf(c.batch.session.in.AgentID, c.made.Arguments)
}

// awaitTurn waits until the call is free to begin, and reports whether it has the admission to; else a stop has ended the wait.
func (c *call) awaitTurn(ctx workflow.Context, what waitsFor, free func() bool) bool {
	c.wait(what)
	defer c.wait(forNobody)
	return c.renew(c.batch.mail.AwaitTurn(ctx, free, c.stepStopped, c.heldByPause(what)))
}

// heldByPause is told when a pause alone holds back the call, and when it no longer does: then the call waits as it did before.
func (c *call) heldByPause(before waitsFor) func(on bool) {
	return func(on bool) {
		if !on {
			c.wait(before)
			return
		}
		c.step.note("calls wait for the end of the pause")
		c.wait(forPeople)
	}
}
