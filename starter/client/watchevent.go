package client

import (
	"time"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
)

// An EventType says what an Event is about.
type EventType string

const (
	// EventBegan: an execution began. Number, ExecutionID.
	EventBegan EventType = "execution_began"
	// EventStep: a step began, and its inference with it. Step.
	EventStep EventType = "step_started"
	// EventReasoning: more of what the model thinks before it answers arrived.
	// Fields as of EventText. None of it is in the history while it arrives.
	EventReasoning EventType = "reasoning"
	// EventText: more of the model's answer arrived. Step; Attempt: the try that
	// it is of, counted from 1; Text: what follows the text before of the same
	// attempt; Skipped: bytes before Text that were missed. Whoever comes late
	// gets the last 8 KiB of the text, and 4 KiB of the reasoning.
	EventText EventType = "text"
	// EventWithdrawn: what came of an attempt does not count; another one, or the whole answer, begins
	// from nothing. Step; Attempt: the withdrawn one; Reason: why, where it is known.
	EventWithdrawn EventType = "text_withdrawn"
	// EventWithheld: what the model says is not shown, since a hook may rewrite it. It comes once an
	// execution. Step, Hook. The answer and the messages hold what the hook left.
	EventWithheld EventType = "text_withheld"
	// EventAnswered: an inference ended with an answer. Step, Attempt, Text: all
	// of it, unless it is withheld; Shown: how many bytes of it EventText gave;
	// Calls, Usage, Finish.
	EventAnswered EventType = "model_answered"
	// EventCut: an inference ended without a whole answer. Step, Attempt,
	// Outcome: interrupted, failed or worker_shutdown; Text and Shown as above,
	// Skipped: bytes before Text that are lost; Usage, Error.
	EventCut EventType = "model_cut"
	// EventTool: a tool call was scheduled. Step, Position, Tool, Arguments:
	// empty where they are too long for the call to carry; Approval where a
	// standing approval lets it run.
	EventTool EventType = "tool_started"
	// EventToolProgress: a tool call has told how far it is. Step, Position, Tool, Text. None of it is in
	// the history.
	EventToolProgress EventType = "tool_progress"
	// EventToolDone: a tool call ended. Step, Position, Tool, Error: why it
	// failed, absent where it did not.
	EventToolDone EventType = "tool_finished"
	// EventNotRun: a call that the model asked for was not run: it was blocked, or the step ended first.
	// It comes when the step is over. Step, Position, Tool, Arguments, RunID; Error: why, where told.
	EventNotRun EventType = "tool_not_run"
	// EventHook: a hook that is an activity was called. Step: zero between steps;
	// Hook, Trigger.
	EventHook EventType = "hook_called"
	// EventHookFailed: such a hook failed. Step, Hook, Trigger, Error.
	EventHookFailed EventType = "hook_failed"
	// EventSummary: the model is first asked for a summary, within the step, to stay in its window. Step.
	EventSummary EventType = "summary_started"
	// EventRetry: an inference or tool call failed and is tried again. Step,
	// Tool: empty for an inference; Attempt: the coming one, where those of an
	// inference whose worker was lost do not count; Reason.
	EventRetry EventType = "retry"
	// EventNoWorker: no worker has taken what is waiting for 5 s. It comes once
	// until work goes on. Reason: where it waits.
	EventNoWorker EventType = "no_worker"
	// EventRateLimited: an inference or a call has waited 5 s for its turn under a rate limit. It comes once until
	// work goes on. Reason: the task queue where it waits.
	EventRateLimited EventType = "rate_limited"
	// EventTrouble: a worker could not carry the workflow on, and tries again
	// without end. Reason.
	EventTrouble EventType = "trouble"
	// EventStopAsked: somebody asked the execution to stop. Mode, Reason.
	EventStopAsked EventType = "stop_asked"
	// EventApprovalAsked: a tool call waits for a person's word. Step, Position, Tool, Arguments, ToolExecutionID,
	// Approval.
	EventApprovalAsked EventType = "approval_requested"
	// EventApprovalDecided: the wait is over, by somebody's word or because its time was. Fields as of
	// EventApprovalAsked; of a call that a stop kept from being decided there is none.
	EventApprovalDecided EventType = "approval_decided"
	// EventQuestionAsked: a tool call asks a person. Step, Position, Tool, ToolExecutionID, Question.
	EventQuestionAsked EventType = "question_asked"
	// EventQuestionAnswered: the wait is over, by somebody's answer or because its time was; the EventToolDone of its call
	// follows. Step, Position, Tool, ToolExecutionID, Answer; Text: what the model reads. Where a stop ended it there is none.
	EventQuestionAnswered EventType = "question_answered"
	// EventMessageWaits: a message came while the execution was in progress, and waits. Message.
	EventMessageWaits EventType = "message_waits"
	// EventMessageRead: a message that waited has joined the execution. Message.
	EventMessageRead EventType = "message_read"
	// EventMessageUnsent: a message that waited was taken back. Message.
	EventMessageUnsent EventType = "message_unsent"
	// EventPaused: nothing new starts in the execution until it is resumed.
	EventPaused EventType = "paused"
	// EventResumed: a pause is over.
	EventResumed EventType = "resumed"
	// EventContinued: the workflow went on in a new run. RunID.
	EventContinued EventType = "continued_as_new"
	// EventReconnecting: the server went away; Reason. The sequence goes on.
	EventReconnecting EventType = "reconnecting"
	// EventReconnected: the server is back.
	EventReconnected EventType = "reconnected"
	// EventGone: what a sub-agent does, or did, cannot be read. AgentID, Subagent, Depth, Reason.
	EventGone EventType = "sub_agent_gone"
	// EventEnded: the execution ended. Ended.
	EventEnded EventType = "execution_ended"
)

