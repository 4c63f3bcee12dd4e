package progress

import (
	"time"

	"everstep/domain"
)

// A Fact is something that has happened to an execution. Each is a type of its own.
type Fact interface{ isFact() }

// A Work is an activity that a worker was asked for.
type Work struct {
	// ID is the activity's own within its run, Activity its name in the contract
	// and Queue the task queue that it was given to.
	ID, Activity, Queue string
	// Since is when it was asked for.
	Since time.Time
	// Attempt is the newest that is known to have begun; zero: none is. Before is
	// why the one before it failed.
	Attempt int
	Before  *domain.Error
	// Turns says that it had to wait for its turn under a rate limit.
	Turns bool
	// One of these is set where the request is that of a model, a tool or a hook.
	Model *domain.ModelRequest
	Tool  *domain.ToolRequest
	Hook  *domain.HookRequest
}

// Execution and Step name the step that asked for the work. A hook's is of no
// step here, since it may run between two.
func (w Work) Execution() domain.ExecutionID {
	switch {
	case w.Model != nil:
		return w.Model.ExecutionID
	case w.Tool != nil:
		return w.Tool.ExecutionID
	}
	return domain.ExecutionID{}
}

// Step is the number of the step that asked for the work, zero where none did.
func (w Work) Step() int {
	switch {
	case w.Model != nil:
		return w.Model.Step
	case w.Tool != nil:
		return w.Tool.Step
	}
	return 0
}

// Facts of the work that an execution asks for.
type (
	// Asked: work was asked for.
	Asked struct{ Work }
	// Attempted: a worker began an attempt.
	Attempted struct{ Work }
	// CancelAsked: a stop cuts the work off.
	CancelAsked struct{ Work }
	// ModelReplied: an inference ended with a reply, an answer or not.
	ModelReplied struct {
		Work
		Reply domain.ModelReply
	}
	// ToolReplied: a tool call ended with a reply.
	ToolReplied struct {
		Work
		Reply domain.ToolReply
	}
	// Resolved: a worker said what the definition means.
	Resolved struct {
		Work
		Catalog domain.Catalog
	}
	// Finished: other work ended well.
	Finished struct{ Work }
	// Lost: work ended without a reply.
	Lost struct {
		Work
		Loss Loss
	}
)

// Facts that follow within a step.
type (
	// Answered: the model's answer is taken, as hooks have left it.
	Answered struct {
		Message  domain.Message
		Response domain.Response
		Invalid  string
	}
	// Wanted: the calls of an answer are taken. Each gets one result.
	Wanted struct{ Calls []domain.ToolCall }
	// CutOff: the step does not come to its own end. Reply is what had come of
	// the answer, where that is what was cut off.
	CutOff struct {
		By    Cut
		Reply domain.ModelReply
	}
	// Failed: an error ends the step.
	Failed struct{ Err *domain.Error }
)

func (Asked) isFact()        {}
func (Attempted) isFact()    {}
func (CancelAsked) isFact()  {}
func (ModelReplied) isFact() {}
func (ToolReplied) isFact()  {}
func (Resolved) isFact()     {}
func (Finished) isFact()     {}
func (Lost) isFact()         {}
func (Answered) isFact()     {}
func (Wanted) isFact()       {}
func (CutOff) isFact()       {}
func (Failed) isFact()       {}
