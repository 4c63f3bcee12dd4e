package workflows

import (
	"encoding/json"
	"time"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// accountPage answers the query for what is read of the agent: a page of what this run holds.
func (s *session) accountPage(request account.Request) (account.Page, error) {
	if err := request.Check(); err != nil {
		return account.Page{}, refusal(err)
	}
	held := s.executionsHeld()
	request = request.Of(s.held(held))
	w := account.Writer{Request: request, Page: account.Page{PageEnd: account.PageEnd{Held: s.held(held), Revision: s.revision()}}}
	err := s.writeExecutions(&w, held)
	if err == nil && s.writeSteps(&w, held) && s.writeEvents(&w, held) && s.writeMessages(&w, held) && s.writeCurrent(&w) {
		err = s.writeHead(&w)
	}
	return w.Page, refusal(err)
}

// executionsHeld are those that ended in this run, and the newest, the oldest first.
func (s *session) executionsHeld() []heldExecution {
	held := s.archive.ended
	if newest, ok := s.execution(0); ok {
		held = append(held[:len(held):len(held)], newest)
	}
	return held
}

// execution finds the agent's n-th execution; zero is the newest.
func (s *session) execution(n int) (heldExecution, bool) {
	if n == 0 || n == s.agent.state.ExecutionCount {
		return s.newest(), !s.agent.state.Execution.IsZero()
	}
	for _, e := range s.archive.ended {
		if e.state.ExecutionCount == n {
			return e, true
		}
	}
	return heldExecution{}, false
}

func (s *session) held(executions []heldExecution) account.Held {
	held := account.Held{Run: s.ownRun(), Executions: []account.HeldExecution{}, Messages: s.talk.Log().Base()}
	for _, e := range executions {
		held.Executions = append(held.Executions, account.HeldExecution{
			Number: e.state.ExecutionCount, ID: e.state.Execution.ID, Step: int(e.state.Execution.Folded.Steps) + 1, Event: e.firstEvent, Message: e.from,
			EndedBefore: e.state.Status().Terminal() && len(e.events) == 0,
		})
	}
	return held
}

func (s *session) writeExecutions(w *account.Writer, held []heldExecution) error {
	if !w.Wants(account.Executions) {
		return nil
	}
	for _, e := range held {
		one, err := s.executionOf(e, w.Wants(account.State))
		if err != nil {
			return err
		}
		at := account.Cursor{Part: account.Executions, Execution: one.Number}
		if !w.Add(at, one.Number, sizeOf(one), func(a *account.Account) { a.Executions = append(a.Executions, one) }) {
			return nil
		}
	}
	return nil
}

// executionOf tells of an execution without its steps.
func (s *session) executionOf(e heldExecution, withState bool) (account.Execution, error) {
	execution := e.state.Execution
	one := account.Execution{
		Outcome: describe(s.in.AgentID, e.state, e.priced), StartedAt: execution.StartedAt, Prior: execution.Prior,
		Signals: append([]domain.StopSignal{}, e.state.StopSignals()...), MoreSignals: execution.Continuation.More,
		MessagesFrom: e.from, MessagesTo: e.log.Length, EditsBefore: e.before, Agent: e.agent, RunID: s.info.WorkflowExecution.RunID,
	}
	one.Unread, one.Origin = e.unread(), execution.Origin
	if !e.state.Status().Terminal() {
		return one, nil
	}
	one.CompletedAt = execution.CompletedAt
	one.Ended = new(endOf(e.state))
	if !withState {
		return one, nil
	}
	one.Constraints, one.Budget = new(s.config.Constraints), s.upcomingDefinition().Budget
	var err error
	one.State, err = json.Marshal(e.state.WithStepsFolded(0))
	return one, err
}

func (s *session) writeSteps(w *account.Writer, held []heldExecution) bool {
	for _, e := range held {
		number := e.state.ExecutionCount
		for _, step := range e.state.StepExecutions() {
			at := account.Cursor{Part: account.Steps, Execution: number, Item: step.Step.Number}
			trimmed := func() domain.StepExecution {
				step.Step = step.Step.Trimmed(domain.MaxPage)
				return step
			}
			full := !w.Add(at, number, func() int { return trimmed().Size() }, func(a *account.Account) {
				a.Steps = append(a.Steps, account.Step{Execution: number, StepExecution: trimmed()})
			})
			if full {
				return false
			}
		}
	}
	return true
}

// writeCurrent puts the step in progress on the page.
func (s *session) writeCurrent(w *account.Writer) bool {
	current, ok := s.agent.state.CurrentStep()
	if !ok {
		return true
	}
	number := s.agent.state.ExecutionCount
	step := domain.StepExecution{Step: current}
	step.StartedAt, _ = s.agent.state.CurrentStepStartedAt()
	return w.Add(account.Cursor{Part: account.Current}, number, step.Size, func(a *account.Account) {
		step.Step = step.Step.Trimmed(domain.MaxPage)
		a.Current = &account.Step{Execution: number, StepExecution: step}
	})
}

func (s *session) writeEvents(w *account.Writer, held []heldExecution) bool {
	if !w.Wants(account.Events) {
		return true
	}
	for _, e := range held {
		number := e.state.ExecutionCount
		for _, event := range e.events {
			at := account.Cursor{Part: account.Events, Execution: number, Item: int(event.Sequence)}
			if !w.Add(at, number, event.Size, func(a *account.Account) { a.Events = append(a.Events, event) }) {
				return false
			}
		}
	}
	return true
}

// writeMessages puts the messages that this run holds on the page, and reports false where that is full. A message counts to
// the execution that was in progress when it came; to none, number 0, where the run does not hold that execution.
func (s *session) writeMessages(w *account.Writer, held []heldExecution) bool {
	next := 0
	for _, entry := range s.talk.Log().From(s.talk.Log().Base()) {
		for next < len(held) && held[next].log.Length <= entry.Index {
			next++
		}
		number := 0
		if next < len(held) && held[next].from <= entry.Index {
			number = held[next].state.ExecutionCount
		}
		at := account.Cursor{Part: account.Messages, Item: entry.Index}
		told := domain.Entry{Index: entry.Index, Section: entry.Section, Message: entry.Message, Digest: entry.Digest} // without what the log has made of it
		if !w.Add(at, number, entry.Size, func(a *account.Account) { a.Messages = append(a.Messages, told) }) {
			return false
		}
	}
	return true
}

func (s *session) writeHead(w *account.Writer) error {
	if !w.Wants(account.HeadOf) {
		return nil
	}
	head, err := s.accountHead(w.Request)
	if err != nil {
		return err
	}
	w.Add(account.Cursor{Part: account.HeadOf}, w.Execution, sizeOf(head), func(a *account.Account) { a.Head = &head })
	return nil
}

// sizeOf measures what was made here, and so can be encoded.
func sizeOf(value any) func() int {
	return func() int {
		encoded, _ := json.Marshal(value)
		return len(encoded)
	}
}

func (s *session) ownRun() account.Run {
	own := s.info.WorkflowExecution
	return account.Run{WorkflowID: own.ID, ID: own.RunID, First: s.info.FirstRunID, Previous: s.info.ContinuedExecutionRunID, Number: s.run.number}
}

// revision is of all that changes what is listed already: what the model is not shown, where the agent stands, and what
// people have said of calls.
func (s *session) revision() domain.Digest {
	encoded, _ := json.Marshal([]any{s.talk.Edits(), s.agent.rewindTarget(), s.agent.state.ResolvedOutcomes(), s.agent.state.UnresolvedOutcomes()})
	return domain.DigestOfTexts(string(encoded))
}

// accountHead is what is known of the agent as a whole.
func (s *session) accountHead(request account.Request) (account.Head, error) {
	head := account.Head{
		AgentID: s.in.AgentID, Name: s.in.Name, Run: s.ownRun(),
		Doing: s.agent.log.doing, Since: s.agent.log.since, Lacking: s.agent.log.lacking, InferenceFailure: s.agent.log.failure, Open: s.in.Name != "" && !s.mail.Closed(), Begun: s.mail.Posted(), Suspended: s.mail.Suspended(),
		Position: account.Position{
			Length: s.talk.Len(), Edits: s.talk.Edits(), From: s.agent.rewindTarget(), Moved: s.records.moved, Base: s.talk.Log().Base(), Segments: s.run.inheritedSegments,
		},
		Waits: s.shownWaits(), AlwaysAllowed: append([]domain.StandingApproval{}, s.agent.state.StandingApprovals...),
		Unread: s.waitingMessages(), Configuration: s.configuration(request.Wants(account.Definition)), Ledger: s.ledgerView(),
		Children: append([]contract.SubagentView{}, s.children.all...), MCPSessions: append([]contract.Bound{}, s.bindings.open()...),
		Unstored: s.run.outage.why, Unrecorded: s.records.missing(), Trusted: s.agent.state.Trusted(), Todo: s.agent.state.Metadata.Todo(),
	}
	var since time.Time
	if since, head.Paused = s.mail.Paused(); !since.IsZero() {
		head.Doing, head.Since = "paused", since
	}
	if p := s.in.Parent; p != nil {
		head.Parent = &account.Parent{AgentID: p.AgentID, Subagent: p.Subagent}
	}
	if s.config.Resolved != nil {
		head.Withheld = contract.Rewriter(s.config.Resolved.Hooks)
		head.Window, head.Context = s.talk.Window(s.config.Resolved), s.talk.Input(s.config.Resolved)
	}
	var err error
	if newest, ok := s.execution(0); ok {
		one, failed := s.executionOf(newest, false)
		head.Newest, err = &one, failed
	}
	if err == nil && request.Wants(account.State) {
		head.State, err = json.Marshal(s.agent.state.WithStepsFolded(0))
	}
	if err == nil && request.Wants(account.Carry) && !s.agent.state.HasActiveExecution() && s.in.Name == "" {
		head.Carry, err = s.leftBehind()
	}
	return head, err
}

// leftBehind is the carry with which a client starts the workflow that goes on from this one. Messages come by page, and what is
// said of this workflow is true of no other.
func (s *session) leftBehind() (*contract.Carry, error) {
	carry, err := s.carryWithin(domain.MaxCarriedState)
	carry.Conversation.Entries, carry.Mail.Answers, carry.Runs = nil, nil, 0
	carry.Mail.Waiting, carry.Mail.Waited = nil, 0
	carry.Prior = s.agent.Spent()
	return &carry, err
}

func (s *session) configuration(whole bool) account.Configuration {
	c := account.Configuration{Model: s.agent.state.LLMConfig.String(), Agent: s.config.Agent, Changes: append([]contract.Change{}, s.config.Changes...)}
	if s.config.Next != nil {
		c.Next = new(s.upcomingChange(*s.config.Next))
	}
	if s.config.Resolved != nil {
		c.RateLimit, c.ToolLimits = s.config.Resolved.RateLimit, s.config.Resolved.ToolLimits
	}
	if whole {
		c.Definition, c.Resolved, c.Constraints = new(s.upcomingDefinition()), s.config.Resolved, new(s.config.Constraints)
	}
	return c
}

// ledgerView tells readers of the account what may be spent and what was; nothing is decided by it. The execution is the newest,
// be it ended, or before any the first as it is going to be.
func (s *session) ledgerView() account.Ledger {
	ledger := account.LedgerOf(s.agent.state, s.agent.now())
	if ledger.Execution == nil {
		limit := contract.BudgetOf(s.config.Definition, s.in.Budget, s.in.Parent)
		ledger.Execution = &account.Holder{Limit: limit, Left: limit}
	}
	return ledger
}
