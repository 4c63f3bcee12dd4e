package chaos

import (
	"fmt"
	"slices"

	"everstep/domain"
)

// An Agent is one that is run undisturbed once and then under kills.
type Agent struct {
	// Name tells it from others in reports, and begins the ids of its runs.
	Name string
	// Script is what its model says, in the form of the provider scripted.
	Script []byte
	// System is its system prompt.
	System string
	Tools  []Tool
	// Executions are what it is asked, one after the other. More than one makes
	// it a session.
	Executions []Execution
}

// An Execution is one prompt and what the tools return after it.
type Execution struct {
	Prompt string
	// MaxSteps ends the execution after so many steps. Zero: no limit.
	MaxSteps int64
	// Results are what tools return, by step and position, both from 0. Nil:
	// the tools make up their own, which say the same for the same arguments.
	Results [][]string
}

// A Tool is one that writes each effect into the ledger. It takes any
// arguments; a number millis among them is how long it works.
type Tool struct {
	Name   string
	Effect domain.Effect
}

// check says what is wrong with an agent.
func (a Agent) check() error {
	switch {
	case a.Name == "" || len(a.Name) > 100:
		return fmt.Errorf("agent %q: name: give it one of 1 to 100 letters", a.Name)
	case len(a.Executions) == 0:
		return fmt.Errorf("agent %s: executions: there are none; give at least one prompt", a.Name)
	case len(a.Script) == 0:
		return fmt.Errorf("agent %s: script: is empty; say what its model says", a.Name)
	}
	return nil
}

// session reports whether the agent has a name and stays open for more.
func (a Agent) session() bool { return len(a.Executions) > 1 }

func (a Agent) toolNames() []string {
	names := make([]string, len(a.Tools))
	for i, t := range a.Tools {
		names[i] = t.Name
	}
	return names
}

// once reports whether calls of a tool may not be repeated.
func (a Agent) once(tool string) bool {
	at := slices.IndexFunc(a.Tools, func(t Tool) bool { return t.Name == tool })
	return at >= 0 && !a.Tools[at].Effect.Repeatable()
}

// anyOnce reports whether the agent has a tool that may not be repeated.
func (a Agent) anyOnce() bool {
	return slices.ContainsFunc(a.Tools, func(t Tool) bool { return !t.Effect.Repeatable() })
}

// result is what a tool returns at a place, where the agent says so.
func (a Agent) result(execution, step, position int) (string, bool) {
	if execution < 1 || execution > len(a.Executions) {
		return "", false
	}
	results := a.Executions[execution-1].Results
	if step < 1 || step > len(results) || position < 0 || position >= len(results[step-1]) {
		return "", false
	}
	return results[step-1][position], true
}

// tools are those of several agents, each name once. Two agents that disagree
// about a tool cannot share workers.
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
