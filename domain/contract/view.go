package contract

import (
	"everstep/domain"
	"everstep/domain/enum"
	"fmt"
	"time"
)

// A StatusView says what an agent is doing now. It is no form of its own that is sent or kept: the head of an account is.
type StatusView struct {
	AgentID     domain.AgentID
	Name        string
	ExecutionID domain.ExecutionID
	Number      int
	WorkflowID  string
	RunID       string
	Status      domain.ExecutionStatus
	StepCount   int
	// Doing says in words what is going on, and Since since when.
	Doing string
	Since time.Time
	// Build has begun the agent's newest run; empty: no worker has yet. ServedBy are the builds that would carry it on,
	// where all of them are others. The client fills them in.
	Build    string
	ServedBy string
	// CarriedBy is the build that has carried that run on last, where that is another than Build.
	CarriedBy string
	// Lacking says which worker lacks what, while another one is waited for.
	Lacking string
	Model   string
	// Agent is the one to which the conversation was handed over, and which has it now; empty: it never was.
	Agent string
	// RateLimit holds for the model's inferences, ToolLimits for the tools that have one. RateLimited says that an
	// inference or a call waits for its turn.
	RateLimit   *RateLimit
	ToolLimits  map[string]ToolLimit
	RateLimited bool

	// Progress is what the tool calls under way have told of themselves.
	Progress []Progress

	Usage       domain.UsageView
	CostNanoUSD int64
	// Priced says that the model has a price: without one nobody knows the cost, and it is zero.
	Priced     bool
	Budget     domain.ExecutionBudget
	BudgetLeft domain.ExecutionBudget
	// SessionBudget is the one over all executions of the session, where it has one, and SessionBudgetLeft what they
	// leave of it.
	SessionBudget     *domain.ExecutionBudget
	SessionBudgetLeft *domain.ExecutionBudget

	StopReason  domain.StopReason
	StopSignals []domain.StopSignal
	// SessionLimit says that it was a limit of the session's budget which ended the execution.
	SessionLimit bool
	// MoreStops counts the stops of users that came beyond domain.MaxStops of them.
	MoreStops int
	Error     *domain.Error

	// Waits are the tool calls that wait for a person, those too of which nobody knows whether they took effect.
	Waits []domain.Wait
	// StandingApprovals are the session's, those too that were revoked.
	StandingApprovals []domain.StandingApproval
	// WaitingMessages have met an execution in progress and were not read yet: never, where the agent has ended.
	WaitingMessages []WaitingView
	History         HistoryView
	// Source says who answered. AtEvent is the event of the execution as which the status is told; zero: as of now.
	Source  StatusSource
	AtEvent int
	// Open says that the session takes messages, or will.
	Open bool
	// Suspended is set while the session accepts nothing.
	Suspended *Suspension
	// Cleared is how many messages a clear has dropped, from the first on: the agent reads none of them.
	Cleared int
	// OriginNumber and RewoundToNumber count the executions of Origin, or BranchedFrom, and of RewoundTo; zero: they are not
	// the agent's.
	OriginNumber    int
	RewoundToNumber int
	// Paused says that nothing new starts until the execution is resumed.
	Paused bool
	// Origin is the execution that this one goes on from, and Prior what had been spent by then.
	Origin domain.ExecutionID
	Prior  domain.Spent
	// BranchedFrom is the step from which it was forked or rewound, where it was.
	BranchedFrom *domain.Origin
	// RewoundTo is the step from which the session's next execution goes on, where a rewind has left it so.
	RewoundTo *domain.Origin
	// Window is the model's context window, and Context about how much of it is filled; zero: unknown.
	Window  int64
	Context int64
	// Trusted is what whoever started the agent, or its newest execution, says.
	Trusted domain.Trusted
	// Bound are the agent's sessions with stateful servers, each on one worker.
	Bound []Bound
	// Changes are the newest of what is in force for the session's executions, the newest last.
	Changes []DefinitionChange
	// ParentAgentID is the agent whose sub-agent this one is, and Subagent its name there.
	ParentAgentID domain.AgentID
	Subagent      string
	// Subagents are those under way.
	Subagents []SubagentView
	// Next says who has given the session another definition that waits for its next execution.
	Next *UpdateNote
	// Todo is the list that tool todo keeps for the session.
	Todo []domain.TodoItem
}

// Cost is in nano-dollars; nil where nobody knows it.
func (v StatusView) Cost() *int64 {
	return domain.KnownCost(v.CostNanoUSD, v.Usage.TotalTokens, v.Priced)
}

// A StatusSource says where a status comes from.
type StatusSource string

