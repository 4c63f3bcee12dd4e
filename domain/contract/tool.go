package contract

import (
	"cmp"
	"encoding/json"
	"everstep/domain"
	"maps"
	"slices"
	"time"
)

// A ToolRequest asks for one tool call, known by step and position, never by the provider's id.
type ToolRequest struct {
	ExecutionID domain.ExecutionID `json:"execution_id"`
	Step        int                `json:"step"`
	// Position counts the step's calls from 0.
	Position int    `json:"position"`
	Name     string `json:"name"`
	// Effect is the resolved tool's: what the workflow relies on.
	Effect domain.Effect `json:"effect"`
	// Arguments is the exact text that the model sent, unless Reference says where it stands.
	Arguments string `json:"arguments,omitzero"`
	// Reference is set for long arguments.
	Reference *ArgumentsRef `json:"arguments_ref,omitempty"`
	// EffectKey is set where the tool names what makes calls the same effect.
	EffectKey domain.Digest `json:"effect_key,omitzero"`
	// Attempts counts the tries of this call in earlier activities that may have begun. Tries is how
	// many there may be in all of a call that may be repeated.
	Attempts int `json:"attempts,omitzero"`
	Tries    int `json:"tries,omitzero"`
	// Lost counts those of the tries whose workers were lost, and Losses is how many there may be.
	Lost   int `json:"lost,omitzero"`
	Losses int `json:"losses,omitzero"`
	// Pin is the resolved tool's: a server that has changed the tool since is not called.
	Pin domain.Digest `json:"pin,omitzero"`
	// Trusted is what whoever started the agent says about whom it acts for.
	Trusted domain.Trusted `json:"trusted,omitempty"`
	// WaitUntil is set where the call has waited, as its last reply asked: until when.
	WaitUntil time.Time `json:"wait_until,omitzero"`
	// Note is what the session keeps for the tool.
	Note json.RawMessage `json:"note,omitempty"`
	// ImageRoom is how many bytes of images are recorded with the result, where it is less than
	// domain.MaxResultData: the call shares a step's room with many; zero: that.
	ImageRoom int `json:"image_room,omitzero"`
	// Pending is set where the call was made, and its other side goes on with it: it is only asked about.
	// TakeBack says that it is to be given up, and what became of it is asked once more; Stopped that a stop
	// is why.
	Pending  *Pending `json:"pending,omitempty"`
	TakeBack bool     `json:"take_back,omitzero"`
	Stopped  bool     `json:"stopped,omitzero"`
	// Earlier is what domain.HistoryTool may read; nil for all others.
	Earlier *domain.EarlierExecutions `json:"past,omitempty"`
	// Bound is the session in which a call of a stateful server is made.
	Bound *Bound `json:"bound,omitempty"`
}

// A Pending is a call that its other side goes on with by itself.
type Pending struct {
	// Handle is by what the tool knows it, on any worker.
	Handle json.RawMessage `json:"handle"`
	// Since is when the call was made, and Until when the other side may forget it; zero: it says nothing.
	Since time.Time `json:"since"`
	Until time.Time `json:"until,omitzero"`
	// AskAt is when to ask about it next.
	AskAt time.Time `json:"ask_at"`
	// Status is what the other side said of it last.
	Status string `json:"status,omitzero"`
}

// Says is how far the other side is.
func (p Pending) Says() string {
	if p.Status == "" {
		return "goes on at its server"
	}
	return "goes on at its server: " + p.Status
}

// Key is the key of keyed tools: that of the effect, where the tool names one, else the call's id.
func (r ToolRequest) Key() string {
	return cmp.Or(r.EffectKey.String(), r.ID().String())
}

// ID is the tool execution's id.
func (r ToolRequest) ID() domain.ToolExecutionID { return r.ExecutionID.Step(r.Step).Tool(r.Position) }

