package workflows

import (
	"cmp"
	"strings"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
	"everstep/workflows/internal/mailbox"
)

// A toolBatch is the tool calls of one step, made all at once. Every call gets
// exactly one result, whatever befell it.
type toolBatch struct {
	session *session
	step    *stepRun
	agent   *agent
	config  *configuration
	mail    *mailbox.Mailbox
	// results are the calls', cutOff says which of these a stop ended.
	results []contract.ToolReply
	cutOff  []bool
	// allowed and denied count the calls that the budget has room for or not; limit is
	// max_tool_calls as it was when one was denied.
	allowed, denied int64
	limit           domain.LimitUse
	load            mailbox.Load
	// running counts the calls that were begun, ended those of them that are over;
	// begun says that all have been begun that may be.
	running, ended int
	begun          bool
	// held counts those that wait for people: for an answer, or for the end of a pause.
	held int
	// effects are those of the calls under way that are made one after another, queued those of the calls that
	// wait for them.
	effects map[domain.Digest]bool
	queued  []domain.Digest
	// standing are the standing approvals by which calls run, by position.
	standing map[int]domain.Wait
	// granted says which of the calls have had their share for a sub-agent.
	granted []bool
	// edits wait for the hooks' say.
	edits []*editedCall
	// behind counts the calls that wait for others to end: to hand the conversation over, or for a seat.
	behind int
	// relimiting says that a worker is asked which limits hold.
	relimiting bool
	// alone is the step's only call where it waits for nobody: it is made in the run's own coroutine, as each further one is woken
	// in every workflow task.
	alone *begunCall
}

func (t *stepRun) runTools() {
	t.enter(inTools)
	n := len(t.calls)
	b := &toolBatch{session: t.session, step: t, agent: t.agent, config: t.config, mail: t.mail, results: make([]contract.ToolReply, n), cutOff: make([]bool, n), effects: map[domain.Digest]bool{}, standing: map[int]domain.Wait{}, granted: make([]bool, n)}
	b.load.Beside = func() int { return b.session.replies.inTask(b.session.root) }
	b.step.learn(b.step.content.wanted(b.step.calls))
	b.session.budget.asksForCalls(n)
	b.beginAll()
	if b.denied > 0 {
		use := b.limit
		holder := b.session.budget.ledger().Execution
		if use.Session {
			holder = b.session.budget.ledger().Session
		}
		use.Used = domain.Count(use.Rule.Unit, holder.Spent.ToolCalls-b.allowed)
		b.session.budget.limited(use, use.DeniedSignal(b.allowed+b.denied))
	}
	b.noteRunning()
	b.step.keep()
	b.tellWaiting()
	if b.alone != nil {
		b.run(b.session.root, b.alone)
	}
	for seen := 0; seen < b.running; seen = b.ended {
		b.mail.WaitUntil(func() bool { return b.ended > seen || b.session.openWaits.unpublished || len(b.edits) > 0 })
		b.reviewEdits()
		b.step.keep()
		b.tellWaiting()
	}
	b.session.children.keepBack(nil)
	for i := range b.results {
		b.review(i)
	}
	b.join()
}

func (b *toolBatch) beginAll() {
	for i := range b.step.calls {
		b.begin(i)
	}
	b.begun = true
	b.reckon()
}

// begin lets hooks and the budget have their say about a call, and begins it.
func (b *toolBatch) begin(i int) {
	call := b.step.calls[i]
	permit, verdict := b.step.callPermit()
	if verdict == nil {
		made := fire(b.step, domain.TriggerBeforeToolUse, hook.Call{Position: i, Call: call})
		call = made.Call
		call.ID = b.step.calls[i].ID
		b.step.callAs(i, call)
		permit, verdict = b.step.callPermit()
		if message, blocked := made.Blocked(); blocked {
			verdict = b.blockedByHook(message)
		} else if verdict == nil {
			verdict = b.judge(i, call)
		}
	}
	var asked *openWait
	if verdict == nil {
		asked, verdict = b.askApproval(i, call)
	}
	if verdict != nil {
		b.block(i, call, verdict)
		return
	}
	b.running++
	b.agent.counted(1)
	effect := b.effectOf(call)
	waits := asked != nil || b.effects[effect] || b.spawns(call) || b.handsOff(call)
	c := &begunCall{i, call, permit, effect, waits, asked}
	if !waits {
		b.start(i, call, effect)
	}
	if len(b.step.calls) == 1 && !waits {
		b.alone = c
		return
	}
	workflow.GoNamed(b.session.root, "call", func(ctx workflow.Context) { b.run(ctx, c) })
}

// A begunCall is a call that nothing forbids.
type begunCall struct {
	position int
	call     domain.ToolCall
	permit   mailbox.Permit
	// effect is what no other call may do at the same time; zero: nothing.
	effect domain.Digest
	// waits says that the call is not started before others let it: the person whom asked, if set, asks, calls of the same effect,
	// or other agents.
	waits bool
	asked *openWait
}

