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
	called, tool := t.remote(word)
	servers := t.family.settings.servers(called)
	valid := len(servers) == 1 && mcp.CheckServer(servers[0]) == ""
	alone := t.family.settings.servers(strings.TrimSuffix(word, "*"))
	switch {
	case valid && tool == "*":
		return []string{domain.AllToolsOf(servers[0])}
	case valid && tool != "" && !strings.Contains(tool, "*"):
		return []string{mcp.ToolName(servers[0], tool)}
	case slices.Contains(known, word):
		return []string{word}
	case t.Dialect != claudeCode && len(alone) == 1 && slices.Contains(known, domain.AllToolsOf(alone[0])): // the name alone, or the begin of those of its tools
		return []string{domain.AllToolsOf(alone[0])}
	}
	return nil
}

// remotes are the forms of names of a tool of an MCP server, or of all of its tools: mcp__server__tool, server/tool, server_*.
var remotes = []*regexp.Regexp{
	regexp.MustCompile(`^mcp__(.+?)(?:__(.*))?$`), regexp.MustCompile(`^(.+)/([^/]+)$`), regexp.MustCompile(`^(.+?)_+(\*)$`),
}

// remote parts a word into an MCP server, as it is called there, and its tool; empty: it is the name of none.
func (t *foreigner) remote(word string) (called, tool string) {
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
	for end := strings.LastIndex(word, "_"); end > 0 && len(word) <= 200; end = strings.LastIndex(word[:end], "_") { // of a long word it is too much work
		if t.family.settings.hasServer(word[:end]) {
			return word[:end], strings.TrimLeft(word[end:], "_")
		}
	}
	return "", ""
}

// servers are the MCP servers of the worker that another program may mean by a name, which is the key of one in a file, or that key
// with other signs. Of one that the worker does not have it is the name itself.
func (s Settings) servers(called string) (servers []string) {
	if called == "" || strings.ContainsAny(called, "*?") {
		return []string{called}
	}
	name, distinct := mcp.ServerNames(called)
	if s.Tools == nil {
		return []string{name}
	}
	for _, likely := range []string{distinct, name} {
		if slices.Contains(s.Tools, domain.AllToolsOf(likely)) {
			return []string{likely}
		}
	}
	for _, means := range []func(server, called string) bool{mcp.Alike, mcp.Shortened} {
		for _, tool := range s.Tools {
			if known, all := domain.ServerOfAll(tool); all && means(known, called) {
				servers = append(servers, known)
			}
		}
		if len(servers) > 0 {
			return servers
		}
	}
	if base := path.Base(called); base != called { // of the name in a registry the last part may be the key
		return s.servers(base)
	}
	return []string{called}
}

// hasServer reports whether the worker has an MCP server of which this is surely the name.
func (s Settings) hasServer(called string) bool {
	return slices.ContainsFunc(s.Tools, func(tool string) bool {
		known, all := domain.ServerOfAll(tool)
		return all && mcp.Alike(known, called)
	})
}

// covered are patterns of all names that a word of a dialect may mean: too many rather than too few where it denies.
func (t *foreigner) covered(word, dialect string, denies bool) []string {
	name := canonical(word)
	ours := t.ours(word)
	_, known := t.table[name]
	wild := strings.ContainsAny(word, "*?")
	var covered []string
	called, tool := t.remote(word)
	servers := t.family.settings.servers(cmp.Or(called, word))
	if denies {
		covered = t.everywhere(word)
	}
	switch {
	case word == "*":
		return []string{word}
	case dialect != claudeCode && isAmong(name, "edit write patch"):
		return []string{"edit_file", "write_file"} // they are one there
	case len(ours) > 0 && !wild, known:
		for _, tool := range ours {
			covered = once(covered, tool)
		}
		return covered
	case called != "":
		for _, server := range servers {
			patterns := []string{server + domain.ServerSeparator + tool}
			if denies && strings.ContainsAny(server, "*?") {
				patterns = mcp.ToolPatterns(signs.ReplaceAllString(server, "?*"), tool)
			}
			for _, pattern := range patterns {
				covered = once(covered, pattern)
			}
		}
		if !denies || !wild || !strings.HasPrefix(word, called+"_") || t.family.settings.hasServer(called) {
			return covered
		} // else write_* may be tools of ours, too
	}
	for theirs, ours := range t.table {
		if like(name, theirs) {
			covered = append(covered, ours...)
		}
	}
	for _, server := range servers {
		if all := domain.AllToolsOf(server); denies && slices.Contains(t.family.settings.Tools, all) {
			covered = append(covered, all)
		}
	}
	if len(covered) == 0 && !wild {
		t.ignore(unknownTool, word)
	}
	slices.Sort(covered)
	pattern := strings.ReplaceAll(word, "_", "_*") // SERVER_TOOL is SERVER__TOOL here
	if denies {                                    // and the name of a server may have other signs here
		pattern = signs.ReplaceAllString(word, "?*")
	}
	return append(slices.Compact(covered), pattern)
}

// everywhere are patterns of all tools that a word may mean of the worker's MCP servers, wherever in it the name of one ends.
func (t *foreigner) everywhere(word string) (patterns []string) {
	s, separator := t.family.settings, "_"
	bare, prefixed := strings.CutPrefix(word, "mcp__")
	switch {
	case prefixed:
		separator = domain.ServerSeparator
	case t.Dialect == claudeCode:
		return nil
	case strings.Contains(word, "/"):
		separator = "/"
	case t.Dialect == geminiCLI:
		bare = strings.TrimPrefix(word, "mcp_")
	}
	literal := regexp.MustCompile(`^[^*?]*`).FindString(bare)
	for at := range len(literal) + 1 {
		called, tool := bare[:at], bare[at:]
		if (prefixed || tool != "") && strings.HasPrefix(tool+separator, separator) && s.hasServer(called) {
			for _, server := range s.servers(called) {
				patterns = append(patterns, mcp.ToolPatterns(server, cmp.Or(strings.TrimLeft(tool, separator), "*"))...)
			}
		}
	}
	longer := func(name string) bool { // as in far_*, which has the tools of far_off too
		server, all := domain.ServerOfAll(name)
		return all && strings.HasPrefix(signs.ReplaceAllString(server, "_"), signs.ReplaceAllString(literal, "_"))
	}
	if len(patterns) > 0 && literal != bare && separator == "_" && slices.ContainsFunc(s.Tools, longer) {
		patterns = append(patterns, signs.ReplaceAllString(bare, "?*"))
	}
	return patterns
}

// signs are what the names of servers and tools may have otherwise here.
var signs = regexp.MustCompile(`[^a-zA-Z0-9*?]+`)

// like reports whether a tool's name is one that a pattern means.
func like(pattern, name string) bool {
	ok, _ := path.Match(pattern, name) // what is no pattern is a name
	return ok || pattern == name
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
