package domain

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"everstep/domain/enum"
)

// LLMConfig decides the request that is sent to a model. It never holds a key: the worker does.
type LLMConfig struct {
	// Provider is the adapter: scripted, openai-chat.
	Provider string `json:"provider"`
	// Model is the provider's name of the model; a file for scripted.
	Model string `json:"model"`
	// BaseURL overrides the worker's, where the worker allows it.
	BaseURL string `json:"base_url,omitzero"`
	// MaxOutputTokens bounds one answer. Zero leaves it to the provider.
	MaxOutputTokens int64 `json:"max_output_tokens,omitzero"`
	// ContextWindow is the model's, in tokens. Zero means unknown.
	ContextWindow int64    `json:"context_window,omitzero"`
	Temperature   *float64 `json:"temperature,omitempty"`
	TopP          *float64 `json:"top_p,omitempty"`
	// Options are sent as they are, by the provider's own keys.
	Options Metadata `json:"options,omitempty"`
	// Price is what the model costs. Absent: the worker looks it up.
	Price *Price `json:"price,omitempty"`
	// Timeouts bound one request. What is zero is the worker's.
	Timeouts Timeouts `json:"timeouts,omitzero"`
}

// Timeouts bound the parts of one request to a model, InferenceTimeout all of it. Zero is the worker's.
type Timeouts struct {
	// Connect is until a connection is ready.
	Connect time.Duration `json:"connect,omitzero"`
	// FirstByte is until the answer begins, which models that think take long for.
	FirstByte time.Duration `json:"first_byte,omitzero"`
	// Idle is the longest pause inside an answer.
	Idle time.Duration `json:"idle,omitzero"`
}

// String returns provider/model, the form that flags and files use.
func (c LLMConfig) String() string { return c.Provider + "/" + c.Model }

// Equal reports whether two configurations send the same requests.
func (c LLMConfig) Equal(other LLMConfig) bool { return reflect.DeepEqual(c.kept(), other.kept()) }

// A ResponseFormat says what an answer must be. The zero value is text.
type ResponseFormat struct {
	Type FormatType `json:"type,omitzero"`
	// Name and Schema are set for FormatSchema.
	Name   string          `json:"name,omitzero"`
	Schema json.RawMessage `json:"schema,omitempty"`
	// Mode says how the model is told; zero lets the worker choose.
	Mode OutputMode `json:"mode,omitzero"`
}

// Equal reports whether both mean the same.
func (f ResponseFormat) Equal(other ResponseFormat) bool {
	return f.Type == other.Type && f.Name == other.Name && f.Mode == other.Mode && string(f.Schema) == string(other.Schema)
}

// A FormatType is the kind of a response format. The zero value is FormatText.
type FormatType string

const (
	// FormatText is free text.
	FormatText FormatType = "text"
	// FormatJSON is any JSON object.
	FormatJSON FormatType = "json_object"
	// FormatSchema is a JSON value that fits a named schema.
	FormatSchema FormatType = "json_schema"
)

// UnmarshalText accepts the known types, and reads the empty text as FormatText.
func (f *FormatType) UnmarshalText(text []byte) error {
	return enum.DecodeOr(f, text, "response format", FormatText, FormatText, FormatJSON, FormatSchema)
}

// An OutputMode says how a model is told of a response format. The answer is checked all the same.
type OutputMode string

const (
	// OutputNative uses the provider's own feature.
	OutputNative OutputMode = "native"
	// OutputTool offers a tool whose arguments are the answer.
	OutputTool OutputMode = "tool"
	// OutputInstruction tells the model in the system prompt.
	OutputInstruction OutputMode = "instruction"
)

// UnmarshalText accepts the known modes, and the empty text, which lets the worker choose.
func (m *OutputMode) UnmarshalText(text []byte) error {
	return enum.DecodeOr(m, text, "output mode", "", OutputNative, OutputTool, OutputInstruction)
}

// An Effect says what happens if a tool call is made twice, and so what may be done after a crash.
type Effect string

const (
	// ReadOnly calls change nothing: they run again.
	ReadOnly Effect = "read_only"
	// Idempotent calls do the same when done twice: they run again.
	Idempotent Effect = "idempotent"
	// Keyed calls hand their id to the other side, which acts once for each: they run again.
	Keyed Effect = "keyed"
	// AtMostOnce calls that may have begun never run again: their outcome is unknown. The default.
	AtMostOnce Effect = "at_most_once"
)

// Repeatable reports whether a call that may have begun may run again.
func (e Effect) Repeatable() bool { return e == ReadOnly || e == Idempotent || e == Keyed }

// UnmarshalText accepts the known effects, the harmless first, and reads the empty text as AtMostOnce.
func (e *Effect) UnmarshalText(text []byte) error {
	return enum.DecodeOr(e, text, "effect", AtMostOnce, ReadOnly, Idempotent, Keyed, AtMostOnce)
}

