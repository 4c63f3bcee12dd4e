package activities

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"everstep/activities/tool"
	"everstep/domain"
)

// Allow says what a worker is for, whatever those ask who reach its namespace. What
// is nil allows all that the worker has; a list with nothing in it, as of an empty
// folder, allows nothing.
type Allow struct {
	// Tools are the names of those that it runs.
	Tools *[]string
	// Models are those that it asks, as provider/model; a * at the end stands for
	// any end, as in openai/*.
	Models *[]string
	// Agents are those that it serves, as their files define them. A definition may
	// differ by its budget and that of its sessions, if they allow no more. Then no message of a conversation is of
	// role system or developer, whether a client has given it or a hook has said it: only
	// the definition instructs.
	Agents *[]domain.Definition
}

// Tool reports whether a tool is one of those allowed, and used by an agent allowed.
func (a Allow) Tool(name string) bool {
	used := func(d domain.Definition) bool { return domain.NamesTool(d.Tools, name) }
	return (a.Tools == nil || domain.NamesTool(*a.Tools, name)) && (a.Agents == nil || slices.ContainsFunc(*a.Agents, used))
}

// CheckTools refuses a name that is that of no tool of the worker's, those of a toolbox among them.
func (a Allow) CheckTools(own []tool.Tool, more Toolbox) error {
	for _, name := range *cmp.Or(a.Tools, &[]string{}) {
		if !has(more, name) && !slices.ContainsFunc(own, func(t tool.Tool) bool { return t.Spec().Name == name }) {
			return domain.Invalidf("--allow-tools (EVERSTEP_ALLOW_TOOLS): there is no %q; the tools are: %s", name, toolNames(own, more))
		}
	}
	return nil
}

// Model refuses a model that the worker does not ask.
func (a Allow) Model(model domain.LLMConfig) error {
	matches := func(pattern string) bool {
		beginning, open := strings.CutSuffix(pattern, "*")
		return pattern == model.String() || open && strings.HasPrefix(model.String(), beginning)
	}
	if a.Models == nil || slices.ContainsFunc(*a.Models, matches) {
		return nil
	}
	return domain.Deniedf("model: this worker does not ask %s; it asks %s",
		domain.Shorten(model.String(), 128), domain.Shorten(cmp.Or(strings.Join(*a.Models, ", "), "none"), 500))
}

// agent refuses a definition that is none of the agents'.
func (a Allow) agent(given domain.Definition) error {
	if a.Agents == nil || slices.ContainsFunc(*a.Agents, func(own domain.Definition) bool { return isAgent(own, given) }) {
		return nil
	}
	return domain.Deniedf("definition: is none of the agents that this worker serves; start one of them as its file defines it")
}

// said refuses a conversation that instructs the model beside the definition of an agent.
func (a Allow) said(entries []domain.Entry) error {
	if a.Agents == nil {
		return nil
	}
	for _, e := range entries {
		if role := e.Message.Role; role == domain.RoleSystem || role == domain.RoleDeveloper {
			return domain.Deniedf("messages[%d]: is of role %s, and where a worker serves certain agents only their definitions instruct; give it role user", e.Index, role)
		}
	}
	return nil
}

// isAgent reports whether a definition is an agent's, maybe under one of its fallbacks.
func isAgent(own, given domain.Definition) bool {
	asks := own.Model.Provider == "" || own.Model.Equal(given.Model) ||
		slices.ContainsFunc(own.Fallbacks, func(f domain.Fallback) bool { return f.Model.Equal(given.Model) })
	frugal := given.Budget.Within(own.Budget) && given.SessionBudget.Within(own.SessionBudget)
	own.Model, own.Budget, own.SessionBudget, own.Source = given.Model, given.Budget, given.SessionBudget, given.Source
	one, err := json.Marshal(own)
	other, otherErr := json.Marshal(given)
	return asks && frugal && err == nil && otherErr == nil && string(one) == string(other)
}
