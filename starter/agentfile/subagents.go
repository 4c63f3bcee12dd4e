package agentfile

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"everstep/activities/document"
	"everstep/domain"
)

// maxFiles bounds how many files one agent's sub-agents may stand in, theirs included.
const maxFiles = domain.MaxSubagents

// A family are the sub-agents of the file that is read, and theirs in turn, by the keys that the definition knows them by.
// Each file is read once, however many name it, itself included.
type family struct {
	agents   map[string]domain.Definition
	about    map[string]string
	inherits map[string]bool
	settings Settings
}

func newFamily(s Settings) *family {
	return &family{map[string]domain.Definition{}, map[string]string{}, map[string]bool{}, s}
}

// read reads what the file of one of them holds, or that of the agent itself.
func (f *family) read(path string, data []byte) *agent {
	a := newAgent(path, f)
	if text, ok := a.Text(data); ok {
		a.read(text)
	}
	return a
}

// settle gives the definition all agents that were read, once every file is, and each place that names one what its file says.
func (f *family) settle(d *domain.Definition) {
	if len(f.agents) == 0 {
		return
	}
	d.Agents = f.agents
	for _, definition := range append(slices.Collect(maps.Values(f.agents)), *d) {
		for _, named := range []map[string]domain.Subagent{definition.Subagents, definition.Handoffs} {
			for name, sub := range named {
				sub.Description, sub.InheritsTools = cmp.Or(sub.Description, f.about[sub.Agent]), f.inherits[sub.Agent]
				named[name] = sub
			}
		}
	}
}

// A naming is how an agent names others: the key of its file.
type naming string

const (
	spawned  naming = "subagents"
	asTools  naming = "agents"
	handedTo naming = "handoffs"
)

// others are the agents that the agent names: each by a name, with its file or with what it is.
func (a *agent) others(as naming) document.Value {
	shown := map[string]any{}
	for name, sub := range *a.namedBy(as) {
		if sub.AsTool == (as == asTools) {
			shown[name] = cmp.Or(a.other(as, name).Shown, any(document.Shown{})) // the name alone says something
		}
	}
	named := func(name string) string { return a.named(name, as) }
	return document.MapOf(named, func(name string) document.Value { return a.other(as, name) }).Shows(shown).ShownIf(len(shown) > 0)
}

// namedBy are the agents that the agent names by a key; by subagents and agents are the same.
func (a *agent) namedBy(as naming) *map[string]domain.Subagent {
	if as == handedTo {
		return &a.Definition.Handoffs
	}
	return &a.Definition.Subagents
}

// named says why another agent may not have a name.
func (a *agent) named(name string, as naming) string {
	other := map[naming]naming{spawned: asTools, asTools: spawned}[as]
	_, taken := a.Definition.Subagents[name]
	switch {
	case other != "" && taken:
		return fmt.Sprintf("%s is in %s, too; name it in one of them", document.Shorten(name), other)
	case as == spawned:
		return checkName(name)
	}
	return checkTool(name)
}

// listedOthers are those that may stand in a list too: each by its file, or by its name, which the file beside this one has
// that it stands in.
func (a *agent) listedOthers(as naming) document.Value {
	var listed []string
	list := document.Names(&listed, "agent", "").Then(func(at document.Place) {
		for i, text := range listed {
			one := at
			if at.Node.Kind == yaml.SequenceNode {
				one = at.On(at.Node.Content[i])
			}
			path, name := text, stem(text)
			if !IsPath(text) {
				path, name = a.beside(text), text
			}
			if wrong := a.named(name, as); wrong != "" {
				one.Problem("%s", wrong)
				continue
			}
			one = one.In(name, one.Node)
			switch own := a.join(path) == filepath.Clean(a.Path); {
			case own && as == asTools:
				one.Problem("is this file itself; an agent may start itself as one of subagents, which max_depth bounds")
			case own:
				one.Problem("is this file itself, which has the conversation already; leave it out")
			default:
				one.Wrong(a.nameFile(as, name, path, domain.Subagent{}))
			}
		}
	})
	return document.Either(list, a.others(as))
}

// beside is the file in this one's folder in which an agent of the name stands: the first that is there, by the order of
// endings, and NAME.yaml where none is.
func (a *agent) beside(name string) string {
	for _, ending := range strings.Split(endings, ", ") {
		if _, err := os.Stat(a.join(name + ending)); err == nil {
			return name + ending
		}
	}
	return name + ".yaml"
}