// A ToolSpec is what the model and the workflow know of a tool.
type ToolSpec struct {
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
	// Schema is the JSON Schema of the arguments.
	Schema json.RawMessage `json:"schema"`
	Effect Effect          `json:"effect"`
	// Timeout bounds one attempt of one call; zero is DefaultToolTimeout.
	Timeout time.Duration `json:"timeout,omitzero"`
	// Losses is how many workers one call may lose before it is given up, whatever its effect; zero is
	// DefaultLosses.
	Losses int `json:"losses,omitzero"`
	// Attempts is how often a repeatable call is tried; zero, or above what the definition says, is that.
	Attempts int `json:"attempts,omitzero"`
	// Note is the key of the session's metadata that the tool reads and writes; empty: it keeps nothing.
	Note string `json:"note,omitzero"`
	// EffectKey names the arguments that make two calls of an agent the same effect; none: all of them.
	EffectKey []string `json:"effect_key,omitempty"`
	// Verifies says that the tool can find out what became of a call whose outcome is unknown.
	Verifies bool `json:"verifies,omitzero"`
	// Pin is the digest of what a server said of the tool when it was listed: its name, description and
	// schema. Absent where the worker itself makes the tool.
	Pin Digest `json:"pin,omitzero"`
	// Disclaims are the hints of which that server says that they do not hold. Unless it does, its protocol has them.
	Disclaims []Hint `json:"disclaims,omitempty"`
	// Stateful says that its server keeps state over calls: those of one agent are made in a session of its own, which
	// contract.Bound names.
	Stateful bool `json:"stateful,omitzero"`
	// Subagent names the sub-agent that a call of the tool starts; empty: it starts none, or is SpawnSubagent. No worker
	// is asked to make such a call.
	Subagent string `json:"subagent,omitzero"`
	// Handoff names the agent to which a call of the tool hands the conversation over; empty: it does not. No worker is
	// asked to make such a call.
	Handoff string `json:"handoff,omitzero"`
}

// ServerSeparator stands between the name of an MCP server and that of its tool, and allTools in the place of the
// tool's in a definition that wants all. They are recorded.
const (
	ServerSeparator = "__"
	allTools        = "*"
)

// AllToolsOf is how a definition names all tools of an MCP server. It is the name of no tool, so that a worker that
// knows nothing of it refuses the definition.
func AllToolsOf(server string) string { return server + ServerSeparator + allTools }

// ServerOfAll is the server whose tools a definition's name stands for, all of them; ok is false for the name of a tool.
func ServerOfAll(name string) (server string, ok bool) {
	return strings.CutSuffix(name, ServerSeparator+allTools)
}

// ServerOf is the server that the name of a tool begins with; ok is false where it is none of a server.
func ServerOf(name string) (server string, ok bool) {
	server, _, ok = strings.Cut(name, ServerSeparator)
	return server, ok && server != ""
}

// NamesTool reports whether a definition's names have a tool among them.
func NamesTool(names []string, tool string) bool {
	server, ok := ServerOf(tool)
	return slices.Contains(names, tool) || ok && slices.Contains(names, AllToolsOf(server))
}

// DefaultLosses is how many workers a call may lose: the first may have been chance.
const DefaultLosses = 2

// InferenceLosses is how many workers one inference may lose: others may take them with them, so these
// use up none of its attempts.
const InferenceLosses = 20

