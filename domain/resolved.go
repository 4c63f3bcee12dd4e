package domain

import "slices"

// Resolved is a definition with what only a worker knows: all that decides how
// an agent runs, kept with the session so that no later edit changes it.
type Resolved struct {
	Definition Definition `json:"definition"`
	Tools      []ToolSpec `json:"tools,omitempty"`
	// Hooks are those that run, in the order of their triggers' priorities.
	Hooks []HookSpec `json:"hooks,omitempty"`
	// Guards and Compaction are the definition's with all defaults set. Absent
	// in executions that were resolved before there were any: nothing is
	// guarded or compacted then.
	Guards     *Guards     `json:"guards,omitempty"`
	Compaction *Compaction `json:"compaction,omitempty"`
	// Price is what the model costs; absent where nobody knows.
	Price *Price `json:"price,omitempty"`
	// ContextWindow and MaxOutputTokens are the model's; zero: unknown.
	ContextWindow   int64 `json:"context_window,omitzero"`
	MaxOutputTokens int64 `json:"max_output_tokens,omitzero"`
	// OutputMode is how the model is told of the response format.
	OutputMode OutputMode `json:"output_mode,omitzero"`
	// Storage says that the workers have storage for segments.
	Storage bool `json:"storage,omitzero"`
	// MinOutputTokens is the smallest answer the provider can be asked for.
	MinOutputTokens int64 `json:"min_output_tokens,omitzero"`
	// RateLimit is what holds for the model's inferences; absent: none.
	RateLimit *RateLimit `json:"rate_limit,omitempty"`
	// Digest names this value in requests, but for the rate limit, which may come
	// and go. It is taken once, where the worker resolved it, and never recomputed.
	Digest Digest `json:"digest"`
}

// Tool finds a tool by name.
func (r Resolved) Tool(name string) (ToolSpec, bool) {
	for _, t := range r.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return ToolSpec{}, false
}

// Compacts reports whether the conversation may be made shorter at all. Where an
// agent selects its sections without those of a compaction, it would lose what
// they hold.
func (r Resolved) Compacts() bool {
	if r.Compaction == nil || r.Compaction.Off {
		return false
	}
	d := r.Definition
	return d.Compiler != SelectedSections ||
		slices.Contains(d.Sections, SectionSummary) && slices.Contains(d.Sections, SectionBuffer)
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
	Definition Definition `json:"definition"`
}

// A Catalog is the worker's answer: what the definition means there.
type Catalog struct {
	Tools           []ToolSpec  `json:"tools,omitempty"`
	Hooks           []HookSpec  `json:"hooks,omitempty"`
	Guards          *Guards     `json:"guards,omitempty"`
	Compaction      *Compaction `json:"compaction,omitempty"`
	Price           *Price      `json:"price,omitempty"`
	ContextWindow   int64       `json:"context_window,omitzero"`
	MaxOutputTokens int64       `json:"max_output_tokens,omitzero"`
	OutputMode      OutputMode  `json:"output_mode,omitzero"`
	Storage         bool        `json:"storage,omitzero"`
	MinOutputTokens int64       `json:"min_output_tokens,omitzero"`
	RateLimit       *RateLimit  `json:"rate_limit,omitempty"`
	Digest          Digest      `json:"digest"`
}
