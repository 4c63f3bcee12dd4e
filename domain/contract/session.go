package contract

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"everstep/domain"
)

// A SessionInput is what an agent's workflow starts with, or goes on with.
type SessionInput struct {
	AgentID domain.AgentID `json:"agent_id"`
	// Name is set for a named agent, whose session stays open.
	Name       string            `json:"name,omitzero"`
	Definition domain.Definition `json:"definition"`
	// Prompt begins the first execution, with what is given beside it.
	Prompt  string               `json:"prompt,omitzero"`
	Options *domain.StartOptions `json:"given,omitempty"`
	// Budget is the request's, which caps the definition's.
	Budget domain.ExecutionBudget `json:"budget,omitzero"`
	Timing Timing                 `json:"timing,omitzero"`
	// By says who starts the agent.
	By domain.Program `json:"started_by,omitzero"`
	// Attributes are the custom search attributes that the server knows.
	Attributes []string `json:"attributes,omitempty"`
	// Carry is set by a run that continues as new, and with GoOn, Fork or ResolveOutcome.
	Carry *Carry `json:"carry,omitempty"`
	// GoOn is set where an ended execution of an unnamed agent goes on.
	GoOn *GoOn `json:"go_on,omitempty"`
	// Fork is set, beside Carry, where the agent begins with what another one had come to.
	Fork *Fork `json:"fork,omitempty"`
	// ResolveOutcome is set, beside Carry, where the workflow only resolves a call of an unnamed agent that has ended.
	ResolveOutcome *OutcomeResolution `json:"resolve_outcome,omitempty"`
	// Parent is set where the agent is a sub-agent.
	Parent *Parent `json:"parent,omitempty"`
}

// WorkflowID is the id under which the agent runs, whoever starts it.
func (in SessionInput) WorkflowID() string {
	return domain.WorkflowID(cmp.Or(in.Name, in.AgentID.String()))
}

// Message is the one that begins the first execution.
func (in SessionInput) Message() SendRequest {
	return SendRequest{Prompt: in.Prompt, Options: in.Options, Budget: in.Budget}
}

// TimingOf is what fits a server that is on the same machine, or not: what costs nothing there would cost
// heartbeats elsewhere.
func TimingOf(loopback bool) Timing {
	if loopback {
		return Timing{Heartbeat: 3 * time.Second, FirstRetry: 100 * time.Millisecond}
	}
	return Timing{Heartbeat: 30 * time.Second, FirstRetry: time.Second}
}

// Timing says how soon lost work is noticed, as the worker chooses that resolves the definition; before that,
// whoever starts the agent.
type Timing struct {
	// Heartbeat is how long an activity may be silent. Zero: 30 s.
	Heartbeat time.Duration `json:"heartbeat,omitzero"`
	// FirstRetry is the delay before the second attempt. Zero: 1 s.
	FirstRetry time.Duration `json:"first_retry,omitzero"`
}

// A Carry is what a run hands to the one that continues it: of each part of the session what that part needs.
type Carry struct {
	// State is the agent's state in full form, its messages aside.
	State json.RawMessage `json:"state"`
	// Sequence is the number of the execution's newest event.
	Sequence int64 `json:"event_sequence,omitzero"`
	// Prior is what the origins of the execution have spent. Of an execution that has ended it is all that
	// was spent.
	Prior domain.Spent `json:"prior,omitzero"`
	// Outcome is that of the execution that ended last.
	Outcome      *Outcome            `json:"outcome,omitempty"`
	Config       CarriedConfig       `json:"config,omitzero"`
	Conversation CarriedConversation `json:"conversation,omitzero"`
	Mail         CarriedMail         `json:"mail,omitzero"`
	Records      CarriedRecords      `json:"records,omitzero"`
	Guarded      domain.Guarded      `json:"guarded,omitzero"`
	// Bound are the agent's sessions with stateful servers.
	Bound []Bound `json:"bound,omitempty"`
	// Segments are the ranges of the transcript that are in storage.
	Segments []Segment `json:"segments,omitempty"`
	// Copy are messages before the conversation's base that are still with an earlier workflow of the agent.
	Copy *RecordRequest `json:"copy,omitempty"`
	// Runs counts the runs of the chain before this one.
	Runs int `json:"runs,omitzero"`
}

// CarriedConfig is the configuration in force, the one that waits, and how the session came to them.
type CarriedConfig struct {
	Config
	// Next waits for the session's next execution.
	Next *Config `json:"next,omitempty"`
	// Changes are the newest of what was in force for the session's executions.
	Changes []Change `json:"changes,omitempty"`
	// Pins are of the tools of MCP servers that the session was given.
	Pins []ToolPin `json:"tool_pins,omitempty"`
	// Handoffs counts how often the conversation was handed over in the newest execution.
	Handoffs int `json:"handoffs,omitzero"`
}

