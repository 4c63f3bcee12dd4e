package workflows

import (
	"cmp"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/conversation"
	"everstep/workflows/internal/mailbox"
)

// A session is one run of an agent's workflow: a few parts, of which each alone
// writes what it holds. All of it follows from the run's input and history. Nothing
// puts another part in one's place.
type session struct {
	in   *contract.SessionInput
	info *workflow.Info
	// root outlives a cancellation of the workflow, which is taken as a stop.
	root         workflow.Context
	agent        *agent
	config       *configuration
	mail         *mailbox.Mailbox
	conversation *transcript
	policy       *policy
	budget       *budget
	guards       *guards
	run          *run
	archive      *archive
	// openWaits are the calls of the step in progress that wait for people.
	openWaits *openWaits
	bindings  *bindings
	records   *records
	hooks     *hooks
}

// newSession makes a new session, or takes over what an earlier run handed on.
func newSession(ctx workflow.Context, in *contract.SessionInput, options Options) (*session, error) {
	if err := checkAgent(ctx, in); err != nil {
		return nil, err
	}
	carry := *cmp.Or(in.Carry, &contract.Carry{})
	root, _ := workflow.NewDisconnectedContext(ctx)
	agent := &agent{root: root, listen: options.Emit}
	agent.note("starting")
	config := newConfiguration(in, agent)
	conversation := &transcript{Conversation: conversation.New(config.Definition.Compiler), config: config}
	source := &source{}
	root = workflow.WithValue(root, sourceKey{}, source)
	mail, info := mailbox.New(root, agent, carry.Mail), workflow.GetInfo(root)
	run := &run{
		agent: agent, config: config, mail: mail, conversation: conversation, info: info,
		segments: carry.Segments, inheritedSegments: carry.Segments, stored: carry.Conversation.Base, copying: carry.Copy, number: carry.Runs + 1,
	}
	policy := &policy{config, agent, in.Timing}
	budget := &budget{in: in, root: root, agent: agent, config: config, mail: mail, conversation: conversation}
	records := &records{root: root, in: in, agent: agent, config: config, mail: mail, run: run, policy: policy, budget: budget, CarriedRecords: carry.Records}
	s := &session{
		in: in, info: info, root: root, agent: agent, config: config, mail: mail, conversation: conversation,
		policy: policy, budget: budget, guards: &guards{carry.Guarded},
		run: run, archive: &archive{outcome: carry.Outcome}, openWaits: &openWaits{root: root, agent: agent},
		bindings: newBindings(agent, conversation, carry.Bound), records: records,
		hooks: &hooks{known: options.Hooks, last: map[string]domain.Digest{}},
	}
	run.belongsTo(s)
	source.reads(s)
	switch {
	case in.Carry == nil:
		return s, s.create()
	case in.GoOn != nil:
		return s, s.goOn(carry)
	case in.Fork != nil:
		return s, s.fork(carry)
	case in.ResolveOutcome != nil:
		return s, s.resolveEnded(carry)
	}
	err := s.resume(carry)
	if err != nil && info.ContinuedExecutionRunID != "" {
		// A carry that a run has handed on and that cannot be read is a fault of this worker, not of the session: as in must, a mended
		// one goes on.
		panic(err)
	}
	return s, err
}

// create makes the session of an agent that has done nothing yet. A client refuses
// what is refused here first, with its exit code; this is for those who start the
// workflow otherwise.
func (s *session) create() error {
	if err := cmp.Or(s.checkParent(), s.checkStart()); err != nil {
		return err
	}
	s.mail.Post(mailbox.NextExecution{SendRequest: s.in.Message(), Starter: s.startedBy()})
	s.agent.create(s.in)
	s.budget.limitSession(s.in.Definition.SessionBudget)
	return nil
}

func (s *session) resume(carry contract.Carry) error {
	if err := s.agent.resume(carry); err != nil {
		return err
	}
	chain := s.agent.state.Chain()
	if origin := s.agent.rewound(); origin != nil {
		chain = origin.Chain()
	}
	return s.conversation.resume(carry.Conversation, s.config.Definition.Compiler, chain)
}

// goOn begins the execution that goes on from the one with which an earlier workflow
// of the agent has ended. The input is a client's: what is wrong with it is refused.
func (s *session) goOn(carry contract.Carry) error {
	g := *s.in.GoOn
	if err := cmp.Or(s.checkParent(), g.Budget.Check()); err != nil {
		return err
	}
	if err := s.resume(carry); err != nil {
		return err
	}
	if err := s.config.upcomingDefinition().Check(); err != nil {
		return err
	}
	if status := s.agent.state.Status(); !status.Terminal() || status == domain.StatusCompleted {
		return domain.Deniedf("extend: the execution is %s, so there is nothing to go on with", status)
	}
	if len(s.agent.state.UnresolvedOutcomes()) > 0 {
		s.openWaits.changed() // the memo is the earlier workflow's
	}
	s.mail.Post(mailbox.NextExecution{SendRequest: contract.SendRequest{Budget: g.Budget}, GoesOn: true, Starter: s.startedBy()})
	return s.run.copyFirst(g.Copy, carry)
}

