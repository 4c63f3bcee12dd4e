package agentfile

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"everstep/activities/document"
	"everstep/activities/mcp"
	"everstep/domain"
)

// Settings are what files of other tools leave to those who run them.
type Settings struct {
	// Tools are those of the worker: a file that names none has all of them, and none has another. Nil: they are not
	// known; those for files are then all.
	Tools []string
	// Models are what words for models, in lower case, stand for: each PROVIDER/NAME.
	Models map[string]string
}

func (s Settings) all() []string {
	if s.Tools != nil {
		return slices.Clone(s.Tools)
	}
	return []string{"list_files", "read_file", "search_files", "write_file", "edit_file"}
}

func (s Settings) has(tool string) bool { return s.Tools == nil || domain.NamesTool(s.Tools, tool) }

const (
	inherit        = "inherit"
	maxForeignKeys = 200
	listSeparators = ", \n\t\"'"
)

// A foreigner is a file of another tool that is being read.
type foreigner struct {
	*agent
	words vocabulary
	tools *toolset
	// listed are MCP servers of the worker, by name.
	listed  []string
	ignored []string
	// permissions are what is said of tools one after the other, of which the last counts; rules tighten the worker's approvals.
	permissions []permitted
	rules       []domain.ApprovalRule
}

// readForeign reads front matter and prompt of another tool's file.
func (a *agent) readForeign(v vocabulary, f front, body string, line int) {
	if len(f.names) > maxForeignKeys {
		a.ProblemAt(1, 1, "", "has %d keys; leave out all but %d", len(f.names), maxForeignKeys)
		return
	}
	a.Loose, a.Name = true, identity(stem(a.Path))
	t := &foreigner{agent: a, words: v, tools: newToolset(a.family.settings, a.Dialect, v.tools)}
	keys, means := document.Keys{}, t.keys()
	for _, name := range f.names {
		value := f.values[name]
		switch known, ok := means[canonical(name)]; {
		case ok && value == nil && canonical(name) == "tools":
			t.tools.none()
			t.ignored = append(t.ignored, "tools (empty: none)")
		case value == nil:
		case ok:
			keys = append(keys, document.Key{Name: name, Value: known})
		default:
			keys = append(keys, document.Key{Name: name, Value: t.pass(name)})
		}
	}
	if (len(keys) > 0 || f.garbled) && a.Read(f.text, keys) == nil {
		return
	}
	if f.inside != "" && f.values[f.inside] == nil {
		a.ProblemAt(1, 1, f.inside, "stands in the text of another key; begin it at the start of a line of its own")
	}
	a.prompt(nil, body, line)
	t.settle()
}

// keys are those that mean something here, each by its one spelling, and fill what ours fill.
func (t *foreigner) keys() map[string]document.Value {
	d := &t.Definition
	steps := document.Count(1, maxTimes, func(n int64) {
		if d.Budget.MaxSteps == nil || *d.Budget.MaxSteps > n {
			d.Budget.MaxSteps = &n
		}
	})
	denied := reading(func(word string) { t.tools.deny(word) })
	return map[string]document.Value{
		"name": document.TextThen(func(text string) string {
			t.Name = identity(text, stem(t.Path))
			return ""
		}),
		"description": document.TextThen(func(text string) string {
			t.Description = strings.TrimSpace(strings.ReplaceAll(text, `\n`, "\n"))
			return ""
		}),
		"model": {Read: t.model}, "tools": {Read: t.allowed}, "allowedtools": {Read: t.allowed}, "disallowedtools": {Read: denied}, "excludedtools": {Read: denied},
		"maxturns": steps, "steps": steps, "maxsteps": steps,
		"temperature": document.Number(maxTemperature, func(n float64) { d.Model.Temperature = &n }),
		"topp":        document.Number(1, func(n float64) { d.Model.TopP = &n }),
		"permissionmode": document.TextThen(func(text string) string {
			t.permissionMode(text)
			return ""
		}),
		"permission": {Read: t.permission}, "permissions": {Read: t.permission},
		"mcpservers": {Read: t.mcpServers}, "mcp": {Read: t.mcpServers},
	}
}

