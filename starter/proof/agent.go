package proof

import (
	"fmt"
	"slices"
	"strings"

	"everstep/domain"
	"everstep/domain/contract"
)

// An Agent is one that is run undisturbed once and then under kills.
type Agent struct {
	// Name tells it from others in reports, and begins the ids of its runs.
	Name   string
	Script []byte // what its model says, in the form of the provider scripted
	System string
	Tools  []Tool
	// Definition is what it is besides. The zero value is a plain agent.
	Definition domain.Definition
	// Executions are what it is asked. More than one prompt makes it a session.
	Executions []Execution
}

// An Execution is one prompt and what the tools return after it.
type Execution struct {
	Prompt string
	// GoesOn, in place of a prompt, extends the one before without a limit of steps.
	GoesOn bool
	// MaxSteps ends the execution after so many steps. Zero: no limit.
	MaxSteps int64
	// Results are what tools return, by step and position. Nil: they make up their own.
	Results [][]string
}

// A Tool is one that writes each effect into the ledger. It takes any arguments:
// millis is how long it works, and pages makes its result longer.
type Tool struct {
	Name   string
	Effect domain.Effect
}

func (a Agent) check() error {
	switch {
	case a.Name == "" || len(a.Name) > 100:
		return fmt.Errorf("agent %q: name: give it one of 1 to 100 letters", a.Name)
	case len(a.Executions) == 0:
		return fmt.Errorf("agent %s: executions: there are none; give at least one prompt", a.Name)
	case len(a.Script) == 0:
		return fmt.Errorf("agent %s: script: is empty; say what its model says", a.Name)
	case a.Executions[0].GoesOn:
		return fmt.Errorf("agent %s: executions: the first goes on from none; give it a prompt", a.Name)
	}
	return nil
}

// session reports whether the agent has a name and stays open for more.
func (a Agent) session() bool {
	return slices.ContainsFunc(a.Executions[1:], func(x Execution) bool { return !x.GoesOn })
}

// goesOn reports whether one of its executions goes on from another.
func (a Agent) goesOn() bool {
	return slices.ContainsFunc(a.Executions, func(x Execution) bool { return x.GoesOn })
}

func (a Agent) uses(name string) bool { return slices.Contains(a.Definition.Hooks, name) }

// watched reports whether the agent has a hook that is an activity.
func (a Agent) watched() bool {
	return slices.ContainsFunc(domain.Triggers(), func(t domain.Trigger) bool { return a.uses(WatchHook(t)) })
}

func (a Agent) formatted() bool {
	return a.Definition.Format.Type == domain.FormatSchema || a.Definition.Format.Type == domain.FormatJSON
}

func (a Agent) reaches(b contract.Boundary) bool {
	switch b {
	case contract.InSummary:
		return a.Definition.Model.ContextWindow > 0
	case contract.BeforeHook, contract.AfterHook:
		return a.watched()
	case contract.Checking:
		return a.formatted() && a.uses(SteerHook)
	case contract.GoingOn:
		return a.goesOn() && a.uses(SteerHook)
	case contract.Paused:
		return len(a.Definition.Hooks) > 0
	default:
		return true
	}
}

// String says in one line what the agent is.
func (a Agent) String() string { return Kind{Name: a.Name, On: a.on()}.String() }

// on says in words what the agent has besides a model and tools.
func (a Agent) on() []string {
	on := []string{}
	add := func(word string, is bool) {
		if is {
			on = append(on, word)
		}
	}
	add("hooks", len(a.Definition.Hooks) > 0)
	add("guards", !a.Definition.Guards.IsZero())
	add("compaction", a.Definition.Model.ContextWindow > 0 && !a.Definition.Compaction.Off)
	add("structured output", a.formatted())
	add("money", a.Definition.Budget.MaxCostNanoUSD != nil)
	add("going on", a.goesOn())
	return on
}

func (a Agent) toolNames() []string {
	names := make([]string, len(a.Tools))
	for i, t := range a.Tools {
		names[i] = t.Name
	}
	return names
}

// once reports whether calls of a tool may not be repeated.
func (a Agent) once(tool string) bool {
	return slices.ContainsFunc(a.Tools, func(t Tool) bool { return t.Name == tool && !t.Effect.Repeatable() })
}

// result is what a tool returns at a place, where the agent says so.
func (a Agent) result(execution, step, position int) (string, bool) {
	if execution > len(a.Executions) {
		return "", false
	}
	results := a.Executions[execution-1].Results
	if step < 1 || step > len(results) || position >= len(results[step-1]) {
		return "", false
	}
	return results[step-1][position], true
}

// tools are those of agents, which have to agree on them to share workers.
func tools(agents []Agent) ([]Tool, error) {
	var all []Tool
	for _, a := range agents {
		for _, t := range a.Tools {
			at := slices.IndexFunc(all, func(known Tool) bool { return known.Name == t.Name })
			switch {
			case at < 0:
				all = append(all, t)
			case all[at].Effect != t.Effect:
				return nil, fmt.Errorf("agent %s: tool %s: is %s here and %s elsewhere; give it another name", a.Name, t.Name, t.Effect, all[at].Effect)
			}
		}
	}
	return all, nil
}

// A Kind is one of the agents that were run.
type Kind struct {
	Name string `json:"name"`
	Runs int    `json:"runs"` // counts its runs under kills
	// On is what it has besides a model and tools; empty for a plain agent.
	On []string `json:"on"`
}

// String is one line.
func (k Kind) String() string {
	on := "plain"
	if len(k.On) > 0 {
		on = strings.Join(k.On, ", ")
	}
	return fmt.Sprintf("%s: %s", k.Name, on)
}