// CarriedConversation is the conversation, as far as no storage has it.
type CarriedConversation struct {
	// Entries are the live messages where there is no storage, after what Base and Chain name.
	Entries []domain.Entry `json:"entries,omitempty"`
	Base    int            `json:"base,omitzero"`
	Chain   domain.Digest  `json:"chain,omitzero"`
	Edits   domain.Edits   `json:"edits,omitzero"`
	// From is the index of the first message of the newest execution, EditsBefore are the edits with which that began.
	From        int          `json:"from,omitzero"`
	EditsBefore domain.Edits `json:"edits_before,omitzero"`
	Inferences  int          `json:"inferences,omitzero"`
	ShownTokens
	// Window is the context window as the provider has taught it by refusals; zero: it has not.
	Window int64 `json:"window,omitzero"`
	// Excess is how many tokens more the provider counted for the newest inference than estimated.
	Excess int64 `json:"excess,omitzero"`
	// TokenIndex is what compaction has to know of the messages just before Base: for each its estimated
	// tokens and, in the lowest bits, what it is.
	TokenIndex []int64 `json:"sketch,omitempty"`
	// NewestRole is who said the last message; empty: nobody knows.
	NewestRole domain.Role `json:"newest_role,omitzero"`
}

// ShownTokens estimate what the model is shown of a transcript.
type ShownTokens struct {
	// Visible and Traces are tokens: of what every execution sees of the transcript, and of this execution's traces.
	Visible int64 `json:"visible,omitzero"`
	Traces  int64 `json:"traces,omitzero"`
	// Results counts the tool results that are shown whole, of ResultTokens.
	Results      int64 `json:"results,omitzero"`
	ResultTokens int64 `json:"result_tokens,omitzero"`
}

// CarriedMail is what people have asked of the agent.
type CarriedMail struct {
	Answers Answers `json:"answers,omitempty"`
	Settings
	// Waiting are the messages that wait for the agent, in the order in which they came, and Waited counts all
	// that ever had to.
	Waiting []WaitingMessage `json:"waiting,omitempty"`
	Waited  int64            `json:"waited,omitzero"`
	// SpokenSince is when people last spoke to the session; zero: nobody has.
	SpokenSince time.Time `json:"spoken_since,omitzero"`
	// Reported is the number of the newest report to the agent that has started this one.
	Reported int `json:"reported,omitzero"`
}

// CarriedRecords is what is not among the records yet.
type CarriedRecords struct {
	// Ended are executions.
	Ended []EndedExecution `json:"ended,omitempty"`
	// Moved is the newest move of the session, and PositionDue says that its position is not among the records.
	Moved       *Move `json:"moved,omitempty"`
	PositionDue bool  `json:"position_due,omitzero"`
}

// An Outcome says how an execution ended. It holds no user text: it is the memo and the result.
type Outcome struct {
	AgentID     domain.AgentID         `json:"agent_id"`
	ExecutionID domain.ExecutionID     `json:"execution_id"`
	Number      int                    `json:"execution_number"`
	Status      domain.ExecutionStatus `json:"status"`
	StopReason  domain.StopReason      `json:"stop_reason,omitzero"`
	// Kind and Code are of the error that made the execution fail.
	Kind        domain.Kind  `json:"kind,omitzero"`
	Code        domain.Code  `json:"code,omitzero"`
	Steps       int          `json:"step_count"`
	Usage       domain.Usage `json:"usage"`
	CostNanoUSD int64        `json:"cost_nano_usd,omitzero"`
	// Priced says that the model has a price: without one nobody knows the cost, and it is zero.
	Priced bool `json:"priced,omitzero"`
	// SessionSpent is what all executions of the session have used by its end, where the session has a budget, and
	// SessionLimit says that it was a limit of that which ended this one.
	SessionSpent *domain.Spent `json:"session_spent,omitempty"`
	SessionLimit bool          `json:"session_limit,omitzero"`
	Closed       bool          `json:"closed,omitzero"`
	// UnknownOutcomes counts the agent's calls of unknown outcome.
	UnknownOutcomes int `json:"outcome_unknown,omitzero"`
	// Effects are what the execution has done, its sub-agents included.
	domain.EffectCounts
	// Unread counts the messages that it has left waiting: they begin what comes next in a session, and are never read
	// where there is none.
	Unread int `json:"unread_messages,omitzero"`
	// End stands in a workflow's result alone, where it is short. A memo holds no text of users.
	End *End `json:"end,omitempty"`
	// ResolvedOutcomes are the calls of unknown outcome that are resolved, in the result alone of a workflow that was to resolve one.
	ResolvedOutcomes []domain.Wait `json:"resolved_outcomes,omitempty"`
	// Report stands in the result alone of a sub-agent's workflow.
	Report *Report `json:"report,omitempty"`
}

