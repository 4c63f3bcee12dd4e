package agentfile

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"everstep/activities/document"
	"everstep/domain"
)

// Settings are what files of other tools leave to those who run them.
type Settings struct {
	// Tools are those of the worker: a file that names none has all of them, and none has another. Nil: they are not
	// known; those for files are then all.
	Tools []string
	// Unstarted are those of MCP servers that the worker has and does not start: who asks for all tools does not ask for these.
	Unstarted []string
	// Lacks says, in words, what whoever runs them may miss among these. Empty: nothing.
	Lacks string
	// Models are what words for models, in lower case, stand for: each PROVIDER/NAME.
	Models map[string]string
}

// all are the tools that a foreign file means by all of them, or by naming none: the worker's, or, where those are not known, the
// tools for files.
func (s Settings) all() []string {
	if s.Tools != nil {
		return slices.DeleteFunc(slices.Clone(s.Tools), func(tool string) bool { return slices.Contains(s.Unstarted, tool) })
	}
	return strings.Fields("list_files read_file search_files write_file edit_file")
}

func (s Settings) has(tool string) bool { return s.Tools == nil || domain.NamesTool(s.Tools, tool) }

const (
	inherit = "inherit"
	// maxForeign bounds how many keys, tools, servers or models stand in one place.
	maxForeign = 500
)

func tooMany(at document.Place, given int) bool {
	if given > maxForeign {
		at.Problem("names %d; leave out all but %d", given, maxForeign)
	}
	return given > maxForeign
}

// A foreigner is a file of another tool that is being read.
type foreigner struct {
	*agent
	table map[string][]string
	// prompted is the prompt where it is no text below the keys.
	prompted string
	// toolsAt is where they are listed.
	toolsAt *yaml.Node
	// names are the tools that it has, but for what is denied; all means that these are all of the worker's.
	names []string
	all   bool
	// said is what each key says of tools, one word after the other.
	said [][]permitted
	// rules tighten the worker's approvals.
	rules []domain.ApprovalRule
	// listed are MCP servers of the worker, started those that it would start itself.
	listed  []namedServer
	started map[string]any
	ignored []ignored
}

// An ignored is what counts for nothing for one reason.
type ignored struct {
	reason string
	words  []string
}

const (
	keyOnly       = "%s"
	allowedAnyway = "permission %s: allow (the worker's approvals hold)"
	unknownTool   = "tools %s (none like it here)"
	offTool       = "%s (off on the worker; EVERSTEP_BUILTIN_TOOLS turns it on)"
)

// ignore notes a word that counts for nothing. The reason has a place for all such words.
func (t *foreigner) ignore(reason, word string) {
	i := slices.IndexFunc(t.ignored, func(i ignored) bool { return i.reason == reason })
	if i < 0 {
		i, t.ignored = len(t.ignored), append(t.ignored, ignored{reason: reason})
	}
	t.ignored[i].words = once(t.ignored[i].words, document.Shorten(word))
}

