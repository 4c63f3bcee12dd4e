package domain

import (
	"cmp"
	"slices"
	"strings"
)

const (
	// MaxEffects bounds the tools of which EffectCounts tell apart what they did. The counts of further ones are those of OtherTools.
	MaxEffects = 50
	// OtherTools stands for the tools beyond MaxEffects.
	OtherTools = "(other tools)"
	// MaxSaidLast bounds what SaidLast returns, in bytes.
	MaxSaidLast = 16 << 10
)

// EffectCounts are what an agent and its sub-agents have done: the calls of tools that are not read-only, counted. Whoever
// would have the same done again reads here what is done already.
type EffectCounts struct {
	// Calls are sorted by tool.
	Calls []EffectCount `json:"effects,omitzero"`
	// Unknown says that there may have been more: a sub-agent was lost before it told what it had done.
	Unknown bool `json:"effects_unknown,omitzero"`
}

// An EffectCount counts the calls of one tool.
type EffectCount struct {
	Tool string `json:"tool"`
	// Done are the calls that began and returned, be it with an error: what such a call has done is done.
	Done int `json:"done"`
	// Unknown are those that began, and nobody knows whether they took effect: of unknown outcome, cut off, or under way.
	Unknown int `json:"unknown"`
}

// Merged returns the effects with those of others.
func (e EffectCounts) Merged(others EffectCounts) EffectCounts {
	e.Unknown = e.Unknown || others.Unknown
	for _, call := range others.Calls {
		e = e.counted(call)
	}
	return e
}

func (e EffectCounts) counted(call EffectCount) EffectCounts {
	by := func(c EffectCount, tool string) int { return cmp.Compare(c.Tool, tool) }
	at, found := slices.BinarySearchFunc(e.Calls, call.Tool, by)
	if !found && len(e.Calls) >= MaxEffects {
		call.Tool = OtherTools
		at, found = slices.BinarySearchFunc(e.Calls, call.Tool, by)
	}
	if e.Calls = slices.Clone(e.Calls); !found {
		e.Calls = slices.Insert(e.Calls, at, EffectCount{Tool: call.Tool})
	}
	e.Calls[at].Done, e.Calls[at].Unknown = max(e.Calls[at].Done+call.Done, 0), max(e.Calls[at].Unknown+call.Unknown, 0)
	e.Calls = nilIfEmpty(slices.DeleteFunc(e.Calls, func(c EffectCount) bool { return c.Done+c.Unknown == 0 }))
	return e
}

// Effects are what the calls of the step have done, and the sub-agents that it started.
func (s AgentStep) Effects() EffectCounts {
	effects := s.ChildEffects
	for _, call := range s.ToolExecutions {
		outcome := call.Outcome()
		if call.Effect == "" || call.Effect == ReadOnly || !outcome.Ran() {
			continue
		}
		count := EffectCount{Tool: call.Name(), Done: 1}
		// It began and has not returned, as far as is known.
		if outcome == ToolUnknown || outcome == ToolRunning || call.hasCode(CodeInterrupted) || call.hasCode(CodeTimeout) {
			count.Done, count.Unknown = 0, 1
		}
		effects = effects.counted(count)
	}
	return effects
}

// Effects are what the execution has done: all its steps, the one in progress and folded ones included. Calls that somebody
// has resolved before it ended count as what they were said to be.
func (s AgentState) Effects() EffectCounts {
	execution := s.Execution
	effects := execution.Folded.EffectCounts
	for step := range execution.steps {
		effects = effects.Merged(step.Effects())
	}
	for _, call := range s.UnknownOutcomes {
		if resolved := call.Answer; resolved != nil && call.ExecutionID == execution.ID && (!execution.Status.Terminal() || !resolved.At.After(execution.CompletedAt)) {
			count := EffectCount{Tool: call.Tool, Unknown: -1}
			if resolved.Verdict == VerdictDone {
				count.Done = 1
			}
			effects = effects.counted(count)
		}
	}
	return effects
}

// SaidLast is the newest text of the model in the execution, in whatever step, in part where it is long. It is for who
// finds no answer: an execution that ended in the middle of its work has said what it found before.
func (s AgentState) SaidLast() string {
	said := s.Execution.Folded.SaidLast
	for step := range s.Execution.steps {
		if text := step.Text(); strings.TrimSpace(text) != "" {
			said = HeadAndTail(text, MaxSaidLast)
		}
	}
	return said
}
