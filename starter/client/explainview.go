package client

import (
	"time"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
)

// An ExplainView says why an execution ended, or what it is doing, and what each part of it took. Its
// JSON has all keys: null is what nobody could tell, and Missing says why. Money is in nano-dollars.
// Names, arguments and messages come from models and tools: clean them for a terminal.
type ExplainView struct {
	Execution
	Status domain.ExecutionStatus `json:"status"`
	Model  *string                `json:"model"`
	// Origin is the execution that this one continues.
	Origin *domain.ExecutionID `json:"origin"`
	// OriginNumber is the number of that one; zero: it is another agent's, or there is none.
	OriginNumber int `json:"origin_number"`
	// BranchedFrom is the step from which it was forked or rewound, where it was.
	BranchedFrom *domain.Origin `json:"branched_from"`
	// Trusted is what whoever started the agent, or this execution, says.
	Trusted domain.Trusted `json:"trusted"`
	// Given is what it began with beside the prompt and trusted values.
	Given *ExplainGiven `json:"given"`
	// Changes say how what was in force for this execution differs from what was for the one before, and where the conversation
	// was handed over in it.
	Changes []contract.Change `json:"definition_changes"`
	// Messages counts those that have joined it while it went on.
	Messages int `json:"messages_received"`
	// Sessions are those with stateful MCP servers, in the order in which they were opened.
	Sessions []ExplainSession `json:"mcp_sessions"`
	// Todo is the list that tool todo keeps for the session, by now. It is told of the newest execution alone, by a worker.
	Todo      []domain.TodoItem `json:"todo"`
	StartedAt *time.Time        `json:"started_at"`
	// EndedAt and Milliseconds are null while it runs.
	EndedAt      *time.Time `json:"ended_at"`
	Milliseconds *int64     `json:"duration_ms"`
	// Ending is null while it runs, Doing once it has ended.
	Ending *ExplainEnding `json:"ending"`
	Doing  *ExplainDoing  `json:"doing"`
	// Signals are the requests to stop, but for the one that ended it, each kind in the order in which they came.
	Signals []ExplainSignal `json:"other_signals"`
	// MoreStops counts the stops of users that came beyond domain.MaxStops of them.
	MoreStops int `json:"more_stops,omitzero"`
	// Steps are those that can be read, in order, the one in progress included.
	Steps []ExplainStep `json:"steps"`
	// Totals are the sums over Steps. Reported is what the execution itself has
	// counted: the same, unless steps are missing.
	Totals   ExplainTotals    `json:"totals"`
	Reported *ExplainReported `json:"reported"`
	Waste    ExplainWaste     `json:"waste"`
	// Budget lists the limits that are set; null: nobody could tell.
	Budget []ExplainLimit `json:"budget"`
	// Grants are, where a sub-agent has asked for more than it began with, what it began with and each answer.
	Grants []TreeGrant `json:"grants,omitempty"`
	// SessionBudget lists the limits over all executions of the session, where it has a budget.
	SessionBudget []ExplainLimit `json:"session_budget,omitempty"`
	// Advice is what to do about the ending.
	Advice  []ExplainAdvice `json:"advice"`
	History ExplainHistory  `json:"history"`
	Context *ExplainContext `json:"context"`
	// Source says who told the steps: workflow, history where no worker answers, or records where the server has none of it;
	// History is that of nothing then.
	Source contract.StatusSource `json:"source"`
	// ImportedAt is when the record that tells came out of a file; absent: it did not.
	ImportedAt *time.Time `json:"imported_at,omitempty"`
	// Missing says, a sentence each, what could not be told.
	Missing []string `json:"missing"`
	// Tree are the execution and the sub-agents below it, where they were asked for.
	Tree *Tree `json:"tree,omitempty"`
}

// An ExplainGiven counts the messages that were said before the prompt, and names the notes of the metadata.
type ExplainGiven struct {
	Messages int      `json:"messages"`
	Metadata []string `json:"metadata"`
}

// An ExplainSession is the agent's own session with a stateful MCP server, on one worker.
type ExplainSession struct {
	Server string    `json:"server"`
	Worker string    `json:"worker"`
	Since  time.Time `json:"since"`
	// EndedAt is when it was known to be gone, and Reason is why: null and empty while it is there.
	EndedAt *time.Time `json:"ended_at"`
	Reason  string     `json:"reason,omitzero"`
}

// An ExplainEnding says why an execution ended.
type ExplainEnding struct {
	StopReason domain.StopReason `json:"stop_reason"`
	// Summary says it in words.
	Summary string `json:"summary"`
	// Signal is the one that counted.
	Signal *domain.StopSignal `json:"signal"`
	// Error is why it failed.
	Error *domain.Error `json:"error"`
}