const (
	// FromWorkflow: the workflow itself answered.
	FromWorkflow StatusSource = "workflow"
	// FromHistory: no worker answered; the history was replayed.
	FromHistory StatusSource = "history"
	// FromRawHistory: no worker answered, and this build cannot replay the history; what its last inference answered tells.
	FromRawHistory StatusSource = "raw_history"
	// FromServer: the server ended the workflow, and tells.
	FromServer StatusSource = "server"
	// FromRecords: the server has it no more; the record of the execution tells.
	FromRecords StatusSource = "records"
)

// UnmarshalText accepts the known sources only.
func (s *StatusSource) UnmarshalText(text []byte) error {
	return enum.Decode(s, text, "source", FromWorkflow, FromHistory, FromRawHistory, FromServer, FromRecords)
}

// A HistoryView is the size of the current run's history.
type HistoryView struct {
	Events int64 `json:"events"`
	Bytes  int64 `json:"bytes"`
	// Runs counts the runs of the chain, this one included.
	Runs int `json:"runs,omitzero"`
	// Unstored says why the storage did not take the transcript, without which the run cannot continue
	// as new: it goes on, and tries again after some steps. Only the server's own bounds end it.
	Unstored string `json:"unstored,omitzero"`
	// Unrecorded says how many ended executions are not among the records yet, and why; it is tried again
	// when the next one has ended.
	Unrecorded string `json:"unrecorded,omitzero"`
}

// A LargePage in a request asks for all of a run at once, where that is not too much. A page from 64 KiB
// on is compressed then, as host.Dial makes clients read it; others ask without.
type LargePage struct {
	Large bool `json:"large,omitzero"`
}

// Compressed reports whether the answer may be compressed.
func (p LargePage) Compressed() bool { return p.Large }

// MaxBytes bounds the page.
func (p LargePage) MaxBytes() int {
	if p.Large {
		return domain.MaxLargePage
	}
	return domain.MaxPage
}

// A MessagesRequest asks for the transcript from an index on.
type MessagesRequest struct {
	From int `json:"from,omitzero"`
	// Chain, where given, is what the asker holds of the messages before From: where it differs, the
	// page starts at the workflow's base instead.
	Chain *domain.Digest `json:"chain,omitempty"`
	// Resolved asks for the definition in force unless the asker has it.
	Resolved *domain.Digest `json:"resolved,omitempty"`
	// Limit bounds the number of messages; zero is as many as fit.
	Limit int `json:"limit,omitzero"`
}

// A MessagesPage is a part of the transcript.
type MessagesPage struct {
	Entries []domain.Entry `json:"entries"`
	// From is the index of the first entry of the page and Before the chain's digest there.
	From   int           `json:"from"`
	Before domain.Digest `json:"before"`
	// Base is the first index that this run holds.
	Base int `json:"base"`
	// Length is the number of messages of the whole transcript.
	Length   int       `json:"length"`
	Segments []Segment `json:"segments,omitempty"`
	Resolved *Resolved `json:"resolved,omitempty"`
}

// A Segment is a range of the transcript that lives in storage: the messages
// From up to but not including To, recorded by one run.
type Segment struct {
	RunID string `json:"run_id"`
	From  int    `json:"from"`
	To    int    `json:"to"`
	// Digest is the chain's at To.
	Digest domain.Digest `json:"digest"`
	// Bytes is the size of the stored object.
	Bytes int64 `json:"bytes,omitzero"`
}

// Key is the segment's name in storage.
func (s Segment) Key(workflowID string) string {
	return fmt.Sprintf("%s%s/%d-%d-%s", SegmentsOf(workflowID), s.RunID, s.From, s.To, s.Digest)
}

// SegmentsOf begins the names of all segments of a workflow.
func SegmentsOf(workflowID string) string { return fmt.Sprintf("segments/%s/", workflowID) }

// A RecordRequest asks for a range of the transcript to be written to storage.
type RecordRequest struct {
	From int           `json:"from"`
	Log  domain.LogRef `json:"log"`
	// RunID is the run whose messages are to be copied; empty: the one that asks.
	RunID string `json:"run_id,omitzero"`
	// WorkflowID is that of the run, where it is another agent's.
	WorkflowID string `json:"workflow_id,omitzero"`
	// Ended, where given, is an execution that is to be put among the records instead.
	Ended *EndedExecution `json:"ended,omitempty"`
	// Moved, where given, is the newest move of the session, whose position is to be put among the records instead.
	Moved *Move `json:"moved,omitempty"`
}

// A Move is a rewind or a clear, which changes where in its past an idle session stands.
type Move struct {
	// Number counts the moves of the session from 1.
	Number int `json:"number"`
	// After is the number of the execution that had ended last.
	After int       `json:"after_execution"`
	At    time.Time `json:"at"`
}

// An EndedExecution names one that has ended, by the run that tells it.
type EndedExecution struct {
	Number int    `json:"execution_number"`
	RunID  string `json:"run_id"`
}
