package agentfile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
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
	// Lacks says, in words, what whoever runs them may miss among these. Empty: nothing.
	Lacks string
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
	inherit = "inherit"
	// maxForeign bounds how many keys, tools, servers or models stand in one place.
	maxForeign     = 500
	listSeparators = ", \n\t\"'"
)

func tooMany(r *document.Reader, field string, node *yaml.Node, given int) bool {
	if given > maxForeign {
		r.Problem(node, field, "names %d; leave out all but %d", given, maxForeign)
	}
	return given > maxForeign
}

// A foreigner is a file of another tool that is being read.
type foreigner struct {
	*agent
	tools *toolset
	// said is the prompt where it is no text below the keys.
	said string
	// toolsAt is where they are listed.
	toolsAt *yaml.Node
	// disallowed are words for tools that are denied, wherever others are allowed.
	disallowed []string
	// listed are MCP servers of the worker.
	listed  []namedServer
	ignored []string
	// permissions are what is said of tools one after the other, of which the last counts; rules tighten the worker's approvals.
	permissions []permitted
	rules       []domain.ApprovalRule
}

// readForeign reads front matter and prompt of another tool's file.
func (a *agent) readForeign(v vocabulary, f front, body string, line int) {
	if len(f.names) > maxForeign {
		a.ProblemAt(1, 1, "", "has more than %d keys; leave out the others", maxForeign)
		return
	}
	if f.broken != "" {
		if root := a.Root(f.broken); len(a.Problems) == 0 {
			a.Mapping("", root, nil)
		}
		return
	}
	a.Loose, a.Name = true, identity(stem(a.Path))
	s := a.family.settings
	t := &foreigner{agent: a, tools: &toolset{settings: s, dialect: a.Dialect, table: v.tools, names: s.all(), all: true}}
	keys, means := document.Keys{}, t.keys()
	for _, name := range f.names {
		value, known := means[canonical(name)]
		if !known {
			value = t.pass(name)
		}
		if keys = append(keys, document.Key{Name: name, Value: value}); f.values[name] == nil && canonical(name) == "tools" {
			t.tools.none()
			t.ignored = append(t.ignored, "tools (empty: none)")
		}
	}
	for _, key := range []string{"model", "tools", "permission"} {
		if value := valueOf(f.above, key); value != nil && (key != "model" || f.values[key] == nil) {
			means[key].Read(&a.Reader, key, value)
		}
	}
	t.toolsAt = nil
	a.Parsed(f.field, f.node, keys)
	for _, key := range f.inside {
		if f.values[key] == nil {
			a.ProblemAt(1, 1, key, "stands in the text of another key; begin a line with it, and have a space behind its colon")
			break
		}
	}
	if t.said != "" && body != "" {
		t.ignored = append(t.ignored, "prompt (the text below counts)")
	}
	a.prompt(nil, cmp.Or(body, t.said), line)
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
	denied := reading(func(word string) { t.disallowed = append(t.disallowed, word) })
	return map[string]document.Value{
		"name": document.TextThen(func(text string) string {
			t.Name = identity(text, stem(t.Path))
			return ""
		}),
		"description": document.TextThen(func(text string) string {
			t.Description = strings.TrimSpace(strings.ReplaceAll(text, `\n`, "\n"))
			return ""
		}),
		"prompt": document.TextThen(func(text string) string {
			var err error
			t.said, err = t.promptOf(text)
			return failure(err)
		}),
		"model": {Read: t.model}, "tools": {Read: t.allowed}, "allowedtools": {Read: t.allowed}, "disallowedtools": {Read: denied}, "excludedtools": {Read: denied},
		"maxturns": steps, "steps": steps, "maxsteps": steps,
		"temperature":    document.Number(maxTemperature, func(n float64) { d.Model.Temperature = &n }),
		"topp":           document.Number(1, func(n float64) { d.Model.TopP = &n }),
		"permissionmode": document.TextThen(t.permissionMode),
		"permission":     {Read: t.permission}, "permissions": {Read: t.permission},
		"mcpservers": {Read: t.mcpServers}, "mcp": {Read: t.mcpServers},
	}
}