// some names words, but not very many of them.
func some(words []string) string {
	const most = 30
	if more := len(words) - most; more > 0 {
		words = append(slices.Clone(words[:most]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, ", ")
}

// denies is a key that no tool has, by which somebody denies tools all the same.
var denies = regexp.MustCompile(`^(dis|den|block|forbid|exclud|prohibit|no)[a-z]*tools?$`)

// readForeign reads front matter and prompt of another tool's file.
func (a *agent) readForeign(v vocabulary, f front, body string, line int) {
	if len(f.names) > maxForeign {
		a.ProblemAt(1, 1, "", "has more than %d keys; leave out the others", maxForeign)
		return
	}
	if f.broken != "" {
		if root := a.Root(f.broken); len(a.Problems) == 0 {
			a.At("", root).Mapping(nil)
		}
		return
	}
	a.Loose, a.Name = true, identity(stem(a.Path))
	t := &foreigner{agent: a, table: v.tools, names: a.family.settings.all(), all: true, said: make([][]permitted, lastCounts), started: map[string]any{}, ignored: []ignored{{reason: keyOnly}}}
	keys, means := document.Keys{}, t.keys()
	for _, name := range f.names {
		value, known := means[canonical(name)]
		switch {
		case known:
		case denies.MatchString(canonical(name)):
			value = means["disallowedtools"]
		default:
			value = t.pass(name)
		}
		keys = append(keys, document.Key{Name: name, Value: value})
		switch {
		case !listsTools(name) || document.Member(f.node, name) != nil:
		case slices.ContainsFunc(f.names, func(other string) bool { return listsTools(other) && document.Member(f.node, other) != nil }):
			t.ignore("%s (empty)", name)
		default:
			t.names, t.all = []string{}, false
			t.ignore("tools (%s: none)", "empty")
		}
	}
	for _, key := range []string{"model", "tools", "permission"} {
		if value := document.Member(f.above, key); value != nil && (key != "model" || document.Member(f.node, key) == nil) {
			means[key].Read(a.At(key, value))
		}
	}
	t.toolsAt = nil
	a.At(f.field, f.node).Mapping(keys)
	for _, key := range f.inside {
		if document.Member(f.node, key) == nil {
			a.ProblemAt(1, 1, key, "stands in the text of another key; begin a line with it, and have a space behind its colon")
			break
		}
	}
	if t.prompted != "" && body != "" {
		t.ignore("%s (the text below counts)", "prompt")
	}
	a.prompt(cmp.Or(body, t.prompted), line)
	t.settle()
}

// listsTools reports whether a key lists the tools of an agent.
func listsTools(name string) bool {
	return isAmong(canonical(name), "tools tool allowedtools")
}

// isAmong reports whether a word is one of some.
func isAmong(word, words string) bool { return slices.Contains(strings.Fields(words), word) }

// keys are those that mean something here, each by its one spelling, and fill what ours fill.
func (t *foreigner) keys() map[string]document.Value {
	d := &t.Definition
	steps := document.Count(1, maxTimes, func(n int64) {
		if d.Budget.MaxSteps == nil || *d.Budget.MaxSteps > n {
			d.Budget.MaxSteps = &n
		}
	})
	denied := reading(func(word string) { t.always(word, domain.Deny) })
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
			t.prompted, err = t.promptOf(text)
			return failure(err)
		}),
		"model": {Read: t.model}, "tools": {Read: t.allowed}, "tool": {Read: t.allowed}, "allowedtools": {Read: t.allowed}, "disallowedtools": {Read: denied}, "excludedtools": {Read: denied},
		"maxturns": steps, "steps": steps, "maxsteps": steps,
		"temperature":    number(&d.Model.Temperature, maxTemperature),
		"topp":           number(&d.Model.TopP, 1),
		"timeoutmins":    document.Number(domain.MaxBudgetSeconds/60, func(n float64) { d.Budget.MaxSeconds = new(60 * n) }),
		"permissionmode": document.TextThen(t.permissionMode), "approvalmode": document.TextThen(t.permissionMode),
		"readonly": document.Truth(func(yes bool) {
			if yes {
				t.readsAlone()
			}
		}),
		"kind": document.TextThen(func(kind string) string {
			if kind == "remote" {
				return "is remote, an agent that runs elsewhere; write one with its prompt below the keys"
			}
			t.ignore(keyOnly, "kind")
			return ""
		}),
		"permission": {Read: t.permission}, "permissions": {Read: t.permission},
		"mcpservers": {Read: t.mcpServers}, "mcp": {Read: t.mcpServers},
	}
}

// pass is a key without a meaning here. One of ours that restricts is not passed over.
func (t *foreigner) pass(name string) document.Value {
	return document.Value{Read: func(at document.Place) {
		restricts := isAmong(canonical(name), "approvals budget sessionbudget guards subagentpolicy")
		empty := at.Node.Kind != yaml.ScalarNode && len(at.Node.Content) == 0
		switch hooks := canonical(name) == "hooks"; {
		case !empty && (restricts || hooks && at.Node.Kind != yaml.MappingNode):
			at.Problem("is a key of our own form, and the file is read as one of %s; leave it out, or make the file ./agents/NAME.md without keys of other tools", t.Dialect)
		case hooks:
			t.ignore("%s (theirs are commands)", name)
		default:
			t.ignore(keyOnly, name)
		}
	}}
}

const namesNothing = "has a word that names nothing; give a name, or leave it out"

// nameless reports whether a word has no name behind its marks.
func nameless(word string) bool { return strings.Trim(word, "!- ") == "" }

// reading reads words: a list, or a text with commas.
func reading(each func(word string)) func(document.Place) {
	return func(at document.Place) {
		if at.Node.Kind == yaml.MappingNode {
			at.Problem("is a mapping; give a list, or a text with commas")
			return
		}
		before := len(at.Reader.Problems)
		for i, item := range at.Node.Content {
			if item.Kind != yaml.ScalarNode {
				at.Item(i, item).Problem("is %s, not a text", document.Describe(item))
			}
		}
		if len(at.Reader.Problems) > before {
			return
		}
		all := wordsOf(at.Node)
		if tooMany(at, len(all)) {
			return
		}
		if slices.ContainsFunc(all, nameless) {
			at.Problem(namesNothing)
			return
		}
		for _, word := range all {
			each(word)
		}
	}
}

