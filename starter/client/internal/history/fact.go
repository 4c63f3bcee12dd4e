package history

import (
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// A Fact is something that has happened to an execution: one of the types of this file.
type Fact any

// A Work is an activity that a worker was asked for, or a sub-agent.
type Work struct {
	// ID is the activity's own within its run, Activity its name in the contract, and Queue where it was put.
	ID, Activity, Queue string
	// Since is when it was asked for.
	Since time.Time
	// Attempt is the newest known to have begun; Before is why the one before it failed.
	Attempt int
	Before  *domain.Error
	// Execution and Step name the step that asked for an inference, a call or a sub-agent: zero where none did. A hook's are zero,
	// since it may run between two.
	Execution domain.ExecutionID
	Step      int
	// Model is the request of an inference, and Hook that of a hook.
	Model *contract.ModelRequest
	Hook  *contract.HookRequest
	// Child is the sub-agent that the work is.
	Child domain.AgentID
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

// A Resolved says what a worker makes of the definition.
type Resolved struct {
	Work
	Catalog contract.Resolved
}

// A Finished says that other work ended well.
type Finished struct{ Work }

// A Lost says that work ended without a reply.
type Lost struct {
	Work
	Loss contract.Loss
}

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
	How contract.RunEnd
	// Next is the run that goes on, where the workflow continues as new.
	Next string
	// Outcome is the workflow's result, where it has one, and End what of it tells the end.
	Outcome *contract.Outcome
	End     *contract.End
	// Settled are the calls of unknown outcome of which it tells that they are settled.
	Settled []domain.Wait
}

// A StopAsked says that somebody asked to stop an execution; zero: the one in progress.
type StopAsked struct{ Request contract.StopRequest }

// A StopForced says that the workflow was cancelled with the server's own tools.
type StopForced struct{}

// A TaskBegan says that a worker looks at the workflow, of which build that is, and whether the workflow is long by the
// server's word.
type TaskBegan struct {
	Suggested bool
	Build     string
}

// A TaskDone says that a worker has carried the workflow on.
type TaskDone struct{}

// A TaskFailed says which worker, of which build, could not complete a workflow task, and why.
type TaskFailed struct{ Why, Worker, Build string }

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
