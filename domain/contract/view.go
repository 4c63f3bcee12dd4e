package contract

import (
	"everstep/domain"
	"everstep/domain/enum"
	"fmt"
	"time"
)

// A StatusView says what an agent is doing now.
type StatusView struct {
	AgentID     domain.AgentID         `json:"agent_id"`
	Name        string                 `json:"name,omitzero"`
	ExecutionID domain.ExecutionID     `json:"execution_id,omitzero"`
	Number      int                    `json:"execution_number"`
	WorkflowID  string                 `json:"workflow_id"`
	RunID       string                 `json:"run_id"`
	Status      domain.ExecutionStatus `json:"status"`
	StepCount   int                    `json:"step_count"`
	// Doing says in words what is going on, and Since since when.
	Doing string    `json:"doing"`
	Since time.Time `json:"since,omitzero"`
	// Build has begun the agent's newest run; empty: no worker has yet. ServedBy are the builds that would carry it on,
	// where all of them are others. The client fills them in.
	Build    string `json:"build"`
	ServedBy string `json:"served_by,omitzero"`
	// CarriedBy is the build that has carried that run on last, where that is another than Build.
	CarriedBy string `json:"carried_by,omitzero"`
	// Lacking says which worker lacks what, while another one is waited for.
	Lacking string `json:"lacking,omitzero"`
	Model   string `json:"model,omitzero"`
	// Agent is the one to which the conversation was handed over, and which has it now; empty: it never was.
	Agent string `json:"agent,omitzero"`
	// RateLimit holds for the model's inferences, ToolLimits for the tools that have one. RateLimited says that an
	// inference or a call waits for its turn.
	RateLimit   *RateLimit           `json:"rate_limit,omitempty"`
	ToolLimits  map[string]ToolLimit `json:"tool_limits,omitempty"`
	RateLimited bool                 `json:"rate_limited,omitzero"`

	// Progress is what the tool calls under way have told of themselves.
	Progress []Progress `json:"progress,omitempty"`

	Usage       domain.UsageView `json:"usage"`
	CostNanoUSD int64            `json:"cost_nano_usd"`
	// Priced says that the model has a price: without one nobody knows the cost, and it is zero.
	Priced     bool                   `json:"priced,omitzero"`
	Budget     domain.ExecutionBudget `json:"budget"`
	BudgetLeft domain.ExecutionBudget `json:"budget_left"`
	// SessionBudget is the one over all executions of the session, where it has one, and SessionBudgetLeft what they
	// leave of it.
	SessionBudget     *domain.ExecutionBudget `json:"session_budget,omitempty"`
	SessionBudgetLeft *domain.ExecutionBudget `json:"session_budget_left,omitempty"`

	StopReason  domain.StopReason   `json:"stop_reason,omitzero"`
	StopSignals []domain.StopSignal `json:"stop_signals"`
	// SessionLimit says that it was a limit of the session's budget which ended the execution.
	SessionLimit bool `json:"session_limit,omitzero"`
	// MoreStops counts the stops of users that came beyond domain.MaxStops of them.
	MoreStops int           `json:"more_stops,omitzero"`
	Error     *domain.Error `json:"error,omitempty"`

	// OutcomeUnknown are the agent's calls of which nobody knows whether they took effect; where no worker
	// answers, without their texts.
	OutcomeUnknown []domain.UnknownCall `json:"outcome_unknown"`
	// PendingApprovals are the tool calls that wait for a person's word.
	PendingApprovals []domain.PendingApproval `json:"pending_approvals"`
	PendingQuestions []domain.PendingQuestion `json:"pending_questions"`
	// StandingApprovals are the session's, those too that were revoked.
	StandingApprovals []domain.StandingApproval `json:"standing_approvals"`
	// WaitingMessages have met an execution in progress and were not read yet: never, where the agent has ended.
	WaitingMessages []WaitingView `json:"waiting_messages"`
	History         HistoryView   `json:"history"`
	// Source says who answered.
	Source StatusSource `json:"source"`
	// Open says that the session takes messages, or will.
	Open bool `json:"open"`
	// Suspended is set while the session accepts nothing.
	Suspended *Suspension `json:"suspended,omitempty"`
	// Cleared is how many messages a clear has dropped, from the first on: the agent reads none of them. Where no worker
	// answers it is zero.
	Cleared int `json:"messages_cleared,omitzero"`
	// OriginNumber and RewoundToNumber count the executions of Origin, or BranchedFrom, and of RewoundTo; zero: they are not
	// the agent's.
	OriginNumber    int `json:"origin_number,omitzero"`
	RewoundToNumber int `json:"rewound_to_number,omitzero"`
	// Paused says that nothing new starts until the execution is resumed.
	Paused bool `json:"paused,omitzero"`
	// Origin is the execution that this one goes on from, and Prior what had been spent by then.
	Origin domain.ExecutionID `json:"origin,omitzero"`
	Prior  domain.Spent       `json:"prior,omitzero"`
	// BranchedFrom is the step from which it was forked or rewound, where it was.
	BranchedFrom *domain.Origin `json:"branched_from,omitempty"`
	// RewoundTo is the step from which the session's next execution goes on, where a rewind has left it so.
	RewoundTo *domain.Origin `json:"rewound_to,omitempty"`
	// Window is the model's context window, and Context about how much of it is filled; zero: unknown.
	Window  int64 `json:"context_window,omitzero"`
	Context int64 `json:"context_tokens,omitzero"`
	// Trusted is what whoever started the agent, or its newest execution, says.
	Trusted domain.Trusted `json:"trusted,omitempty"`
	// Bound are the agent's sessions with stateful servers, each on one worker.
	Bound []Bound `json:"mcp_sessions,omitempty"`
	// Changes are the newest of what is in force for the session's executions, the newest last. Without a worker they
	// are not known.
	Changes []DefinitionChange `json:"definition_changes,omitempty"`
	// ParentAgentID is the agent whose sub-agent this one is, and Subagent its name there.
	ParentAgentID domain.AgentID `json:"parent_agent_id,omitzero"`
	Subagent      string         `json:"subagent,omitzero"`
	// Subagents are those under way.
	Subagents []SubagentView `json:"subagents,omitempty"`
	// Next says who has given the session another definition that waits for its next execution.
	Next *DefinitionWord `json:"next_definition,omitempty"`
	// Todo is the list that tool todo keeps for the session. Without a worker it is not known.
	Todo []domain.TodoItem `json:"todo,omitempty"`
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

// StatusSources lists every source.
func StatusSources() []StatusSource {
	return []StatusSource{FromWorkflow, FromHistory, FromRawHistory, FromServer, FromRecords}
}

// UnmarshalText accepts the known sources only.
func (s *StatusSource) UnmarshalText(text []byte) error {
	return enum.Decode(s, text, StatusSources(), "source")
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
