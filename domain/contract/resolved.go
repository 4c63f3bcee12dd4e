package contract

import (
	"cmp"
	"encoding/json"
	"everstep/domain"
	"fmt"
	"slices"
	"time"
)

// Resolved is a definition with what only a worker knows, kept so that no later edit changes it.
type Resolved struct {
	Definition domain.Definition `json:"definition,omitzero"`
	Tools      []domain.ToolSpec `json:"tools,omitempty"`
	// Hooks are those that run, in the order of their triggers' priorities.
	Hooks []HookSpec `json:"hooks,omitempty"`
	// Guards and Compaction have all defaults set.
	Guards     *domain.Guards     `json:"guards,omitempty"`
	Compaction *domain.Compaction `json:"compaction,omitempty"`
	// Approvals hold where the definition has none.
	Approvals *domain.Approvals `json:"approvals,omitempty"`
	// Price is what the model costs; absent where nobody knows.
	Price *domain.Price `json:"price,omitempty"`
	// ContextWindow and MaxOutputTokens are the model's; zero: unknown.
	ContextWindow   int64 `json:"context_window,omitzero"`
	MaxOutputTokens int64 `json:"max_output_tokens,omitzero"`
	// OutputMode is how the model is told of the response format.
	OutputMode domain.OutputMode `json:"output_mode,omitzero"`
	Storage    bool              `json:"storage,omitzero"`
	// Records says that executions are put among the records when they have ended.
	Records bool `json:"records,omitzero"`
	// MinOutputTokens is the smallest answer the provider can be asked for.
	MinOutputTokens int64 `json:"min_output_tokens,omitzero"`
	// RateLimit is what holds for the model's inferences; absent: none.
	RateLimit *RateLimit `json:"rate_limit,omitempty"`
	// ToolLimits are those of the tools that have one, by their names.
	ToolLimits map[string]ToolLimit `json:"tool_limits,omitempty"`
	// Timing is what fits where the worker is; zero: it did not say.
	Timing Timing `json:"timing,omitzero"`
	// Digest names this value in requests, but for the limits, which may come and go, and the timing.
	// It is taken once, where the worker resolved it.
	Digest domain.Digest `json:"digest"`
	// Listed is the worker's own digest, where the session has made others of its tools: of an agent that starts others, or
	// is one. Absent: Digest.
	Listed domain.Digest `json:"listed,omitzero"`
	// Unchanged is said in an answer alone: all but the limits and the timing is what CatalogRequest.Known names.
	Unchanged bool `json:"unchanged,omitzero"`
}

// Pinned is what a session goes on with that had another before: a tool that its MCP server has changed since stays as
// the session was given it. Its calls are refused, with the change, until somebody begins a session that takes it.
// One that it hid for a time is known by its pin alone.
func (r Resolved) Pinned(before Resolved, pins []ToolPin) Resolved {
	tools, kept := slices.Clone(r.Tools), []string{r.Digest.String()}
	for i, now := range tools {
		if now.Pin.IsZero() {
			continue
		}
		was, there := before.Tool(now.Name)
		if at := slices.IndexFunc(pins, func(p ToolPin) bool { return p.Name == now.Name }); !there && at >= 0 {
			was = now
			was.Pin, was.Description, was.Schema = pins[at].Pin, "Its server has changed it since this session was given it, so that its calls are refused.", json.RawMessage(`{"type":"object"}`)
		}
		if !was.Pin.IsZero() && was.Pin != now.Pin {
			tools[i] = was
			kept = append(kept, was.Name, was.Pin.String())
		}
	}
	if len(kept) > 1 {
		r.Tools, r.Digest = tools, domain.DigestOfTexts(kept...)
	}
	return r
}

// A ToolPin is what a session was given of a tool of an MCP server.
type ToolPin struct {
	Name string        `json:"name"`
	Pin  domain.Digest `json:"pin"`
}

// maxPins bounds them: a server that lists ever other tools has the later ones compared with the execution before alone.
const maxPins = 500