// run takes a call from here to its result.
func (b *toolBatch) run(ctx workflow.Context, c *begunCall) {
	var verdict *domain.Error
	if c.waits {
		verdict = c.awaitStart(ctx, b)
	}
	if verdict != nil {
		b.agent.counted(-1)
		b.block(c.position, c.call, verdict)
	} else {
		if c.waits {
			b.start(c.position, c.call, c.effect)
			b.noteRunning()
		}
		b.perform(ctx, c.permit, c.position, c.call)
		b.step.completed(c.position, c.call)
		delete(b.effects, c.effect)
	}
	b.session.children.over(b.step.content.ID.Tool(c.position))
	b.ended++
	if strings.Contains(b.agent.log.doing, runningNote) { // what another call has noted that waits stays
		b.noteRunning()
	}
	b.reckon()
	if !b.begun {
		b.step.keep()
	}
}

// awaitStart waits, in the coroutine of the call, for all whom it waits for. What it returns is why the call may not start.
func (c *begunCall) awaitStart(ctx workflow.Context, b *toolBatch) (verdict *domain.Error) {
	if c.asked != nil {
		if c.permit, c.call, verdict = b.awaitApproval(ctx, c.position, c.call, c.asked); verdict != nil {
			return verdict
		}
		c.effect = b.effectOf(c.call)
	}
	if c.permit, verdict = b.awaitTurn(ctx, c.permit, c.effect); verdict != nil {
		return verdict
	}
	if c.permit, verdict = b.awaitAgents(ctx, c.permit, c.position, c.call); verdict != nil {
		return verdict
	}
	return cmp.Or(b.blockedByOutcome(c.call), b.revoked(c.position, c.call)) // it may have become so meanwhile
}

// perform makes a call, has a sub-agent work or hands the conversation over, and writes down what came of it.
func (b *toolBatch) perform(ctx workflow.Context, permit mailbox.Permit, i int, call domain.ToolCall) {
	switch {
	case b.handsOff(call):
		reply := b.handOff(ctx, permit, i, call)
		b.endAs(i, reply, b.step.content.called(i, reply, b.cutOff[i], b.agent.now()))
	case b.spawns(call):
		ended := b.tend(ctx, permit, i, call)
		b.endAs(i, ended.reply(), b.step.content.childEnded(i, ended, b.mail.CutOff(), b.agent.now()))
		_, spent := ended.usage()
		b.agent.counted(spent.ToolCalls)
		b.step.keep()
	default:
		b.conclude(ctx, i, call, b.call(ctx, permit, i, call))
	}
}

// block gives a call that may not begin its result.
func (b *toolBatch) block(i int, call domain.ToolCall, why *domain.Error) {
	b.cutOff[i] = b.mail.CutOff()
	b.end(i, contract.Unanswered(why))
	b.agent.emit(domain.EventToolCallBlocked, domain.ToolCallBlocked{
		EventCall: eventCall(b.step.content.ID.Tool(i), call.Name), Code: why.Code, Source: why.Source,
	})
}

func (b *toolBatch) start(i int, call domain.ToolCall, effect domain.Digest) {
	b.effects[effect] = !effect.IsZero()
	b.noteStanding(i, call)
	tool, _ := b.config.Resolved.Tool(call.Name)
	b.step.callStarted(i, tool.Effect)
	b.agent.emit(domain.EventToolCallStarted, eventCall(b.step.content.ID.Tool(i), call.Name))
}

// judge decides whether a call may run; what it returns is why it may not.
func (b *toolBatch) judge(i int, call domain.ToolCall) *domain.Error {
	left, limited := b.session.budget.callsLeft()
	_, known := b.config.Resolved.Tool(call.Name)
	unresolved, unspawned := b.blockedByOutcome(call), cmp.Or(b.refusedSpawn(call), b.refusedHandoff(call))
	switch {
	case b.step.content.Response.Finish == domain.FinishLength:
		return domain.CodedErrorf(domain.TooLarge, domain.CodeNotRun, "not run: the answer was cut by its length limit inside the tool calls; make them smaller")
	case b.step.content.Response.Finish == domain.FinishContentFilter:
		return domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: the provider's filter cut the answer in which it stood")
	case b.step.request.WithoutTools:
		return domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: no tools are available in this step; answer without")
	case i >= domain.MaxStepCalls:
		return domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: a step may make at most %d calls", domain.MaxStepCalls)
	case unspawned != nil:
		return unspawned
	case !known && call.Wraps():
		return domain.CodedErrorf(domain.Invalid, domain.CodeUnknownTool,
			"unknown tool %q, and not all that is meant by it exists: call tools directly by their names, several in one turn; the tools are: %s",
			domain.Shorten(call.Name, 64), b.step.toolList())
	case !known:
		return domain.CodedErrorf(domain.Invalid, domain.CodeUnknownTool, "unknown tool %q; the tools are: %s", domain.Shorten(call.Name, 64), b.step.toolList())
	case b.config.ruling(call).Then == domain.Deny:
		return domain.CodedErrorf(domain.Denied, domain.CodeDenied, "denied: the rules of this agent do not allow this call (%s)", b.config.ruling(call).Rule).From("approvals")
	case unresolved != nil:
		return unresolved
	case limited && left <= 0:
		b.denied++
		b.limit, _ = b.session.budget.ledger().UseOf(domain.LimitToolCalls, b.agent.now())
		return domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: the budget allows no more tool calls")
	}
	b.allowed++
	return nil
}