// pass is a key without a meaning here. One of ours that restricts is not passed over.
func (t *foreigner) pass(name string) document.Value {
	return document.Value{Read: func(r *document.Reader, field string, node *yaml.Node) {
		restricts := []string{"approvals", "budget", "sessionbudget", "guards", "subagentpolicy"}
		switch hooks := canonical(name) == "hooks"; {
		case slices.Contains(restricts, canonical(name)), hooks && node.Kind != yaml.MappingNode:
			r.Problem(node, field, "is a key of our own form, and the file is read as one of %s; leave it out, or make the file ./agents/NAME.md without keys of other tools", t.Dialect)
		case hooks:
			t.ignored = append(t.ignored, "hooks (theirs are commands)")
		default:
			t.ignored = append(t.ignored, document.Shorten(name))
		}
	}}
}

// reading reads words: a list, or a text with commas.
func reading(each func(word string)) func(*document.Reader, string, *yaml.Node) {
	return func(r *document.Reader, field string, node *yaml.Node) {
		var all []string
		switch node.Kind {
		case yaml.ScalarNode:
			all = words(node.Value, listSeparators)
		case yaml.SequenceNode:
			for i, item := range node.Content {
				if item.Kind != yaml.ScalarNode {
					r.Problem(item, fmt.Sprintf("%s[%d]", field, i), "is %s, not a text", document.Describe(item))
				}
				all = append(all, words(item.Value, ",\"'")...)
			}
		default:
			r.Problem(node, field, "is %s; give a list, or a text with commas", document.Describe(node))
		}
		if tooMany(r, field, node, len(all)) {
			return
		}
		for _, word := range all {
			each(word)
		}
	}
}

// allowed are the tools of the file: those listed, or all but those that a mapping turns off.
func (t *foreigner) allowed(r *document.Reader, field string, node *yaml.Node) {
	if t.toolsAt != nil {
		r.Problem(node, field, "is given beside the one in line %d; keep one", t.toolsAt.Line+r.Offset)
		return
	}
	t.toolsAt = node
	if node.Kind != yaml.MappingNode {
		t.tools.none()
		reading(t.tools.allow)(r, field, node)
		return
	}
	t.pairs(r, field, node, func(name string, value *yaml.Node) string {
		switch value.Value {
		case "true":
			t.tools.allow(name)
		case "false":
			t.tools.deny(name)
		default:
			return "give true or false"
		}
		return ""
	})
}

// pairs reads a mapping of words to words, of which each returns what is to be given instead.
func (t *foreigner) pairs(r *document.Reader, field string, node *yaml.Node, each func(name string, value *yaml.Node) string) {
	if tooMany(r, field, node, len(node.Content)/2) {
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			r.Problem(key, field, "has a key that is %s; keys are texts", document.Describe(key))
			continue
		}
		is := document.Describe(value)
		if value.Kind == yaml.ScalarNode {
			is = strconv.Quote(document.Shorten(value.Value))
		}
		if fix := each(key.Value, value); fix != "" {
			r.Problem(value, document.Join(field, document.Shorten(key.Value)), "is %s; %s", is, fix)
		}
	}
}

