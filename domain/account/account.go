// Package account has what is read of an agent: one form for what its workflow answers, with a worker or by a replay of
// its history, for what a record keeps, and for what programs get as JSON.
package account

import (
	"encoding/json"
	"slices"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// An Account is what is read of an agent. Its lists only grow: what is in them stays where it is. What can change
// otherwise, such as what was taken back of them, stands in the head.
type Account struct {
	// Head is absent where only lists were read.
	Head *Head `json:"head,omitempty"`
	// Executions, Steps, Messages and Events are in their order, the oldest first. Of the execution in progress, the last,
	// they are as they were when it was read.
	Executions []Execution    `json:"executions,omitempty"`
	Steps      []Step         `json:"steps,omitempty"`
	Messages   []domain.Entry `json:"messages,omitempty"`
	Events     []domain.Event `json:"events,omitempty"`
	// Current is the step in progress as far as it is, where it was asked for and there is one.
	Current *Step `json:"current_step,omitempty"`
	// Server is absent in what a workflow itself answers, and in records.
	Server *Server `json:"server,omitempty"`
	// Missing names what the agent had and nobody has any more.
	Missing []Missing `json:"missing,omitempty"`
	// Imported is when a record came out of a file of somebody else; zero: it did not.
	Imported time.Time `json:"imported_at,omitzero"`
}

// A Head is what is known of an agent as a whole, now. That of the record of an execution names the agent and the run: what it
// came to says the execution. That of the record of a position, which is an account of a head alone, has the position beside.
type Head struct {
	AgentID domain.AgentID `json:"agent_id"`
	Name    string         `json:"name,omitzero"`
	// Parent is set where the agent is a sub-agent.
	Parent *Parent `json:"parent,omitempty"`
	Run    Run     `json:"run"`
	// Newest is the newest execution; absent: none has begun.
	Newest *Execution `json:"execution,omitempty"`
	// Doing says in words what is going on, and Since since when. Lacking says which worker lacks what, while another one
	// is waited for.
	Doing   string    `json:"doing,omitzero"`
	Since   time.Time `json:"since,omitzero"`
	Lacking string    `json:"lacking,omitzero"`
	// InferenceFailure says why the newest inference failed that has ended; absent: the model answered it.
	InferenceFailure *domain.Error `json:"inference_failure,omitempty"`
	// Withheld is a hook that may rewrite what the model says, so that none of that is shown while it arrives.
	Withheld string `json:"withheld_by_hook,omitzero"`
	// Open says that the session takes messages, or will.
	// Begun says that a message was taken that begins the next execution, as soon as what is recorded between two is.
	Open  bool `json:"open,omitzero"`
	Begun bool `json:"next_begun,omitzero"`
	contract.Settings
	Position Position `json:"position,omitzero"`
	// Waits are the calls that wait for a person: for an approval, an answer, or word of what became of them.
	Waits []domain.Wait `json:"waits,omitzero"`
	// AlwaysAllowed are the rules that people have made by an answer to a wait, those too that were revoked.
	AlwaysAllowed []domain.StandingApproval `json:"always_allowed,omitzero"`
	// Unread are the messages that wait for the agent.
	Unread        []contract.WaitingView  `json:"unread_messages,omitzero"`
	Configuration Configuration           `json:"configuration,omitzero"`
	Ledger        Ledger                  `json:"ledger,omitzero"`
	Children      []contract.SubagentView `json:"subagents,omitzero"`
	MCPSessions   []contract.Bound        `json:"mcp_sessions,omitzero"`
	// Context is about how many tokens the next inference reads, and Window how many the model can; zero: unknown.
	Context int64 `json:"context_tokens,omitzero"`
	Window  int64 `json:"context_window,omitzero"`
	// Unstored and Unrecorded say why the storage does not take the transcript, and which executions are not among the
	// records.
	Unstored   string `json:"unstored,omitzero"`
	Unrecorded string `json:"unrecorded,omitzero"`
	// Trusted is what whoever started the agent, or its newest execution, says, and Todo is the list that tool todo keeps.
	Trusted domain.Trusted    `json:"trusted,omitempty"`
	Todo    []domain.TodoItem `json:"todo,omitempty"`
	// State is the agent's, without messages and steps that have ended, where it was asked for.
	State json.RawMessage `json:"state,omitempty"`
	// Carry is what another workflow of the agent needs to go on from the execution, its messages aside, where it was asked for.
	// Absent where the execution is in progress, and of a named agent, whose workflow stays open.
	Carry *contract.Carry `json:"carry,omitempty"`
}

// BeginsNext reports whether a message that was taken, or that the newest execution has left unread, begins the next one as soon
// as that is recorded.
func (h Head) BeginsNext() bool {
	return h.Open && h.Newest != nil && h.Newest.Ended != nil && (h.Begun || h.Newest.Unread > 0)
}

// A Server is what only Temporal's server knows of an agent, and where the account comes from.
type Server struct {
	Source contract.StatusSource `json:"source"`
	Builds contract.Builds       `json:"build"`
	// Ended says how the server has ended the workflow, where not that itself has.
	Ended domain.Code `json:"ended,omitzero"`
	// OtherBuilds have written what was replayed here with another workflow than theirs, which may tell it otherwise.
	OtherBuilds []string `json:"other_builds,omitempty"`
	// FailingTask is the workflow task that workers fail to complete: until one does nothing goes on.
	FailingTask *FailingTask `json:"failing_task,omitempty"`
	// Reset says from where the run was reset, where it was.
	Reset *Reset `json:"reset,omitempty"`
	// Untaken counts the events that wait for a worker: the account is of the time before them.
	Untaken int `json:"untaken_events,omitzero"`
	// Stops are the requests among them to stop the newest execution.
	Stops   []contract.StopRequest `json:"untaken_stops,omitempty"`
	Pending []Pending              `json:"pending_activities"`
	// Unread says why a record after the newest execution of the account cannot be read. What came of that execution, and where
	// the session stands since, is not known.
	Unread string `json:"unread,omitzero"`
}

// A FailingTask is a workflow task that has failed at least once.
type FailingTask struct {
	// Attempt is the one that is due or under way, and Since is when the first was.
	Attempt int       `json:"attempt"`
	Since   time.Time `json:"since"`
	// Worker, of Build, has failed the task last, and Failure says why. They are empty where the workers have not answered in time.
	Worker  string `json:"worker,omitzero"`
	Build   string `json:"build,omitzero"`
	Failure string `json:"failure,omitzero"`
}

// A Reset says that an operator has reset the workflow: the run began with what an earlier one had done before an event.
type Reset struct {
	RunID string    `json:"run_id"`
	Event int64     `json:"event_id"`
	At    time.Time `json:"at"`
}

// A Pending is an activity that has not ended.
type Pending struct {
	ID       string `json:"id"`
	Activity string `json:"activity"`
	// Attempt is the newest, and Since is from when on it waits or works.
	Attempt int       `json:"attempt"`
	Since   time.Time `json:"since"`
	// Waiting says that no worker has it; until Next, where that is set, on purpose.
	Waiting bool      `json:"waiting,omitzero"`
	Next    time.Time `json:"next_attempt_at,omitzero"`
	// Limited is the task queue on which it waits for its turn, by a rate limit.
	Limited string `json:"limited,omitzero"`
	// Failure is why the attempt before failed, and Heartbeat what an attempt has reported last; Fresh that this was the one under
	// way.
	Failure   *domain.Error       `json:"failure,omitempty"`
	Heartbeat *contract.Heartbeat `json:"heartbeat,omitempty"`
	Fresh     bool                `json:"fresh,omitzero"`
}

// A Parent is the agent that has started another.
type Parent struct {
	AgentID  domain.AgentID `json:"agent_id"`
	Subagent string         `json:"subagent"`
}

// A Run is that of the workflow which told.
type Run struct {
	WorkflowID string `json:"workflow_id"`
	ID         string `json:"run_id"`
	// First began the agent's chain of runs, of which Previous is the one before this; empty: this is the first.
	First    string `json:"first_run_id"`
	Previous string `json:"previous_run_id,omitzero"`
	// Number counts the runs of the chain from 1; zero: it is not known.
	Number int `json:"run_number,omitzero"`
}

// An Execution is one of the agent's, with how it ended, or how far it is.
type Execution struct {
	contract.Outcome
	Origin      *domain.Origin `json:"origin,omitempty"`
	StartedAt   time.Time      `json:"started_at"`
	CompletedAt time.Time      `json:"completed_at,omitzero"`
	// Prior is what the executions had spent from which this one goes on.
	Prior domain.Spent `json:"prior,omitzero"`
	// Signals are the stops that count, and MoreSignals counts those that are not kept.
	Signals     []domain.StopSignal `json:"stop_signals"`
	MoreSignals int                 `json:"more_stops,omitzero"`
	// MessagesFrom is the index of its first message, MessagesTo of the first after it, and EditsBefore are the edits with
	// which it began.
	MessagesFrom int          `json:"messages_from"`
	MessagesTo   int          `json:"messages_to"`
	EditsBefore  domain.Edits `json:"edits_before,omitzero"`
	// Agent is who had the conversation in the end, where it was handed over.
	Agent string `json:"agent,omitzero"`
	// Ended is what it came to, in words; absent: it goes on.
	Ended *contract.End `json:"ended,omitempty"`
	// RunID is of the run in which it ended, or that it is in.
	RunID string `json:"run_id"`
	// Constraints are what bounds the agent beside its definition, Budget is that of the definition for each execution, and
	// State the agent's at the end of the execution, without messages and steps, where they were asked for.
	Constraints *contract.Constraints  `json:"constraints,omitempty"`
	Budget      domain.ExecutionBudget `json:"definition_budget,omitzero"`
	State       json.RawMessage        `json:"final_state,omitempty"`
	// Imported is when its record came out of a file of somebody else; zero: it did not.
	Imported time.Time `json:"imported_at,omitzero"`
}

// A Step is one that has ended.
type Step struct {
	// Execution is the number of the execution that it is of.
	Execution int `json:"execution_number"`
	domain.StepExecution
}

// A Position says where in its past the agent stands.
type Position struct {
	// Length counts all messages, and Edits are what the model is not shown of them, or otherwise than they were said.
	Length int          `json:"length"`
	Edits  domain.Edits `json:"edits"`
	// From is the step from which the next execution goes on, where a rewind has left the session so.
	From *domain.Origin `json:"from,omitempty"`
	// Moved is the newest rewind or clear of the session; absent: there was none.
	Moved *contract.Move `json:"moved,omitempty"`
	// Base is the index of the first message that the run holds; Segments are the ranges before it that are in storage.
	Base     int                `json:"base,omitzero"`
	Segments []contract.Segment `json:"segments,omitempty"`
}

// A Configuration is what is in force of the agent's definition.
type Configuration struct {
	// Model is the one in use.
	Model string `json:"model,omitzero"`
	// Agent is the one to which the conversation was handed over, and which has it now; empty: it never was.
	Agent string `json:"agent,omitzero"`
	// Changes are the newest of what was in force, the newest last.
	Changes []contract.Change `json:"changes"`
	// Next says how what waits for the session's next execution differs from what is in force, and who has given that.
	Next *contract.Change `json:"next,omitempty"`
	// Definition is the session's own, and Resolved what a worker has made of it; absent where they were not asked for.
	Definition *domain.Definition `json:"definition,omitempty"`
	Resolved   *contract.Resolved `json:"resolved,omitempty"`
	// Constraints are what bounds the agent beside the definition; absent where that was not asked for.
	Constraints *contract.Constraints `json:"constraints,omitempty"`
	// RateLimit holds for the model's inferences, ToolLimits for the tools that have one.
	RateLimit  *contract.RateLimit           `json:"rate_limit,omitempty"`
	ToolLimits map[string]contract.ToolLimit `json:"tool_limits,omitempty"`
}

// ChangesBetween are the changes from after one execution on up to another.
func (c Configuration) ChangesBetween(after, upTo int) []contract.Change {
	return slices.DeleteFunc(append([]contract.Change{}, c.Changes...), func(change contract.Change) bool { return change.Number <= after || change.Number > upTo })
}

// A Ledger is what may be spent, and was.
type Ledger struct {
	// Execution is the newest's, or that of the first, which is to begin, and Session that over all executions, where there is one.
	Execution *Holder `json:"execution,omitempty"`
	Session   *Holder `json:"session,omitempty"`
}

// A Holder is who may spend up to a limit.
type Holder struct {
	Limit domain.ExecutionBudget `json:"limit"`
	Spent domain.Spent           `json:"spent"`
	// Left is what it may spend still, by all limits that bound it.
	Left domain.ExecutionBudget `json:"left"`
}

// LedgerOf is what an agent's state says of it. Before the first execution that has no holder.
func LedgerOf(state domain.AgentState, now time.Time) (l Ledger) {
	if execution := state.Ledger(now).Execution; !state.Execution.IsZero() {
		l.Execution = &Holder{Limit: execution.Budget, Spent: execution.Spent, Left: execution.Left()}
	}
	if session, has := state.Session(); has {
		l.Session = &Holder{Limit: session.Budget, Spent: session.Spent, Left: session.Left()}
	}
	return l
}

// A Part names a list of an account, or something that a head or an execution has only where it is asked for.
type Part string

// The parts, in the order in which pages have them.
const (
	Executions Part = "executions"
	Steps      Part = "steps"
	Events     Part = "events"
	Messages   Part = "messages"
	// Current is the step in progress.
	Current Part = "current_step"
	// HeadOf is no list: it comes last, so that it is of no earlier time than they are.
	HeadOf Part = "head"
	// State asks for the states of the agent and of its executions, Definition for its configuration, Carry for what another
	// workflow needs to go on from it.
	State      Part = "state"
	Definition Part = "definition"
	Carry      Part = "carry"
)