// An ExplainSignal is one request to stop, and what became of it.
type ExplainSignal struct {
	domain.StopSignal
	Fate SignalFate `json:"fate"`
}

// An ExplainDoing says what a running execution is doing now.
type ExplainDoing struct {
	Text   string     `json:"text"`
	Since  *time.Time `json:"since"`
	Paused bool       `json:"paused"`
}

// An ExplainStep is one step. Tokens include those of failed attempts.
type ExplainStep struct {
	Number int           `json:"number"`
	StepID domain.StepID `json:"step_id"`
	// Type is null while the step is in progress.
	Type         *domain.StepType `json:"type"`
	InProgress   bool             `json:"in_progress"`
	Interrupted  bool             `json:"interrupted"`
	StartedAt    *time.Time       `json:"started_at"`
	Milliseconds *int64           `json:"duration_ms"`
	// QueuedMilliseconds is what of them its inferences waited for their turns
	// under a rate limit, as far as history tells.
	QueuedMilliseconds int64        `json:"queued_ms"`
	Usage              domain.Usage `json:"usage"`
	// Agent is the one to which the conversation was handed over, and which took the step; null: it never was.
	Agent *string `json:"agent"`
	// CostNanoUSD is null where tokens were used and the model has no price.
	CostNanoUSD  *int64               `json:"cost_nano_usd"`
	FinishReason *domain.FinishReason `json:"finish_reason"`
	Tools        []ExplainTool        `json:"tools"`
	// FailedAttempts counts the attempts at inferences that failed; Lost is what
	// of Usage went into them, and LostNanoUSD what that cost.
	FailedAttempts int          `json:"failed_attempts"`
	Lost           domain.Usage `json:"lost_usage"`
	LostNanoUSD    *int64       `json:"lost_nano_usd"`
	// Retries are the failed attempts as history keeps them.
	Retries     []ExplainRetry      `json:"retries"`
	Compactions []ExplainCompaction `json:"compactions"`
	// Errors are the step's own, those of its tool calls aside.
	Errors []domain.Error `json:"errors"`

	// toolCalls counts those that ran, of its sub-agents too.
	toolCalls int64
	// uncounted says that the server ended the workflow in the middle of the step, which nobody has counted since.
	uncounted bool
}

// An ExplainTool is one tool call of a step.
type ExplainTool struct {
	Tool string `json:"tool"`
	// Arguments are cut where they are long.
	Arguments    string             `json:"arguments"`
	Outcome      domain.ToolOutcome `json:"outcome"`
	Milliseconds *int64             `json:"duration_ms"`
	// Attempts counts the tries; zero: it was not begun.
	Attempts int `json:"attempts"`
	// ResultTokens is about how long the result is for the model.
	ResultTokens int64         `json:"result_tokens"`
	Error        *domain.Error `json:"error"`
	// Waits are what people were asked about it, and what they said, also of what it really did where its outcome was unknown. Of
	// a question the answer has, as content, what the model has read, cut where it is long.
	Waits []domain.Wait `json:"waits"`

	// print tells the call with its result from others.
	print domain.Digest
}

// An ExplainRetry are attempts at a step's inferences that failed one after another, for the same reason as far as history
// knows: of several within one activity only the last one's is recorded.
type ExplainRetry struct {
	Attempts int          `json:"attempts"`
	Reason   string       `json:"reason"`
	Code     *domain.Code `json:"code"`
	Usage    domain.Usage `json:"usage"`
	// CostNanoUSD is null where tokens were used and the model has no price.
	CostNanoUSD *int64 `json:"cost_nano_usd"`
}

// An ExplainCompaction is one shortening of what the model is shown.
type ExplainCompaction struct {
	Kind CompactionKind `json:"kind"`
	// Before is the index of the message before which all was cleared or summed up.
	Before int `json:"before_message"`
	// Usage is the summary's own inference, which the step's usage includes.
	Usage domain.Usage `json:"usage"`
}

// ExplainTotals are sums over steps.
type ExplainTotals struct {
	// Steps are those that have ended, as a status counts them.
	Steps     int          `json:"steps"`
	Usage     domain.Usage `json:"usage"`
	ToolCalls int64        `json:"tool_calls"`
	// CostNanoUSD is null where the cost of any step is.
	CostNanoUSD *int64 `json:"cost_nano_usd"`
	Compactions int    `json:"compactions"`
}

// ExplainReported is what the execution itself has counted.
type ExplainReported struct {
	// Steps are the completed ones.
	Steps       int          `json:"steps"`
	Usage       domain.Usage `json:"usage"`
	CostNanoUSD *int64       `json:"cost_nano_usd"`
}

