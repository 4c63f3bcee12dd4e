package client

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/serviceerror"

	"everstep/activities/command"
	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
	"everstep/worker/host/startid"
)

// ExtendOptions say how far an execution may go from now on. The zero value
// goes on with what its budget leaves.
type ExtendOptions struct {
	// Budget holds new totals, what was used before included; what is absent
	// stays as it is.
	Budget domain.ExecutionBudget
	// Lift names limits that are taken away. A limit with a new total stays.
	Lift []domain.Limit
	// RequestID makes a call that is repeated with the same id one with the
	// first; other totals are a call of their own all the same. Empty: each call stands for itself.
	RequestID string
}

// An Extended says what came of new totals.
type Extended struct {
	Execution
	// Began says that an execution began that goes on from the one before.
	Began bool `json:"began"`
	// Budget is the one in force from now on.
	Budget domain.ExecutionBudget `json:"budget"`

	account domain.Holder
}

// extendTries bounds how often what is extended may end, or begin, just then.
const extendTries = 5

// Extend gives the execution in progress new totals, at least one. Where the newest one stopped or
// failed it begins the next, which goes on from it: in the open session of a named agent, else in a
// new workflow of the same agent. It is refused where that execution completed or the session ended.
// Totals replace those of the request and of the definition, so that a repeated call does no harm.
// It needs a worker, as Send does.
func (c *Client) Extend(ctx context.Context, id string, o ExtendOptions) (Extended, error) {
	if err := cmp.Or(contract.ExtendRequest{Budget: o.Budget, Lift: o.Lift}.Check(), o.Budget.CheckDeadline(time.Now())); err != nil {
		return Extended{}, invalid(err)
	}
	o.RequestID = cmp.Or(requestID(o.RequestID, contract.UpdateExtend, ExtendOptions{Budget: o.Budget, Lift: o.Lift}), uuid.NewString())
	return whereItStands(ctx, c, id, "extending", func(p snapshot) (none Extended, _ error) {
		switch {
		case p.ended == nil && o.Budget.IsZero() && len(o.Lift) == 0:
			return none, invalidf("extend: no new total is given, and execution %d of %s is in progress; say what to change, such as max_steps", p.number, p.called())
		case p.ended != nil && p.ended.Status == domain.StatusCompleted:
			return none, p.nothingLeft()
		case p.ended != nil && p.name == "":
			return c.goOn(ctx, p, o, false)
		case p.ended != nil && !p.open():
			return none, ended(p.called(), nil)
		}
		reply, err := update(ctx, c, p.agent, o.RequestID, contract.UpdateExtend, contract.ExtendRequest{
			Budget: o.Budget, Lift: o.Lift, ExecutionID: p.executionID(p.number), By: c.cfg.By,
		})
		return p.extended(reply), err
	})
}

// whereItStands does something with an agent as that stands, anew where that has changed meanwhile. at returns what the workflow
// refuses as it is.
func whereItStands[T any](ctx context.Context, c *Client, id, doing string, at func(snapshot) (T, error)) (none T, _ error) {
	var before snapshot
	var refused error
	for range extendTries {
		p, err := c.describe(ctx, id)
		if err != nil {
			return none, err
		}
		if refused != nil && p.standsAs(before) {
			return none, p.fail(ctx, doing, refused)
		}
		done, err := at(p)
		switch {
		case err == nil:
			return done, nil
		case !overtaken(err):
			return none, p.fail(ctx, doing, err)
		}
		before, refused = p, err
	}
	return none, errorf(Refused, refused, "%s is begun and ended by others at this very time; try again", id)
}

// errOvertaken is the cause of a refusal that was true a moment ago.
var errOvertaken = errors.New("somebody else was faster")

// overtaken reports whether an error may come from what happened since the agent was looked at.
func overtaken(err error) bool {
	if errors.Is(err, errClosed) || errors.Is(err, errOvertaken) {
		return true
	}
	if isAs[*Error](err) {
		return false
	}
	refusal, ok := command.Refusal(err)
	return ok && refusal.Kind == domain.Denied
}

func (s snapshot) standsAs(before snapshot) bool {
	return s.newest().runID() == before.newest().runID() && s.number == before.number && s.open() == before.open() &&
		(s.ended == nil) == (before.ended == nil)
}