// pass is a key without a meaning here. One of ours that restricts is not passed over.
func (t *foreigner) pass(name string) document.Value {
	return document.Value{Read: func(r *document.Reader, field string, node *yaml.Node) {
		switch reason := t.words.passed[canonical(name)]; {
		case slices.Contains([]string{"approvals", "budget", "session_budget", "guards", "subagent_policy"}, name):
			r.Problem(node, field, "is a key of our own form, and the file is read as one of %s; move it to ./agents, or leave the key out", t.Dialect)
		case reason != "":
			t.ignored = append(t.ignored, name+" ("+reason+")")
		default:
			t.ignored = append(t.ignored, document.Shorten(name))
		}
	}}
}

// reading reads words: a list, a text, or keys of a mapping that are true.
func reading(each func(word string)) func(*document.Reader, string, *yaml.Node) {
	return func(r *document.Reader, field string, node *yaml.Node) {
		switch node.Kind {
		case yaml.ScalarNode:
			for _, word := range words(node.Value, listSeparators) {
				each(word)
			}
		case yaml.SequenceNode:
			for i, item := range node.Content {
				if item.Kind != yaml.ScalarNode {
					r.Problem(item, fmt.Sprintf("%s[%d]", field, i), "is %s, not a text", document.Describe(item))
					continue
				}
				for _, word := range words(item.Value, ",\"'") {
					each(word)
				}
			}
		default:
			r.Problem(node, field, "is %s; give a list, or a text with commas", document.Describe(node))
		}
	}
}

// allowed are the tools of the file: those listed, or all but those that a mapping turns off.
func (t *foreigner) allowed(r *document.Reader, field string, node *yaml.Node) {
	if node.Kind != yaml.MappingNode {
		t.tools.none()
		reading(t.tools.allow)(r, field, node)
		return
	}
	t.pairs(r, field, node, func(name string, value *yaml.Node) string {
		switch value.Value {
		case "true", "allow", "ask":
			t.tools.allow(name)
		case "false", "deny":
			t.tools.deny(name)
		default:
			return "give true or false"
		}
		if value.Value == "ask" {
			t.permit(name, domain.AskFirst)
		}
		return ""
	})
}

// pairs reads a mapping of words to words, of which each returns what is to be given instead.
func (t *foreigner) pairs(r *document.Reader, field string, node *yaml.Node, each func(name string, value *yaml.Node) string) {
	if given := len(node.Content) / 2; given > maxForeignKeys {
		r.Problem(node, field, "has %d keys; leave out all but %d", given, maxForeignKeys)
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if fix := each(node.Content[i].Value, node.Content[i+1]); fix != "" {
			r.Problem(node.Content[i+1], document.Join(field, document.Shorten(node.Content[i].Value)), "is %q; %s", document.Shorten(node.Content[i+1].Value), fix)
		}
	}
}

// model is the first word that stands for one here.
func (t *foreigner) model(r *document.Reader, field string, node *yaml.Node) {
	items := []*yaml.Node{node}
	if node.Kind == yaml.SequenceNode {
		items = node.Content
	}
	for _, item := range items {
		if named := t.family.settings.model(item.Value); named != "" {
			t.modelText(&t.Definition.Model).Read(r, field, &yaml.Node{Kind: yaml.ScalarNode, Value: named, Line: item.Line, Column: item.Column})
			return
		}
	}
	what := "is none that is known here"
	word := ""
	if len(items) > 0 {
		word = document.Shorten(items[0].Value)
	}
	if word == inherit || word == "" {
		what = "is left to whoever runs it"
	}
	t.note("model: %q %s; the one of --model or EVERSTEP_MODEL answers, or what EVERSTEP_MODELS says of the word", word, what)
}

