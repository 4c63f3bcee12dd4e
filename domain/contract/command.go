package contract

import (
	"time"

	"everstep/domain"
)

// The names of the commands: what people ask of an agent that runs. Each has a row in commandRules.
const (
	// UpdateSend gives the agent a message, which begins its next execution or waits for the one in progress.
	UpdateSend Update[SendRequest, SendReply] = "send"
	// UpdateUnsend takes a message back that was not read yet.
	UpdateUnsend Update[UnsendRequest, UnsendReply] = "unsend"
	// UpdateExtend gives an execution new totals, or goes on from the last one.
	UpdateExtend Update[ExtendRequest, ExtendReply] = "extend"
	// UpdateExtendSession gives a session new totals.
	UpdateExtendSession Update[ExtendSessionRequest, ExtendSessionReply] = "extend_session"
	// UpdatePause lets nothing new start.
	UpdatePause Update[PauseRequest, PauseReply] = "pause"
	// UpdateResume ends a pause.
	UpdateResume Update[PauseRequest, PauseReply] = "resume"
	// UpdateAnswer says something about a tool call that waits for a person: approves or denies it, with other arguments too,
	// answers its question, or says what became of one of unknown outcome.
	UpdateAnswer Update[AnswerRequest, AnswerReply] = "answer"
	// UpdateRevoke takes a standing approval back.
	UpdateRevoke Update[RevokeRequest, RevokeReply] = "revoke"
	// UpdateDefinition gives an open session another definition, from its next execution on.
	UpdateDefinition Update[UpdateRequest, Change] = "update"
	// UpdateSuspend has a session accept nothing.
	UpdateSuspend Update[SuspendRequest, SuspendReply] = "suspend"
	// UpdateUnsuspend ends that.
	UpdateUnsuspend Update[UnsuspendRequest, SuspendReply] = "unsuspend"
	// UpdateClear drops the conversation of an idle session for what its model sees.
	UpdateClear Update[ClearRequest, ClearReply] = "clear"
	// UpdateRewind has an idle session go on from a step of its past.
	UpdateRewind Update[RewindRequest, RewindReply] = "rewind"
	// UpdateClose ends an idle session.
	UpdateClose Update[CloseRequest, CloseReply] = "close"
)

// commandRules is the table of the commands: what each needs, and whether it is urgent.
func commandRules() map[any]commandRule {
	return map[any]commandRule{
		UpdateSend:          {OpenAgent, false},
		UpdateUnsend:        {OpenAgent, true},
		UpdateExtend:        {OpenAgent, false},
		UpdateExtendSession: {OpenAgent, false},
		UpdatePause:         {InProgress, false},
		UpdateResume:        {InProgress, false},
		UpdateAnswer:        {OpenAgent, true},
		UpdateRevoke:        {OpenAgent, false},
		UpdateDefinition:    {OpenSession, false},
		UpdateSuspend:       {OpenSession, false},
		UpdateUnsuspend:     {OpenSession, false},
		UpdateClear:         {IdleSession, false},
		UpdateRewind:        {IdleSession, false},
		UpdateClose:         {IdleSession, true},
	}
}

// A commandRule is what clients and the workflow know of a command.
type commandRule struct {
	needs Need
	// urgent commands are taken where the run has taken nearly as many updates as the server lets it: what waits for one
	// may hold the step, and so the run, for days. Any other is refused then, and can be sent again to the next run.
	urgent bool
}

// Needs is in which agent the command can be done. A client looks before it sends, and the workflow decides.
func (u Update[In, Out]) Needs() Need { return commandRules()[u].needs }

// Urgent reports whether the command is taken where a run has taken nearly as many updates as it may.
func (u Update[In, Out]) Urgent() bool { return commandRules()[u].urgent }

// CheckForm says what is wrong with a request in itself, whatever the agent does: what its method Check says, if it has one.
func CheckForm(request any) error {
	if form, ok := request.(interface{ Check() error }); ok {
		return form.Check()
	}
	return nil
}

