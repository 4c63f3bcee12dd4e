package progress

import (
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
