package workflows

import (
	"cmp"
	"strings"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
)

// begin lets hooks, rules and the budget have their say, and asks for approval where a rule wants it. It reports whether the call
// may be made, or waits to be; one that may not has its result.
func (c *call) begin() bool {
	why := c.admit()
	if why == nil {
		why = c.askApproval()
	}
	if why != nil {
		c.block(why)
		return false
	}
	c.phase, c.effect = callBegun, c.ownEffect()
	c.batch.agent.counted(1)
	return true
}

// admit takes an admission for the call, or says why it may not be made.
func (c *call) admit() (why *domain.Error) {
	step := c.step
	if c.admission, why = step.admitCall(); why != nil {
		return why
	}
	seen := fire(step, domain.TriggerBeforeToolUse, hook.Call{Position: c.position, Call: c.made})
	seen.Call.ID = c.wanted.ID
	c.makeAs(seen.Call)
	c.admission, why = step.admitCall()
	if message, blocked := seen.Blocked(); blocked {
		return step.blockedByHook(message)
	}
	return cmp.Or(why, c.check())
}

// check decides whether a call may run; what it returns is why it may not.
func (c *call) check() *domain.Error {
	b := c.batch
	finish := b.step.content.Response.Finish
	left, limited := b.session.budget.left(domain.LimitToolCalls)
	known := c.tool().Name != ""
	unresolved, unfit := c.blockedByOutcome(), c.refusedSpawn()
	if c.handsOff() {
		unfit = domain.CheckHandoff(c.made)
	}
	ruling := b.config.ruling(c.made)
	switch {
	case finish == domain.FinishLength:
		return domain.CodedErrorf(domain.TooLarge, domain.CodeNotRun, "not run: the answer was cut by its length limit inside the tool calls; make them smaller")
	case finish == domain.FinishContentFilter:
		return notRun("the provider's filter cut the answer in which it stood")
	case b.step.request.WithoutTools:
		return notRun("no tools are available in this step; answer without")
	case c.position >= domain.MaxStepCalls:
		return notRun("a step may make at most %d calls", domain.MaxStepCalls)
	case unfit != nil:
		return unfit
	case !known && c.made.Wraps():
		return domain.CodedErrorf(domain.Invalid, domain.CodeUnknownTool,
			"unknown tool %q, and not all that is meant by it exists: call tools directly by their names, several in one turn; the tools are: %s",
			domain.Shorten(c.made.Name, 64), b.config.toolList())
	case !known:
		return domain.CodedErrorf(domain.Invalid, domain.CodeUnknownTool, "unknown tool %q; the tools are: %s", domain.Shorten(c.made.Name, 64), b.config.toolList())
	case ruling.Then == domain.Deny:
		return domain.CodedErrorf(domain.Denied, domain.CodeDenied, "denied: the rules of this agent do not allow this call (%s)", ruling.Rule).From("approvals")
	case unresolved != nil:
		return unresolved
	case limited && left <= 0:
		b.deny()
		return notRun("the budget allows no more tool calls")
	}
	return nil
}

// run takes a call that nothing forbids to its result, in a coroutine.
func (c *call) run(ctx workflow.Context) {
	b := c.batch
	var why *domain.Error
	if c.phase == callBegun {
		if why = c.awaitStart(ctx); why == nil {
			c.start()
			b.noteRunning()
		}
	}
	if why != nil {
		b.agent.counted(-1)
		c.block(why)
	} else {
		c.perform(ctx)
		c.tellCompleted()
	}
	c.phase = callOver
	b.session.budget.unseat(c.id)
	if strings.Contains(b.agent.doing, ": "+runningNote) { // what another call has noted that waits stays
		b.noteRunning()
	}
	b.reportWaiting()
	if !b.begun {
		b.step.keep()
	}
}

// awaitStart waits for all whom the call waits for. What it returns is why the call may not start.
func (c *call) awaitStart(ctx workflow.Context) *domain.Error {
	if c.approval != nil {
		if why := c.awaitApproval(ctx); why != nil {
			return why
		}
		c.effect = c.ownEffect()
	}
	busy := func() bool { return c.batch.underWay(c.effect) }
	if busy() && !c.awaitTurn(ctx, forEffect, func() bool { return !busy() }) {
		return notRun("the execution was stopped while another call of the same was under way")
	}
	var why *domain.Error
	switch {
	case c.spawns():
		why = c.awaitSeat(ctx)
	case c.handsOff():
		why = c.awaitOthers(ctx)
	}
	if why = cmp.Or(why, c.blockedByOutcome()); why == nil && !c.standing.IsZero() && !c.stands(c.standing.AskedBy) {
		return domain.CodedErrorf(domain.Denied, domain.CodeDenied, "denied: its standing approval was revoked before the call began").From("approvals")
	}
	return why
}

