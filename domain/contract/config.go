package contract

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"everstep/domain"
)

// A Config is what an agent is: its definition, who has the conversation, what bounds it, and what a worker has made of the
// definition. One is in force, and one may wait for the session's next execution.
type Config struct {
	// Definition is as it was given by whoever has started the agent or updated its session, or as the agent has it that
	// took the conversation over. It is absent in a carry: the run's input has it.
	Definition domain.Definition `json:"definition,omitzero"`
	// Agent is the one to which the conversation was handed over, by the name that the one before has for it. Empty: it was not.
	Agent string `json:"agent,omitzero"`
	// Asked are the keys that updates have given of a definition that waits; none: all of it.
	Asked []string `json:"asked,omitempty"`
	// UpdateNotes are of the updates that have made the definition, until a worker has resolved it.
	UpdateNotes
	Constraints Constraints `json:"constraints,omitzero"`
	// Resolved is what a worker has made of the definition, or of the one before it where none could say yet. Nil: none ever could.
	Resolved *Resolved `json:"resolved,omitempty"`
}

// Asks reports whether updates have given a field of the definition, or a part of it.
func (c Config) Asks(key string) bool { return asks(c.Asked, key) }

func asks(keys []string, key string) bool {
	return len(keys) == 0 || slices.ContainsFunc(keys, func(given string) bool { return given == key || strings.HasPrefix(given, key+".") })
}

// Over is a configuration that waits, with what was asked for put over another definition.
func (c Config) Over(d domain.Definition) Config {
	if len(c.Asked) > 0 {
		c.Definition = d.Taking(c.Definition, c.Asked)
	}
	return c
}

// Updated is the configuration once one that has waited takes its place. A worker has to resolve it. Where all of a definition
// was given, the agent that had the conversation has it no more, and approvals that were given replace those of the agents
// that had it before.
func (c Config) Updated(by Config) Config {
	c.Definition, c.UpdateNotes = by.Definition, c.UpdateNotes.And(by.UpdateNotes)
	if len(by.Asked) == 0 {
		c.Agent = ""
	}
	if by.Asks("approvals") {
		c.Constraints.Handed = nil
	}
	return c
}

// HandedTo is the configuration once another agent has the conversation. A worker has to resolve it. The approvals of this one
// hold on.
func (c Config) HandedTo(agent string, definition domain.Definition) Config {
	rules := c.Resolved.ApprovalsOf(c.Definition)
	if !slices.ContainsFunc(c.Constraints.Handed, func(a domain.Approvals) bool { return reflect.DeepEqual(a, *rules) }) {
		c.Constraints.Handed = append(slices.Clip(c.Constraints.Handed), *rules)
	}
	c.Agent, c.Definition = agent, definition
	return c
}

// Constraints bound an agent beside its own definition. A record keeps them, so that a fork of it is bound by them too.
type Constraints struct {
	// Policies and Approvals are those of all agents above it, or above the one that it was forked from. The strictest
	// holds, beside its own.
	Policies  []domain.SubagentPolicy `json:"policies,omitempty"`
	Approvals []domain.Approvals      `json:"approvals,omitempty"`
	// Handed are the approvals of all agents that had its conversation before. They hold as the others do, until a person
	// gives the session approvals.
	Handed []domain.Approvals `json:"handed,omitempty"`
}

// Below are the constraints of a sub-agent, for whose sake the agent's own policy and approvals hold too.
func (c Constraints) Below(policy domain.SubagentPolicy, approvals *domain.Approvals) Constraints {
	below := Constraints{Policies: slices.Clip(c.Policies), Approvals: slices.Clip(c.Approvals)}
	if !policy.IsZero() {
		below.Policies = append(below.Policies, policy)
	}
	if approvals != nil {
		below.Approvals = append(below.Approvals, *approvals)
	}
	below.Approvals = append(below.Approvals, c.Handed...)
	return below
}

// Permits reports whether all agents above let the agent have a tool; a root may have any.
func (c Constraints) Permits(tool domain.ToolSpec) bool {
	return !slices.ContainsFunc(c.Policies, func(policy domain.SubagentPolicy) bool { return !policy.Permits(tool) })
}

