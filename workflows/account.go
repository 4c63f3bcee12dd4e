package workflows

import (
	"encoding/json"
	"slices"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/workflows/internal/mailbox"
)

// A reader tells what is read of the agent.
type reader struct {
	session      *session
	agent        *agent
	config       *configuration
	mail         *mailbox.Mailbox
	conversation *transcript
	// executions are those that the run holds, the oldest first.
	executions []heldExecution
	page       account.Writer
}

// accountPage answers the query for what is read of the agent: a page of what this run holds, filled in the order of its parts,
// as far as they fit. A page that is full takes nothing more.
func (s *session) accountPage(request account.Request) (account.Page, error) {
	if err := request.Check(); err != nil {
		return account.Page{}, refusal(err)
	}
	r := &reader{session: s, agent: s.agent, config: s.config, mail: s.mail, conversation: s.conversation, executions: s.executionsHeld()}
	return r.read(request), nil
}

func (r *reader) read(request account.Request) account.Page {
	held := r.held()
	r.page = account.Writer{Request: request.Of(held), Page: account.Page{PageEnd: account.PageEnd{Held: held, Revision: r.revision()}}}
	r.writeExecutions()
	r.writeSteps()
	r.writeEvents()
	r.writeMessages()
	r.writeCurrent()
	if r.page.Wants(account.HeadOf) && r.page.Page.Next == nil {
		head := r.accountHead()
		r.page.Add(account.Cursor{Part: account.HeadOf}, r.page.Execution, sizeOf(head), func(a *account.Account) { a.Head = &head })
	}
	return r.page.Page
}

// executionsHeld are those that ended in this run, and the newest, the oldest first.
func (s *session) executionsHeld() []heldExecution {
	held := slices.Clip(s.archive.ended)
	if !s.agent.state.Execution.IsZero() {
		held = append(held, s.newest())
	}
	return held
}

func (r *reader) held() account.Held {
	held := account.Held{Run: r.session.run.ownRun(), Executions: []account.HeldExecution{}, Messages: r.conversation.Log().Base()}
	for _, e := range r.executions {
		held.Executions = append(held.Executions, account.HeldExecution{
			Number: e.state.ExecutionCount, ID: e.state.Execution.ID, Step: int(e.state.Execution.Folded.Steps) + 1, Event: e.firstEvent, Message: e.from,
			EndedBefore: e.state.Status().Terminal() && len(e.events) == 0,
		})
	}
	return held
}

func (r *reader) writeExecutions() {
	if !r.page.Wants(account.Executions) {
		return
	}
	for _, e := range r.executions {
		one := r.executionOf(e, r.page.Wants(account.State))
		at := account.Cursor{Part: account.Executions, Execution: one.Number}
		if !r.page.Add(at, one.Number, sizeOf(one), func(a *account.Account) { a.Executions = append(a.Executions, one) }) {
			return
		}
	}
}

// executionOf tells of an execution without its steps.
func (r *reader) executionOf(e heldExecution, withState bool) account.Execution {
	execution := e.state.Execution
	one := account.Execution{
		Outcome: describe(e.state, e.priced), StartedAt: execution.StartedAt, Prior: execution.Prior,
		Signals: append([]domain.StopSignal{}, e.state.StopSignals()...), MoreSignals: execution.Continuation.More,
		MessagesFrom: e.from, MessagesTo: e.log.Length, EditsBefore: e.before, Agent: e.agent, RunID: r.session.info.WorkflowExecution.RunID,
	}
	if one.Origin = execution.Origin; e.outcome != nil {
		one.Unread = e.outcome.Unread
	}
	if !e.state.Status().Terminal() {
		return one
	}
	one.CompletedAt = execution.CompletedAt
	one.Ended = new(endOf(e.state))
	if withState {
		one.Constraints, one.Budget = new(r.config.Constraints), r.config.upcomingDefinition().Budget
		one.State = must(json.Marshal(e.state.WithStepsFolded(0)))
	}
	return one
}

func (r *reader) writeSteps() {
	if !r.page.Wants(account.Steps) {
		return
	}
	for _, e := range r.executions {
		number := e.state.ExecutionCount
		for _, held := range e.state.Execution.Steps {
			step := *held
			at := account.Cursor{Part: account.Steps, Execution: number, Item: step.Step.Number}
			trimmed := func() domain.StepExecution {
				step.Step = step.Step.Trimmed(domain.MaxPage)
				return step
			}
			full := !r.page.Add(at, number, func() int { return trimmed().Size() }, func(a *account.Account) {
				a.Steps = append(a.Steps, account.Step{Execution: number, StepExecution: trimmed()})
			})
			if full {
				return
			}
		}
	}
}

// writeCurrent puts the step in progress on the page.
func (r *reader) writeCurrent() {
	current, ok := r.agent.state.CurrentStep()
	if !ok {
		return
	}
	number := r.agent.state.ExecutionCount
	step := domain.StepExecution{Step: current}
	step.StartedAt, _ = r.agent.state.CurrentStepStartedAt()
	r.page.Add(account.Cursor{Part: account.Current}, number, step.Size, func(a *account.Account) {
		step.Step = step.Step.Trimmed(domain.MaxPage)
		a.Current = &account.Step{Execution: number, StepExecution: step}
	})
}

func (r *reader) writeEvents() {
	if !r.page.Wants(account.Events) {
		return
	}
	for _, e := range r.executions {
		number := e.state.ExecutionCount
		for _, event := range e.events {
			at := account.Cursor{Part: account.Events, Execution: number, Item: int(event.Sequence)}
			if !r.page.Add(at, number, event.Size, func(a *account.Account) { a.Events = append(a.Events, event) }) {
				return
			}
		}
	}
}