// start records that the call starts, and the standing approval by which it does.
func (c *call) start() {
	c.phase = callStarted
	if !c.standing.IsZero() {
		c.step.waitChanged(c.position, c.standing)
		c.batch.agent.emitWaitClosed(c.event(), c.standing)
	}
	c.step.callStarted(c.position, c.tool().Effect)
	c.batch.agent.emit(domain.EventToolCallStarted, c.event())
}

// perform makes a call, has a sub-agent work or hands the conversation over, and writes down what came of it.
func (c *call) perform(ctx workflow.Context) {
	switch {
	case c.handsOff():
		c.end(c.handOff(ctx))
	case c.spawns():
		c.performSpawn(ctx)
	default:
		c.conclude(ctx, c.make(ctx))
	}
}

func (c *call) tellCompleted() {
	done := c.execution()
	completed := domain.ToolCallCompleted{EventCall: c.event(), Milliseconds: done.Duration().Milliseconds()}
	if done.Error != nil {
		completed.Kind, completed.Code = done.Error.Kind, done.Error.Code
	}
	c.batch.agent.emit(domain.EventToolCallCompleted, completed)
}

// block gives a call that may not begin its result.
func (c *call) block(why *domain.Error) {
	c.cutOff = c.batch.mail.CutOff()
	c.end(contract.Unanswered(why))
	c.batch.agent.emit(domain.EventToolCallBlocked, domain.ToolCallBlocked{EventCall: c.event(), Code: why.Code, Source: why.Source})
}

// conclude ends a call that was made. Where nobody knows how, its tool is asked first; where that knows, it is as if it
// had been known at once.
func (c *call) conclude(ctx workflow.Context, reply *contract.ToolReply) {
	b := c.batch
	request := c.request()
	request.Attempts = reply.Attempts
	found := c.verify(ctx, request, *reply)
	var verified contract.ToolReply
	switch found.Verdict {
	case domain.VerdictDone:
		verified = contract.ToolReply{Content: found.Result, Digest: domain.DigestOf([]byte(found.Result))}
	case domain.VerdictNotDone:
		verified = contract.Unanswered(domain.CodedErrorf(domain.Unavailable, domain.CodeNotRun,
			"not done: the call of %s broke off, and the tool has made sure that it did nothing and cannot do anything any more (%s); it may be called again",
			request.Name, found.Reason))
	default:
		c.end(*reply)
		return
	}
	verified.Attempts = reply.Attempts
	b.step.content.verified(c.position, found, verified, c.cutOff, b.agent.now())
	c.ended(verified)
	b.agent.emitWaitClosed(c.event(), c.execution().Wait(domain.WaitOutcome))
}

// end writes what came of a call into the step. The state follows with the next keep,
// once for all that end together, unless a later one still waits to begin.
func (c *call) end(reply contract.ToolReply) {
	reply = c.takeUnknown(reply)
	c.step.content.called(c.position, reply, c.cutOff, c.batch.agent.now())
	c.ended(reply)
}

// performSpawn has a sub-agent work, and counts the calls that it made.
func (c *call) performSpawn(ctx workflow.Context) {
	b, child := c.batch, c.tend(ctx)
	b.step.content.childEnded(c.position, child, b.mail.CutOff(), b.agent.now())
	c.ended(child.reply())
	_, spent := child.usage()
	b.agent.counted(spent.ToolCalls)
	b.step.keep()
}

// ended takes the reply of a call whose end is in the step. A call that never ran uses up no budget.
func (c *call) ended(reply contract.ToolReply) {
	c.result = reply
	if c.execution().NotStarted {
		c.batch.agent.counted(-1)
	}
	if reply.Stop != nil {
		c.step.halt()
	}
}

// review lets hooks change what came of a call that was begun.
func (c *call) review() {
	step, given := c.step, c.execution()
	if given.StartedAt.IsZero() || step.hooked.failed {
		return
	}
	changed := fire(step, domain.TriggerAfterToolUse, hook.Result{Position: c.position, Execution: given}).Execution
	if changed.SameOutcome(given) {
		return
	}
	result := c.result
	result.Content, result.Parts, result.Error = domain.Shorten(changed.Value, domain.MaxToolResult), nil, nil
	if changed.Error != nil {
		result.Content, result.Error = "", contract.Bounded(changed.Error)
	}
	result.Digest = chained(result.Digest, result.Content)
	c.result = result
	step.callChanged(c.position, result.Content, result.Error)
}
