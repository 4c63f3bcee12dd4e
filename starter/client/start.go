package client

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"everstep/activities/command"
	"everstep/domain"
	"everstep/domain/contract"

	"everstep/starter/client/internal/history"
)

// A Start begins an execution.
type Start struct {
	// ID is the agent's name or UUID. Empty: a new agent without a name.
	ID     string
	Prompt string
	// Definition is what a new agent is.
	Definition domain.Definition
	// Explicit holds those fields of Definition that were asked for explicitly,
	// the others zero. An open session is compared with it: its model replaces
	// the session's, any other field that differs is refused. Nil: all of
	// Definition was asked for.
	Explicit *domain.Definition
	// Budget caps the definition's. Where neither says anything of steps the execution has domain.DefaultMaxSteps;
	// domain.Unlimited takes that away.
	Budget domain.ExecutionBudget
	// Metadata are notes for the agent's context, which hooks read and no model sees. In an open session they
	// replace those of the same keys.
	Metadata domain.Metadata
	// Messages are what was said before the prompt, as Messages and ReadMessages yield them: their Index and
	// Digest mean nothing. They take at most domain.MaxCarriedMessages bytes. Their tokens count as read by the
	// model, not as spent; what is tagged as a trace of another execution is shown by the compiler's rule, as in any
	// later one.
	Messages []domain.Entry
	// Trusted is what the agent's tools are to know of whom it acts for, and no model can change. With a new agent it
	// stays for its whole life. For an open session it may hold what the session has, and more: for this execution.
	Trusted domain.Trusted
}

// Start begins the next execution of an agent: of a new one, of one whose
// session is open and idle, or of one that ended, anew. It is refused while an
// execution is in progress. It needs a worker only where a session is open;
// Config.Progress is told when none is up.
func (c *Client) Start(ctx context.Context, s Start) (none Execution, _ error) {
	a, err := agentOf(cmp.Or(s.ID, uuid.NewString()))
	switch {
	case err != nil:
		return none, err
	case a.session != "":
		return none, invalidf("id: %s is an earlier session, which can only be read; %q begins a new one", a.called(), a.name)
	}
	input, err := c.input(a, s)
	if err != nil {
		return none, err
	}
	// What a new agent would lack, an open session may have.
	lacking := s.Definition.CheckShown(s.Trusted)
	if lacking != nil && a.name == "" {
		return none, invalid(lacking)
	}
	for range 5 { // a session may end just then
		if lacking == nil {
			execution, err := c.begin(ctx, a, opening{input: input, number: 1, queue: c.cfg.TaskQueue})
			if !isAs[*serviceerror.WorkflowExecutionAlreadyStarted](err) {
				return execution, err
			}
			if a.name == "" {
				return none, errorf(Refused, err, "agent %s is running and takes one prompt; start another agent", a.called())
			}
		}
		execution, err := c.resume(ctx, a, s.message(input.Options, c.cfg.By))
		gone := errors.Is(err, errClosed)
		switch {
		case lacking != nil && (gone || Is(err, NotFound)):
			return none, invalid(lacking)
		case !gone:
			return execution, err
		}
	}
	return none, refused("%s is begun and ended by others at this very time; try again", a.called())
}

// input is what a new agent starts with, but for what begin adds. What is wrong with it is said here.
func (c *Client) input(a agent, s Start) (none contract.SessionInput, _ error) {
	given, err := domain.NewStartOptions(s.Metadata, s.Messages, s.Trusted)
	if err != nil {
		return none, invalid(err)
	}
	input := contract.SessionInput{
		AgentID: a.id, Name: a.name, Definition: s.Definition,
		Prompt: s.Prompt, Options: given, Budget: s.Budget,
	}
	if err := cmp.Or(checkInput(input), checkIndexed(s.Trusted, c.cfg.IndexTrusted)); err != nil {
		return none, invalid(err)
	}
	return input, nil
}

type opening struct {
	input  contract.SessionInput
	number int
	queue  string
	// before is how the execution ended that it goes on from, or resolves a call of, where there is one.
	before *contract.Outcome
}

// memo is what is known of an agent before its new workflow says so itself.
func (o opening) memo() map[string]any {
	if o.before == nil {
		return nil
	}
	memo := map[string]any{contract.MemoOutcome: *o.before}
	if unresolved := carried(o.input).UnresolvedOutcomes(); len(unresolved) > 0 {
		memo[contract.MemoWaiting] = contract.WaitingFor(unresolved)
	}
	if resolution := o.input.ResolveOutcome; resolution != nil {
		memo[contract.MemoResolution] = resolution.EndedRun
	} else {
		memo[contract.MemoHead] = contract.HeadMemo{Number: o.number}
	}
	return memo
}

// carried is the state from which a new workflow goes on; zero where it begins without one.
func carried(in contract.SessionInput) (state domain.AgentState) {
	if in.Carry != nil {
		state, _ = domain.DecodeAgentState(in.Carry.State) // the workflow says what is wrong with it
	}
	return state
}

// begin starts a workflow. An error that one is open comes back as it is.
func (c *Client) begin(ctx context.Context, a agent, o opening) (none Execution, _ error) {
	has, err := c.registered(ctx)
	if err != nil {
		return none, a.fail(ctx, "starting", err)
	}
	call, cancel := context.WithTimeout(ctx, history.CallTimeout)
	defer cancel()
	timing, task := c.cfg.timing()
	o.input.Timing, o.input.By, o.input.Attributes = timing, c.cfg.By, has.names
	run, err := c.temporal.ExecuteWorkflow(call, sdk.StartWorkflowOptions{
		ID:                                       a.workflowID(),
		TaskQueue:                                o.queue,
		WorkflowTaskTimeout:                      task,
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		TypedSearchAttributes:                    a.searchAttributes(o, c.indexed(o.input, has)),
		StaticSummary:                            a.name,
		Memo:                                     o.memo(),
	}, string(contract.Execute), o.input)
	switch {
	case isAs[*serviceerror.WorkflowExecutionAlreadyStarted](err):
		return none, err
	case isAs[*serviceerror.InvalidArgument](err) && c.lost(ctx, has):
		return c.begin(ctx, a, o)
	case err != nil:
		return none, a.fail(ctx, "starting", err)
	}
	return a.begun(o.number, a.id.Execution(run.GetRunID(), o.number), run.GetRunID()), nil
}