// An ExplainWaste is what was paid for and led nowhere.
type ExplainWaste struct {
	FailedAttempts int          `json:"failed_attempts"`
	Usage          domain.Usage `json:"usage"`
	CostNanoUSD    *int64       `json:"cost_nano_usd"`
	// Share is that of Usage in all tokens, 0 to 1; null where there are none.
	Share *float64 `json:"share_of_tokens"`
	// Repeated are tool calls made more than once with the same arguments and
	// the same result.
	Repeated []ExplainRepeat `json:"repeated_calls"`
	// ErrorSteps are the numbers of the steps with an error, but for calls that a person denied.
	ErrorSteps []int `json:"error_steps"`
}

// An ExplainRepeat is a tool call that was made again for nothing.
type ExplainRepeat struct {
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
	Times     int    `json:"times"`
	// Steps are the numbers of the steps that made it.
	Steps []int `json:"steps"`
	// ResultTokens is about how many tokens the results after the first have.
	ResultTokens int64 `json:"result_tokens"`
}

// An ExplainLimit is one limit of the budget. Numbers are in Unit.
type ExplainLimit struct {
	Limit domain.Limit `json:"limit"`
	Unit  domain.Unit  `json:"unit"`
	// Total, Used, Prior and Left are null for the deadline. Prior is what the
	// executions that this one goes on from have used; of a session, all that
	// came before it.
	Total *int64 `json:"total"`
	Used  *int64 `json:"used"`
	Prior *int64 `json:"prior"`
	Left  *int64 `json:"left"`
	// Deadline is null for the others.
	Deadline *time.Time `json:"deadline"`
	// Reached means that a signal of this limit came.
	Reached bool `json:"reached"`
	// Default means that nobody has given the total.
	Default bool `json:"default"`
}

// An ExplainAdvice is something to do.
type ExplainAdvice struct {
	Text string `json:"text"`
	// Command is the command line that does it, from the command's name on;
	// empty where there is none.
	Command string `json:"command"`
}

// An ExplainHistory is the size of the newest run's history.
type ExplainHistory struct {
	contract.HistoryView
	// Steps are those of the newest run, of all its executions.
	Steps         int    `json:"steps"`
	BytesPerStep  *int64 `json:"bytes_per_step"`
	EventsPerStep *int64 `json:"events_per_step"`
	// ContinueEvents and ContinueBytes are where servers suggest to continue as
	// new, unless they are configured otherwise; Suggested that this one does.
	ContinueEvents int64 `json:"continue_at_events"`
	ContinueBytes  int64 `json:"continue_at_bytes"`
	Suggested      bool  `json:"continue_suggested"`
	// ResetAt is when an operator reset the workflow, which this run goes on from; absent: nobody did. What had been
	// done after that point may be done again.
	ResetAt *time.Time `json:"reset_at,omitempty"`
	// Share is how much of the way there is behind, 0 to 1; StepsLeft about how
	// many steps are before it at the pace so far.
	Share     float64 `json:"share"`
	StepsLeft *int64  `json:"steps_left"`
}

// An ExplainContext is how full the model's context window is.
type ExplainContext struct {
	Tokens int64 `json:"tokens"`
	// Window and Share are null where the window is unknown.
	Window *int64   `json:"window"`
	Share  *float64 `json:"share"`
}

// A SignalFate says what became of a request to stop.
type SignalFate string

const (
	// SignalOutranked: another one came first, or has a higher priority.
	SignalOutranked SignalFate = "outranked"
	// SignalOverridden: a request to continue took its effect away.
	SignalOverridden SignalFate = "overridden"
	// SignalLate: it came when the loop was over.
	SignalLate SignalFate = "late"
	// SignalPending: the execution goes on until it is heeded.
	SignalPending SignalFate = "pending"
)

// UnmarshalText accepts the known fates only.
func (f *SignalFate) UnmarshalText(text []byte) error {
	return enum.Decode(f, text, "fate", SignalOutranked, SignalOverridden, SignalLate, SignalPending)
}

// A CompactionKind says how a conversation was made shorter.
type CompactionKind string

const (
	// CompactionCleared: old results of tools are shown by a note.
	CompactionCleared CompactionKind = "cleared"
	// CompactionSummary: a summary stands for old messages.
	CompactionSummary CompactionKind = "summary"
)

// UnmarshalText accepts the known kinds only.
func (k *CompactionKind) UnmarshalText(text []byte) error {
	return enum.Decode(k, text, "compaction kind", CompactionCleared, CompactionSummary)
}
