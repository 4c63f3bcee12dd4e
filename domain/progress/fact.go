package progress

import (
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// A Fact is something that has happened to an execution: one of the types of this file.
type Fact any

// A Work is an activity that a worker was asked for.
type Work struct {
	// ID is the activity's own within its run, Activity its name in the contract,
	// Queue where it was put, and Worker who took it last.
	ID, Activity, Queue, Worker string
	// Since is when it was asked for.
	Since time.Time
	// Attempt is the newest known to have begun; Before is why the one before it failed.
	Attempt int
	Before  *domain.Error
	// Turns says that it had to wait for its turn under a rate limit, CutOff that a stop asked for its end
	// before that came.
	Turns, CutOff bool
	// One of these is set where the request is that of a model, a tool, a tool's Verify or a hook.
	Model  *contract.ModelRequest
	Tool   *contract.ToolRequest
	Verify *contract.ToolRequest
	Hook   *contract.HookRequest
	// Listing is set where a worker was asked what the definition means.
	Listing *contract.CatalogRequest
	// Handoff is set, beside the Tool whose call it is, where that is to hand the conversation over.
	Handoff *contract.HandoffCall
	// Child is set, beside the Tool whose call it is, where the work is a sub-agent of the id ChildID.
	Child   *contract.Parent
	ChildID domain.AgentID
}

// Execution and Step name the step that asked for the work: zero where none did.
// A hook's is of no step here, since it may run between two.
func (w Work) Execution() domain.ExecutionID {
	id, _ := w.by()
	return id
}

// Step is the step's number.
func (w Work) Step() int {
	_, step := w.by()
	return step
}

func (w Work) by() (domain.ExecutionID, int) {
	if w.Model != nil {
		return w.Model.ExecutionID, w.Model.Step
	}
	if w.Tool != nil {
		return w.Tool.ExecutionID, w.Tool.Step
	}
	if w.Verify != nil {
		return w.Verify.ExecutionID, w.Verify.Step
	}
	return domain.ExecutionID{}, 0
}

// An Asked says that work was asked for.
type Asked struct{ Work }

// An Attempted says that a worker has begun an attempt.
type Attempted struct{ Work }

// A ModelReplied says that an inference ended with a reply, an answer or not.
type ModelReplied struct {
	Work
	Reply contract.ModelReply
}

// A ToolReplied says that a tool call ended with a reply.
type ToolReplied struct {
	Work
	Reply contract.ToolReply
}

// A Verified says what a tool's Verify has found out of a call whose outcome was unknown.
type Verified struct {
	Work
	Reply contract.VerifyReply
}

// A Resolved says what a worker makes of the definition.
type Resolved struct {
	Work
	Catalog contract.Catalog
}

// A Finished says that other work ended well.
type Finished struct{ Work }

// A Lost says that work ended without a reply.
type Lost struct {
	Work
	Loss Loss
}

// An Answered takes the model's answer, as hooks have left it.
type Answered struct {
	Message  domain.Message
	Response domain.Response
	Invalid  string
}

// A Wanted takes the calls of an answer. Each gets one result.
type Wanted struct{ Calls []domain.ToolCall }

// A CutOff says that a step does not come to its own end. Reply is what had come
// of an answer that was cut off.
type CutOff struct {
	By    Cut
	Reply contract.ModelReply
}

// A Failed ends a step with an error.
type Failed struct{ Err *domain.Error }

// A RunBegan says what a run of the workflow was started with, or took over.
type RunBegan struct {
	Run   string
	Input contract.SessionInput
	// Continues is the run of the same workflow that it goes on from, if any.
	Continues string
	// Size is how many bytes its first event takes.
	Size int
}

// Previous is the run that it goes on from, if any, of an earlier workflow too.
func (r RunBegan) Previous() string {
	switch in := r.Input; {
	case r.Continues != "":
	case in.GoOn != nil:
		return in.GoOn.RunID
	case in.Settle != nil:
		return in.Settle.RunID
	}
	return r.Continues
}

// Readable reports whether what it began with could be read.
func (r RunBegan) Readable() bool { return !r.Input.AgentID.IsZero() }

// A RunEnded says that a run of the workflow has ended.
type RunEnded struct {
	How RunEnd
	// Next is the run that goes on, where the workflow continues as new.
	Next string
	// Outcome is the workflow's result, where it has one, and End what of it tells the end.
	Outcome *contract.Outcome
	End     *contract.End
	// Settled are the calls of unknown outcome of which it tells that they are settled.
	Settled []domain.UnknownCall
}

// A RunEnd says how a run ended.
type RunEnd int

const (
	// Completed: the workflow came to its own end.
	Completed RunEnd = iota
	// Continued: another run goes on.
	Continued
	// Terminated: an operator ended it.
	Terminated
	// RanOut: it reached a time-out of the server's.
	RanOut
	// Aborted: it ended with an error, which no execution does.
	Aborted
	// CancelledByServer: it was cancelled with the server's own tools.
	CancelledByServer
	// Unstarted: it never began, as a sub-agent's may not.
	Unstarted
)

// A StopAsked says that somebody asked to stop.
type StopAsked struct{ Request contract.StopRequest }

// A StopForced says that the workflow was cancelled with the server's own tools.
type StopForced struct{}

// A Paused says that the execution in progress was to pause, or to go on. It may have been so already.
type Paused struct{ On bool }

// A Sent says that a message was taken. Request is nil where it cannot be read.
type Sent struct {
	Request *contract.SendRequest
	Reply   contract.SendReply
}

// An Extended says that new totals were taken.
type Extended struct{ Reply contract.ExtendReply }

// An Ended says how an execution ended.
type Ended struct{ Outcome contract.Outcome }

// OutcomeOf is the outcome of an execution that a fact tells.
func OutcomeOf(fact Fact) (contract.Outcome, bool) {
	switch f := fact.(type) {
	case Ended:
		return f.Outcome, true
	case RunEnded:
		if f.Outcome != nil {
			return *f.Outcome, true
		}
	case RunBegan:
		if f.Input.Carry != nil && f.Input.Carry.Outcome != nil {
			return *f.Input.Carry.Outcome, true
		}
	}
	return contract.Outcome{}, false
}

// A TaskBegan says that a worker looks at the workflow, of which build that is, and whether the workflow is long by the
// server's word.
type TaskBegan struct {
	Suggested bool
	Build     string
}

// A TaskDone says that a worker has carried the workflow on.
type TaskDone struct{}

// A TaskFailed says why a worker could not carry the workflow on.
type TaskFailed struct{ Why, Worker string }

// A ResetHere says that what came before stands in an earlier run too.
type ResetHere struct{ From string }

// An Unreadable says what cannot be read, and why.
type Unreadable struct{ What, Why string }

// A Recorded is a fact as a history holds it.
type Recorded struct {
	Fact Fact
	At   time.Time
	// Run and Event are where it stands.
	Run   string
	Event int64
}

// String says it in words.
func (u Unreadable) String() string { return u.What + " cannot be read: " + u.Why }

// Outcome is the outcome of an execution in progress whose run the server itself has ended; ok is false where it has not. The
// agent's workflow is over then too (Closed). A termination by hand forbids going on by itself, as an error does.
func (e RunEnd) Outcome() (o contract.Outcome, ok bool) {
	o, ok = map[RunEnd]contract.Outcome{
		Terminated:        {Status: domain.StatusFailed, StopReason: domain.ErrorForbade, Code: domain.CodeTerminated},
		RanOut:            {Status: domain.StatusFailed, StopReason: domain.ErrorForbade, Code: domain.CodeTimedOut},
		Aborted:           {Status: domain.StatusFailed, StopReason: domain.ErrorForbade},
		CancelledByServer: {Status: domain.StatusStopped, StopReason: domain.UserRequested},
	}[e]
	o.Closed = ok
	return o, ok
}