// conclude ends a call that was made. Where nobody knows how, its tool is asked first; where that knows, it is as if it
// had been known at once.
func (b *toolBatch) conclude(ctx workflow.Context, i int, call domain.ToolCall, reply contract.ToolReply) {
	request := b.requestOf(i, call)
	request.Attempts = reply.Attempts
	found, asked := b.verify(ctx, request, reply)
	if asked {
		b.noteRunning()
	}
	verified, ok := verifiedReply(request, found)
	if !ok {
		b.end(i, reply)
		return
	}
	b.endAs(i, verified, b.step.content.verified(i, found, verified, b.cutOff[i], b.agent.now()))
	resolved := b.step.content.ToolExecutions[i].Wait(domain.WaitOutcome)
	resolved.ToolExecutionID, resolved.Tool = request.ID(), call.Name
	b.agent.emitWaitClosed(resolved)
}

// end writes what came of a call into the step. The state follows with the next keep,
// once for all that end together, unless a later one still waits to begin. A call
// that never ran uses up no budget.
func (b *toolBatch) end(i int, reply contract.ToolReply) {
	reply = b.takeUnknown(i, reply)
	b.endAs(i, reply, b.step.content.called(i, reply, b.cutOff[i], b.agent.now()))
}

// endAs is end where the step's content follows from more than the reply.
func (b *toolBatch) endAs(i int, reply contract.ToolReply, content stepContent) {
	b.results[i] = reply
	b.step.learn(content)
	if b.step.content.ToolExecutions[i].NotStarted {
		b.agent.counted(-1)
	}
	if reply.Stop != nil {
		b.step.halt()
	}
}

// review lets hooks change what came of a call that was begun.
func (b *toolBatch) review(i int) {
	result, given := b.results[i], b.step.content.ToolExecutions[i]
	if given.StartedAt.IsZero() || b.step.hooked.failed {
		return
	}
	made := fire(b.step, domain.TriggerAfterToolUse, hook.Result{Position: i, Execution: given}).Execution
	if made.SameOutcome(given) {
		return
	}
	result.Content, result.Parts, result.Error = domain.Shorten(made.Value, domain.MaxToolResult), nil, nil
	if made.Error != nil {
		result.Content, result.Error = "", contract.Bounded(made.Error)
	}
	result.Digest = domain.DigestOf([]byte(result.Digest.String()), []byte(result.Content))
	b.results[i] = result
	b.step.callChanged(i, result.Content, result.Error)
}

// toolMessage is the message that tells the model what came of a call.
func toolMessage(call domain.ToolCall, reply contract.ToolReply) domain.Message {
	content := reply.Content
	if reply.Error != nil && content == "" {
		content = reply.Error.Message
	}
	m := domain.ToolMessage(domain.ToolResult{CallID: call.ID, Name: call.Name, Content: content, IsError: reply.Error != nil})
	if reply.Error == nil {
		m.Parts = reply.Parts
	}
	return m
}

// maxToolStops is how many requests to stop one step keeps as signals. One
// stops the execution as well as a thousand.
const maxToolStops = 20

func (b *toolBatch) join() {
	stops := 0
	for i, result := range b.results {
		call, result := b.step.calls[i], b.tellEdited(i, result)
		b.takeNote(b.step.content.ToolExecutions[i].Name(), result.Note)
		message := b.step.content.ToolExecutions[i].Wait(domain.WaitQuestion).Mark(toolMessage(call, result))
		b.step.say("", message, result.Digest, domain.Tag{Trace: true, ToolExecutionID: b.step.content.ID.Tool(i)})
		if result.Stop != nil && stops < maxToolStops {
			stops++
			b.agent.Signal(domain.StopSignal{
				Reason: domain.StopRequested, Message: domain.Shorten(result.Stop.Message, domain.MaxReason),
				Context: result.Stop.Context, Source: call.Name,
			})
		}
	}
}

// verifiedReply is what came of a call of which nobody knew how it ended, where its tool's Verify has found out; ok is
// false where it has not.
func verifiedReply(call contract.ToolRequest, found contract.VerifyReply) (reply contract.ToolReply, ok bool) {
	switch found.Verdict {
	case domain.VerdictDone:
		reply = contract.ToolReply{Content: found.Result, Digest: domain.DigestOf([]byte(found.Result))}
	case domain.VerdictNotDone:
		reply = contract.Unanswered(domain.CodedErrorf(domain.Unavailable, domain.CodeNotRun,
			"not done: the call of %s broke off, and the tool has made sure that it did nothing and cannot do anything any more (%s); it may be called again",
			call.Name, found.Reason))
	default:
		return reply, false
	}
	reply.Attempts = call.Attempts
	return reply, true
}