// A Definition is what an agent is, before a worker has resolved it.
type Definition struct {
	Model LLMConfig `json:"model"`
	// Fallbacks are the models that take over, in this order, where one fails.
	Fallbacks    []Fallback `json:"fallbacks,omitempty"`
	SystemPrompt string     `json:"system_prompt,omitzero"`
	// ShowTrusted names the trusted values that the model is shown, after the system prompt. It sees no other, and an
	// execution that lacks one does not begin.
	ShowTrusted []string `json:"show_trusted,omitempty"`
	// Tools are by name; one of AllToolsOf stands for all that an MCP server has when the execution begins.
	Tools []string `json:"tools,omitempty"`
	// Hooks are by name, beside those that the worker gives to all.
	Hooks []string `json:"hooks,omitempty"`
	// Approvals say which tool calls wait for a person. Absent: the worker's do.
	Approvals *Approvals      `json:"approvals,omitempty"`
	Guards    Guards          `json:"guards,omitzero"`
	Budget    ExecutionBudget `json:"budget,omitzero"`
	// SessionBudget bounds the sum over all executions of the session, without limits of time.
	SessionBudget ExecutionBudget `json:"session_budget,omitzero"`
	Format        ResponseFormat  `json:"response_format,omitzero"`
	// Compiler chooses what the model sees. The zero value is WholeConversation.
	Compiler Compiler `json:"compiler,omitzero"`
	// Sections are those that SelectedSections shows, in that order.
	Sections   []string   `json:"sections,omitempty"`
	Compaction Compaction `json:"compaction,omitzero"`
	// Attempts bounds the tries of one inference, without those whose worker was lost, or of one repeatable
	// tool call. Zero is DefaultAttempts.
	Attempts int `json:"attempts,omitzero"`
	// InferenceTimeout bounds one attempt of an inference; zero is DefaultInferenceTimeout.
	InferenceTimeout time.Duration `json:"inference_timeout,omitzero"`
	// ToolTimeout is that of tools that set none; zero is DefaultToolTimeout.
	ToolTimeout time.Duration `json:"tool_timeout,omitzero"`
	// Subagents are those that the agent may start, by their names, and SubagentPolicy bounds them.
	Subagents      map[string]Subagent `json:"subagents,omitempty"`
	SubagentPolicy SubagentPolicy      `json:"subagent_policy,omitzero"`
	// Handoffs are the agents to which it may hand the conversation over, by their names.
	Handoffs map[string]Subagent `json:"handoffs,omitempty"`
	// Agents are the definitions of all sub-agents and of those in Handoffs, and of theirs in turn, each once, by the keys
	// that they are known by.
	Agents map[string]Definition `json:"agents,omitempty"`
	// IdleTimeout closes a session that has been idle for so long. Zero: never. One that knows of unresolved calls stays.
	IdleTimeout time.Duration `json:"idle_timeout,omitzero"`
	// Source says where the definition was read, for people: a file's name.
	Source string `json:"source,omitzero"`
}

// Equal reports whether both say the same in the same words: an empty list is another than none.
func (d Definition) Equal(other Definition) bool { return reflect.DeepEqual(d, other) }

// Compaction says when a conversation is made shorter for the model; the transcript keeps all of it.
type Compaction struct {
	// Off never compacts: a conversation that outgrows the window fails.
	Off bool `json:"off,omitzero"`
	// TriggerPercent of the window is from where on it compacts; zero is DefaultTriggerPercent.
	TriggerPercent int `json:"trigger_percent,omitzero"`
	// TargetPercent of the window is what it compacts to; zero is DefaultTargetPercent.
	TargetPercent int `json:"target_percent,omitzero"`
}

const (
	// DefaultTriggerPercent leaves a fifth of the window for what estimates miss.
	DefaultTriggerPercent = 80
	// DefaultTargetPercent makes compactions rare, so that what is sent keeps its beginning.
	DefaultTargetPercent = 40
)

// WithDefaults returns the compaction with all that is absent set.
func (c Compaction) WithDefaults() Compaction {
	if c.TriggerPercent == 0 {
		c.TriggerPercent = DefaultTriggerPercent
	}
	if c.TargetPercent == 0 {
		c.TargetPercent = min(DefaultTargetPercent, c.TriggerPercent/2)
	}
	return c
}

// Check says what makes no sense.
func (c Compaction) Check() error {
	d := c.WithDefaults()
	switch {
	case d.TriggerPercent < 10 || d.TriggerPercent > 95:
		return Invalidf("compaction.trigger_percent: is %d; give 10 to 95", d.TriggerPercent)
	case d.TargetPercent < 1 || d.TargetPercent >= d.TriggerPercent:
		return Invalidf("compaction.target_percent: is %d; give 1 or more, below trigger_percent, which is %d", d.TargetPercent, d.TriggerPercent)
	}
	return nil
}

// A SummaryRequest makes an inference one that sums up a part of the conversation.
type SummaryRequest struct {
	// To is the index before which all is summed up, an earlier summary included.
	To int `json:"to"`
	// MaxTokens bounds the summary, and Window what may be read for it.
	MaxTokens int64 `json:"max_tokens,omitzero"`
	Window    int64 `json:"window,omitzero"`
}

const (
	// DefaultAttempts is how often an inference or repeatable call is tried.
	DefaultAttempts = 12
	// DefaultInferenceTimeout bounds one attempt of an inference.
	DefaultInferenceTimeout = 15 * time.Minute
	// DefaultToolTimeout bounds one attempt of a tool call.
	DefaultToolTimeout = 5 * time.Minute
	// DefaultHookTimeout bounds one attempt of a hook that is an activity.
	DefaultHookTimeout = 30 * time.Second
	// ReportTime is what an activity has beyond the time-out of its work, to say that it is over. A
	// worker takes it off again, so that the work's is decided once, where it is scheduled.
	ReportTime = 30 * time.Second
)

// Tries bounds the attempts at an inference or a repeatable call.
func (d Definition) Tries() int { return cmp.Or(d.Attempts, DefaultAttempts) }