func (s snapshot) nothingLeft() *Error {
	err := refused("execution %d of %s is completed, so there is nothing to go on with", s.number, s.called())
	switch {
	case s.name == "":
		return err.next("`run` starts another agent")
	case s.open():
		return err.next("`send %s` gives it its next message", s.called())
	}
	return err.next("`run --id %s` begins a new session", s.name)
}

func (a agent) extended(reply contract.ExtendReply) Extended {
	return Extended{Execution: a.begun(reply.Number, reply.ExecutionID, reply.RunID), Began: reply.Began, Budget: reply.Budget}
}

// goOn starts another workflow for an agent without a name. The totals are those of its session, or else of its next execution.
func (c *Client) goOn(ctx context.Context, p snapshot, o ExtendOptions, ofSession bool) (none Extended, _ error) {
	id := p.called()
	if p.byServer {
		return none, refused("execution %d of %s was ended by the server in the middle, so there is no end to go on from", p.number, id).next("`run` starts another agent")
	}
	in, left, state, err := c.leftBy(ctx, p)
	if err != nil {
		return none, err
	}
	if in.Parent != nil {
		return none, refused("%s is a sub-agent, and agent %s, which has started it, has its result", id, in.Parent.AgentID).next("`extend %s` goes on with that one", in.Parent.AgentID)
	}
	if reply := (contract.ExtendReply{}); in.Carry != nil && in.Carry.Mail.Answers.Read(string(contract.UpdateExtend), o.RequestID, &reply) {
		if reply.Number == p.number { // which run began was not known when the answer was noted
			reply.ExecutionID, reply.RunID = p.executionID(p.number), p.runID()
		}
		again := p.extended(reply)
		again.account, _ = carried(in).Session()
		return again, nil
	}
	carry := *left.Carry
	ledger, err := o.over(id, state, &carry, ofSession)
	if err != nil {
		return none, err
	}
	budget, resolved := ledger.Execution.Budget, carry.Config.Resolved
	carry.Mail.Answers = contract.Answers{}.With(string(contract.UpdateExtend), o.RequestID, contract.ExtendReply{Number: p.number + 1, Began: true, Budget: budget})
	in = leaving(in)
	in.Carry, in.GoOn = &carry, &contract.GoOn{Budget: budget, RunID: p.teller()}
	if in.GoOn.Copy, err = c.loadEntries(ctx, p, &in, left.Position.Length); err != nil {
		return none, err
	}
	if in.GoOn.Copy != nil && (resolved == nil || !resolved.Storage) {
		return none, refused("%s: its conversation takes more than the %d bytes that can be handed on without storage; configure storage on the workers of the next agent", id, domain.MaxCarriedMessages)
	}
	execution, err := c.follow(ctx, p, in, p.number+1)
	if err != nil {
		return none, err
	}
	return Extended{Execution: execution, Began: true, Budget: budget, account: ledger.Session}, nil
}

// over is what bounds the next execution under the new totals. What is handed on to it has those of its session. Where a limit
// would stop it before its first step it is refused.
func (o ExtendOptions) over(id string, state domain.AgentState, carry *contract.Carry, ofSession bool) (ledger domain.Ledger, err error) {
	session, has := state.Session()
	budget, _ := state.Budget()
	switch {
	case !ofSession:
		budget = budget.Extended(o.Budget, o.Lift)
	case !has:
		return ledger, refused("extend: the session of %s has no budget", id).next("`extend %s` gives its executions other limits", id)
	default:
		session.Budget = session.Budget.Extended(o.Budget, o.Lift)
		if state, err = state.WithSessionBudget(session.Budget, state.UpdatedAt); err != nil {
			return ledger, invalid(err)
		}
		if carry.State, err = state.EncodeFull(); err != nil {
			return ledger, errorf(Failed, err, "the state of %s cannot be handed on: %s", id, err)
		}
	}
	ledger = domain.Ledger{Execution: domain.Holder{Budget: budget, Spent: carry.Prior}, Session: session}
	if err = carry.Config.Resolved.CheckPriced(ledger.Totals(), state.LLMConfig); err != nil {
		return ledger, invalid(err)
	}
	if use, reached := ledger.Reached(time.Now()); reached {
		err := refused("extend: there is nothing left to go on with: %s; %s", use, use.GoOn())
		if use.Session {
			return ledger, err.next("`extend %s --session --%s` does", id, use.Rule.Limit.Flag())
		}
		return ledger, err.next("--%s does", use.Rule.Limit.Flag())
	}
	return ledger, nil
}

