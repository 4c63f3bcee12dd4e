package workflows

import (
	"everstep/domain"
	"everstep/domain/contract"
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
	// calls are all that the answer asks for, in its order.
	calls []*call
	// begun says that all have been begun that may be.
	begun bool
	load  mailbox.Load
	// denied counts the calls that the budget has no room for; limit is max_tool_calls as it was
	// when the last of them was denied.
	denied int64
	limit  domain.LimitUse
	// relimiting says that a worker is asked which limits hold.
	relimiting bool
}

// A call is one tool call of the step in progress, from the answer that asks for it to its result.
type call struct {
	batch *toolBatch
	step  *stepRun
	// position counts the step's calls from 0.
	position int
	id       domain.ToolExecutionID
	// wanted is what the model asked for, made the call as hooks and people have it.
	wanted, made domain.ToolCall
	phase        callPhase
	waits        waitsFor
	// admission is the permission to make it, which each wait renews.
	admission mailbox.Admission
	// effect is what no other call may do at the same time; zero: nothing.
	effect domain.Digest
	// approval is the wait for a person's approval; nil: nobody is asked.
	approval *openWait
	// toReview says that hooks are to see it as a person has edited it, and objection is what they said against it.
	toReview  bool
	objection *domain.Error
	// standing is the standing approval by which it runs; zero: none.
	standing domain.Wait
	// granted says that it has had its share for a sub-agent.
	granted bool
	// cutOff says that a stop has ended it.
	cutOff bool
	result contract.ToolReply
}

// A callPhase is how far a call has come.
type callPhase int

const (
	// callNew: hooks, rules and the budget have their say. What one of them forbids stays new, and has a result.
	callNew callPhase = iota
	// callBegun: nothing forbids it. It may wait for a person, for other calls or for other agents.
	callBegun
	// callStarted: it is made.
	callStarted
	// callOver: it has its result.
	callOver
)

// A waitsFor says what holds a call back while nothing of it is under way.
type waitsFor int

const (
	// forNobody: it does not wait.
	forNobody waitsFor = iota
	// forPeople: a person is to answer, or to end a pause, also for its sub-agent.
	forPeople
	// forOthers: others are to end, before the conversation is handed over or a seat is free.
	forOthers
	// forEffect: one of the same effect is under way.
	forEffect
)

// tool is what the call is of; the zero one where there is none of its name.
func (c *call) tool() domain.ToolSpec {
	tool, _ := c.batch.config.Resolved.Tool(c.made.Name)
	return tool
}

// execution is the call as the step keeps it.
func (c *call) execution() domain.ToolExecution {
	return c.step.content.ToolExecutions[c.position]
}

// wait notes what holds the call back.
func (c *call) wait(what waitsFor) {
	c.waits = what
	c.batch.reportWaiting()
}

// stepStopped reports whether nothing of the step is to begin any more.
func (c *call) stepStopped() bool { return c.step.stopped }

// markCutOff notes whether a stop has ended the call.
func (c *call) markCutOff(cutOff bool) { c.cutOff = cutOff }

// event is how events name the call.
func (c *call) event() domain.EventCall { return eventCall(c.id, c.made.Name) }

// makeAs has the call be made as a hook or a person has it.
func (c *call) makeAs(made domain.ToolCall) {
	c.made = made
	c.step.callAs(c.position, made)
}

// renew takes the admission that a wait has ended with, if it was given.
func (c *call) renew(admission mailbox.Admission, ok bool) bool {
	if ok {
		c.admission = admission
	}
	return ok
}

// countBegun counts the calls that nothing forbade as they were to begin.
func (b *toolBatch) countBegun() int {
	return b.count(func(c *call) bool { return c.phase != callNew })
}

func (b *toolBatch) count(which func(*call) bool) (n int) {
	for _, c := range b.calls {
		if which(c) {
			n++
		}
	}
	return n
}

// underWay reports whether a call of an effect is under way that no other may have at the same time.
func (b *toolBatch) underWay(effect domain.Digest) bool {
	return !effect.IsZero() && b.count(func(c *call) bool { return c.phase == callStarted && c.effect == effect }) > 0
}

// reportWaiting tells the mailbox whether nothing is under way: calls wait for people, or for such calls.
func (b *toolBatch) reportWaiting() {
	under := b.count(func(c *call) bool { return c.phase == callBegun || c.phase == callStarted })
	held := b.count(func(c *call) bool { return c.waits == forPeople })
	waiting := held + b.count(func(c *call) bool { return c.waits == forOthers || c.waits == forEffect && b.underWay(c.effect) })
	b.mail.WaitForPeople(b.begun && held > 0 && waiting == under)
}

// deny counts a call that the budget has no room for.
func (b *toolBatch) deny() {
	b.denied++
	b.limit, _ = b.session.budget.ledger().UseOf(domain.LimitToolCalls, b.agent.now())
}

// publishWaits says what waits for people where that has changed.
func (b *toolBatch) publishWaits() {
	if b.session.openWaits.publish() {
		b.noteRunning()
	}
}

// runningNote is in the note of calls that run.
const runningNote = "running "

// noteRunning notes what the step waits for, or else which of its calls run.
func (b *toolBatch) noteRunning() {
	if waiting := b.session.openWaits.note(); waiting != "" {
		b.step.note("%s", waiting)
		return
	}
	var running []domain.ToolCall
	for _, c := range b.calls {
		if c.execution().CompletedAt.IsZero() {
			running = append(running, c.wanted)
		}
	}
	if len(running) > 0 {
		b.step.note("%s%s", runningNote, domain.CallNames(running))
	}
}
