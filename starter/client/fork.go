package client

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/serviceerror"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
	"everstep/worker/host/startid"
)

// ForkOptions say what a fork begins with, and what it has otherwise than its origin. What is zero is the origin's, as
// it is now.
type ForkOptions struct {
	// ID is the new agent's name or UUID. Empty: a new agent without a name.
	ID     string
	Prompt string
	// Definition takes the place of the origin's, but for what follows; without a model it leaves the origin's. Of an agent of which only the records tell it is all
	// that the fork has beside model, system prompt and response format: tools, hooks, approvals, sub-agents, limits.
	Definition *domain.Definition
	// Model and SystemPrompt take the place of the origin's.
	Model        *domain.LLMConfig
	SystemPrompt string
	// Budget caps the definition's; what the origin has used does not count.
	Budget domain.ExecutionBudget
	// Metadata are notes beside the origin's, of which they replace those of the same keys.
	Metadata domain.Metadata
	// Trusted are the fork's own: it has none of the origin's.
	Trusted domain.Trusted
	// RequestID makes a call that is repeated with the same id, and the same ID, one with the first: an agent without a
	// name is the same one then. Any client will do. Empty: each call stands for itself.
	RequestID string
}

// requested is the UUID of an agent without a name that a request begins.
func (o ForkOptions) requested() string {
	if o.RequestID == "" {
		return uuid.NewString()
	}
	// The namespace is that of the agents that requests of forks begin. It must never change.
	return uuid.NewSHA1(uuid.MustParse("0b0f6a43-6c0c-4b67-9d51-5b8f5a3f7c11"), []byte(o.RequestID)).String()
}

// Fork begins another agent with what one had come to after a step of any of its executions, running or ended, and with
// a prompt of its own. Its messages until then are the origin's, byte for byte; nothing is asked of a model again, and
// the origin stays as it was. It has a budget of its own, no trusted values but those that are given, and no standing
// approvals. It knows of the origin's calls of unknown outcome, and makes none of the same effect until they are
// resolved with it; effects whose outcome is known it may make again, since it is another agent. It needs a worker.
//
// What the server has no more of the origin the records tell, also of one that was imported, whose messages are copied then.
// A step that there never was is NotFound, one that is no longer kept Gone. Conversations of more than
// domain.MaxCarriedMessages are copied by the workers' storage, and refused where they have none. A session that was rewound
// or cleared is forked where it stands, unless an execution or a step is named.
func (c *Client) Fork(ctx context.Context, from Point, o ForkOptions) (none Execution, _ error) {
	a, err := agentOf(cmp.Or(o.ID, o.requested()))
	switch {
	case err != nil:
		return none, err
	case a.session != "":
		return none, invalidf("id: %s is an earlier session, which can only be read; give the fork a name of its own", a.called())
	}
	given, err := domain.NewStartOptions(o.Metadata, nil, o.Trusted)
	if err = cmp.Or(err, domain.CheckPrompt(o.Prompt), o.Budget.Check(), checkIndexed(o.Trusted, c.cfg.IndexTrusted)); err != nil {
		return none, invalid(err)
	}
	if begun, found, err := c.forkedBefore(ctx, a, o); err != nil || found {
		return begun, err
	}
	if err := o.Budget.CheckDeadline(time.Now()); err != nil { // of a request that has begun it before it may have passed since
		return none, invalid(err)
	}
	input, queue, err := c.forked(ctx, from, a, o)
	if err != nil {
		return none, err
	}
	if o.RequestID != "" { // with clients of host.Dial two that are at it at once are one also where the first has ended by then
		input.Fork.Request = o.requested()
		ctx = startid.With(ctx, "fork/"+o.RequestID)
	}
	input.Options = given
	if err := cmp.Or(checkInput(input), input.Definition.CheckShown(o.Trusted)); err != nil {
		return none, invalid(err)
	}
	execution, err := c.begin(ctx, a, opening{input: input, number: 1, queue: cmp.Or(queue, c.cfg.TaskQueue)})
	if isAs[*serviceerror.WorkflowExecutionAlreadyStarted](err) {
		if begun, found, _ := c.forkedBefore(ctx, a, o); found {
			return begun, nil
		}
		return none, errorf(Refused, err, "%s is in use; a fork is an agent of its own, so give it another name", a.called())
	}
	return execution, err
}

