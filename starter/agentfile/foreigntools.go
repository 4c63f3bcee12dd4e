package agentfile

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"everstep/activities/mcp"
	"everstep/domain"
)

// foreignTools are the tools of others by what they do, and those of ours that do no more. Names are in lower case and
// without dashes and underscores.
func foreignTools() map[string][]string {
	read, write, edit, list, search := "read_file", "write_file", "edit_file", "list_files", "search_files"
	all := map[string][]string{}
	for names, ours := range map[string][]string{
		"read readfile readmanyfiles notebookread view": {read}, "write writefile createfile create": {write},
		"edit multiedit strreplace replace editfile edit/editfiles": {edit}, "editfiles patch applypatch": {edit, write},
		"glob ls list listfiles listdir listdirectory filesearch": {list}, "search": {search, list},
		"grep codebase textsearch searchfiles grepsearch searchfilecontent":                                              {search},
		"bash shell execute terminal powershell runcommand runcommands runinterminal runterminalcommand runshellcommand": {"shell"},
		"webfetch fetch web fetchwebpage httpget":                                                                        {"http_get"},
		"todo todos todowrite todoread managetodolist writetodos":                                                        {"todo"},
		"askuserquestion question askuser askquestions":                                                                  {"ask_user"},
		"task agent runsubagent skill websearch googlewebsearch savememory notebookedit exitplanmode killshell bashoutput problems changes usages " +
			"githubrepo extensions vscodeapi testfailure findtestfiles runtests runtasks opensimplebrowser think externaldirectory doomloop lsp": nil,
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = ours
		}
	}
	return all
}

var separators = strings.NewReplacer("_", "", "-", "", " ", "")

// canonical is a word as all spellings of it: maxTurns, max_turns, max-turns.
func canonical(name string) string {
	return separators.Replace(strings.ToLower(name))
}

// bounds parts a word into a tool and whether a pattern bounds its arguments, as in Bash(git:*).
func bounds(word string) (base string, bounded bool) {
	base, pattern, _ := strings.Cut(word, "(")
	return strings.TrimSpace(base), strings.Trim(pattern, "*) ") != ""
}

// allow gives the agent what a word of the file stands for.
func (t *foreigner) allow(word string) {
	s := t.family.settings
	base, bounded := bounds(word)
	switch denied := strings.TrimLeft(word, "!-"); {
	case denied != word:
		t.always(denied, domain.Deny)
		return
	case base == "*":
		t.names, t.all = s.all(), true
		return
	}
	ours := t.ours(base)
	for _, name := range ours {
		switch {
		case s.has(name):
			t.names = once(t.names, name)
		case strings.Contains(name, domain.ServerSeparator):
			t.ignore(unknownTool, base)
		default:
			t.ignore(offTool, name)
		}
	}
	switch {
	case len(ours) == 0:
		t.ignore(unknownTool, cmp.Or(base, word))
	case bounded && slices.ContainsFunc(ours, s.has):
		t.always(word, domain.AskFirst)
	}
}

// once is a list of words with another, unless it is there.
func once(words []string, word string) []string {
	if slices.Contains(words, word) {
		return words
	}
	return append(words, word)
}

// ours are the tools that a word of the file allows; none: there is nothing like it here.
func (t *foreigner) ours(word string) []string {
	name, known := canonical(word), t.family.settings.Tools
	if name == "edit" && t.Dialect != claudeCode {
		return []string{"edit_file", "write_file"} // one word for both, but with Claude Code
	}
	if ours, theirs := t.table[name]; theirs {
		return ours
	}
	const sets = "read edit search execute web agent vscode todo new runcommands runtasks runnotebooks" // of no MCP server
	if set, inner, ok := strings.Cut(name, "/"); ok && isAmong(set, sets) {
		return t.table[inner]
	}
	all := domain.AllToolsOf(strings.TrimSuffix(word, "*"))
	server, tool := t.remote(word)
	if here := mcp.ServerName(server); slices.Contains(known, domain.AllToolsOf(here)) {
		server = here
	}
	valid := mcp.CheckServer(server) == ""
	switch {
	case valid && tool == "*":
		return []string{domain.AllToolsOf(server)}
	case valid && tool != "" && !strings.Contains(tool, "*"):
		return []string{mcp.ToolName(server, tool)}
	case slices.Contains(known, word):
		return []string{word}
	case t.Dialect != claudeCode && slices.Contains(known, all): // the name alone, or the begin of those of its tools
		return []string{all}
	}
	return nil
}

