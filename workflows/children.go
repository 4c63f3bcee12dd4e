package workflows

import (
	"encoding/json"
	"errors"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// spawns reports whether the call starts a sub-agent.
func (c *call) spawns() bool {
	return c.tool().Spawns() && len(c.batch.config.Definition.Subagents) > 0
}

// spawn is the sub-agent that the call starts, or why it starts none.
func (c *call) spawn() (domain.Spawn, *domain.Error) {
	return c.batch.config.Definition.SpawnOf(c.tool(), c.made)
}

// refusedSpawn is why the call starts no sub-agent; nil for others.
func (c *call) refusedSpawn() *domain.Error {
	own := c.batch.config.Definition
	switch depth, most := c.batch.session.in.Parent.Below(own.SubagentPolicy); {
	case c.spawns():
		_, why := c.spawn()
		return why
	case !own.Starts(c.made.Name):
		return nil
	case depth > most:
		return notRun("sub-agents may be %d deep, and this one's would be at %d; do it without", most, depth)
	}
	return nil // it is denied, and no tool
}

// awaitSeat waits until one more sub-agent may run, and reserves its share. What it returns is why the sub-agent may not start.
func (c *call) awaitSeat(ctx workflow.Context) *domain.Error {
	budget := c.batch.session.budget
	for budget.crowded() {
		if !c.awaitTurn(ctx, forOthers, func() bool { return !budget.crowded() }) {
			return notRun("the execution was stopped while %d other sub-agents were under way", domain.MaxAtOnce)
		}
	}
	return c.takeSeat()
}

// takeSeat reserves the share of a sub-agent that is to start, or says why there is none for it.
func (c *call) takeSeat() *domain.Error {
	spawn, wrong := c.spawn()
	if wrong != nil {
		return nil // it is told as what the call came to
	}
	c.step.keep()
	toStart := int64(c.batch.toSpawn())
	c.granted = true // whatever it gets, it waits for a share no more
	return c.batch.session.budget.seat(c.id, spawn.Subagent, toStart)
}

// toSpawn counts the calls of the step that may still start a sub-agent.
func (b *toolBatch) toSpawn() int {
	return b.count(func(c *call) bool { return c.tool().Spawns() && c.execution().CompletedAt.IsZero() && !c.granted })
}

// tend has the call's sub-agent work, and says how it ended.
func (c *call) tend(ctx workflow.Context) endedChild {
	b, budget := c.batch, c.batch.session.budget
	spawn, wrong := c.spawn()
	if wrong != nil { // a person has edited it
		return endedChild{why: wrong, unstarted: true}
	}
	in := c.childInput(spawn)
	encoded, _ := json.Marshal(in) // what cannot be encoded is refused below
	b.load.Add(ctx, len(encoded)+1024)
	in.Budget = budget.child(c.id).Grant
	in.Parent.Grant = in.Budget
	b.agent.emit(domain.EventSubagentSpawning, domain.SubagentSpawning{
		Subagent: spawn.Subagent, ChildID: in.AgentID, ToolExecutionID: c.id, Grant: in.Parent.Grant,
	})
	out, err := b.mail.RunSubagent(ctx, c.admission, b.childOptions(in), in, &granter{c})
	ended := endedChild{grant: budget.child(c.id).Grant}
	done := domain.SubagentCompleted{Subagent: spawn.Subagent, ChildID: in.AgentID, Status: domain.StatusFailed, StopReason: domain.ErrorForbade}
	if err == nil {
		ended.outcome, done.Status, done.StopReason, done.Kind, done.Code = out, out.Status, out.StopReason, out.Kind, out.Code
		done.Steps = out.Steps
		budget.noteReport(out.Report)
	} else {
		ended.why, ended.unstarted = childLoss(err)
		done.Kind, done.Code, done.Lost, done.Unstarted = ended.why.Kind, ended.why.Code, true, ended.unstarted
	}
	usage, spent := ended.usage()
	if done.Usage, done.CostNanoUSD = usage, spent.CostNanoUSD; err == nil {
		done.Beyond = ended.grant.Beyond(spent)
	}
	b.agent.emit(domain.EventSubagentCompleted, done)
	return ended
}

// childInput is what the sub-agent of the call starts with, its grant aside.
func (c *call) childInput(spawn domain.Spawn) *contract.SessionInput {
	b, above := c.batch, c.batch.session.in
	own := b.config.Definition
	own.Model = b.agent.state.LLMConfig
	definition, _ := own.Subagent(spawn.Subagent)
	depth, most := above.Parent.Below(own.SubagentPolicy)
	parent := &contract.Parent{
		AgentID: above.AgentID, ExecutionID: b.step.execution, Step: b.step.content.Number, Position: c.position,
		Subagent: spawn.Subagent, Depth: depth, MaxDepth: most, StoreDown: b.session.budget.storeDown,
	}
	parent.Constraints = b.config.Constraints.Below(own.SubagentPolicy, b.config.Resolved.ApprovalsOf(own))
	given, _ := domain.NewStartOptions(nil, nil, b.agent.state.Trusted()) // as they were given to this one
	return &contract.SessionInput{
		AgentID: c.id.Subagent(), Definition: definition, Prompt: spawn.Prompt, Options: given,
		Timing: b.session.policy.timing(), By: above.By, Attributes: above.Attributes, Parent: parent,
	}
}

// childOptions are those of the workflow of a sub-agent, which never outlives this one.
func (b *toolBatch) childOptions(in *contract.SessionInput) workflow.ChildWorkflowOptions {
	var attributes []temporal.SearchAttributeUpdate
	trusted := temporal.NewSearchAttributeKeyKeywordList(contract.AttributeTrusted)
	if values, ok := workflow.GetTypedSearchAttributes(b.session.root).GetKeywordList(trusted); ok {
		attributes = append(attributes, trusted.ValueSet(values))
	}
	return agentOptions(b.session.root, in, enumspb.PARENT_CLOSE_POLICY_TERMINATE, "sub-agent "+in.Parent.Subagent, attributes...)
}

// agentOptions are those of an agent's workflow that another one starts.
func agentOptions(
	ctx workflow.Context, in *contract.SessionInput, closes enumspb.ParentClosePolicy, summary string, attributes ...temporal.SearchAttributeUpdate,
) workflow.ChildWorkflowOptions {
	if slices.Contains(in.Attributes, contract.AttributeAgentStatus) {
		attributes = append(attributes, temporal.NewSearchAttributeKeyKeyword(contract.AttributeAgentStatus).ValueSet(string(domain.StatusInProgress)))
	}
	return workflow.ChildWorkflowOptions{
		WorkflowID: in.WorkflowID(), WorkflowTaskTimeout: workflow.GetInfo(ctx).WorkflowTaskTimeout, ParentClosePolicy: closes,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		TypedSearchAttributes: temporal.NewSearchAttributes(attributes...), StaticSummary: domain.Shorten(summary, maxSummary),
	}
}

// childLoss is why the workflow of a sub-agent has no outcome, and whether it never began.
func childLoss(err error) (why *domain.Error, unstarted bool) {
	if own, ok := errors.AsType[*domain.Error](err); ok {
		return own, own.Code != domain.CodeInterrupted
	}
	if _, ok := errors.AsType[*temporal.ChildWorkflowExecutionAlreadyStartedError](err); ok {
		return domain.CodedErrorf(domain.Internal, domain.CodeNotRun, "not run: a workflow of the sub-agent's id is running already"), true
	}
	lost := *lostWorkflow("sub-agent", err)
	lost.Message += "; all that it was granted counts as spent"
	return lost.From(domain.SourceSubagent), false
}

// lostWorkflow is why the workflow of an agent, or of a sub-agent, has no outcome, by how it ended and what that told.
func lostWorkflow(whose string, err error) *domain.Error {
	lost := func(code domain.Code, how string) *domain.Error {
		return domain.CodedErrorf(domain.Unavailable, code, "the %s's workflow %s", whose, how)
	}
	switch told := lossOf(err).Reported; {
	case temporal.IsTerminatedError(err):
		return lost(domain.CodeTerminated, "was terminated from outside")
	case temporal.IsTimeoutError(err):
		return lost(domain.CodeTimedOut, "ran out of the server's time")
	case temporal.IsCanceledError(err):
		return lost(domain.CodeInterrupted, "was cancelled")
	case told != nil:
		return domain.CodedErrorf(told.Kind, told.Code, "the %s failed: %s", whose, told.Message)
	}
	return domain.Errorf(domain.Internal, "the %s's workflow failed", whose)
}