// allowed are the tools of the file: those listed, or all but those that a mapping turns off.
func (t *foreigner) allowed(at document.Place) {
	if t.toolsAt != nil {
		at.Problem("is given beside the one in line %d; keep one", t.toolsAt.Line+at.Reader.Offset)
		return
	}
	t.toolsAt = at.Node
	if all := wordsOf(at.Node); len(all) > 1 && slices.ContainsFunc(all, func(word string) bool {
		return isAmong(strings.ToLower(word), "except without not no but")
	}) {
		at.Problem("is a sentence; give names with commas, and what is not allowed as disallowedTools")
	}
	if at.Node.Kind != yaml.MappingNode || len(at.Node.Content) == 0 && t.Dialect != openCode {
		t.names, t.all = []string{}, false
		reading(t.allow)(at)
		return
	}
	t.pairs(at, func(name string, at document.Place) string {
		base, bounded := bounds(name)
		if bounded && at.Node.Value == "false" {
			t.always(name, domain.Deny)
			return ""
		}
		p := permitted{t.covered(base, t.Dialect, true), domain.Deny, ""}
		switch at.Node.Value {
		case "true":
			t.allow(name)
			if p.then = domain.Allow; base != "*" {
				p.tools = t.ours(base)
			}
		case "false":
		default:
			return "give true or false"
		}
		t.said[byTools] = append(t.said[byTools], p)
		return ""
	})
}

// pairs reads a mapping of words to words, of which each returns what is to be given instead.
func (t *foreigner) pairs(at document.Place, each func(name string, at document.Place) string) {
	if tooMany(at, len(at.Node.Content)/2) {
		return
	}
	at.Entries(nil, func(name *yaml.Node, at document.Place) {
		is := document.Describe(at.Node)
		if at.Node.Kind == yaml.ScalarNode {
			is = strconv.Quote(document.Shorten(at.Node.Value))
		}
		if nameless(name.Value) {
			at.On(name).Problem(namesNothing)
		} else if fix := each(name.Value, at); fix != "" {
			at.Problem("is %s; %s", is, fix)
		}
	})
}

func (t *foreigner) note(format string, args ...any) {
	t.Notes = append(t.Notes, t.Path+": "+fmt.Sprintf(format, args...))
}

// settle makes tools, rules and what is said of the file of all that its keys have said.
func (t *foreigner) settle() {
	d := &t.Definition
	var met []string
	for _, server := range t.listed {
		some := func(name string) bool { return strings.HasPrefix(name, strings.TrimSuffix(server.all, "*")) }
		if slices.Contains(t.names, server.all) || !slices.Contains(met, server.all) && !slices.ContainsFunc(t.names, some) {
			t.names = append(slices.DeleteFunc(t.names, some), server.only...)
			t.all = t.all && slices.Contains(server.only, server.all)
		}
		t.names = slices.DeleteFunc(t.names, func(name string) bool { return some(name) && !domain.NamesTool(server.only, name) })
		met = append(met, server.all)
	}
	t.settlePermissions()
	d.Tools = t.names
	t.family.inherits[t.Path] = t.all
	if len(t.rules) > 0 {
		d.Approvals = &domain.Approvals{Rules: t.rules}
	}
	var bounded []string
	for _, p := range slices.Concat(t.said...) {
		waits := func(tool string) bool { return p.covers(tool) && t.then(tool) == domain.AskFirst }
		switch {
		case p.word == "":
		case slices.ContainsFunc(d.Tools, waits):
			bounded = once(bounded, document.Shorten(p.word))
		default:
			t.ignore("patterns of %s (no call of the agent waits for them)", p.word)
		}
	}
	lacking := t.all
	for _, all := range t.family.settings.Unstarted {
		if server, _ := domain.ServerOfAll(all); t.all && !slices.Contains(t.names, all) {
			t.ignore("MCP server %s (the worker does not start it; `starter mcp list` says why)", server)
		}
	}
	var ignored []string
	for _, i := range t.ignored {
		lacking = lacking || i.reason == unknownTool || i.reason == offTool
		if len(i.words) > 0 {
			ignored = append(ignored, fmt.Sprintf(i.reason, some(i.words)))
		}
	}
	if lacks := t.family.settings.Lacks; lacks != "" && lacking {
		t.note("tools: %s", lacks)
	}
	t.showStarted()
	if len(ignored) > 0 {
		t.note("ignored: %s", strings.Join(ignored, ", "))
	}
	if len(bounded) > 0 {
		t.note("%s: each call of that tool waits for a person, since no pattern of another tool bounds it here", some(bounded))
	}
}