// remotes are the forms of names of a tool of an MCP server, or of all of its tools: mcp__server__tool, server/tool, server_*.
var remotes = []*regexp.Regexp{
	regexp.MustCompile(`^mcp__(.+?)(?:__(.*))?$`), regexp.MustCompile(`([^/]+)/([^/]+)$`), regexp.MustCompile(`^(.+?)_+(\*)$`),
}

// remote parts a word into an MCP server and its tool; empty: it is the name of none.
func (t *foreigner) remote(word string) (server, tool string) {
	if rest, prefixed := strings.CutPrefix(word, "mcp_"); prefixed && t.Dialect == geminiCLI && rest == "*" {
		word = "*_*"
	} else if prefixed && t.Dialect == geminiCLI && !strings.HasPrefix(rest, "_") {
		word = rest
	}
	for _, form := range remotes {
		if found := form.FindStringSubmatch(word); found != nil {
			return found[1], cmp.Or(found[2], "*")
		}
	}
	for _, name := range t.family.settings.Tools {
		known, all := domain.ServerOfAll(name)
		if rest, begins := strings.CutPrefix(word, known+"_"); all && begins && len(known) > len(server) {
			server, tool = known, strings.TrimPrefix(rest, "_")
		}
	}
	return server, tool
}

// covered are patterns of all names that a word of a dialect may mean: too many rather than too few where it denies.
func (t *foreigner) covered(word, dialect string, denies bool) []string {
	name := canonical(word)
	ours := t.ours(word)
	_, known := t.table[name]
	wild := strings.ContainsAny(word, "*?")
	var covered []string
	switch server, tool := t.remote(word); {
	case word == "*":
		return []string{word}
	case dialect != claudeCode && isAmong(name, "edit write patch"):
		return []string{"edit_file", "write_file"} // they are one there
	case len(ours) > 0 && !wild, known:
		return ours
	case server != "":
		covered = append(covered, server+domain.ServerSeparator+tool)
		if !denies || !wild || !strings.HasPrefix(word, server+"_") || slices.Contains(t.family.settings.Tools, domain.AllToolsOf(server)) {
			return covered
		} // else write_* may be tools of ours, too
	}
	for theirs, ours := range t.table {
		if like(name, theirs) {
			covered = append(covered, ours...)
		}
	}
	if len(covered) == 0 && !wild {
		t.ignore(unknownTool, word)
	}
	slices.Sort(covered)
	return append(slices.Compact(covered), strings.ReplaceAll(word, "_", "_*")) // SERVER_TOOL is SERVER__TOOL here
}

// like reports whether a tool's name is one that a pattern means.
func like(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil || pattern == name
}

// apart is a mark with spaces between it and its word.
var apart = regexp.MustCompile(`!\s+`)

// wordsOf are the words of a text or a list: parted at commas, and in a text at spaces too, outside of parentheses. Nothing
// has none, nor has a mapping.
func wordsOf(node *yaml.Node) (all []string) {
	if node == nil || node.Kind == yaml.MappingNode {
		return nil
	}
	separators := ",;|\"'"
	texts := node.Content
	if node.Kind == yaml.ScalarNode {
		texts, separators = []*yaml.Node{node}, separators+" \n\t"
	}
	for _, text := range texts {
		depth := 0
		if nameless(text.Value) && text.Value != "-" {
			all = append(all, "")
		}
		for _, word := range strings.FieldsFunc(strings.Trim(strings.TrimSpace(apart.ReplaceAllString(text.Value, "!")), "[]"), func(r rune) bool {
			switch r {
			case '(':
				depth++
			case ')':
				depth--
			}
			return depth <= 0 && strings.ContainsRune(separators, r)
		}) {
			if strings.Trim(word, "- ") != "" {
				all = append(all, strings.TrimSpace(word))
			}
		}
	}
	return all
}