// An ArgumentsRef names the arguments of a call inside the transcript.
type ArgumentsRef struct {
	// Message is the index of the message that holds the call.
	Message int `json:"message"`
	// Digest is of the arguments' text.
	Digest domain.Digest `json:"digest"`
}

// A ToolReply is what came of a tool call. One that fails is data for the model, and no activity failure.
type ToolReply struct {
	// Content is what the model gets to read.
	Content string        `json:"content,omitzero"`
	Digest  domain.Digest `json:"digest"`
	// ResultDigest is domain.ToolExecution's.
	ResultDigest domain.Digest `json:"result_digest,omitzero"`
	// Parts are the images that the model is shown with it. Content names them, for those who see none.
	Parts []domain.Part `json:"parts,omitempty"`
	// Error says that the call failed, was not run, or that its outcome is unknown.
	Error *domain.Error `json:"error,omitempty"`
	// Stop asks the loop to stop after this step.
	Stop *domain.StopSignal `json:"stop,omitempty"`
	// NotStarted means that the call surely did not begin and may be made again.
	NotStarted bool `json:"not_started,omitzero"`
	// Attempts counts the tries, where there was more than one.
	Attempts int `json:"attempts,omitzero"`
	// RetryAfterMillis is how long to wait at least before a call that did not begin is made again.
	RetryAfterMillis int64 `json:"retry_after_ms,omitzero"`
	// WaitUntil is when a call that did not begin is made again, however often: until then it waits in the
	// workflow. Error says what remains of it where it is not.
	WaitUntil time.Time `json:"wait_until,omitzero"`
	// TaskQueue is where a call that did not begin is made at once: its tool has a limit, which holds there alone.
	TaskQueue string `json:"task_queue,omitzero"`
	// Note is what the session is to keep for the tool.
	Note json.RawMessage `json:"note,omitempty"`
	// Pending is set where the call's other side goes on with it: it is asked about until that is over. Error
	// says what remains of it where it is not.
	Pending *Pending `json:"pending,omitempty"`
	// Question is set where the call only asks a person: their answer is its result, and until then it waits in the
	// workflow. Error says what remains of it where nobody answers.
	Question *domain.Question `json:"question,omitempty"`
	// SessionLost is why the session in which the call was to be made is gone. The call did not begin.
	SessionLost string `json:"session_lost,omitzero"`
}

// An OutputRequest asks whether a text that a hook has made fits a response format.
type OutputRequest struct {
	Format domain.ResponseFormat `json:"response_format"`
	Text   string                `json:"text"`
}

// An OutputReply says what is wrong with the text; empty where it fits.
type OutputReply struct {
	Invalid string `json:"invalid,omitzero"`
}

// A HookSpec is what an execution records of a hook, to know it on another worker.
type HookSpec struct {
	Name    string         `json:"name"`
	Trigger domain.Trigger `json:"trigger"`
	// Priority orders the hooks of a trigger: higher runs first.
	Priority int `json:"priority,omitzero"`
	// IO means that the hook is an activity: it may wait and touch the world.
	IO bool `json:"io,omitzero"`
	// Timeout bounds one attempt of an activity; zero is DefaultHookTimeout.
	Timeout time.Duration `json:"timeout,omitzero"`
	// Attempts bounds the tries of an activity; zero is one, and some more where its worker is lost.
	Attempts int `json:"attempts,omitzero"`
}

// Rewriter returns the first of some hooks that may rewrite the model's answers, empty where none may. What
// the model says is not shown before such a hook has seen it.
func Rewriter(hooks []HookSpec) string {
	for _, h := range hooks {
		if h.Trigger == domain.TriggerAfterInference {
			return h.Name
		}
	}
	return ""
}

