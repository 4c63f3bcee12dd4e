package kills

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"everstep/domain"
	"everstep/domain/enum"
)

// An Agent is one that is run undisturbed once and then under kills.
type Agent struct {
	// Name tells it from others in reports, and begins the ids of its runs.
	Name   string
	Script []byte // what its model says, in the form of the provider scripted
	// Subagents are the scripts of the agents in Definition.Agents, by their names.
	Subagents map[string][]byte
	System    string
	Tools     []Tool
	// Definition is what it is besides. The zero value is a plain agent.
	Definition domain.Definition
	// Executions are what it is asked. More than one prompt makes it a session.
	Executions []Execution

	// points are those at one of which its worker is killed once a run. Empty: the worker is killed at boundaries, as often as
	// the plan has it.
	points []ownPoint
	// expected is what must become of its calls; nil: an undisturbed run shows it.
	expected *expected
	// requestTokens are what each of its requests costs, where its budget is tight: kills end its execution early, and what is
	// judged in place of transcript, events and outcome is that it is never overdrawn. Zero: its budget is not.
	requestTokens int
}

// An Execution is one prompt and what the tools return after it.
type Execution struct {
	Prompt string
	// GoesOn, in place of a prompt, extends the one before without a limit of steps.
	GoesOn bool
	// Budget is the execution's. Zero: no limit.
	Budget domain.ExecutionBudget
	// Results are what tools return, by step and position. Nil: they make up their own.
	Results [][]string
}

// A Tool is one that writes each effect into the ledger. It takes any arguments: millis is how long it works, and pages makes
// its result longer.
type Tool struct {
	Name   string
	Effect domain.Effect
	// Key is the argument by which two calls are one effect. Empty: all arguments are.
	Key string `json:",omitzero"`
	// Verified says that it can find out what became of a call.
	Verified bool `json:",omitzero"`
}

// once reports whether no call may be repeated, and nobody can find out what became of one.
func (t Tool) once() bool { return t.Effect == domain.AtMostOnce && !t.Verified }

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
	return slices.ContainsFunc(enum.Known[domain.Trigger](), func(t domain.Trigger) bool { return a.uses(WatchHook(t)) })
}

// tight reports whether its budget is enough only while no worker is killed in an inference.
func (a Agent) tight() bool { return a.requestTokens > 0 }

func (a Agent) formatted() bool {
	return a.Definition.Format.Type == domain.FormatSchema || a.Definition.Format.Type == domain.FormatJSON
}

// has says in words what the agent has besides a model and tools.
func (a Agent) has() string {
	has := []string{}
	add := func(word string, is bool) {
		if is {
			has = append(has, word)
		}
	}
	add("hooks", len(a.Definition.Hooks) > 0)
	add("guards", !reflect.ValueOf(a.Definition.Guards).IsZero())
	add("compaction", a.Definition.Model.ContextWindow > 0 && !a.Definition.Compaction.Off)
	add("structured output", a.formatted())
	add("money", a.Definition.Budget.MaxCostNanoUSD != nil)
	add("a tight budget", a.tight())
	add("going on", a.goesOn())
	return cmp.Or(strings.Join(has, ", "), "plain")
}

// tool is one of the agent's by its name; zero: it has none of this name.
func (a Agent) tool(name string) Tool {
	at := slices.IndexFunc(a.Tools, func(t Tool) bool { return t.Name == name })
	if at < 0 {
		return Tool{}
	}
	return a.Tools[at]
}

// scripts are those of the agent, under no name, and of its sub-agents.
func (a Agent) scripts() map[string][]byte {
	all := map[string][]byte{"": a.Script}
	maps.Copy(all, a.Subagents)
	return all
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
			case all[at] != t:
				return nil, fmt.Errorf("agent %s: tool %s: is %s here and %s elsewhere; give it another name", a.Name, t.Name, t.Effect, all[at].Effect)
			}
		}
	}
	return all, nil
}
