package contract

import (
	"time"

	"everstep/domain"
)

// A Parent says whose sub-agent an agent is, and what it may be and spend for that.
type Parent struct {
	AgentID domain.AgentID `json:"agent_id"`
	// ExecutionID, Step and Position name the call that started it.
	ExecutionID domain.ExecutionID `json:"execution_id"`
	Step        int                `json:"step"`
	Position    int                `json:"position"`
	// Subagent is its name with that agent.
	Subagent string `json:"subagent"`
	// Depth counts from the root, whose sub-agents are at 1, and MaxDepth is how deep any below it may be.
	Depth    int `json:"depth"`
	MaxDepth int `json:"max_depth"`
	// Grant is what it may use of that agent's budget. Only that agent extends it.
	Grant domain.ExecutionBudget `json:"grant,omitzero"`
	// StoreDown says that another sub-agent of that agent could not be put among the records just before.
	StoreDown bool `json:"store_down,omitzero"`
	Constraints
}

// Call is the id of the call that started the sub-agent.
func (p Parent) Call() domain.ToolExecutionID { return p.ExecutionID.Step(p.Step).Tool(p.Position) }

// Below says for how deep a sub-agent of this one would be, by its own policy too, and how deep any may be.
func (p *Parent) Below(own domain.SubagentPolicy) (depth, most int) {
	if p == nil {
		return 1, own.Depth()
	}
	if most = p.MaxDepth; own.MaxDepth != nil {
		most = min(most, *own.MaxDepth)
	}
	return p.Depth + 1, most
}

// Levels is how many levels of sub-agents may be below the one that starts with a definition.
func (p Parent) Levels(d domain.Definition) int {
	if len(d.Subagents) == 0 {
		return 0
	}
	return max(p.MaxDepth-p.Depth, 0)
}

// BudgetOf is the budget of an execution that begins: the smaller of each limit of the definition and of the request, and
// the default of max_steps where neither says anything of it. A sub-agent, whose request is its grant, has no default: it
// has its share of the steps of the agent that has started it, if that limits them.
func BudgetOf(d domain.Definition, request domain.ExecutionBudget, parent *Parent) domain.ExecutionBudget {
	budget := d.Budget.CappedBy(request)
	if parent != nil {
		return budget
	}
	return budget.WithDefaultSteps()
}

// A ChildReport is what a sub-agent that is under way tells the agent that started it: all of it holds until the next one.
type ChildReport struct {
	// ID is the call that started it. Seq is higher than those of its reports before, and each is taken once.
	ID  domain.ToolExecutionID `json:"id"`
	Seq int                    `json:"seq"`
	// Waits says that it waits for people and nothing else of it is under way.
	Waits bool `json:"waits,omitzero"`
	// Ask is what it wants more of before it would stop for that; nil: nothing. It waits for the Grant that answers it.
	Ask *domain.Ask `json:"ask,omitempty"`
}

// A Grant answers the report of its number, which has asked, and those of lower numbers.
type Grant struct {
	Seq int `json:"seq"`
	// Grant is what the sub-agent may use in all, as before where it gets no more.
	Grant domain.ExecutionBudget `json:"grant"`
}

// A Report is what a sub-agent tells the agent that started it as it ends, in its workflow's result alone.
type Report struct {
	// Answer is the current response, in part where it is long.
	Answer string `json:"answer,omitzero"`
	// SaidLast is its newest text of any step, in part where it is long; empty where Answer is not.
	SaidLast string        `json:"said_last,omitzero"`
	Error    *domain.Error `json:"error,omitempty"`
	// Spent is what it has spent, with its own sub-agents.
	Spent domain.Spent `json:"spent,omitzero"`
	// StoreDown says that it, or one below it, could not be put among the records.
	StoreDown bool `json:"store_down,omitzero"`
}

// A SubagentView is a sub-agent that is under way.
type SubagentView struct {
	AgentID         domain.AgentID         `json:"agent_id"`
	Subagent        string                 `json:"subagent"`
	ToolExecutionID domain.ToolExecutionID `json:"tool_execution_id"`
	Since           time.Time              `json:"since"`
	// Grant is what it may use of the budget.
	Grant domain.ExecutionBudget `json:"grant,omitzero"`
	// Waiting says that it waits for a person's word.
	Waiting bool `json:"waiting,omitzero"`
}

// A ChildResult is what the model reads of a sub-agent, as the result of the call that started it.
type ChildResult struct {
	Status     domain.ExecutionStatus `json:"status"`
	StopReason domain.StopReason      `json:"stop_reason,omitzero"`
	Error      string                 `json:"error,omitzero"`
	Answer     string                 `json:"answer"`
	// SaidLast is there where Answer is empty.
	SaidLast string `json:"said_last,omitzero"`
	// Effects are what the sub-agent and those below it have done, so that whoever reads it does not have it done again.
	// They are an empty list where it is known that there were none.
	domain.EffectCounts
}