// mcpServers are servers of the worker, by name. What the file would start or reach itself is shown, and left alone.
func (t *foreigner) mcpServers(r *document.Reader, field string, node *yaml.Node) {
	switch node.Kind {
	case yaml.MappingNode:
		t.pairs(r, field, node, func(name string, config *yaml.Node) string {
			t.server(name, config)
			return ""
		})
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

// A namedServer is an MCP server of the worker that a file names, with all of its tools or only some.
type namedServer struct {
	all  string
	only []string
}

func (t *foreigner) server(name string, config *yaml.Node) {
	all := domain.AllToolsOf(name)
	if mcp.CheckServer(name) == "" && t.family.settings.has(all) && (config == nil || t.family.settings.Tools != nil) {
		t.listed = append(t.listed, namedServer{all, serverTools(name, config)})
		return
	}
	var means map[string]any
	if config == nil || config.Kind != yaml.MappingNode || config.Decode(&means) != nil {
		t.ignored = append(t.ignored, "MCP server "+document.Shorten(name)+" (the worker has none of that name)")
		return
	}
	hideSecrets(means)
	if line, err := json.Marshal(map[string]any{"mcpServers": map[string]any{name: means}}); err == nil {
		t.note("MCP server %s is not started: an agent starts no programs; for the worker's file (EVERSTEP_MCP): %s", document.Shorten(name), domain.Shorten(string(line), 1000))
	}
}

// serverTools are the tools of a server that a list names, which may be its configuration's.
func serverTools(server string, list *yaml.Node) (only []string) {
	list = cmp.Or(valueOf(list, "tools"), list)
	if list == nil || list.Kind != yaml.SequenceNode || slices.ContainsFunc(list.Content, func(tool *yaml.Node) bool { return tool.Value == "*" }) {
		return []string{domain.AllToolsOf(server)}
	}
	for _, tool := range list.Content {
		only = append(only, mcp.ToolName(server, tool.Value))
	}
	return only
}

var (
	// plainWords are names of programs, packages and files at the begin of a command, as no secret is.
	plainWords = regexp.MustCompile(`^((-y|--yes|[@./]*[a-z]+([-./_][a-z]+)*\d?(@latest)?)(\s+|$))*`)
	// plainURL has words in its path alone, and numbers of versions.
	plainURL = regexp.MustCompile(`^[a-z]+://(\d{1,3}(\.\d{1,3}){3}|[a-z]{1,20}\d{0,2}([.-][a-z]{1,20}\d{0,2})*)(:\d+)?(/[a-z]{1,20}\d{0,2}([._-][a-z]{1,20}\d{0,2})*)*/?$`)
)

// hideSecrets leaves of a configuration how a server is started or reached, with variables in place of what may be secret.
func hideSecrets(config map[string]any) {
	for key, value := range config {
		switch key {
		case "type", "cwd":
		case "command", "args":
			text := strings.Trim(fmt.Sprint(value), "[]")
			if plain := plainWords.FindString(text); plain != text {
				config[key] = append(strings.Fields(plain), "${ARGS}")
			}
		case "url":
			if !plainURL.MatchString(fmt.Sprint(value)) {
				config[key] = "${URL}"
			}
		case "env", "headers":
			values, _ := value.(map[string]any)
			for name := range values {
				values[name] = cmp.Or(mcp.Named(fmt.Sprint(values[name])), "${"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))+"}")
			}
			config[key] = values
		default:
			delete(config, key)
		}
	}
}

func (t *foreigner) note(format string, args ...any) {
	t.Notes = append(t.Notes, t.Path+": "+fmt.Sprintf(format, args...))
}

// settle makes tools, rules and what is said of the file of all that its keys have said.
func (t *foreigner) settle() {
	d, tools := &t.Definition, t.tools
	for _, server := range t.listed {
		some := func(name string) bool { return strings.HasPrefix(name, strings.TrimSuffix(server.all, "*")) }
		denied := func(pattern string) bool { return like(pattern, server.all) }
		switch {
		case slices.Contains(tools.names, server.all) && !slices.Contains(server.only, server.all):
			tools.names, tools.all = append(slices.DeleteFunc(tools.names, some), server.only...), false
		case !slices.ContainsFunc(tools.names, some) && !slices.ContainsFunc(tools.denied, denied):
			tools.names = append(tools.names, server.only...)
		}
	}
	for _, word := range t.disallowed {
		tools.deny(word)
	}
	t.settlePermissions()
	d.Tools = tools.names
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
		t.ignored = append(t.ignored, strings.Join(off, ", ")+" (off on the worker; EVERSTEP_BUILTIN_TOOLS turns it on)")
	}
	var bounded []string
	for _, word := range tools.bounded {
		base, _, _ := strings.Cut(word, "(")
		named := permitted{tools: tools.covered(base, openCode)}
		waits := func(tool string) bool {
			return named.covers(tool) && slices.ContainsFunc(t.rules, func(r domain.ApprovalRule) bool {
				return r.Then == domain.AskFirst && like(cmp.Or(r.Tool, "*"), tool)
			})
		}
		if slices.ContainsFunc(d.Tools, waits) {
			bounded = append(bounded, word)
		} else {
			t.ignored = append(t.ignored, "patterns of "+word+" (no call of the agent waits for them)")
		}
	}
	if lacks := t.family.settings.Lacks; lacks != "" && (tools.all || len(tools.unknown)+len(tools.off) > 0) {
		t.note("tools: %s", lacks)
	}
	if len(t.ignored) > 0 {
		t.note("ignored: %s", domain.Shorten(strings.Join(t.ignored, ", "), 1000))
	}
	if len(bounded) > 0 {
		t.note("%s: each call of that tool waits for a person, since no pattern of another tool bounds it here", strings.Join(bounded, ", "))
	}
}