// JoinedPins adds the pins of tools to those of a session. The first one of a name stays.
func JoinedPins(pins []ToolPin, tools []domain.ToolSpec) []ToolPin {
	for _, t := range tools {
		if len(pins) < maxPins && !t.Pin.IsZero() && !slices.ContainsFunc(pins, func(p ToolPin) bool { return p.Name == t.Name }) {
			pins = append(slices.Clip(pins), ToolPin{t.Name, t.Pin})
		}
	}
	return pins
}

// Tool finds a tool by name.
func (r Resolved) Tool(name string) (domain.ToolSpec, bool) {
	for _, t := range r.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return domain.ToolSpec{}, false
}

// ApprovalsOf are those in force: a definition's own, else the worker's. Where neither says any the default ones hold.
func (r Resolved) ApprovalsOf(d domain.Definition) *domain.Approvals {
	return cmp.Or(d.Approvals, r.Approvals, domain.DefaultApprovals())
}

// Compacts reports whether the conversation may be made shorter. An agent that selects its sections without
// those of a compaction would lose what they hold.
func (r Resolved) Compacts() bool {
	if r.Compaction == nil || r.Compaction.Off {
		return false
	}
	d := r.Definition
	return d.Compiler != domain.SelectedSections ||
		slices.Contains(d.Sections, domain.SectionSummary) && slices.Contains(d.Sections, domain.SectionBuffer)
}

// AnswerBound is how long an answer can get, budgets aside; zero: unknown.
func (r Resolved) AnswerBound() int64 {
	if bound := r.Definition.Model.MaxOutputTokens; bound > 0 {
		return bound
	}
	return r.MaxOutputTokens
}

// A CatalogRequest asks a worker to resolve a definition.
type CatalogRequest struct {
	// Definition is absent where it is that of Known.
	Definition domain.Definition `json:"definition,omitzero"`
	// Known, where given, names what was in force until now, and Log the transcript beside which the asker holds it: an
	// execution of a session begins, and a worker says what is another by now.
	Known domain.Digest `json:"known,omitzero"`
	Log   domain.LogRef `json:"log,omitzero"`
	// Listed is what the worker had said of Known, where the session has made others of its tools since.
	Listed domain.Digest `json:"listed,omitzero"`
}

// A Catalog is the worker's answer, without the definition, which the asker has.
type Catalog = Resolved

// InferenceTimeout bounds one attempt of an inference.
func (r Resolved) InferenceTimeout() time.Duration {
	return cmp.Or(r.Definition.InferenceTimeout, domain.DefaultInferenceTimeout)
}

// ToolTimeout bounds one attempt of a call of a tool: the tool's own bound, else the definition's.
func (r Resolved) ToolTimeout(tool domain.ToolSpec) time.Duration {
	return cmp.Or(tool.Timeout, r.Definition.ToolTimeout, domain.DefaultToolTimeout)
}

// A RateLimit is how fast a provider may be used.
type RateLimit struct {
	// TaskQueue is where inferences wait for their turn: one of their own, which holds nothing else back.
	TaskQueue string `json:"task_queue"`
	// RequestsPerMinute is for all workers of the task queue together, and
	// TokensPerMinute for this one. Zero: no limit.
	RequestsPerMinute int64 `json:"requests_per_minute,omitzero"`
	TokensPerMinute   int64 `json:"tokens_per_minute,omitzero"`
}

// String is the limit in words.
func (r RateLimit) String() string {
	requests, tokens := fmt.Sprintf("%d requests a minute", r.RequestsPerMinute), fmt.Sprintf("%d tokens a minute and worker", r.TokensPerMinute)
	switch {
	case r.TokensPerMinute == 0:
		return requests
	case r.RequestsPerMinute == 0:
		return tokens
	}
	return requests + ", " + tokens
}

// A ToolLimit is how often a tool may be called, and where its calls wait for their turn.
type ToolLimit struct {
	// TaskQueue is one of the tool's own, which holds nothing else back.
	TaskQueue string `json:"task_queue"`
	domain.ToolLimit
}
