package progress

import (
	"slices"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// An Agent is what the histories of an agent's runs tell of it and of its newest
// execution. It grows by facts in their order, and may begin with any run.
type Agent struct {
	id    domain.AgentID
	chain string

	Definition domain.Definition
	// Model, Price, Window, Limit, ToolLimits and Hooks are those of the newest resolution.
	Model      string
	Price      *domain.Price
	Window     int64
	Limit      *contract.RateLimit
	ToolLimits map[string]contract.ToolLimit
	Hooks      []contract.HookSpec

	// Execution is the newest one.
	Execution Execution
	// Unsettled are the calls of which nobody knows whether they took effect, Settled those settled while this was read.
	Unsettled, Settled []domain.UnknownCall
	// Standing are the session's standing approvals, those too that were revoked. They must not be changed.
	Standing []domain.StandingApproval
	// Changes are the newest of what is in force for the session's executions. They must not be changed.
	Changes []contract.DefinitionChange
	// Sessions are those with stateful servers, in the order in which they were opened.
	Sessions []Session
	// Waiting are the messages that wait for the agent, in the order in which they came. They must not be changed.
	Waiting []contract.WaitingMessage
	// Suspended is set while the session accepts nothing.
	Suspended *contract.Suspension
	// Session is the session's account, without the execution in progress; nil where it has no budget. It must not be changed.
	Session *domain.SessionAccount
	// RewoundTo is the step from which the next execution goes on, where a rewind has left the session so.
	RewoundTo *domain.Origin
	// Open is the work of the run that has not ended.
	Open []Work
	// Run is the run that is being read.
	Run Run
	// Unread says what could not be read.
	Unread []Unreadable

	// trusted are the session's trusted values, own those of the execution before the newest.
	trusted, own domain.Trusted
	edits        domain.Edits
	// resolved is what is in force; nil where that was not read.
	resolved *contract.Resolved
	pins     []contract.ToolPin
	// next waits for the next execution, and word is of whoever gave the definition in force, until it is told.
	next *contract.Redefinition
	word *contract.DefinitionWord
	// handed is of the conversation, where it was handed over, and handing waits for the end of the step.
	handed   contract.Handed
	handing  *HandedOver
	handedAt time.Time
	// stepped is the step that asked for work last.
	stepped domain.StepID
	// borrowed is what the agent that has started it grants it, where one has.
	borrowed Borrowed
}

// A Run is what is told of one run of the workflow.
type Run struct {
	// Before counts the runs before it, Base the bytes of its first event.
	Before int
	Base   int64
	// Steps counts those that asked for work in it, of all executions.
	Steps int
	// Suggested says that the server suggests to continue as new.
	Suggested bool
	// Unstored is why the newest try to store the transcript failed; nil where it did not.
	Unstored *domain.Error
	// ResetAt is when somebody had it begin, with what an earlier run had done up to there; zero: nobody did.
	ResetAt time.Time
}

// NewAgent is an agent of which only its id and its workflow's first run are known.
func NewAgent(id domain.AgentID, chain string) Agent { return Agent{id: id, chain: chain} }

func (a Agent) executionID(number int) domain.ExecutionID { return a.id.Execution(a.chain, number) }

// Rewriter is a hook that may rewrite what the model says, if any.
func (a Agent) Rewriter() string { return contract.Rewriter(a.Hooks) }

// With returns the agent with one more fact.
func (a Agent) With(fact Fact, at time.Time) Agent {
	switch f := fact.(type) {
	case RunBegan:
		return a.runBegan(f, at)
	case RunEnded:
		return a.runEnded(f, at)
	case Asked:
		return a.asked(f, at)
	case Attempted:
		a = a.opened(f.Work)
		f.Turns = a.turns(f.Work)
		return a.worked(f.Work, f, at)
	case CancelAsked:
		if f.Step() > 0 && f.Execution() == a.Execution.ID {
			a.Execution = a.Execution.halts(at)
		}
	case ModelReplied:
		return a.ended(f.Work, f, at)
	case BoundTo:
		a = a.bound(f.Bound, at)
		return a.ended(f.Work, Finished{f.Work}, at)
	case ToolReplied:
		a = a.calledIn(f, at)
		if f.Reply.NotStarted && f.Tool.Pending == nil || f.Reply.Pending != nil {
			fact = unmade{f}
		}
		return a.ended(f.Work, fact, at)
	case Verified:
		return a.ended(f.Work, f, at)
	case ChildEnded:
		return a.ended(f.Work, f, at)
	case HandedOver:
		return a.handedOver(f, at)
	case Finished:
		if f.Activity == string(contract.Record) {
			a.Run.Unstored = nil
		}
		return a.ended(f.Work, f, at)
	case Lost:
		if f.Tool != nil && (f.Loss.Unbinds(*f.Tool) || f.Loss.Strands(*f.Tool)) {
			return a.With(ToolReplied{Work: f.Work, Reply: f.Loss.ToolReply(*f.Tool)}, at)
		}
		if f.Tool != nil && f.Loss.MadeAgain(*f.Tool) {
			call := *f.Tool
			if call.Pending != nil {
				return a.ended(f.Work, unmade{ToolReplied{Work: f.Work, Reply: GivenUp(call)}}, at)
			}
			call.Attempts++
			return a.ended(f.Work, unmade{ToolReplied{Work: f.Work, Reply: NotAgain(call)}}, at)
		}
		if f.Activity == string(contract.Record) && f.Loss.How != Cancelled {
			a.Run.Unstored = f.Loss.Err()
		}
		f.Turns = a.turns(f.Work)
		return a.ended(f.Work, f, at)
	case Resolved:
		return a.resolvedAs(f, at).ended(f.Work, f, at)
	case StopAsked:
		a.Execution = a.Execution.asksToStop(f.Request, at)
	case StopForced:
		a.Execution = a.Execution.asksToStop(ServerStop(), at)
	case Awaiting:
		return a.heard(f, at)
	case Decided:
		return a.decided(f, at)
	case Replied:
		return a.taught(f, at)
	case Paused:
		a.Execution.Paused = f.On && a.Execution.Running
	case Sent:
		return a.sent(f, at)
	case Suspended:
		if a.Suspended == nil || f.Suspension == nil {
			a.Suspended = f.Suspension
		}
	case Rewound:
		return a.rewound(f, at)
	case Cleared:
		a.RewoundTo = nil
	case Unsent:
		return a.unsent(f.MessageID)
	case Extended:
		return a.extended(f, at)
	case SessionExtended:
		return a.sessionExtended(f)
	case ChildGranted:
		a.Open = f.lent(a.Open)
	case Granted:
		return a.granted(f, at)
	case MoreAsked:
		a.borrowed = a.borrowed.Asking(f.Request)
	case SessionTold:
		a.Session = &f.Account
		return a.boundFromNow()
	case Unsettled:
		a.Unsettled = f.Calls
	case Settled:
		a.Settled = append(slices.Clip(a.Settled), f.Call)
	case Redefined:
		return a.redefined(f, at)
	case Revoked:
		a.Standing = domain.KeptStanding(a.Standing, f.Standing)
	case Ended:
		return a.executionEnded(f.Outcome, at)
	case TaskBegan:
		a.Run.Suggested = f.Suggested
	case ResetHere:
		a.Run.ResetAt = at
	case Unreadable:
		a.Unread = append(slices.Clip(a.Unread), f)
	}
	return a
}

func (a Agent) at(t time.Time) At {
	halted := a.Execution.Halted(t)
	return At{Time: t, Price: a.Price, Stopped: halted, NoTools: a.Execution.gentle || halted, StopAsked: halted || len(a.Execution.Stops) > 0}
}

// turns reports whether work has to wait for its turn under a rate limit.
func (a Agent) turns(w Work) bool {
	return w.Model != nil && a.Limit != nil && w.Queue == a.Limit.TaskQueue
}

func (a Agent) begins(number int, at time.Time) Agent {
	if number > a.Execution.Number {
		a = a.takesOver().adopts()
		a.own = a.Execution.Trusted
		a.Execution = Execution{ID: a.executionID(number), Number: number, Running: true, StartedAt: at, Trusted: a.trusted, Session: a.Session}.branches(a.RewoundTo)
		a.RewoundTo = nil
	}
	return a
}

func (a Agent) extended(f Extended, at time.Time) Agent {
	if f.Reply.Began {
		a = a.begins(f.Reply.Number, at)
	}
	if a.Execution.Number != f.Reply.Number {
		return a
	}
	a.Execution.Budget = &f.Reply.Budget
	if f.Reply.Began {
		// Its work may be recorded before this answer.
		a.Execution.Prior, a.Execution.Origin, a.Execution.Trusted = nil, a.executionID(f.Reply.Number-1), a.own
		a.Execution.Given = givenOf(nil)
	}
	return a
}

func (a Agent) executionEnded(o contract.Outcome, at time.Time) Agent {
	if o.Number < a.Execution.Number || o.Number == a.Execution.Number && !a.Execution.Running {
		return a
	}
	if o.Number > a.Execution.Number {
		a = a.beginsWaiting(o.Number, at)
		a.Execution = Execution{ID: o.ExecutionID, Number: o.Number}
	}
	c := a.closing(at)
	c.Stopped = c.Stopped || o.StopReason == domain.TimeLimitReached
	c.failed = o.Status == domain.StatusFailed
	c.short = o.StopReason == domain.TokenLimitReached || o.StopReason == domain.CostLimitReached
	return a.leaves(o.Unread).over(c, o).takesOver().booked(o)
}

func (a Agent) over(c closing, o contract.Outcome) Agent {
	a.Execution = a.Execution.settled(c)
	a.Execution.Running, a.Execution.Paused, a.Execution.EndedAt, a.Execution.Outcome = false, false, c.Time, &o
	return a
}

// runEnded notes the end of a run, and of an execution that the server ended so.
func (a Agent) runEnded(f RunEnded, at time.Time) Agent {
	a.Settled = append(slices.Clip(a.Settled), f.Settled...)
	if f.How != Continued {
		a = a.unboundAll("the agent has ended", at)
	}
	if f.Outcome != nil {
		return a.executionEnded(*f.Outcome, at)
	}
	o, byServer := f.How.Outcome()
	if !byServer || !a.Execution.Running {
		a.Execution.Running = a.Execution.Running && f.How == Continued
		return a
	}
	c := a.closing(at)
	c.underWay = len(a.Open) > 0
	o.AgentID, o.ExecutionID, o.Number, o.Steps = a.id, a.Execution.ID, a.Execution.Number, max(a.Execution.Step-1, 0)
	return a.over(c, o)
}

// runBegan begins a run: with an execution of its own, or with what it took over.
func (a Agent) runBegan(f RunBegan, at time.Time) Agent {
	in := f.Input
	a.Run, a.Open, a.stepped = Run{Base: int64(f.Size)}, nil, domain.StepID{}
	if !f.Readable() {
		return a
	}
	a.Definition = in.Definition
	if in.Parent != nil {
		a.borrowed = NewBorrowed(in.Parent.Grant)
	}
	if a.Model == "" && in.Definition.Model.Provider != "" {
		a.Model = in.Definition.Model.String()
	}
	took := Carried(in)
	a.trusted = took.Trusted
	a.Unsettled, a.Standing, a.RewoundTo, a.Session = took.Unsettled, took.Standing, took.RewoundTo, took.Session
	if in.Carry != nil {
		a.pins = in.Carry.Pins
		for _, b := range in.Carry.Bound {
			a = a.bound(b, at)
		}
		a.Run.Before, a.edits, a.Changes, a.Waiting, a.next, a.Suspended = in.Carry.Runs, in.Carry.Edits, in.Carry.Changes, in.Carry.Waiting, in.Carry.Next, in.Carry.Suspended
		if r := in.Carry.Resolved; r != nil {
			a = a.inForce(*r)
			a.Model = r.Definition.Model.String()
		}
		a.word = in.Carry.Untold
		if a.handing, a.handed = nil, (contract.Handed{}); in.Carry.Handed != nil {
			a.handed = *in.Carry.Handed
		}
	}
	switch {
	case took.Begins:
		a.Execution = Execution{
			ID: a.executionID(took.Number), Number: took.Number, Running: true, StartedAt: at, Trusted: joined(took.Trusted, took.Own),
			Given: givenOf(in.Given), Origin: took.Origin, Branch: took.Branch, Session: took.Session,
		}
		if in.GoOn != nil && in.Carry != nil {
			a.Execution.Budget, a.Execution.Prior, a.Execution.Origin = &in.GoOn.Budget, &in.Carry.Prior, took.Execution
		} else {
			a.Execution.Budget, a.Execution.Prior = new(contract.BudgetOf(in.Definition, in.Budget, in.Parent)), &domain.Spent{}
		}
	case took.Open && took.Execution == a.Execution.ID:
		a.Execution.Prior, a.Execution.Session = &in.Carry.Prior, took.Session
	case took.Open:
		a.Execution = Execution{
			ID: took.Execution, Number: took.Number, Running: true, StartedAt: took.StartedAt,
			Budget: &took.Budget, Prior: &in.Carry.Prior, Origin: took.Origin, Branch: took.Branch, Step: took.Steps, Paused: in.Carry.Paused,
			Trusted: joined(took.Trusted, took.Own), Session: took.Session,
		}
	case took.Number >= a.Execution.Number:
		a.Execution.Number, a.Execution.Running, a.Execution.Trusted = took.Number, false, joined(took.Trusted, took.Own)
		if a.Execution.Outcome == nil {
			a.Execution.Outcome = in.Carry.Outcome
		}
	}
	return a
}