// fork begins the first execution of an agent that goes on from a step of another one's. The input is a client's: what
// is wrong with it is refused.
func (s *session) fork(carry contract.Carry) error {
	err := s.agent.fork(s.in, carry)
	if err == nil {
		err = cmp.Or(s.checkStart(), s.config.upcomingDefinition().Check())
	}
	if err != nil {
		return err
	}
	if err := s.conversation.resume(carry.Conversation, s.in.Definition.Compiler, s.agent.state.Origin.Chain()); err != nil {
		return err
	}
	if err := s.run.copyFirst(s.in.Fork.Copy, carry); err != nil {
		return err
	}
	if len(s.agent.state.UnresolvedOutcomes()) > 0 {
		s.openWaits.changed() // the memo is to have them
	}
	s.budget.limitSession(s.in.Definition.SessionBudget)
	s.mail.Post(mailbox.NextExecution{SendRequest: s.in.Message(), Starter: s.startedBy()})
	return nil
}

// resolveEnded resolves a call of an agent whose execution has ended. The run ends as that did, with nothing else done.
// The input is a client's: what is wrong with it is refused.
func (s *session) resolveEnded(carry contract.Carry) error {
	if err := s.resume(carry); err != nil {
		return err
	}
	switch {
	case s.in.Name != "":
		return domain.Deniedf("resolve_outcome: agent %s has a name, so its open session resolves the call; send it the update %s", s.in.Name, contract.UpdateAnswer)
	case !s.agent.state.Status().Terminal():
		return domain.Deniedf("resolve_outcome: execution %d is %s, so its own workflow resolves the call; send that the update %s", s.agent.state.ExecutionCount, s.agent.state.Status(), contract.UpdateAnswer)
	}
	commands, request := s.commands(), s.in.ResolveOutcome.Request
	if err := s.run.copyFirst(s.in.ResolveOutcome.Copy, carry); err != nil {
		return err
	}
	err := request.Check()
	if err == nil {
		err = commands.checkAnswer(request)
	}
	if err == nil {
		_, err = commands.answer(s.root, request)
	}
	return err
}

// scheduledBy is the search attribute in which the server names the schedule.
var scheduledBy = temporal.NewSearchAttributeKeyKeyword("TemporalScheduledById")

// startedBy is who started the workflow, by its own word and by the server's.
func (s *session) startedBy() domain.Starter {
	by := domain.Starter{Program: s.in.By}
	by.Schedule, _ = workflow.GetTypedSearchAttributes(s.root).GetKeyword(scheduledBy)
	if parent := s.info.ParentWorkflowExecution; parent != nil {
		by.Parent = parent.ID
	}
	return by
}

// checkAgent refuses what makes no agent, and what was started under an id that is not the agent's, which no
// command would find. A run that goes on with what another has handed on, as only the server can say,
// is of an agent that was let begin, maybe under another id before this was refused.
func checkAgent(ctx workflow.Context, in *contract.SessionInput) error {
	info := workflow.GetInfo(ctx)
	if info.ContinuedExecutionRunID != "" && in.Carry != nil && in.GoOn == nil && in.Fork == nil {
		return nil
	}
	id, own := info.WorkflowExecution.ID, in.WorkflowID()
	identity, err := domain.AgentIDOf(strings.TrimPrefix(own, domain.WorkflowIDPrefix))
	switch {
	case id != own:
		return domain.Invalidf("workflow_id: %q is not this agent's, which is %q; start agents with a client of Everstep", id, own)
	case err != nil || identity != in.AgentID:
		return domain.Invalidf("agent_id: %s is not that of %q", in.AgentID, id)
	case in.AgentID.IsZero():
		return domain.Invalidf("agent_id: is missing")
	case in.Name != "":
		err = domain.CheckAgentName(in.Name)
	}
	return cmp.Or(err, in.Definition.Check())
}

// checkParent refuses a sub-agent that no agent has started: what it is granted is somebody's, who waits for it.
func (s *session) checkParent() error {
	if s.in.Parent == nil || s.info.ParentWorkflowExecution != nil {
		return nil
	}
	return domain.Deniedf("parent: agent %s has not started this one, which is its sub-agent; once it is over, ask that agent again", s.in.Parent.AgentID)
}

// checkStart refuses what the first execution cannot begin with.
func (s *session) checkStart() error {
	return cmp.Or(domain.CheckPrompt(s.in.Prompt), s.in.Options.Check(s.agent.state), s.in.Budget.Check(), s.config.checkShown(s.in.Options))
}

func (s *session) nextExecutionID() domain.ExecutionID {
	return s.in.AgentID.Execution(s.info.FirstRunID, s.agent.state.ExecutionCount+1)
}