// A Need is in which agent a command can be done.
type Need int

// The needs. The zero one is of no command, and no agent has it.
const (
	_ Need = iota
	// OpenAgent is any agent that has not ended.
	OpenAgent
	// InProgress is an agent with an execution in progress.
	InProgress
	// OpenSession is a named agent, whose session is open.
	OpenSession
	// IdleSession is one in which no execution is in progress or about to begin.
	IdleSession
)

// An Availability is what of an agent decides which commands it takes: the server's memo tells it to clients.
type Availability struct {
	// ID is what people call the agent, Named says that it has a session, Open that its workflow has not ended, Closed that the
	// session takes nothing more all the same.
	ID                  string
	Named, Open, Closed bool
	// Number is of the newest execution. Busy says that it is in progress or about to begin, InProgress that it has begun
	// and its work is not over.
	Number           int
	Busy, InProgress bool
}

// Check refuses a command where the agent does not stand as the command needs it, such as idle or in progress.
func (n Need) Check(command string, a Availability) error {
	denied := func(format string, args ...any) error {
		return domain.Deniedf("%s %s: "+format, append([]any{command, a.ID}, args...)...)
	}
	session := n == OpenSession || n == IdleSession
	switch {
	case n == 0:
		return domain.Errorf(domain.Internal, "%s: is no command", command)
	case session && !a.Named:
		return denied("the agent has no name, so it has no session and takes one prompt; start another with a name, or fork this one")
	case a.Named && (!a.Open || session && a.Closed):
		return denied("the session has ended")
	case !a.Open:
		return denied("the agent has ended")
	case n == IdleSession && a.Busy:
		return denied("execution %d is in progress; wait for it or stop it", a.Number)
	case n == InProgress && !a.InProgress:
		return denied("no execution is in progress")
	}
	return nil
}

// Settings are what people have set of an agent that runs. They hold until they are set otherwise, in later runs too, and
// status shows them.
type Settings struct {
	// Paused means that nothing new starts until the execution is resumed or over.
	Paused bool `json:"paused,omitzero"`
	// Suspended is set while the session accepts nothing.
	Suspended *Suspension `json:"suspended,omitempty"`
}

// A PauseRequest asks that nothing new starts. What is under way finishes.
type PauseRequest struct {
	// ExecutionID, where given, must be the one in progress.
	ExecutionID domain.ExecutionID `json:"execution_id,omitzero"`
}

// A PauseReply confirms it.
type PauseReply struct {
	ExecutionID domain.ExecutionID `json:"execution_id"`
	Number      int                `json:"number"`
	// Changed is false where it was so already.
	Changed bool `json:"changed"`
}

// A Suspension says that a session accepts nothing until it is lifted, since when and why.
type Suspension struct {
	Since  time.Time `json:"since"`
	Reason string    `json:"reason,omitzero"`
	// By is who has suspended the session.
	By string `json:"by,omitzero"`
}

// A SuspendRequest has a session accept nothing. The execution in progress goes on to its end; what waits stays, and
// begins none.
type SuspendRequest struct {
	Reason string `json:"reason,omitzero"`
	By     string `json:"by,omitzero"`
}

// Check says what is wrong with the request.
func (r SuspendRequest) Check() error { return CheckSaid(r.By, r.Reason) }

// An UnsuspendRequest ends that.
type UnsuspendRequest struct{}

// A SuspendReply confirms either.
type SuspendReply struct {
	// Changed is false where it was so already.
	Changed bool `json:"changed"`
	// Busy says that an execution is in progress, which goes on.
	Busy bool `json:"busy,omitzero"`
}

// A ClearRequest drops the conversation of an idle session for what its model sees.
type ClearRequest struct{}

// A ClearReply says how many messages the model sees no more.
type ClearReply struct {
	Messages int `json:"messages"`
}

// A CloseRequest ends an idle session.
type CloseRequest struct{}

// A CloseReply confirms it.
type CloseReply struct {
	Executions int `json:"executions"`
}