// EventTypes lists every event type.
func EventTypes() []EventType {
	return []EventType{
		EventBegan, EventStep, EventReasoning, EventText, EventWithdrawn, EventWithheld, EventAnswered, EventCut, EventTool, EventToolProgress, EventToolDone,
		EventNotRun, EventHook, EventHookFailed, EventSummary, EventRetry, EventNoWorker, EventRateLimited, EventTrouble, EventStopAsked,
		EventApprovalAsked, EventApprovalDecided, EventQuestionAsked, EventQuestionAnswered,
		EventMessageWaits, EventMessageRead, EventMessageUnsent, EventPaused, EventResumed, EventContinued,
		EventReconnecting, EventReconnected, EventGone, EventEnded,
	}
}

// UnmarshalText accepts the known event types only.
func (t *EventType) UnmarshalText(text []byte) error {
	return enum.Decode(t, text, EventTypes(), "event type")
}

// An Event is something that happened to an agent. Its type says which fields are set besides Type,
// Time and, once known, Number. Texts, arguments and reasons come from models and tools: clean them
// for a terminal.
type Event struct {
	Type EventType `json:"type"`
	// Time is the server's, or this machine's for what only it knows.
	Time time.Time `json:"time"`
	// Number is the execution's.
	Number      int                `json:"execution_number,omitzero"`
	ExecutionID domain.ExecutionID `json:"execution_id,omitzero"`
	RunID       string             `json:"run_id,omitzero"`
	Step        int                `json:"step,omitzero"`
	// Position counts the step's calls from 0.
	Position int `json:"position,omitzero"`
	// ToolExecutionID and Approval are of a call about which people are asked, or were once for good.
	ToolExecutionID domain.ToolExecutionID `json:"tool_execution_id,omitzero"`
	Approval        *domain.Approval       `json:"approval,omitempty"`
	// Question is what a call asks a person, and Answer what became of that.
	Question *domain.Question `json:"question,omitempty"`
	Answer   *domain.Answer   `json:"answer,omitempty"`
	// Message is one that waits, or waited.
	Message   *contract.WaitingView `json:"message,omitempty"`
	Tool      string                `json:"tool,omitzero"`
	Arguments string                `json:"arguments,omitzero"`
	Hook      string                `json:"hook,omitzero"`
	Trigger   domain.Trigger        `json:"trigger,omitzero"`
	Text      string                `json:"text,omitzero"`
	Skipped   int                   `json:"skipped,omitzero"`
	Shown     int                   `json:"shown,omitzero"`
	Calls     []domain.ToolCall     `json:"tool_calls,omitempty"`
	Usage     domain.Usage          `json:"usage,omitzero"`
	Finish    domain.FinishReason   `json:"finish_reason,omitzero"`
	Outcome   contract.ModelOutcome `json:"outcome,omitzero"`
	Attempt   int                   `json:"attempt,omitzero"`
	Mode      contract.StopMode     `json:"mode,omitzero"`
	Reason    string                `json:"reason,omitzero"`
	Error     *domain.Error         `json:"error,omitempty"`
	Ended     *contract.Outcome     `json:"ended,omitempty"`
	// ChildID is the sub-agent that the call has started, and ChildName its name.
	ChildID   domain.AgentID `json:"child_agent_id,omitzero"`
	ChildName string         `json:"child_subagent,omitzero"`
	// AgentID is the sub-agent whose event it is, where FollowOptions.Tree asked for those, Subagent its name, and Depth how
	// deep it is below the agent that is followed, whose own events have none of them.
	AgentID  domain.AgentID `json:"agent_id,omitzero"`
	Subagent string         `json:"subagent,omitzero"`
	Depth    int            `json:"depth,omitzero"`
}

func messageOf(err *domain.Error) string {
	if err == nil {
		return ""
	}
	return err.Message
}