// forkedBefore is what the same request has begun before, where it has.
func (c *Client) forkedBefore(ctx context.Context, a agent, o ForkOptions) (begun Execution, found bool, _ error) {
	if o.RequestID == "" {
		return begun, false, nil
	}
	t, err := c.target(ctx, a.called(), 1)
	if lostToServer(err) {
		return begun, false, nil
	}
	if err == nil && o.ID != "" { // an id that is the request's own is of nobody else
		var began history.RunBegan
		began, err = c.reader(a).First(ctx, t.firstRunID())
		if fork := began.Input.Fork; err == nil && (fork == nil || fork.Request != o.requested()) {
			return begun, false, nil
		}
	}
	if err != nil {
		return begun, false, fail(ctx, a.called(), "looking whether "+a.called()+" was begun before", err)
	}
	return a.begun(1, a.id.Execution(t.firstRunID(), 1), t.firstRunID()), true, nil
}

// forkPoint is what a fork goes on from. Where neither an execution nor a step is named that is where the session stands: at the
// step to which it was rewound, or where it was cleared before all messages, of which it needs none to be read.
func (c *Client) forkPoint(ctx context.Context, at Point) (p pastPoint, _ error) {
	a, err := agentOf(at.ID)
	if err != nil {
		return p, err
	}
	if a.name == "" || at.Execution != "" || at.Step != nil {
		return c.pastPoint(ctx, at)
	}
	told, err := c.account(ctx, at.ID, account.RequestOf(0, account.State, account.Definition))
	if lostToServer(err) { // whoever reads the point says so
		return c.pastPoint(ctx, at)
	}
	if err != nil {
		return p, err
	}
	position, err := c.positionIn(ctx, at.ID, told)
	if err != nil {
		return p, err
	}
	if position.Edits.AllCleared(position.Length) {
		origin := domain.Origin{ExecutionID: a.id.Execution(told.Head.Run.First, 1), AgentID: a.id}
		return pastPoint{agent: a, Account: told, origin: origin, cleared: true}, c.checkNewest(told)
	}
	if from := position.From; from != nil && from.AgentID == a.id {
		at.Execution, at.Step = from.ExecutionID.String(), &from.Step
	}
	return c.pastPoint(ctx, at)
}

// forked is with what the workflow of a fork begins, and the task queue of its origin; empty: only records tell of that.
func (c *Client) forked(ctx context.Context, from Point, a agent, o ForkOptions) (in contract.SessionInput, queue string, _ error) {
	p, err := c.forkPoint(ctx, from)
	if err != nil {
		return in, "", err
	}
	state, err := stateIn(p.Account, p.called())
	if err != nil {
		return in, "", err
	}
	bounds := p.Head.Configuration.Constraints
	if bounds == nil {
		return in, "", errorf(Failed, nil, "the account of %s does not say what bounds it; the worker may be of another version", p.called())
	}
	definition := definitionOf(state, p.execution.Budget)
	if !p.recorded() {
		now, err := c.describe(ctx, from.ID)
		if err != nil {
			return in, "", err
		}
		queue, definition = now.queue(), *p.Head.Configuration.Definition
	} else if o.Definition == nil {
		c.cfg.Progress("records do not tell which tools an agent may use, nor its hooks and approvals: " + a.called() + " has none; give its definition, for example by --agent")
	}
	if !p.recorded() && !p.cleared { // else it has what the session has noted by now
		if state, err = c.withNotesAt(ctx, p, state, a); err != nil {
			return in, "", p.fail(ctx, "reading the metadata of", err)
		}
	}
	if model := definition.Model; o.Definition != nil {
		if definition = *o.Definition; definition.Model.Provider == "" {
			definition.Model = model
		}
	}
	if o.Model != nil {
		definition.Model = *o.Model
	}
	definition.SystemPrompt = cmp.Or(o.SystemPrompt, definition.SystemPrompt)
	now := time.Now()
	state = state.Forked(a.id, p.origin, now).WithLLMConfig(definition.Model, now).WithSystemPrompt(definition.SystemPrompt, now)
	carry := contract.Carry{Conversation: p.conversation(definition.Compiler)}
	carry.Config.Agent, carry.Config.Constraints = p.Head.Configuration.Agent, *bounds
	if carry.State, err = state.EncodeSession(); err != nil {
		return in, "", errorf(Failed, err, "the state of %s cannot be handed on: %s", p.called(), err)
	}
	in = contract.SessionInput{
		AgentID: a.id, Name: a.name, Definition: definition, Prompt: o.Prompt, Budget: o.Budget,
		Carry: &carry, Fork: &contract.Fork{Origin: p.origin},
	}
	return in, queue, p.hand(&in)
}

