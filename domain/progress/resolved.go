package progress

import (
	"slices"
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
		a.Changes = contract.KeptChanges(a.Changes, contract.FirstChange(a.Execution.Number, at, a.word))
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
	now = now.Pinned(was, a.pins)
	if follows {
		change := contract.ChangeOf(was, now)
		change.Number, change.At, change.Word = a.Execution.Number, at, a.word
		a.Changes = contract.KeptChanges(a.Changes, change)
	}
	return a.inForce(now)
}

// inForce has what a worker made of the definition hold from now on: costs and limits follow from it. The pins of its tools
// join the session's, and no change of the definition is left without an answer of a worker.
func (a Agent) inForce(r contract.Resolved) Agent {
	a.resolved, a.pins, a.word = &r, contract.JoinedPins(a.pins, r.Tools), nil
	a.Price, a.Window, a.Limit, a.ToolLimits, a.Hooks = r.Price, r.ContextWindow, r.RateLimit, r.ToolLimits, r.Hooks
	return a
}

// redefined has another definition wait for the next execution.
func (a Agent) redefined(f Redefined, at time.Time) Agent {
	from := a.Definition
	if a.next != nil {
		from = a.next.Definition
	}
	word := contract.WordOf(f.Request, at, f.Reply.Fields)
	if a.next != nil {
		word = word.After(a.next.Word)
	}
	a.next = &contract.Redefinition{Definition: f.Request.Over(from), Word: word, Fields: contract.Joined(a.next, f.Request.Fields)}
	if f.Reply.Number <= a.Execution.Number { // the execution's first work was recorded before this answer
		return a.adopts().boundFromNow()
	}
	return a
}

// adopts begins an execution with the definition that has waited for it.
func (a Agent) adopts() Agent {
	if a.next == nil {
		return a
	}
	next := *a.next
	a.Definition, a.word, a.next = next.Definition, next.Word.AfterUntold(a.word), nil
	a = a.adoptsBudget(next)
	a.handed = a.handed.Redefined(next)
	if slices.Contains(next.Word.Fields, "model") {
		a.Model = next.Definition.Model.String()
	}
	return a
}

// NextDefinition is the word about a definition that waits for the next execution; nil: none does.
func (a Agent) NextDefinition() *contract.DefinitionWord {
	if a.next == nil {
		return nil
	}
	return &a.next.Word
}

// ChangeOf is how what is in force for an execution differs from what was before; nil: in nothing, or too long ago.
func (a Agent) ChangeOf(number int) *contract.DefinitionChange {
	for _, change := range a.Changes {
		if change.Number == number && change.Agent == "" {
			return &change
		}
	}
	return nil
}
