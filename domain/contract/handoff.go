package contract

import (
	"reflect"
	"slices"

	"everstep/domain"
)

// Handed is what a session whose conversation was handed over keeps of that.
type Handed struct {
	// Agent is who has it now, by the name that the one before has for it.
	Agent string `json:"agent,omitzero"`
	// Times counts how often it was handed over in the newest execution.
	Times int `json:"times,omitzero"`
	// Approvals are those of all agents that have had it. The strictest holds, beside its own.
	Approvals []domain.Approvals `json:"approvals,omitempty"`
}

// To is what is kept once an agent with this in force has handed the conversation over.
func (h Handed) To(agent string, before Resolved, own domain.Definition) Handed {
	h.Agent, h.Times = agent, h.Times+1
	if rules := before.ApprovalsOf(own); !slices.ContainsFunc(h.Approvals, func(a domain.Approvals) bool { return reflect.DeepEqual(a, *rules) }) {
		h.Approvals = append(slices.Clip(h.Approvals), *rules)
	}
	return h
}

// IsZero reports whether nothing is kept.
func (h Handed) IsZero() bool {
	return h.Agent == "" && h.Times+len(h.Approvals) == 0
}

// Redefined is what is kept once a person has given the session another definition: where that is all of one, no agent
// that another has named has it any more, and its approvals, once given, are the person's word.
func (h Handed) Redefined(by Redefinition) Handed {
	if len(by.Fields) == 0 {
		h.Agent = ""
	}
	if len(by.Fields) == 0 || slices.Contains(by.Fields, "approvals") {
		h.Approvals = nil
	}
	return h
}

// Unpriced reports whether a budget limits money and nobody knows what the model costs.
func (r Resolved) Unpriced(budget domain.ExecutionBudget) bool {
	return budget.MaxCostNanoUSD != nil && *budget.MaxCostNanoUSD > 0 && r.Price == nil
}

// HandoverOf is the change that a hand-off to an agent is: from the step after that of its call on.
func HandoverOf(agent string, step int, before, after Resolved) DefinitionChange {
	change := ChangeOf(before, after)
	change.Agent, change.Step = agent, step+1
	return change
}