// A HeadMemo says where an agent stands, so that nobody has to ask its workflow to list it or to change it. An execution of
// that number whose [Outcome] the memo has is over: then Paused and Stopping mean nothing. It holds no user text.
type HeadMemo struct {
	// Number is of the newest execution, which may be about to begin.
	Number    int  `json:"execution_number"`
	Paused    bool `json:"paused,omitzero"`
	Suspended bool `json:"suspended,omitzero"`
	// Stopping says that somebody has asked the execution to stop.
	Stopping bool `json:"stopping,omitzero"`
}

// Cost is in nano-dollars; nil where nobody knows it.
func (o Outcome) Cost() *int64 {
	return domain.KnownCost(o.CostNanoUSD, o.Usage.TotalTokens(), o.Priced)
}

// An End is what an execution came to, in words.
type End struct {
	// Answer may be partial where the execution did not complete.
	Answer string `json:"answer"`
	// SaidLast is the newest text of any step, in part where it is long; empty where Answer is not.
	SaidLast string        `json:"said_last,omitzero"`
	Error    *domain.Error `json:"error,omitempty"`
	// Signal is the one that counted, where the execution did not complete.
	Signal *domain.StopSignal `json:"signal,omitempty"`
}

// A SendRequest gives an agent a message.
type SendRequest struct {
	Prompt string `json:"prompt"`
	// Options are what the execution begins with beside it.
	Options *domain.StartOptions `json:"given,omitempty"`
	// IfIdle refuses the message where an execution is in progress, whatever IfBusy says.
	IfIdle bool `json:"if_idle,omitzero"`
	// IfBusy says what becomes of it there.
	IfBusy Delivery `json:"if_busy,omitzero"`
	// ExecutionID, where given, must be the execution that the sender means.
	ExecutionID domain.ExecutionID `json:"execution_id,omitzero"`
	// Model, where given, replaces the session's from this execution on.
	Model *domain.LLMConfig `json:"model,omitempty"`
	// Budget caps the definition's for the execution that the message begins.
	Budget domain.ExecutionBudget `json:"budget,omitzero"`
	// Definition holds the fields that the sender asked for; none may differ from the session's.
	Definition *domain.Definition `json:"definition,omitempty"`
	// By says who sends it.
	By domain.Program `json:"started_by,omitzero"`
}

// Check says what is wrong with the message in itself.
func (r SendRequest) Check() error {
	if r.Model != nil {
		if err := (domain.Definition{Model: *r.Model}).Check(); err != nil {
			return err
		}
	}
	return cmp.Or(domain.CheckWord(r.IfBusy), domain.CheckPrompt(r.Prompt), r.Budget.Check(), domain.CheckFits("message", r, domain.MaxPayload))
}

// A SendReply says where a message went.
type SendReply struct {
	ExecutionID domain.ExecutionID `json:"execution_id"`
	Number      int                `json:"number"`
	RunID       string             `json:"run_id"`
	// Began says that the message began the execution. Else it waits, and the execution is the one in progress.
	Began bool `json:"began"`
	// Waits is the message's id where it waits, and Place which of the messages that had to wait it is.
	Waits domain.MessageID `json:"waits,omitzero"`
	Place int64            `json:"place,omitzero"`
}

// An ExtendRequest gives new totals to the running execution, or to one that goes on from the newest.
type ExtendRequest struct {
	// Budget holds the new totals; what is absent stays.
	Budget domain.ExecutionBudget `json:"budget,omitzero"`
	// Lift names limits that are taken away, by their names in a budget.
	Lift []domain.Limit `json:"lift,omitempty"`
	// ExecutionID, where given, must be the execution that the sender means.
	ExecutionID domain.ExecutionID `json:"execution_id,omitzero"`
	// By says who asks for it.
	By domain.Program `json:"started_by,omitzero"`
}

// Check says what is wrong with the totals in themselves.
func (r ExtendRequest) Check() error {
	for _, limit := range r.Lift {
		if !slices.Contains(domain.Limits(), limit) {
			return domain.Invalidf("lift: %q is none of %v", domain.Shorten(string(limit), 64), domain.Limits())
		}
	}
	return r.Budget.Check()
}

// An ExtendReply says what came of it.
type ExtendReply struct {
	ExecutionID domain.ExecutionID `json:"execution_id"`
	Number      int                `json:"number"`
	RunID       string             `json:"run_id"`
	// Began says that an execution began that goes on from the one before.
	Began bool `json:"began,omitzero"`
	// Budget is the one in force from now on.
	Budget domain.ExecutionBudget `json:"budget"`
}

// A GoOn makes the input of a workflow one that goes on from an execution that ended in an earlier workflow
// of the same agent. The carry beside it holds what that one left.
type GoOn struct {
	// Budget is the one in force, whole.
	Budget domain.ExecutionBudget `json:"budget,omitzero"`
	// RunID is the run that ended.
	RunID string `json:"run_id"`
	// Copy, where set, are messages too long to be carried, which agent.Record copies first.
	Copy *RecordRequest `json:"copy,omitempty"`
}
