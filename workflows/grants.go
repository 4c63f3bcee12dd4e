package workflows

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// children are the sub-agents of the step in progress. It alone holds what they are granted.
type children struct {
	pool domain.Pool
	// all are those that have a seat: they are under way, or about to be.
	all []contract.SubagentView
	// storeDown says that the newest of them to end could not be put among the records.
	storeDown bool
}

// sit gives a seat to one that starts, and reserves what it is granted.
func (c *children) sit(view contract.SubagentView, left domain.ExecutionBudget, toStart int) {
	c.pool, view.Grant = c.pool.WithGrant(left, toStart)
	c.all = append(c.all, view)
}

// lend gives one more of a limit, and is its grant then.
func (c *children) lend(call domain.ToolExecutionID, limit domain.Limit, more int64) domain.ExecutionBudget {
	one := &c.all[c.at(call)]
	if more > 0 {
		c.pool, one.Grant = c.pool.WithMore(one.Grant, limit, more)
	}
	return one.Grant
}

func (c *children) granted(call domain.ToolExecutionID) domain.ExecutionBudget {
	return c.all[c.at(call)].Grant
}

// over gives back the seat of one and what it had. What it has spent of that was counted before.
func (c *children) over(call domain.ToolExecutionID) {
	at := c.at(call)
	if at < 0 {
		return // it never had one
	}
	c.pool, c.all = c.pool.WithReturn(c.all[at].Grant), slices.Delete(c.all, at, at+1)
	if len(c.all) == 0 {
		c.pool = domain.Pool{}
	}
}

// told takes what one has said as it ended.
func (c *children) told(r *contract.Report) { c.storeDown = r != nil && r.StoreDown }

func (c *children) at(call domain.ToolExecutionID) int {
	return slices.IndexFunc(c.all, func(one contract.SubagentView) bool { return one.ToolExecutionID == call })
}

// crowded reports whether no seat is free.
func (c *children) crowded() bool { return len(c.all) >= domain.MaxAtOnce }

func (c *children) views() []contract.SubagentView { return slices.Clone(c.all) }

// awaitSeat waits in the coroutine of a call until one more sub-agent may run, and is the permit to start it, or why it may
// not be.
func (b *toolBatch) awaitSeat(ctx workflow.Context, permit mailbox.Permit, i int, call domain.ToolCall) (mailbox.Permit, *domain.Error) {
	for b.children.crowded() {
		var ok bool
		b.seatless(true)
		permit, ok = b.mail.AwaitTurn(ctx, func() bool { return !b.children.crowded() }, func() bool { return b.halted }, func(on bool) {
			b.seatless(!on)
			b.holdForPause(on)
		})
		b.seatless(false)
		if !ok {
			return permit, domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not run: the execution was stopped while %d other sub-agents were under way", domain.MaxAtOnce)
		}
	}
	return permit, b.seat(i, call)
}

// seat reserves the share of a sub-agent that is to start, or says why there is none for it.
func (b *toolBatch) seat(i int, call domain.ToolCall) *domain.Error {
	tool, _ := b.config.resolved.Tool(call.Name)
	spawn, wrong := b.config.own.SpawnOf(tool, call)
	if wrong != nil {
		return nil // it is told as what the call came to
	}
	b.keep()
	left := b.bounds().Left()
	toStart := b.toSpawn()
	if left.MaxSteps != nil || left.MaxTokens != nil || left.MaxCostNanoUSD != nil { // some of it is kept for the agent's own answer
		left = left.Remaining(b.keptBack(left, toStart))
		free := left.Remaining(b.children.pool.Reserved())
		if use, none := free.Reached(domain.Spent{}, b.now()); none && !use.Rule.Unit.OfTime() {
			b.granted[i] = true // nor does it wait for a share any more
			return domain.CodedErrorf(domain.Denied, domain.CodeNotRun,
				"not run: too little is left of %s to share it with a sub-agent; do it without, or answer with what you have", use.Rule.Limit)
		}
		if free.MaxSteps != nil {
			toStart = min(toStart, int(min(*free.MaxSteps, domain.MaxRequestedCalls)))
		}
	}
	b.granted[i] = true
	id := b.content.ID.Tool(i)
	b.children.sit(contract.SubagentView{AgentID: id.Subagent(), Subagent: spawn.Subagent, ToolExecutionID: id, Since: b.now()}, left, toStart)
	return nil
}

// toSpawn counts the calls of the step that may still start a sub-agent.
func (b *toolBatch) toSpawn() (n int) {
	for i, call := range b.content.ToolExecutions {
		if tool, _ := b.config.resolved.Tool(call.Name()); tool.Spawns() && call.CompletedAt.IsZero() && !b.granted[i] {
			n++
		}
	}
	return n
}

// What is kept back for the results of sub-agents, each, and for what the agent says of them, in tokens.
const keptResult, keptAnswer = 4000, 4000

// keptBack is what sub-agents of the step get nothing of: the least that an inference takes of all that is said until now,
// and room for their results and an answer, but of the rest no more than the share of one of them, or a quarter where they
// are many. What was kept back for the first of them is for all.
func (b *toolBatch) keptBack(left domain.ExecutionBudget, toStart int) domain.Spent {
	if b.kept != nil {
		return *b.kept
	}
	input, all := b.talk.Input(b.config.resolved), int64(toStart)
	least := b.config.resolved.Takes(input, 0)
	room, most := b.config.resolved.Takes(domain.AddCost(input, all*keptResult), keptAnswer), left.Remaining(least).Share(domain.Spent{}, min(all+1, 4))
	kept := least
	if most.MaxTokens != nil {
		kept.Tokens += min(max(room.Tokens-least.Tokens, 0), *most.MaxTokens)
	}
	if most.MaxCostNanoUSD != nil {
		kept.CostNanoUSD += min(max(room.CostNanoUSD-least.CostNanoUSD, 0), *most.MaxCostNanoUSD)
	}
	b.kept = &kept
	return kept
}