// hand sees to it that the messages are carried in the input, or copied where they are too long for that.
func (p *pastPoint) hand(in *contract.SessionInput) error {
	resolved := p.Head.Configuration.Resolved
	switch {
	case p.log.Size() <= domain.MaxCarriedMessages && domain.CheckFits("conversation", in, domain.MaxPayload) == nil:
		return nil
	case p.recorded():
		return refused("%s: its conversation until then takes more than the %d bytes that can be handed on out of records; begin another agent with a part of its messages", p.called(), domain.MaxCarriedMessages)
	case resolved == nil || !resolved.Storage:
		return refused("%s: its conversation takes more than the %d bytes that can be handed on without storage; configure storage on the workers of the agents to come", p.called(), domain.MaxCarriedMessages)
	}
	in.Carry.Conversation.Entries, in.Carry.Conversation.Base, in.Carry.Conversation.Chain = nil, 0, domain.Digest{}
	in.Fork.Copy = &contract.RecordRequest{From: p.log.Base(), Log: p.log.Ref(), RunID: p.Head.Run.ID, WorkflowID: p.workflowID()}
	return nil
}

// definitionOf is what a record tells of an agent's definition: its model, its system prompt, what it answers in and its
// budgets; neither tools nor hooks, approvals or sub-agents, which whoever forks it has to give.
func definitionOf(state domain.AgentState, budget domain.ExecutionBudget) domain.Definition {
	d := domain.Definition{Model: state.LLMConfig, SystemPrompt: state.SystemPrompt, Format: state.ResponseFormat, Budget: budget}
	if account, has := state.Session(); has {
		d.SessionBudget = account.Budget
	}
	return d
}

// withNotesAt is a state with the metadata that a fork begins with: what its origin began with, where it goes on from before the
// first step, else what that has by now.
func (c *Client) withNotesAt(ctx context.Context, p pastPoint, state domain.AgentState, a agent) (domain.AgentState, error) {
	if p.execution.Number == 1 && p.origin.Step == 0 {
		began, err := c.reader(p.agent).First(ctx, p.execution.RunID)
		if err != nil {
			return state, err
		}
		if began.Input.Carry == nil {
			return withNotesAtStart(state, began.Input.Options, time.Now())
		}
	}
	newest := p.Head.Newest
	if len(state.Metadata) > 0 && (p.execution.Number != newest.Number || !newest.Status.Terminal() || p.origin.Step != newest.Steps) {
		c.cfg.Progress(fmt.Sprintf("the metadata that %s begins with is that of %s by now: what it was after that step nobody knows", a.called(), p.called()))
	}
	return state, nil
}

// withNotesAtStart is a state with the metadata that its agent began with, and none that was added since.
func withNotesAtStart(state domain.AgentState, given *domain.StartOptions, now time.Time) (domain.AgentState, error) {
	notes := domain.Metadata{}
	for key := range state.Metadata {
		notes[key] = nil // takes it away
	}
	if given != nil {
		maps.Copy(notes, given.Metadata)
	}
	return state.WithNotesOf(&domain.StartOptions{Metadata: notes}, now)
}