// A HookRequest asks a hook that is an activity. What is at hand depends on the trigger.
type HookRequest struct {
	Hook        HookSpec           `json:"hook"`
	AgentID     domain.AgentID     `json:"agent_id"`
	ExecutionID domain.ExecutionID `json:"execution_id"`
	Number      int                `json:"execution_number"`
	// Step is the step in progress; zero between steps.
	Step int `json:"step,omitzero"`
	// Lost counts the workers that were lost with it.
	Lost int `json:"lost,omitzero"`
	// Metadata are the notes of the agent's context.
	Metadata domain.Metadata `json:"metadata,omitempty"`
	// Trusted is what whoever started the agent says. A hook cannot change it.
	Trusted domain.Trusted `json:"trusted,omitempty"`
	// Answer and Response are set after an inference.
	Answer   *domain.Message  `json:"answer,omitempty"`
	Response *domain.Response `json:"response,omitempty"`
	// Call is set before a tool use, Result after one. Models repeat the ids
	// of their calls: ToolExecutionID is the one to know a call by.
	Call            *domain.ToolCall       `json:"call,omitempty"`
	ToolExecutionID domain.ToolExecutionID `json:"tool_execution_id,omitzero"`
	Result          *domain.ToolExecution  `json:"result,omitempty"`
	// Signal is the stop signal that counts, where there is one.
	Signal *domain.StopSignal `json:"signal,omitempty"`
	// Error is set where an error ends the execution.
	Error *domain.Error `json:"error,omitempty"`
	// Steps and Usage are the execution's so far.
	Steps int          `json:"step_count"`
	Usage domain.Usage `json:"usage"`
}

// A HookReply is what a hook wants done: what one that is an activity returns, and what an execution records of each other
// one. It has no ids and times, which are given where it is applied, so that the same wish is the same reply. The zero value
// changes nothing.
type HookReply struct {
	// Block forbids the tool call; it is what the model gets to read.
	Block string `json:"block,omitzero"`
	// Call replaces the tool call, Answer the model's message. The call keeps its id.
	Call   *domain.ToolCall `json:"call,omitempty"`
	Answer *domain.Message  `json:"answer,omitempty"`
	// Content replaces the tool's result by a text, Failure replaces it by an error.
	Content *string       `json:"content,omitempty"`
	Failure *domain.Error `json:"failure,omitempty"`
	// WithoutTools and MaxOutputTokens are of the inference that is about to begin; nil leaves them as they are.
	WithoutTools    *bool  `json:"without_tools,omitempty"`
	MaxOutputTokens *int64 `json:"max_output_tokens,omitempty"`
	// Stops ask the loop to stop; Continue asks it to go on.
	Stops    []domain.StopSignal `json:"stops,omitempty"`
	Continue bool                `json:"continue,omitzero"`
	// Say are messages that join the conversation, for the model to read. Aside are those of other sections, by name.
	Say   []domain.Message            `json:"say,omitempty"`
	Aside map[string][]domain.Message `json:"aside,omitempty"`
	// Note are changes of the metadata: null takes a key away.
	Note domain.Metadata `json:"note,omitempty"`
	// SystemPrompt, Model, Format and Budget are those in force from here on; nil leaves them as they are.
	SystemPrompt *string                 `json:"system_prompt,omitempty"`
	Model        *domain.LLMConfig       `json:"model,omitempty"`
	Format       *domain.ResponseFormat  `json:"response_format,omitempty"`
	Budget       *domain.ExecutionBudget `json:"budget,omitempty"`
	// Error is why the hook failed, which ends the execution; nothing else is set then. An activity returns its error.
	Error *domain.Error `json:"error,omitempty"`
}

// Messages are what the hook says, by section.
func (r HookReply) Messages() []domain.Entry {
	var all []domain.Entry
	for _, m := range r.Say {
		all = append(all, domain.Entry{Section: domain.SectionMessages, Message: m})
	}
	for _, section := range slices.Sorted(maps.Keys(r.Aside)) {
		for _, m := range r.Aside[section] {
			all = append(all, domain.Entry{Section: section, Message: m})
		}
	}
	return all
}

// TimeLimit bounds one attempt of a hook that is an activity.
func (h HookSpec) TimeLimit() time.Duration {
	return cmp.Or(h.Timeout, domain.DefaultHookTimeout)
}
