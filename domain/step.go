package domain

import (
	"cmp"
	"everstep/domain/enum"
	"slices"
	"strings"
	"time"
)

// An AgentStep is one turn of the loop: one inference and the tool calls that it asked for.
type AgentStep struct {
	// Number counts the execution's steps from 1.
	Number int    `json:"number"`
	ID     StepID `json:"step_id"`
	// Model is the one that was asked, as "provider/name"; empty where none was.
	Model string `json:"model,omitzero"`
	// Agent is the one to which the conversation was handed over, and which took the step; empty: it never was.
	Agent string `json:"agent,omitzero"`
	// Usage is the inference's with all attempts, any compaction's, and that of its sub-agents.
	Usage Usage `json:"usage"`
	// CostNanoUSD is what the usage cost; zero where the model has no price.
	CostNanoUSD int64 `json:"cost_nano_usd,omitzero"`
	// Children is what its sub-agents have spent, which Usage and CostNanoUSD count too; of time nothing.
	Children Spent `json:"children,omitzero"`
	// ChildEffects are what its sub-agents have done.
	ChildEffects EffectCounts `json:"child_effects,omitzero"`
	// Tries counts the attempts at inferences, where there was more than one. Lost is what of Usage
	// went into those that failed, and LostNanoUSD what that cost.
	Tries       int   `json:"inference_tries,omitzero"`
	Lost        Usage `json:"lost_usage,omitzero"`
	LostNanoUSD int64 `json:"lost_nano_usd,omitzero"`
	// Interrupted means that the step was cut off.
	Interrupted    bool            `json:"interrupted,omitzero"`
	ToolExecutions []ToolExecution `json:"tool_executions"`
	// Errors are the step's own; those of tool calls are with the calls.
	Errors []Error   `json:"errors"`
	Input  StepInput `json:"input,omitzero"`
	// Output are the messages that the step added, in order: a summary and what hooks said before the
	// model; the model's; one for each tool call; what hooks said after.
	Output []Message `json:"output,omitempty"`
	// Response describes the inference. It is nil until the model has answered.
	Response *Response `json:"response,omitempty"`
}

// A StepInput names what the model was sent in the step's newest inference, summaries aside. It is zero where the
// model was not asked.
type StepInput struct {
	Compiler Compiler `json:"compiler,omitzero"`
	Messages int      `json:"messages,omitzero"`
	Digest   Digest   `json:"digest,omitzero"`
	Edits    Edits    `json:"edits,omitzero"`
	// Sections are how long each section was, where there were others than messages.
	Sections []SectionLength `json:"sections,omitempty"`
}

// A SectionLength says how many messages a section had.
type SectionLength struct {
	Name     string `json:"name"`
	Messages int    `json:"messages"`
}

// A Response is what a provider said of an inference, its message aside.
type Response struct {
	// ID is the provider's id of the response, RequestID that of the request, for its support.
	ID        string `json:"id,omitzero"`
	RequestID string `json:"request_id,omitzero"`
	// Model is the model that answered, by the provider's word.
	Model  string       `json:"model,omitzero"`
	Finish FinishReason `json:"finish_reason,omitzero"`
	// FinishWord is the provider's own word, where it says more.
	FinishWord string `json:"finish_word,omitzero"`
	Usage      Usage  `json:"usage,omitzero"`
}

// A StepType says what a step came to. It is derived, never stored.
type StepType string

const (
	// StepError: something in the step failed, a tool call included.
	StepError StepType = "error"
	// StepToolExecution: the model asked for tools.
	StepToolExecution StepType = "tool_execution"
	// StepFinalResponse: the model answered.
	StepFinalResponse StepType = "final_response"
)

// UnmarshalText accepts the known types only, in the order in which they are tried.
func (t *StepType) UnmarshalText(text []byte) error {
	return enum.Decode(t, text, "type", StepError, StepToolExecution, StepFinalResponse)
}

// Type derives the step's type; the first that fits.
func (s AgentStep) Type() StepType {
	switch {
	case s.HasErrors():
		return StepError
	case s.AsksForTools():
		return StepToolExecution
	}
	return StepFinalResponse
}

// HasErrors reports whether the step has an error, that of a failed or blocked tool call included.
func (s AgentStep) HasErrors() bool {
	return len(s.Errors) > 0 || slices.ContainsFunc(s.ToolExecutions, ToolExecution.HasError)
}

// AllErrors lists each error once: the step's own, then those of its tool calls.
func (s AgentStep) AllErrors() []Error {
	all := slices.Clone(s.Errors)
	for _, t := range s.ToolExecutions {
		if t.Error != nil {
			all = append(all, *t.Error)
		}
	}
	return all
}

// AsksForTools reports whether the model asked for a tool.
func (s AgentStep) AsksForTools() bool { return len(s.RequestedToolCalls()) > 0 }

// RequestedToolCalls are the calls that the model asked for.
func (s AgentStep) RequestedToolCalls() []ToolCall {
	var calls []ToolCall
	for _, m := range s.Output {
		if m.Role == RoleAssistant {
			calls = append(calls, m.ToolCalls...)
		}
	}
	return calls
}