// writeMessages puts the messages that this run holds on the page. A message counts to the execution that was in progress when
// it came; to none, number 0, where the run does not hold that execution.
func (r *reader) writeMessages() {
	next := 0
	for _, entry := range r.conversation.Log().From(r.conversation.Log().Base()) {
		for next < len(r.executions) && r.executions[next].log.Length <= entry.Index {
			next++
		}
		number := 0
		if next < len(r.executions) && r.executions[next].from <= entry.Index {
			number = r.executions[next].state.ExecutionCount
		}
		at := account.Cursor{Part: account.Messages, Item: entry.Index}
		told := domain.Entry{Index: entry.Index, Section: entry.Section, Message: entry.Message, Digest: entry.Digest} // without what the log has made of it
		if !r.page.Add(at, number, entry.Size, func(a *account.Account) { a.Messages = append(a.Messages, told) }) {
			return
		}
	}
}

// sizeOf measures what was made here, and so can be encoded.
func sizeOf(value any) func() int {
	return func() int { return len(must(json.Marshal(value))) }
}

func (r *run) ownRun() account.Run {
	own := r.info.WorkflowExecution
	return account.Run{WorkflowID: own.ID, ID: own.RunID, First: r.info.FirstRunID, Previous: r.info.ContinuedExecutionRunID, Number: r.number}
}

// revision is of all that changes what is listed already: what the model is not shown, where the agent stands, and what
// people have said of calls.
func (r *reader) revision() domain.Digest {
	encoded, _ := json.Marshal([]any{r.conversation.Edits(), r.agent.rewindTarget(), r.agent.state.ResolvedOutcomes(), r.agent.state.UnresolvedOutcomes()})
	return domain.DigestOfTexts(string(encoded))
}

// accountHead is what is known of the agent as a whole.
func (r *reader) accountHead() account.Head {
	state := r.agent.state
	head := account.Head{
		AgentID: r.session.in.AgentID, Name: r.session.in.Name, Run: r.session.run.ownRun(),
		Doing: r.agent.doing, Since: r.agent.since, Lacking: r.agent.lacking, InferenceFailure: r.agent.failure, Open: r.session.in.Name != "" && !r.mail.Closed(), Begun: r.mail.Posted(), Settings: r.mail.Settings,
		Position: account.Position{
			Length: r.conversation.Len(), Edits: r.conversation.Edits(), From: r.agent.rewindTarget(), Moved: r.session.records.Moved, Base: r.conversation.Log().Base(), Segments: r.session.run.inheritedSegments,
		},
		Waits: r.session.openWaits.shown(), AlwaysAllowed: append([]domain.StandingApproval{}, state.StandingApprovals...),
		Unread: []contract.WaitingView{}, Configuration: r.configuration(), Ledger: account.LedgerOf(state, r.agent.now()),
		Children: append([]contract.SubagentView{}, r.session.budget.children...), MCPSessions: append([]contract.Bound{}, r.session.bindings.open()...),
		Unstored: r.session.run.outage.why, Unrecorded: r.session.records.missing(), Trusted: state.Trusted(), Todo: state.Metadata.Todo(),
	}
	if since := r.mail.PausedSince(); !since.IsZero() {
		head.Doing, head.Since = "paused", since
	}
	if p := r.session.in.Parent; p != nil {
		head.Parent = &account.Parent{AgentID: p.AgentID, Subagent: p.Subagent}
	}
	if r.config.Resolved != nil {
		head.Withheld = contract.Rewriter(r.config.Resolved.Hooks)
		head.Window, head.Context = r.conversation.Window(r.config.Resolved), r.conversation.input()
	}
	for _, w := range r.mail.Waiting() {
		head.Unread = append(head.Unread, w.View())
	}
	if head.Ledger.Execution == nil { // the first, as it is going to be
		limit := contract.BudgetOf(r.config.Definition, r.session.in.Budget, r.session.in.Parent)
		head.Ledger.Execution = &account.Holder{Limit: limit, Left: limit}
	}
	if n := len(r.executions); n > 0 {
		head.Newest = new(r.executionOf(r.executions[n-1], false))
	}
	if r.page.Wants(account.State) {
		head.State = must(json.Marshal(state.WithStepsFolded(0)))
	}
	if r.page.Wants(account.Carry) && !state.HasActiveExecution() && r.session.in.Name == "" {
		head.Carry = r.leftBehind()
	}
	return head
}

// leftBehind is the carry with which a client starts the workflow that goes on from this one. Messages come by page, and what is
// said of this workflow is true of no other.
func (r *reader) leftBehind() *contract.Carry {
	carry := r.session.run.carryWithin(domain.MaxCarriedState)
	carry.Conversation.Entries, carry.Mail.Answers, carry.Runs = nil, nil, 0
	carry.Mail.Waiting, carry.Mail.Waited = nil, 0
	carry.Prior = r.agent.Spent()
	return &carry
}

func (r *reader) configuration() account.Configuration {
	c := account.Configuration{Model: r.agent.state.LLMConfig.String(), Agent: r.config.Agent, Changes: append([]contract.Change{}, r.config.Changes...)}
	if r.config.Next != nil {
		c.Next = new(r.config.upcomingChange(*r.config.Next))
	}
	if r.config.Resolved != nil {
		c.RateLimit, c.ToolLimits = r.config.Resolved.RateLimit, r.config.Resolved.ToolLimits
	}
	if r.page.Wants(account.Definition) {
		c.Definition, c.Resolved, c.Constraints = new(r.config.upcomingDefinition()), r.config.Resolved, new(r.config.Constraints)
	}
	return c
}
