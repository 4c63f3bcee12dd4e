package client

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/serviceerror"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/domain/progress"
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
	return uuid.NewSHA1(forkRequests, []byte(o.RequestID)).String()
}

// request is what the fork's workflow is told of a request, so that it is known again.
func (o ForkOptions) request() string {
	if o.RequestID == "" {
		return ""
	}
	return o.requested()
}

// forkRequests is the namespace of the agents that requests of forks begin.
var forkRequests = uuid.MustParse("0b0f6a43-6c0c-4b67-9d51-5b8f5a3f7c11")

// Fork begins another agent with what one had come to after a step of any of its executions, running or ended, and with
// a prompt of its own. Its messages until then are the origin's, byte for byte; nothing is asked of a model again, and
// the origin stays as it was. It has a budget of its own, no trusted values but those that are given, and no standing
// approvals. It knows of the origin's calls of unknown outcome, and makes none of the same effect until they are
// settled with it; effects whose outcome is known it may make again, since it is another agent. It needs a worker.
//
// What the server has no more of the origin the records tell, also of one that was imported, whose messages are copied then.
// A step that there never was is NotFound, one that is no longer kept Gone. Conversations of more than
// domain.MaxCarriedMessages are copied by the workers' storage, and refused where they have none. A session that was rewound
// is forked where it stands, unless an execution or a step is named.
func (c *Client) Fork(ctx context.Context, from Point, o ForkOptions) (Execution, error) {
	a, err := agentOf(cmp.Or(o.ID, o.requested()))
	switch {
	case err != nil:
		return Execution{}, err
	case a.session != "":
		return Execution{}, invalid(domain.Errorf(domain.Invalid, "id: %s is an earlier session, which can only be read; give the fork a name of its own", a.called()))
	}
	given, err := domain.NewGiven(o.Metadata, nil, o.Trusted)
	if err == nil {
		err = cmp.Or(domain.CheckPrompt(o.Prompt), o.Budget.Check(), o.Budget.CheckDeadline(time.Now()), checkIndexed(o.Trusted, c.cfg.IndexTrusted))
	}
	if err != nil {
		return Execution{}, invalid(err)
	}
	if begun, found, err := c.forkedBefore(ctx, a, o); err != nil || found {
		return begun, err
	}
	input, point, err := c.forkedAt(ctx, from, a, o)
	if err != nil {
		return Execution{}, err
	}
	input.Fork.Request = o.request()
	input.Given = given
	if err := cmp.Or(checkInput(input, time.Now()), input.Definition.CheckShown(o.Trusted)); err != nil {
		return Execution{}, invalid(err)
	}
	if o.RequestID != "" { // with clients of host.Dial two that are at it at once are one also where the first has ended by then
		ctx = startid.With(ctx, "fork/"+o.RequestID)
	}
	execution, err := c.begin(ctx, a, opening{input: input, number: 1, queue: cmp.Or(point.queue(), c.cfg.TaskQueue)})
	if isAs[*serviceerror.WorkflowExecutionAlreadyStarted](err) {
		if begun, found, _ := c.forkedBefore(ctx, a, o); found {
			return begun, nil
		}
		return Execution{}, errorf(Refused, err, "%s is in use; a fork is an agent of its own, so give it another name", a.called())
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
		var began progress.RunBegan
		began, err = c.reader(a).First(ctx, t.firstRunID())
		if fork := began.Input.Fork; err == nil && (fork == nil || fork.Request != o.request()) {
			return begun, false, nil
		}
	}
	if err != nil {
		return begun, false, fail(ctx, a.called(), "looking whether "+a.called()+" was begun before", err)
	}
	return a.begun(1, a.id.Execution(t.firstRunID(), 1), t.firstRunID()), true, nil
}

// forkedAt is with what the workflow of a fork begins, and from where it goes on: told by the server, else by the records.
func (c *Client) forkedAt(ctx context.Context, from Point, a agent, o ForkOptions) (in contract.SessionInput, p pastPoint, _ error) {
	from, err := c.rewoundPoint(ctx, from)
	if err != nil {
		return in, p, err
	}
	p, err = c.pastPoint(ctx, from)
	if err == nil {
		in, err = c.forked(ctx, p, a, o)
		return in, p, err
	}
	if !lostToServer(err) {
		return in, p, err
	}
	kept, found, failed := c.keptPoint(ctx, from)
	if failed != nil || !found {
		return in, p, cmp.Or(failed, err)
	}
	live, err := c.locate(ctx, from.ID)
	if lostToServer(err) {
		return c.forkedRecord(ctx, kept, a, o)
	}
	if err == nil {
		p, err = c.pastOf(ctx, kept)
	}
	if err != nil {
		return in, p, err
	}
	p.position, p.copied = live, true
	in, err = c.forked(ctx, p, a, o)
	return in, p, err
}