// ExecutedToolCalls are the calls that were really run: not those that were blocked or never begun.
func (s AgentStep) ExecutedToolCalls() []ToolCall {
	var calls []ToolCall
	for _, t := range s.ToolExecutions {
		if t.Outcome().Ran() {
			calls = append(calls, t.Call)
		}
	}
	return calls
}

// Text is the text of the model's messages.
func (s AgentStep) Text() string { return AnswerText(s.Output) }

// FinishReason is the inference's, where the model has answered.
func (s AgentStep) FinishReason() (FinishReason, bool) {
	finish := cmp.Or(s.Response, &Response{}).Finish
	return finish, finish != ""
}

// AnswerText joins the texts of the model's messages; what tools and users said is left out.
func AnswerText(messages []Message) string {
	var texts []string
	for _, m := range messages {
		if m.Role != RoleAssistant {
			continue
		}
		if text := m.Text(); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// keptAfter is the step as it is kept after an earlier version of it, as it grows. Messages that are equal at the same place of
// that one are taken from there, and not checked and copied again. New ones that stand in the log share its memory; the log is
// only read. They are among its newest entries, beside messages of hooks.
func (s AgentStep) keptAfter(before AgentStep, log Log) (AgentStep, error) {
	var output []Message
	for i, m := range s.Output {
		if i < len(before.Output) && m.Equal(before.Output[i]) {
			output = append(output, before.Output[i])
			continue
		}
		own, err := keep(m)
		if err != nil {
			return s, in("output", inItem("messages", i, err))
		}
		output = append(output, log.sharing(own, 2*len(s.Output)))
	}
	s.Output = nil
	s, err := keep(s)
	s.Output = output
	return s, err
}

// interrupted returns the step as one that was cut off, which counts among its errors.
func (s AgentStep) interrupted() AgentStep {
	s = Clone(s)
	s.Interrupted = true
	if !slices.ContainsFunc(s.Errors, func(e Error) bool { return e.Code == CodeInterrupted }) {
		s.Errors = append(s.Errors, Error{Kind: Unavailable, Code: CodeInterrupted, Message: "the step was cut off"})
	}
	return s
}

// Step names the step within a StepExecution, whose JSON has the keys of both on one level.
type Step = AgentStep

// A StepExecution is a completed step: what happened, when, and what the continuation was then.
type StepExecution struct {
	Step
	// Type and FinishReason are what the step's methods say, written for readers of its JSON.
	Type         StepType     `json:"type,omitzero"`
	FinishReason FinishReason `json:"finish_reason,omitzero"`
	// StartedAt and CompletedAt span the inference and the tool calls.
	StartedAt   time.Time `json:"started_at,omitzero"`
	CompletedAt time.Time `json:"completed_at,omitzero"`
	// Continuation is a copy, as it was when the step ended.
	Continuation Continuation `json:"continuation,omitzero"`
}

// NewStepExecution is a step that was completed.
func NewStepExecution(step AgentStep, began, completed time.Time, c Continuation) StepExecution {
	finish, _ := step.FinishReason()
	return StepExecution{Step: step, Type: step.Type(), FinishReason: finish, StartedAt: began, CompletedAt: completed, Continuation: c}
}

// Kept returns a step that was read from elsewhere as it is kept, and refuses what no step can be.
func (s StepExecution) Kept() (StepExecution, error) {
	if s.Number < 1 {
		return s, in("number", Invalidf("is %d; steps count from 1", s.Number))
	}
	return keep(s)
}

// Duration is how long the step took, tool calls included.
func (s StepExecution) Duration() time.Duration { return s.CompletedAt.Sub(s.StartedAt) }

// Usage is the step's.
func (s StepExecution) Usage() Usage { return s.Step.Usage }

// Size is about how many bytes the step takes when encoded.
func (s StepExecution) Size() int { return s.Step.Size() + s.Continuation.size() }

// A FinishReason says why the model stopped writing; Response.FinishWord has the provider's own word.
type FinishReason string

const (
	// FinishStop: the answer is whole.
	FinishStop FinishReason = "stop"
	// FinishLength: the limit of output tokens or the window cut it.
	FinishLength FinishReason = "length"
	// FinishToolCalls: the model waits for the results of its calls.
	FinishToolCalls FinishReason = "tool_calls"
	// FinishContentFilter: the provider's filter withheld the rest, or all.
	FinishContentFilter FinishReason = "content_filter"
	// FinishRefusal: the model declined. Its text is an answer all the same.
	FinishRefusal FinishReason = "refusal"
	// FinishError: the provider failed while answering.
	FinishError FinishReason = "error"
	// FinishOther: a word of the provider's that is none of these.
	FinishOther FinishReason = "other"
)

// UnmarshalText accepts the known reasons only.
func (f *FinishReason) UnmarshalText(text []byte) error {
	return enum.Decode(f, text, "finish_reason", FinishStop, FinishLength, FinishToolCalls, FinishContentFilter, FinishRefusal, FinishError, FinishOther)
}

// WordPaused is the provider's word, beside FinishOther, for an answer that goes on when it is sent back.
const WordPaused = "pause_turn"