// Check says what makes no sense.
func (c Constraints) Check() error {
	for i, policy := range c.Policies {
		if err := policy.Check(); err != nil {
			return domain.Invalidf("policies[%d]: %s", i, err)
		}
	}
	for _, list := range []struct {
		field string
		rules []domain.Approvals
	}{{"approvals", c.Approvals}, {"handed", c.Handed}} {
		for i := range list.rules {
			if err := list.rules[i].Check(); err != nil {
				return domain.Invalidf("%s[%d]: %s", list.field, i, err)
			}
		}
	}
	return nil
}

// Resolved is a definition with what only a worker knows, kept so that no later edit changes it.
type Resolved struct {
	Definition domain.Definition `json:"definition,omitzero"`
	Tools      []domain.ToolSpec `json:"tools,omitempty"`
	// Hooks are those that run, in the order of their triggers' priorities.
	Hooks []HookSpec `json:"hooks,omitempty"`
	// Guards and Compaction have all defaults set.
	Guards     *domain.Guards     `json:"guards,omitempty"`
	Compaction *domain.Compaction `json:"compaction,omitempty"`
	// Approvals are the worker's, which hold where the definition leaves the rest to them.
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
	// Listed is the worker's own digest: the session may have made others of its tools.
	Listed domain.Digest `json:"listed,omitzero"`
	// Unchanged is said in an answer alone: all but the limits and the timing is what ResolveRequest.Listed names.
	Unchanged bool `json:"unchanged,omitzero"`
}

// Pinned puts tools back as the session was first given them, where their MCP servers have changed them since: a changed tool
// must not take a model by surprise. Its calls are refused until somebody begins a new session. before is the configuration in
// force, nil at the beginning; of a tool that is not in it (the server did not list it for a time) the pin alone is known.
func (r Resolved) Pinned(before *Resolved, pins []ToolPin) Resolved {
	tools, kept := slices.Clone(r.Tools), []string{r.Digest.String()}
	for i, now := range tools {
		if now.Pin.IsZero() {
			continue
		}
		was, there := cmp.Or(before, &Resolved{}).Tool(now.Name)
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

// JoinedPins adds the pins of tools to those of a session. The first one of a name stays.
func JoinedPins(pins []ToolPin, tools []domain.ToolSpec) []ToolPin {
	for _, t := range tools {
		// A server that lists ever other tools has the later ones compared with the execution before alone.
		if len(pins) < 500 && !t.Pin.IsZero() && !slices.ContainsFunc(pins, func(p ToolPin) bool { return p.Name == t.Name }) {
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

// ApprovalsOf are those in force: a definition's own, the worker's where it has none, or both where its own tighten. Where neither says any the default ones hold.
func (r Resolved) ApprovalsOf(d domain.Definition) *domain.Approvals {
	return d.Approvals.Over(cmp.Or(r.Approvals, domain.DefaultApprovals()))
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
	return cmp.Or(r.Definition.Model.MaxOutputTokens, r.MaxOutputTokens)
}

// Unpriced reports whether a budget limits money and nobody knows what the model costs.
func (r *Resolved) Unpriced(budget domain.ExecutionBudget) bool {
	return r != nil && budget.MaxCostNanoUSD != nil && *budget.MaxCostNanoUSD > 0 && r.Price == nil
}

// CheckPriced refuses a budget that is Unpriced.
func (r *Resolved) CheckPriced(budget domain.ExecutionBudget, model domain.LLMConfig) error {
	if !r.Unpriced(budget) {
		return nil
	}
	return domain.Invalidf("max_cost: nobody knows what %s costs; set another limit, or name a model with its price", model)
}

// A ResolveRequest asks a worker to resolve a definition. Its answer has none: the asker has it.
type ResolveRequest struct {
	// Definition is absent where it is that of Known.
	Definition domain.Definition `json:"definition,omitzero"`
	// Known names what was resolved of the same definition before, Log the transcript beside which the asker holds it, and
	// Listed what the worker had said of it: a worker says what is another by now.
	Known  domain.Digest `json:"known,omitzero"`
	Log    domain.LogRef `json:"log,omitzero"`
	Listed domain.Digest `json:"listed,omitzero"`
}

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