// resume begins the next execution of a session. errClosed: it ended meanwhile.
func (c *Client) resume(ctx context.Context, a agent, request contract.SendRequest) (none Execution, _ error) {
	open, err := c.snapshot(ctx, a, "")
	switch {
	case err != nil:
		return none, a.fail(ctx, "looking at", err)
	case !open.open():
		return none, errClosed
	}
	if refused := open.check("send", contract.IdleSession); refused != nil {
		return none, refused
	}
	execution, err := c.message(ctx, a, "", request)
	if err == nil {
		return execution, nil
	}
	if _, refused := command.Refusal(err); refused {
		if now, lookErr := c.snapshot(ctx, a, ""); lookErr == nil && !now.open() {
			return none, errClosed
		}
	}
	return none, a.fail(ctx, "sending to", err)
}

func (s Start) message(given *domain.StartOptions, by domain.Program) contract.SendRequest {
	wanted := s.Definition
	if s.Explicit != nil {
		wanted = *s.Explicit
	}
	request := contract.SendRequest{Prompt: s.Prompt, Options: given, IfIdle: true, Budget: s.Budget, By: by}
	if wanted.Model.Provider != "" {
		request.Model = new(wanted.Model)
	}
	wanted.Model, wanted.Budget = domain.LLMConfig{}, domain.ExecutionBudget{}
	if !reflect.ValueOf(wanted).IsZero() {
		request.Definition = &wanted
	}
	return request
}

func checkInput(in contract.SessionInput) error {
	now := time.Now()
	return cmp.Or(domain.CheckPrompt(in.Prompt), in.Definition.Check(), contract.CheckCarried(in.Definition), in.Definition.Budget.CheckDeadline(now),
		in.Budget.Check(), in.Budget.CheckDeadline(now), domain.CheckFits("prompt, definition and what is given", in, domain.MaxPayload))
}

// attributes are those of our search attributes that a namespace has: the server refuses others. trusted says that there is one
// for trusted values.
type attributes struct {
	names   []string
	trusted bool
}

// knownAttributes remembers them; nil: nobody has asked yet.
type knownAttributes struct {
	mu    sync.Mutex
	found *attributes
}

// registered returns those of our search attributes that the namespace has,
// asking once. A server that does not say has none; one that is away is an error.
func (c *Client) registered(ctx context.Context) (attributes, error) {
	c.known.mu.Lock()
	defer c.known.mu.Unlock()
	if c.known.found != nil {
		return *c.known.found, nil
	}
	call, cancel := context.WithTimeout(ctx, history.CallTimeout)
	defer cancel()
	response, err := history.RetryWhileAway(call, func() (*operatorservice.ListSearchAttributesResponse, error) {
		return c.temporal.OperatorService().ListSearchAttributes(call, &operatorservice.ListSearchAttributesRequest{
			Namespace: c.cfg.Namespace,
		})
	})
	if err != nil && (history.Away(err) || ctx.Err() != nil) {
		return attributes{}, err
	}
	found := attributes{trusted: response.GetCustomAttributes()[contract.AttributeTrusted] == enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST}
	for _, name := range []string{contract.AttributeAgentName, contract.AttributeAgentStatus, contract.AttributeStopReason} {
		if response.GetCustomAttributes()[name] == enumspb.INDEXED_VALUE_TYPE_KEYWORD {
			found.names = append(found.names, name)
		}
	}
	c.known.found = &found
	return found, nil
}

// lost asks anew, and reports whether the namespace has lost some of the attributes that it had.
func (c *Client) lost(ctx context.Context, had attributes) bool {
	c.known.mu.Lock()
	c.known.found = nil
	c.known.mu.Unlock()
	now, err := c.registered(ctx)
	return err == nil && (had.trusted && !now.trusted || slices.ContainsFunc(had.names, func(name string) bool { return !slices.Contains(now.names, name) }))
}

// searchAttributes are those that a workflow starts with, so that it can be listed before a worker takes it; those that the
// namespace lacks are left out. A workflow that only resolves a call of an execution that has ended keeps that execution's
// status and stop reason. trusted are the trusted values, as name=value, that the namespace may index.
func (a agent) searchAttributes(o opening, trusted []string) temporal.SearchAttributes {
	values := map[string]string{contract.AttributeAgentName: a.name, contract.AttributeAgentStatus: string(domain.StatusInProgress)}
	if o.input.ResolveOutcome != nil { // nothing is in progress then
		values[contract.AttributeAgentStatus], values[contract.AttributeStopReason] = string(o.before.Status), string(o.before.StopReason)
	}
	var updates []temporal.SearchAttributeUpdate
	for name, value := range values {
		if value != "" && slices.Contains(o.input.Attributes, name) {
			updates = append(updates, temporal.NewSearchAttributeKeyKeyword(name).ValueSet(value))
		}
	}
	if len(trusted) > 0 {
		updates = append(updates, temporal.NewSearchAttributeKeyKeywordList(contract.AttributeTrusted).ValueSet(trusted))
	}
	return temporal.NewSearchAttributes(updates...)
}
