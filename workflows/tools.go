package workflows

import (
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// runTools makes the calls of the step, and joins their results to the conversation in the order of the calls.
func (t *stepRun) runTools() {
	t.content.wanted(t.calls)
	b := newToolBatch(t)
	t.session.budget.asksForCalls(len(t.calls))
	alone := b.beginAll()
	if b.denied > 0 {
		b.signalDenied()
	}
	b.noteRunning()
	t.keep()
	b.publishWaits()
	if alone != nil {
		alone.run(t.session.root)
	}
	b.awaitAll()
	t.session.budget.keepNothing()
	for _, c := range b.calls {
		c.review()
	}
	b.join()
}

func newToolBatch(t *stepRun) *toolBatch {
	calls := make([]*call, len(t.calls))
	b := &toolBatch{
		session: t.session, step: t, agent: t.agent, config: t.config, mail: t.mail, calls: calls,
		load: mailbox.Load{Beside: func() int { return t.session.hooks.inTask(t.session.root) }},
	}
	for i, wanted := range t.calls {
		calls[i] = &call{batch: b, step: t, position: i, id: t.content.ID.Tool(i), wanted: wanted, made: wanted}
	}
	return b
}

// beginAll begins each call that nothing forbids, in a coroutine of its own. It returns the step's only call where that waits for
// nobody: it is to run in the coroutine of the step, as each further one is woken in every workflow task.
func (b *toolBatch) beginAll() (alone *call) {
	for _, c := range b.calls {
		if !c.begin() {
			continue
		}
		waits := c.approval != nil || b.underWay(c.effect) || c.spawns() || c.handsOff()
		if !waits {
			c.start()
		}
		if len(b.calls) == 1 && !waits {
			alone = c
		} else {
			workflow.GoNamed(b.session.root, "call", c.run)
		}
	}
	b.begun = true
	b.reportWaiting()
	return alone
}

// awaitAll waits until all calls that were begun are over, shows hooks those that people have edited, and keeps in the state what
// has ended meanwhile.
func (b *toolBatch) awaitAll() {
	begun := b.countBegun()
	ended := func() int { return b.count(func(c *call) bool { return c.phase == callOver }) }
	toReview := func(c *call) bool { return c.toReview }
	for seen := 0; seen < begun; seen = ended() {
		b.mail.WaitUntil(func() bool { return ended() > seen || b.session.openWaits.unpublished || b.count(toReview) > 0 })
		for _, c := range b.calls {
			if c.toReview {
				c.reviewEdited()
			}
		}
		b.step.keep()
		b.publishWaits()
	}
}

// signalDenied says that the budget had no room for all calls.
func (b *toolBatch) signalDenied() {
	use, allowed, ledger := b.limit, int64(b.countBegun()), b.session.budget.ledger()
	holder := ledger.Execution
	if use.Session {
		holder = ledger.Session
	}
	use.Used = domain.Count(use.Rule.Unit, holder.Spent.ToolCalls-allowed)
	b.session.budget.limited(use, use.DeniedSignal(allowed+b.denied))
}

// maxToolStops is how many requests to stop one step keeps as signals. One
// stops the execution as well as a thousand.
const maxToolStops = 20

// join adds the results to the conversation, and takes what they ask for: that a note is kept, that the execution stops.
func (b *toolBatch) join() {
	stops := 0
	for _, c := range b.calls {
		result, tool := c.tellEdited(), c.tool()
		if tool.Note != "" && len(result.Note) > 0 {
			b.agent.adopt(must(b.agent.state.WithMetadata(tool.Note, result.Note, b.agent.now()))) // a worker has seen that it is JSON
		}
		message := c.execution().Wait(domain.WaitQuestion).Mark(toolMessage(c.wanted, result))
		b.step.say("", message, result.Digest, domain.Tag{Trace: true, ToolExecutionID: c.id})
		if result.Stop != nil && stops < maxToolStops {
			stops++
			b.agent.Signal(domain.StopSignal{
				Reason: domain.StopRequested, Message: domain.Shorten(result.Stop.Message, domain.MaxReason),
				Context: result.Stop.Context, Source: c.wanted.Name,
			})
		}
	}
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
