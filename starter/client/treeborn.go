package client

import (
	"encoding/json"
	"slices"
	"time"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/domain/progress"
)

// A born is a sub-agent as the agent that started it knows it.
type born struct {
	id             domain.AgentID
	subagent       string
	step, position int
	call           domain.ToolExecutionID
	since          time.Time
	// grant is what it was granted last, and more how often it got more.
	grant *domain.ExecutionBudget
	more  int
	// grants are what it began with, and each answer to what it asked for.
	grants []TreeGrant
	// ended is nil while it is under way.
	ended *progress.ChildEnded
	at    time.Time
	// wrote is what the call came to, where only a record tells of it.
	wrote *domain.ToolExecution
	// unsure says that the call may have been of another tool.
	unsure bool
}

// A TreeGrant says what a sub-agent might use in all of the budget of the agent that started it, from a time on: with what
// it began, or what it got when it asked for more.
type TreeGrant struct {
	At    time.Time              `json:"at"`
	Grant domain.ExecutionBudget `json:"grant"`
	// Asked is what it asked for; nil: nothing, or nothing tells it. Refused says that it got nothing of that.
	Asked   *domain.MoreAsked `json:"asked,omitempty"`
	Refused bool              `json:"refused,omitzero"`
}

// breeds notes sub-agents that begin and end.
func (e *explanation) breeds(fact progress.Fact, at time.Time) {
	switch f := fact.(type) {
	case progress.Asked:
		if f.Child != nil {
			e.children = append(e.children, born{
				id: f.ChildID, subagent: f.Child.Subagent, step: f.Child.Step, position: f.Child.Position, call: f.Child.Call(), since: f.Since,
				grant: &f.Child.Grant, grants: []TreeGrant{{At: f.Since, Grant: f.Child.Grant}},
			})
		}
	case progress.ChildGranted:
		for i, b := range e.children {
			if b.id == f.Child && b.ended == nil {
				more := b.grant != nil && !f.Grant.Within(*b.grant)
				if e.children[i].grant = &f.Grant; more {
					e.children[i].more++
				}
				e.children[i].grants = append(slices.Clip(b.grants), TreeGrant{At: at, Grant: f.Grant, Asked: f.Asked, Refused: !more})
			}
		}
	case progress.ChildEnded:
		i := slices.IndexFunc(e.children, func(b born) bool { return b.id == f.ChildID && b.ended == nil })
		if i >= 0 {
			e.children[i].ended, e.children[i].at = &f, at
		}
	}
}

// bornOf are the sub-agents of a record's steps, of which no history tells. That a call of a tool of another name was one is told by its
// result alone, which any tool may have: it counts where there is an agent of that id.
func bornOf(r record.Record) (all []born) {
	for _, s := range r.Steps {
		for i, call := range s.Step.ToolExecutions {
			var result progress.ChildResult
			spawn := domain.Spawn{Subagent: call.Name()}
			unsure := call.Name() != domain.SpawnSubagent
			if err := json.Unmarshal([]byte(call.Value), &result); call.StartedAt.IsZero() || call.NotStarted || unsure && (err != nil || !result.Status.Terminal()) {
				continue
			}
			_ = json.Unmarshal([]byte(call.Args()), &spawn) // it was read when the call was made
			id := r.ExecutionID.Step(s.Step.Number).Tool(i) // whatever the record says
			all = append(all, born{
				id: id.Subagent(), subagent: spawn.Subagent, step: s.Step.Number, position: i, call: id, since: call.StartedAt, at: call.CompletedAt,
				wrote: &call, unsure: unsure,
			})
		}
	}
	return all
}

// grantsOf are those that a sub-agent's own history tells; none where it has asked for no more than it began with.
func grantsOf(x progress.Execution) (grants []TreeGrant) {
	for i, a := range x.Answers {
		if i == 0 {
			grants = append(grants, TreeGrant{At: x.StartedAt, Grant: a.Before})
		}
		grants = append(grants, TreeGrant{At: a.At, Grant: a.Grant, Asked: &a.Asked, Refused: a.Refused})
	}
	return grants
}