// mcpServers are servers of the worker, by name. What the file would start or reach itself is shown, and left alone.
func (t *foreigner) mcpServers(r *document.Reader, field string, node *yaml.Node) {
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			t.server(node.Content[i].Value, node.Content[i+1])
		}
	case yaml.SequenceNode:
		for _, item := range node.Content {
			if item.Kind == yaml.MappingNode {
				t.mcpServers(r, field, item)
			} else {
				t.server(item.Value, nil)
			}
		}
	default:
		reading(func(word string) { t.server(word, nil) })(r, field, node)
	}
}

func (t *foreigner) server(name string, config *yaml.Node) {
	if mcp.CheckServer(name) == "" && t.family.settings.has(domain.AllToolsOf(name)) && (config == nil || t.family.settings.Tools != nil) {
		t.listed = append(t.listed, name)
		return
	}
	var means map[string]any
	if config == nil || config.Kind != yaml.MappingNode || config.Decode(&means) != nil {
		t.ignored = append(t.ignored, "MCP server "+document.Shorten(name)+" (the worker has none of that name)")
		return
	}
	delete(means, "tools")
	for _, secret := range []string{"env", "headers"} {
		if values, ok := means[secret].(map[string]any); ok {
			for key := range values {
				values[key] = "${" + strings.ToUpper(strings.ReplaceAll(key, "-", "_")) + "}"
			}
		}
	}
	if line, err := json.Marshal(map[string]any{"mcpServers": map[string]any{name: means}}); err == nil {
		t.note("MCP server %s is not started: an agent starts no programs; for the worker's file (--mcp): %s", document.Shorten(name), line)
	}
}

func (t *foreigner) note(format string, args ...any) {
	t.Notes = append(t.Notes, t.Path+": "+fmt.Sprintf(format, args...))
}

// settle makes tools, rules and what is said of the file of all that its keys have said.
func (t *foreigner) settle() {
	d, tools := &t.Definition, t.tools
	for _, server := range t.listed {
		prefix := server + domain.ServerSeparator
		if !slices.ContainsFunc(tools.names, func(name string) bool { return strings.HasPrefix(name, prefix) }) && !slices.Contains(tools.denied, domain.AllToolsOf(server)) {
			tools.names = append(tools.names, domain.AllToolsOf(server))
		}
	}
	t.settlePermissions()
	d.Tools = tools.names
	d.Model.Timeouts = t.timeouts
	t.family.inherits[t.Path] = tools.all
	for _, name := range tools.denied {
		t.tighten(domain.ApprovalRule{Tool: name, Then: domain.Deny})
	}
	for _, name := range tools.asked {
		t.tighten(domain.ApprovalRule{Tool: name, Then: domain.AskFirst})
	}
	if len(t.rules) > 0 {
		d.Approvals = &domain.Approvals{Rules: t.rules}
	}
	if unknown := tools.unknown; len(unknown) > 0 {
		t.ignored = append(t.ignored, "tools "+domain.Shorten(strings.Join(unknown, ", "), 500)+" (none like it here)")
	}
	if off := tools.off; len(off) > 0 {
		slices.Sort(off)
		t.ignored = append(t.ignored, strings.Join(slices.Compact(off), ", ")+" (off on the worker; EVERSTEP_BUILTIN_TOOLS turns it on)")
	}
	if len(t.ignored) > 0 {
		t.note("ignored: %s", domain.Shorten(strings.Join(t.ignored, ", "), 1000))
	}
	asks := func(r domain.ApprovalRule) bool { return r.Then == domain.AskFirst && slices.Contains(d.Tools, r.Tool) }
	if len(tools.bounded) > 0 && slices.ContainsFunc(t.rules, asks) {
		t.note("%s: each call of that tool waits for a person, since no pattern of another tool bounds it here", strings.Join(tools.bounded, ", "))
	}
}

// identity is a name that our rules take, made of the first text that has something of one.
func identity(texts ...string) string {
	for _, text := range texts {
		if checkName(text) == "" {
			return text
		}
		name := strings.Trim(regexp.MustCompile(`[^a-z0-9._]+`).ReplaceAllString(strings.ToLower(text), "-"), "-._")
		if len(name) > 64 {
			name = strings.TrimRight(name[:64], "-._")
		}
		if name != "" {
			return name
		}
	}
	return "agent"
}
