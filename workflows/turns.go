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

// awaitEffect waits until no other call of the same effect is under way. What it returns is why the call may not begin.
func (c *call) awaitEffect(ctx workflow.Context) *domain.Error {
	busy := func() bool { return c.batch.underWay(c.effect) }
	if busy() && !c.awaitTurn(ctx, forEffect, func() bool { return !busy() }) {
		return notRun("the execution was stopped while another call of the same was under way")
	}
	return nil
}

// awaitTurn waits until the call is free to begin, and reports whether it has the admission to; else a stop has ended the wait.
func (c *call) awaitTurn(ctx workflow.Context, what waitsFor, free func() bool) bool {
	c.wait(what)
	defer c.wait(forNobody)
	return c.renew(c.batch.mail.AwaitTurn(ctx, free, c.stepStopped, func(on bool) {
		if on {
			c.waitForPause(true)
		} else {
			c.wait(what)
		}
	}))
}

// waitForPause notes that a pause alone holds back the call, or no longer does.
func (c *call) waitForPause(on bool) {
	if !on {
		c.wait(forNobody)
		return
	}
	c.batch.step.note("calls wait for the end of the pause")
	c.wait(forPeople)
}