// rewoundPoint is the point from which a session goes on that was rewound, where no other is named.
func (c *Client) rewoundPoint(ctx context.Context, at Point) (Point, error) {
	a, err := agentOf(at.ID)
	if err != nil || a.name == "" || at.Execution != "" || at.Step != nil {
		return at, err
	}
	told, err := c.account(ctx, at.ID, account.Request{})
	if lostToServer(err) { // whoever reads the point says so
		return at, nil
	}
	if err != nil {
		return at, err
	}
	position, err := c.positionIn(ctx, at.ID, told)
	if from := position.From; err == nil && from != nil && from.AgentID == a.id {
		at.Execution, at.Step = from.ExecutionID.String(), &from.Step
	}
	return at, err
}

// forked is with what the workflow of a fork begins whose origin the server has.
func (c *Client) forked(ctx context.Context, p pastPoint, a agent, o ForkOptions) (in contract.SessionInput, _ error) {
	began, err := c.reader(p.agent).First(ctx, p.runID())
	switch {
	case err != nil:
		return in, fail(ctx, p.called(), "reading the history of "+p.called(), err)
	case !began.Readable():
		return in, errorf(Failed, nil, "reading the history of %s: what the workflow started with cannot be read", p.called())
	}
	state, view, err := c.stateOf(ctx, p.target)
	if err != nil {
		return in, fail(ctx, p.called(), "reading the state of "+p.called(), err)
	}
	switch {
	case p.asked == 1 && p.origin.Step == 0 && began.Input.Carry == nil:
		if state, err = withNotesAtStart(state, began.Input.Given, time.Now()); err != nil {
			return in, fail(ctx, p.called(), "reading the metadata of "+p.called(), err)
		}
	case len(state.Metadata()) > 0 && (p.asked != p.number || p.ended == nil || p.origin.Step != p.ended.Steps):
		c.cfg.Progress(fmt.Sprintf("the metadata that %s begins with is that of %s by now: what it was after that step nobody knows", a.called(), p.called()))
	}
	if in, err = c.forkInput(ctx, p, state, *view.Definition, a, o); err != nil {
		return in, err
	}
	in.Carry.Handed = view.Handed
	if above := began.Input.Bounds(); len(above.Policies)+len(above.Approvals) > 0 {
		in.Above = &above
	}
	return in, c.hand(ctx, p, &in)
}

// forkInput is the input of a fork by its origin's state and definition, as it is before its messages are handed on.
func (c *Client) forkInput(ctx context.Context, p pastPoint, state domain.AgentState, definition domain.Definition, a agent, o ForkOptions) (in contract.SessionInput, err error) {
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
	carry := contract.Carry{}
	if carry.State, err = state.EncodeSession(); err != nil {
		return in, errorf(Failed, err, "the state of %s cannot be handed on: %s", p.called(), err)
	}
	p.conversation(definition.Compiler).Carry(&carry, p.log.Base(), nil)
	in = contract.SessionInput{
		AgentID: a.id, Name: a.name, Definition: definition, Prompt: o.Prompt, Budget: o.Budget,
		Carry: &carry, Fork: &contract.Fork{Origin: p.origin},
	}
	if in.Attributes, err = c.registered(ctx); err != nil {
		return in, fail(ctx, a.called(), "starting "+a.called(), err)
	}
	return in, nil
}

// withNotesAtStart is a state with the metadata that its agent began with, and none that was added since.
func withNotesAtStart(state domain.AgentState, given *domain.Given, now time.Time) (domain.AgentState, error) {
	for key := range state.Metadata() {
		var err error
		if state, err = state.WithMetadata(key, nil, now); err != nil {
			return state, err
		}
	}
	if given == nil {
		return state, nil
	}
	return state.WithNotesOf(&domain.Given{Metadata: given.Metadata}, now)
}

// hand sees to it that the messages are carried in the input, or copied where they are too long for that.
func (c *Client) hand(ctx context.Context, p pastPoint, in *contract.SessionInput) error {
	if p.log.Size() <= domain.MaxCarriedMessages && domain.CheckFits("conversation", in, domain.MaxPayload) == nil {
		return nil
	}
	if p.copied {
		return errorf(Refused, nil, "%s: its conversation until then takes more than the %d bytes that can be handed on out of records; begin another agent with a part of its messages", p.called(), domain.MaxCarriedMessages)
	}
	if stored, err := c.stores(ctx, p.target); err != nil || !stored {
		if err != nil {
			return fail(ctx, p.called(), "reading the history of "+p.called(), err)
		}
		return errorf(Refused, nil, "%s: its conversation takes more than the %d bytes that can be handed on without storage; configure storage on the workers of the agents to come", p.called(), domain.MaxCarriedMessages)
	}
	in.Carry.Entries, in.Carry.Base, in.Carry.Chain = nil, 0, domain.Digest{}
	in.Fork.Copy = &contract.RecordRequest{From: p.log.Base(), Log: p.log.Ref(), RunID: p.runID(), WorkflowID: p.workflowID()}
	return nil
}

// stores reports whether the workers of an agent have storage.
func (c *Client) stores(ctx context.Context, t target) (bool, error) {
	now, err := c.Account(ctx, t.called(), account.Definition)
	if err != nil || now.Head.Configuration.Resolved == nil {
		return false, err
	}
	return now.Head.Configuration.Resolved.Storage, nil
}
