package workflows

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
)

// longestWait bounds for how long people are asked, where a rule bounds it.
const longestWait = 10 * 365 * 24 * time.Hour

// askApproval has people asked about a call that the rules hold back, unless a standing approval lets it run. It returns why the
// call may not even wait.
func (c *call) askApproval() *domain.Error {
	b := c.batch
	ruling := b.config.ruling(c.made)
	switch {
	case ruling.Then != domain.AskFirst, c.stands(ruling.Rule):
		return nil
	case b.mail.Asked():
		return notApproved()
	}
	asked := domain.Wait{Kind: domain.WaitApproval, Arguments: c.made.Arguments, AskedBy: ruling.Rule}
	c.approval = c.hold(asked, min(ruling.ExpiresAfter, longestWait), ruling.AtExpiry == domain.ExpiryStops)
	return nil
}

// awaitApproval waits until somebody has decided about the call, which then is made as that person would have it. What it
// returns is why the call may not begin.
func (c *call) awaitApproval(ctx workflow.Context) *domain.Error {
	defer c.wait(forNobody)
	b, asked := c.batch, c.approval
	if !c.awaitPerson(ctx, asked) {
		return notApproved()
	}
	if refusal := asked.Refusal(); refusal != nil {
		if asked.Verdict() == domain.Expired && asked.stops {
			b.agent.signal(domain.StopRequested, "approvals", fmt.Sprintf("nobody approved the call of %s in time (%s)", domain.Shorten(asked.Tool, 64), asked.AskedBy))
			b.step.halt()
		}
		return refusal
	}
	if asked.edited != "" {
		edited := c.made
		edited.Arguments = asked.edited
		c.makeAs(edited)
		if objection := c.awaitReview(ctx); objection != nil {
			return objection
		}
	}
	if !c.renew(b.mail.AdmitDecided(ctx, c.stepStopped)) {
		return notBegun()
	}
	return nil
}

// hold has the call wait for a person; without a time it expires never.
func (c *call) hold(asked domain.Wait, expiresAfter time.Duration, stops bool) *openWait {
	b := c.batch
	asked.ToolExecutionID, asked.ExecutionID, asked.Step, asked.Tool = c.id, b.step.execution, b.step.content.Number, c.made.Name
	asked.Digest, asked.Since = domain.CallDigest(c.made.Name, c.made.Arguments), b.agent.now()
	if expiresAfter > 0 {
		asked.Expires = asked.Since.Add(expiresAfter)
	}
	w := &openWait{Wait: asked, position: c.position, stops: stops}
	b.session.openWaits.add(w)
	b.step.waitChanged(c.position, asked)
	b.agent.emit(domain.EventWaitOpened, domain.WaitOpened{EventCall: c.event(), Kind: asked.Kind, Digest: asked.Digest, ExpiresAt: asked.Expires})
	c.wait(forPeople)
	return w
}

// awaitPerson waits until somebody has answered, or the time for that is over. Nothing of the call is
// under way meanwhile. It reports false where a stop has ended the wait.
func (c *call) awaitPerson(ctx workflow.Context, w *openWait) bool {
	b := c.batch
	answered := b.mail.AwaitDecision(ctx, w.Expires, func() bool { return !w.Open() }, c.stepStopped)
	if b.session.openWaits.remove(w); !answered {
		return false
	}
	if w.Open() {
		w.lapse(b.agent.now())
	}
	b.step.waitChanged(w.position, w.Wait)
	b.agent.emitWaitClosed(c.event(), w.Wait)
	return true
}

// awaitReview waits until hooks have seen the call as a person has edited it. While a hook with I/O looks at it nobody waits for
// people.
func (c *call) awaitReview(ctx workflow.Context) *domain.Error {
	slow := func(spec contract.HookSpec) bool { return spec.IO && spec.Trigger == domain.TriggerBeforeToolUse }
	isSlow := slices.ContainsFunc(c.batch.config.Resolved.Hooks, slow)
	if isSlow {
		c.wait(forNobody)
	}
	c.toReview = true
	_ = workflow.Await(ctx, func() bool { return !c.toReview })
	if isSlow {
		c.wait(forPeople)
	}
	return c.objection
}

// reviewEdited lets hooks see the call as a person has edited it, as they see each call before it runs: in the coroutine of the
// step, where hooks run, while that of the call waits.
func (c *call) reviewEdited() {
	step := c.step
	if step.stopped { // a hook that has failed was the last one
		c.objection = notBegun()
	} else {
		seen := fire(step, domain.TriggerBeforeToolUse, hook.Call{Position: c.position, Call: c.made})
		if message, blocked := seen.Blocked(); blocked {
			c.objection = step.blockedByHook(message)
		} else if seen.Call.Name != c.made.Name || seen.Call.Arguments != c.made.Arguments {
			c.objection = domain.CodedErrorf(domain.Denied, domain.CodeBlocked, "blocked: a hook would have changed what a person had given; nobody has approved that")
		}
	}
	c.toReview = false
}

// tellEdited has the model read, with what came of a call, that a person has changed it and how.
func (c *call) tellEdited() contract.ToolReply {
	result, done := c.result, c.execution()
	if answer := done.Wait(domain.WaitApproval).Answer; answer == nil || answer.Edited.IsZero() {
		return result
	}
	if result.Error != nil {
		result.Content = cmp.Or(result.Content, result.Error.Message)
	}
	result.Content = domain.EditedNote(done.Call.Arguments) + result.Content
	result.Digest = chained(result.Digest, result.Content)
	return result
}

// notApproved is what the model gets to read of a call that a stop kept from being approved.
func notApproved() *domain.Error {
	return notRun("the execution was stopped before a person had approved the call")
}

// notBegun is what the model gets to read of a call that was approved and then kept from beginning by a stop.
func notBegun() *domain.Error {
	return notRun("a person had approved the call, but the execution was stopped before it began")
}

// stands reports whether a standing approval lets the call run about which a rule would have people asked.
func (c *call) stands(rule string) bool {
	b := c.batch
	standing, ok := b.agent.state.StandingFor(domain.CallDigest(c.made.Name, c.made.Arguments), b.config.standingContext(c.made.Name))
	if ok {
		c.standing = standing.Wait(rule)
	}
	return ok
}
