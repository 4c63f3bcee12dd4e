package contract

import (
	"everstep/domain"
	"everstep/domain/enum"
)

// A ModelRequest asks for one inference. It names the conversation and does
// not hold it: the activity fetches what its worker does not have.
type ModelRequest struct {
	ExecutionID domain.ExecutionID `json:"execution_id"`
	Step        int                `json:"step"`
	// Log is the transcript that the model is to answer.
	Log domain.LogRef `json:"log"`
	// Resolved names the definition in force.
	Resolved domain.Digest `json:"resolved"`
	// Inference counts the inferences that this conversation has completed.
	Inference int `json:"inference,omitzero"`
	// Attempts counts the tries of this inference in earlier activities, those whose workers were lost aside. Tries is how
	// many there may be in all.
	Attempts int `json:"attempts,omitzero"`
	Tries    int `json:"tries"`
	// Lost counts the workers that were lost with it.
	Lost int `json:"lost,omitzero"`
	// MaxOutputTokens is what is reserved for the answer. Zero: no bound but the definition's.
	MaxOutputTokens int64 `json:"max_output_tokens,omitzero"`
	// TokensLeft is what the budget has for this inference with all its attempts. Zero: no limit.
	TokensLeft int64 `json:"tokens_left,omitzero"`
	// WithoutTools means that no tool is offered.
	WithoutTools bool `json:"without_tools,omitzero"`
	// CostLeftNanoUSD is the same of money.
	CostLeftNanoUSD int64 `json:"cost_left_nano_usd,omitzero"`
	// Edits hide or replace parts of the transcript.
	Edits domain.Edits `json:"edits,omitzero"`
	// Heard is the place of the newest message that has joined this execution while it went on.
	Heard int64 `json:"heard,omitzero"`
	// Origins are the executions that this one goes on from, whose traces the model sees.
	Origins []domain.ExecutionID `json:"origins,omitempty"`
	// Reserved is what an attempt counts as having used of which nothing more is heard: the estimated input, and the longest
	// answer that it may get.
	Reserved domain.Usage `json:"reserved,omitzero"`
	// Summary makes this an inference that sums up a part of the conversation.
	Summary *domain.SummaryRequest `json:"summary,omitempty"`
}

// A ModelOutcome says how an inference attempt ended that the workflow has to
// know of. What surely cost nothing is an activity failure instead.
type ModelOutcome string

const (
	// Answered: the model's whole answer is in the reply.
	Answered ModelOutcome = "answered"
	// Interrupted: a stop cut it off; the reply holds what had come.
	Interrupted ModelOutcome = "interrupted"
	// ShutDown: the worker was told to stop; another will do it.
	ShutDown ModelOutcome = "worker_shutdown"
	// BilledFailure: the attempt failed, and may have cost money or is to wait before the next.
	BilledFailure ModelOutcome = "failed"
)

// UnmarshalText accepts the known outcomes only.
func (o *ModelOutcome) UnmarshalText(text []byte) error {
	return enum.Decode(o, text, "model outcome", Answered, Interrupted, ShutDown, BilledFailure)
}

// A ModelReply is what came of an inference.
type ModelReply struct {
	Outcome ModelOutcome `json:"outcome"`
	// Message is the model's, as far as it came, without the id and time that the workflow gives.
	Message  *domain.Message `json:"message,omitempty"`
	Digest   domain.Digest   `json:"digest,omitzero"`
	Response domain.Response `json:"response,omitzero"`
	// Spent is the usage of failed attempts inside this activity.
	Spent domain.Usage `json:"spent,omitzero"`
	// Tries counts the attempts that this activity made.
	Tries int `json:"tries,omitzero"`
	// Error says what failed, for BilledFailure. Of an answer it is what the server refused before, a line each, where the
	// request was made again in another form; Tries counts those too.
	Error *domain.Error `json:"error,omitempty"`
	// Invalid says why the answer does not fit the response format, where it does not.
	Invalid string `json:"invalid,omitzero"`
	// RetryAfterMillis is the delay that the provider asked for before another try.
	RetryAfterMillis int64 `json:"retry_after_ms,omitzero"`
}

// An InferencePhase says how far an inference attempt is.
type InferencePhase string

const (
	// PhaseWaiting: nothing was sent yet.
	PhaseWaiting InferencePhase = "waiting"
	// PhaseRequested: the request is on its way and may be billed.
	PhaseRequested InferencePhase = "requested"
	// PhaseStreaming: the answer is arriving.
	PhaseStreaming InferencePhase = "streaming"
	// PhaseRunning: a tool is at work.
	PhaseRunning InferencePhase = "running"
)

// UnmarshalText accepts the known phases only.
func (p *InferencePhase) UnmarshalText(text []byte) error {
	return enum.Decode(p, text, "phase", PhaseWaiting, PhaseRequested, PhaseStreaming, PhaseRunning)
}

// A Heartbeat is what an activity reports while it works, for all who describe the workflow.
type Heartbeat struct {
	ExecutionID domain.ExecutionID `json:"execution_id"`
	Step        int                `json:"step"`
	Phase       InferencePhase     `json:"phase"`
	// Attempt is the try that reports, counted from 1 over all activities of this inference.
	Attempt int `json:"attempt,omitzero"`
	// Spent is the usage of the failed attempts before this one.
	Spent domain.Usage `json:"spent,omitzero"`
	// Reserved is what this attempt may have cost if nothing more is heard of it.
	Reserved domain.Usage `json:"reserved,omitzero"`
	// Tail is the end of the text so far, and Length how many bytes there are. Tail and Reasoning are
	// absent from summaries, and where a hook may rewrite the answer.
	Tail   string `json:"tail,omitzero"`
	Length int    `json:"length,omitzero"`
	// Reasoning is the end of the reasoning so far, and ReasoningLength how many bytes there are.
	Reasoning       string `json:"reasoning,omitzero"`
	ReasoningLength int    `json:"reasoning_length,omitzero"`
	// Progress is what a tool last told of its progress, and Call the call of it.
	Progress *Progress              `json:"progress,omitempty"`
	Call     domain.ToolExecutionID `json:"tool_execution_id,omitzero"`
}

// A Progress is how far a tool call is, in the tool's own words.
type Progress struct {
	Tool string `json:"tool"`
	Text string `json:"text"`
}

// MaxProgress bounds the text of a Progress.
const MaxProgress = 200

// TellsOfRequest reports whether the request may have gone out when it was sent.
func (b Heartbeat) TellsOfRequest() bool {
	return b.Phase == PhaseRequested || b.Phase == PhaseStreaming
}

// Used is what has been used when an attempt that was lost is made again: by those before it, and by itself
// if its request may have gone out: its input and what had come, since what more was written nobody knows.
func (b Heartbeat) Used() domain.Usage {
	if !b.TellsOfRequest() {
		return b.Spent
	}
	return b.Spent.Add(domain.Usage{
		InputTokens:     b.Reserved.InputTokens,
		OutputTokens:    int64(b.Length+3)/4 + b.Reserved.ReasoningTokens,
		ReasoningTokens: b.Reserved.ReasoningTokens,
		Estimated:       true,
	})
}