// leftBy is with what the newest workflow of an agent without a name began, by the definition in force now, and what it has left,
// with the state of that.
func (c *Client) leftBy(ctx context.Context, p snapshot) (in contract.SessionInput, left account.Head, state domain.AgentState, err error) {
	if err = c.closedWithin(ctx, p.newest(), history.CallTimeout); err != nil { // its execution has ended, so this comes at once
		return in, left, state, err
	}
	began, err := c.reader(p.agent).First(ctx, p.teller())
	switch {
	case err != nil:
		return in, left, state, p.fail(ctx, "reading the history of", err)
	case !began.Readable():
		return in, left, state, errorf(Failed, nil, "reading the history of %s: what the workflow started with cannot be read", p.called())
	}
	all, err := c.accountOf(ctx, p, account.RequestOf(0, account.HeadOf, account.Definition, account.Carry), 0)
	if err != nil {
		return in, left, state, p.fail(ctx, "reading the account of", err)
	}
	if left = *all.Head; left.Carry == nil || left.Configuration.Definition == nil {
		return in, left, state, errorf(Failed, nil, "the account of %s does not say what it has left; the worker may be of another version", p.called())
	}
	in = began.Input
	in.Definition = *left.Configuration.Definition
	if state, err = domain.DecodeAgentState(left.Carry.State); err != nil {
		return in, left, state, errorf(Failed, err, "reading the state of %s: %s", p.called(), err)
	}
	return in, left, state, nil
}

// follow starts a workflow of an agent without a name that has ended. errOvertaken: somebody else did.
func (c *Client) follow(ctx context.Context, p snapshot, in contract.SessionInput, number int) (none Execution, _ error) {
	start := opening{input: in, number: number, queue: cmp.Or(p.queue(), c.cfg.TaskQueue), before: p.ended}
	execution, err := c.lookAndBegin(ctx, p, start)
	for tries := 0; startid.Late(err) && tries < extendTries; tries++ {
		execution, err = c.lookAndBegin(ctx, p, start)
	}
	switch {
	case isAs[*serviceerror.WorkflowExecutionAlreadyStarted](err):
		return none, errOvertaken
	case err != nil:
		return none, err
	}
	// The server takes two starts that follow the same run for one, and tells both its run, also where that has ended since.
	began, err := c.reader(p.agent).First(ctx, execution.RunID)
	switch {
	case err != nil:
		return execution, p.fail(ctx, "reading the history of", err)
	case began.Readable() && !sameFollower(began.Input, in):
		return none, errOvertaken
	}
	return execution, nil
}

// lookAndBegin begins what follows the newest run, unless another one is that by now. The server takes no start
// as one that others have made where two have begun since. So it is not sent where the look is long ago.
func (c *Client) lookAndBegin(ctx context.Context, p snapshot, o opening) (none Execution, _ error) {
	// To read all that took its time. What began and ended since is the newest now, and nothing refuses a start
	// then; what is in progress refuses it.
	looked, run := time.Now(), p.newest().runID()
	now, err := c.snapshot(ctx, p.agent, "")
	switch {
	case err != nil:
		return none, p.fail(ctx, "looking at", err)
	case now.newest().runID() != run:
		return none, errOvertaken
	}
	return c.begin(startid.WithUntil(ctx, "follows/"+run, looked.Add(history.CallTimeout)), p.agent, o)
}

// sameFollower reports whether two workflows that follow one were begun by the same request.
func sameFollower(a, b contract.SessionInput) bool {
	request := func(in contract.SessionInput) any {
		switch {
		case in.ResolveOutcome != nil:
			return in.ResolveOutcome.Request
		case in.GoOn == nil || in.Carry == nil || len(in.Carry.Mail.Answers) == 0:
			return nil
		}
		return in.Carry.Mail.Answers[0].ID
	}
	return reflect.DeepEqual(request(a), request(b))
}

// closedWithin waits so long for the end of a workflow.
func (c *Client) closedWithin(ctx context.Context, s snapshot, most time.Duration) error {
	if !s.open() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	_, err := c.untilClosed(ctx, s.agent, s.firstRunID(), s.runID())
	return err
}

// leaving is the input of an agent's next workflow: that of the one before without what was said to that one alone. What the
// next one is to do its caller sets.
func leaving(in contract.SessionInput) contract.SessionInput {
	in.Prompt, in.Options, in.Budget = "", nil, domain.ExecutionBudget{}
	in.GoOn, in.ResolveOutcome, in.Fork = nil, nil, nil
	return in
}