// name has the agent name another.
func (a *agent) name(as naming, name string, sub domain.Subagent) {
	into := a.namedBy(as)
	if *into == nil {
		*into = map[string]domain.Subagent{}
	}
	sub.AsTool = as == asTools
	(*into)[name] = sub
}

// nameFile has it name one that stands in a file of its own, which is read unless it was or is being read, and says what is
// wrong with the path.
func (a *agent) nameFile(as naming, name, path string, sub domain.Subagent) string {
	path = a.join(path)
	sub.Agent = path
	a.name(as, name, sub)
	if _, known := a.family.agents[path]; known {
		return ""
	}
	if len(a.family.agents) >= maxFiles {
		return fmt.Sprintf("is one more than the %d sub-agents that an agent may have, theirs included; leave some out", maxFiles)
	}
	data, err := readAgent(path)
	if err != nil {
		return err.Error()
	}
	a.family.agents[path] = domain.Definition{}
	below := a.family.read(path, data)
	a.family.agents[path], a.family.about[path] = below.Definition, below.Description
	a.Notes = append(a.Notes, below.Notes...)
	a.Problems, a.Doubts, a.Providers = append(a.Problems, below.Problems...), append(a.Doubts, below.Doubts...), append(a.Providers, below.Providers...)
	return ""
}

// other is one, of a name, with its file or what it is.
func (a *agent) other(as naming, name string) document.Value {
	sub, file := (*a.namedBy(as))[name], ""
	own := a.Definition.Agents[sub.Agent]
	if own.Source == sub.Agent { // what the file says of it stands there
		file, own = sub.Agent, domain.Definition{}
	}
	fromFile := func(at document.Place) { at.Wrong(a.nameFile(as, name, file, sub)) }
	return document.Either(
		document.Text(&file).Example("researcher.yaml").Then(fromFile),
		document.Mapping(document.Keys{
			{Name: "file", Doc: "The agent's file that it stands in, from this file's folder on. Then only description may stand beside it.", Value: document.Text(&file)},
			{Name: "description", Doc: "What it is for: the model chooses by it. The file's unless given.", Value: document.Text(&sub.Description)},
			{Name: "model", Doc: "Who answers, as the key model of the agent; that agent's model unless given.", Value: a.modelText(&own.Model)},
			{Name: "system_prompt", Doc: "Its system prompt.", Value: document.Text(&own.SystemPrompt, checkPrompt)},
			{Name: "tools", Doc: "The tools that it may use, each by name; those of the agent unless given. An empty list is none.", Value: tools(&own.Tools, &a.Doubts)},
			{Name: "budget", Doc: "The limits of one execution of it, beside its share of what is left of the agent's.", Value: budget(&own.Budget, false)},
		}).Then(func(at document.Place) {
			others := len(at.Node.Content)/2 - 1
			switch has := func(key string) bool { return document.Member(at.Node, key) != nil }; {
			case has("file") && others > 0 && (others > 1 || !has("description")):
				at.Problem("has a file, which says all but the description; leave the other keys out, or file")
			case has("file"):
				fromFile(at)
			default:
				if sub.Agent = a.Path + "#" + name; as == handedTo {
					sub.Agent = a.Path + "#" + domain.HandoffTool(name)
				}
				own.Source = a.Path
				a.family.agents[sub.Agent], a.family.inherits[sub.Agent] = own, document.Member(at.Node, "tools") == nil
				a.name(as, name, sub)
			}
		}))
}

func (a *agent) join(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(a.folder, path)
}

func subagentPolicy(p *domain.SubagentPolicy) document.Value {
	return document.Mapping(document.Keys{
		{Name: "allow", Doc: "The tools that sub-agents may have, each by name, or SERVER__* for all of an MCP server; any unless given.", Value: document.Names(&p.Allow, "tool", "").Then(
			func(at document.Place) {
				if len(p.Allow) == 0 {
					at.Problem("is empty; name a tool, or give sub-agents `tools: []` for none")
				}
			})},
		{Name: "deny", Doc: "Tools that they have not, even if they are allowed. With spawn_subagent they start none themselves, as tools of their own neither.", Value: document.Names(&p.Deny, "tool", "")},
		{Name: "max_depth", Doc: "How deep sub-agents may be: those of the agent itself are at 1, theirs at 2.",
			Value: document.Count(0, domain.MostDepth, func(n int64) { p.MaxDepth = new(int(n)) }).Shows(p.MaxDepth).Default(domain.DefaultMaxDepth)},
	})
}