// loadEntries hands on the messages that no segment holds: in the input, or as what it returns, a task for storage.
func (c *Client) loadEntries(ctx context.Context, p snapshot, in *contract.SessionInput, end int) (*contract.RecordRequest, error) {
	carry, runID := in.Carry, p.teller()
	before := carry.Copy
	carry.Copy, carry.Conversation.Entries = nil, nil
	size, log := 0, domain.LogAt(carry.Conversation.Base, carry.Conversation.Chain)
	for entry, err := range c.MessagesFrom(ctx, p.called(), carry.Conversation.Base) {
		if err == nil {
			log, err = log.Join(entry)
		}
		if err != nil {
			return nil, p.fail(ctx, "reading the messages of", err)
		}
		size += entry.Size()
		carry.Conversation.Entries = append(carry.Conversation.Entries, entry)
	}
	if size <= domain.MaxCarriedMessages && domain.CheckFits("conversation", in, domain.MaxPayload) == nil {
		return before, nil
	}
	if before != nil {
		return nil, refused("%s: a part of its conversation was never copied to storage, and the rest is too long to be handed on", p.called())
	}
	carry.Conversation.Entries = nil
	copied := &contract.RecordRequest{From: carry.Conversation.Base, Log: domain.LogRef{Length: end, Digest: log.Chain()}, RunID: runID}
	if err := domain.CheckFits("state", in, domain.MaxPayload); err != nil {
		return nil, invalid(err)
	}
	return copied, nil
}

// A SessionExtended says what a session may use from now on.
type SessionExtended struct {
	// Execution is the newest one, or where Began says so the one that began.
	Execution
	Began bool `json:"began"`
	// InProgress says that it goes on under the new totals.
	InProgress bool `json:"in_progress"`
	// Budget has the totals in force, and Left what the session's executions leave of them.
	Budget domain.ExecutionBudget `json:"session_budget"`
	Left   domain.ExecutionBudget `json:"session_budget_left"`
	// Spent is what its executions have used, the one in progress included. Where that is as much as a total, or more,
	// nothing can begin, and what is in progress stops.
	Spent domain.Spent `json:"session_spent"`
}

// Account is the session's, as it stands now.
func (x SessionExtended) Account() domain.Holder {
	return domain.Holder{Budget: x.Budget, Spent: x.Spent}
}

// ExtendSession gives a session that has a budget over all its executions new totals of it, at least one. They hold for
// the execution in progress, too. In an open session nothing begins by that: Extend goes on with what was stopped, Send
// begins what is next. An agent without a name whose execution was stopped or failed goes on at once, as by Extend,
// since its workflow has ended. Totals replace those of the definition, so that a repeated call does no harm. There are
// no limits of time over a session. It needs a worker, as Send does.
func (c *Client) ExtendSession(ctx context.Context, id string, o ExtendOptions) (SessionExtended, error) {
	if err := (contract.ExtendSessionRequest{Budget: o.Budget, Lift: o.Lift}).Check(); err != nil {
		return SessionExtended{}, invalid(err)
	}
	o.RequestID = cmp.Or(requestID(o.RequestID, contract.UpdateExtendSession, ExtendOptions{Budget: o.Budget, Lift: o.Lift}), uuid.NewString())
	return whereItStands(ctx, c, id, "extending", func(p snapshot) (none SessionExtended, _ error) {
		switch {
		case p.ended == nil || p.open() && p.name != "":
		case p.ended.Status == domain.StatusCompleted:
			return none, p.nothingLeft()
		case p.name != "":
			return none, ended(p.called(), nil)
		default:
			began, err := c.goOn(ctx, p, o, true)
			return SessionExtended{Execution: began.Execution, Began: true, InProgress: true, Budget: began.account.Budget, Left: began.account.Left(), Spent: began.account.Spent}, err
		}
		reply, err := update(ctx, c, p.agent, o.RequestID, contract.UpdateExtendSession, contract.ExtendSessionRequest{
			Budget: o.Budget, Lift: o.Lift, By: c.cfg.By,
		})
		return SessionExtended{
			Execution: p.begun(reply.Number, p.executionID(reply.Number), p.runID()), InProgress: reply.InProgress,
			Budget: reply.Account.Budget, Left: reply.Account.Left(), Spent: reply.Account.Spent,
		}, err
	})
}
