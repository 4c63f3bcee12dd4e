package agentfile

import (
	"cmp"
	"path"
	"slices"
	"strings"

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
		"webfetch fetch web fetchwebpage httpget":                                                                        {"http_get"}, "todo todos todowrite todoread managetodolist": {"todo"},
		"askuserquestion question askuser askquestions": {"ask_user"},
		"task agent runsubagent skill websearch notebookedit exitplanmode killshell bashoutput problems changes usages githubrepo " +
			"extensions vscodeapi testfailure findtestfiles runtests runtasks opensimplebrowser think externaldirectory doomloop lsp": nil,
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

// A toolset is what a file's words come to.
type toolset struct {
	settings Settings
	dialect  string
	table    map[string][]string
	names    []string
	// all means that nothing but what is denied is left out of the worker's tools.
	all bool
	// denied are patterns of names, asked are tools of which each call waits for a person.
	denied, asked []string
	// unknown are words for what there is not here, off those for tools that the worker has not turned on.
	unknown, off, bounded []string
}

// none takes all tools away, before those that are listed.
func (t *toolset) none() { t.names, t.all, t.denied = []string{}, false, nil }

// allow adds what a word of the file stands for.
func (t *toolset) allow(word string) {
	base, pattern, bounded := strings.Cut(word, "(")
	if base = strings.TrimSpace(base); base == "*" {
		t.names, t.all, t.denied = t.settings.all(), true, nil
		return
	}
	bounded = bounded && strings.Trim(pattern, "*) ") != ""
	ours := t.ours(base)
	if len(ours) == 0 {
		t.unknown = once(t.unknown, base)
	}
	for _, name := range ours {
		t.denied = slices.DeleteFunc(t.denied, func(denied string) bool { return denied == name })
		switch {
		case !t.settings.has(name) && strings.Contains(name, domain.ServerSeparator):
			t.unknown = once(t.unknown, base)
			continue
		case !t.settings.has(name):
			t.off = once(t.off, name)
			continue
		case !slices.Contains(t.names, name):
			t.names = append(t.names, name)
		}
		if bounded {
			t.bound(word, name)
		}
	}
}

// once is a list of words with another, unless it is there.
func once(words []string, word string) []string {
	if slices.Contains(words, word) {
		return words
	}
	return append(words, word)
}

// deny takes away what a word of the file stands for.
func (t *toolset) deny(word string) {
	base, pattern, bounded := strings.Cut(word, "(")
	if base = strings.TrimSpace(base); base == "*" {
		t.none()
		return
	}
	for _, denied := range t.covered(base, t.dialect) {
		if bounded && strings.Trim(pattern, "*) ") != "" {
			t.bound(word, denied)
			continue
		}
		t.denied = append(t.denied, denied)
		t.names = slices.DeleteFunc(t.names, func(name string) bool { return like(denied, name) })
	}
}

// bound has each call of a tool wait for a person, since arguments cannot be held to another tool's pattern.
func (t *toolset) bound(word, name string) {
	t.asked, t.bounded = append(t.asked, name), once(t.bounded, strings.TrimSpace(word))
}

// ours are the tools that a word of the file allows; none: there is nothing like it here.
func (t *toolset) ours(word string) []string {
	name := canonical(word)
	if name == "edit" && t.dialect != claudeCode {
		return []string{"edit_file", "write_file"} // one word for both, but with Claude Code
	}
	if ours, known := t.table[name]; known {
		return slices.Clone(ours)
	}
	sets := []string{"read", "edit", "search", "execute", "web", "agent", "vscode", "todo", "new", "runcommands", "runtasks", "runnotebooks"} // of no MCP server
	if set, inner, ok := strings.Cut(name, "/"); ok && slices.Contains(sets, set) {
		return slices.Clone(t.table[inner])
	}
	switch server, tool := t.remote(word); {
	case mcp.CheckServer(server) != "" || tool == "":
	case tool == "*":
		return []string{domain.AllToolsOf(server)}
	case !strings.Contains(tool, "*"):
		return []string{mcp.ToolName(server, tool)}
	}
	if slices.Contains(t.settings.Tools, word) {
		return []string{word}
	}
	return nil
}

// remote parts the name of a tool of an MCP server, or of all of its tools: mcp__server__tool, server/tool, server_*.
func (t *toolset) remote(word string) (server, tool string) {
	if rest, prefixed := strings.CutPrefix(word, "mcp__"); prefixed {
		server, tool, _ = strings.Cut(rest, domain.ServerSeparator)
		tool = cmp.Or(tool, "*")
	} else if i := strings.LastIndex(word, "/"); i > 0 {
		server, tool = word[:i], word[i+1:]
	} else if all, parted := strings.CutSuffix(word, "_*"); parted {
		server, tool = strings.TrimSuffix(all, "_"), "*"
	} else {
		for _, name := range t.settings.Tools {
			known, all := domain.ServerOfAll(name)
			if rest, begins := strings.CutPrefix(word, known+"_"); all && begins && len(known) > len(server) {
				server, tool = known, strings.TrimPrefix(rest, "_")
			}
		}
	}
	return server, tool
}

// covered are patterns of all names that a word of a dialect may mean where it denies: too many rather than too few.
func (t *toolset) covered(word, dialect string) []string {
	name := canonical(word)
	ours := t.ours(word)
	_, known := t.table[name]
	switch server, tool := t.remote(word); {
	case dialect != claudeCode && slices.Contains([]string{"edit", "write", "patch"}, name):
		return []string{"edit_file", "write_file"} // they are one there
	case len(ours) > 0 && !strings.ContainsAny(word, "*?"), known:
		return ours
	case server != "":
		return []string{server + domain.ServerSeparator + tool}
	}
	var covered []string
	for theirs, ours := range t.table {
		if like(name, theirs) {
			covered = append(covered, ours...)
		}
	}
	if len(covered) == 0 && !strings.ContainsAny(word, "*?") {
		t.unknown = once(t.unknown, word)
	}
	slices.Sort(covered)
	return append(slices.Compact(covered), strings.ReplaceAll(word, "_", "_*")) // SERVER_TOOL is SERVER__TOOL here
}

// like reports whether a tool's name is one that a pattern means.
func like(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil || pattern == name
}

// words parts a text at commas, and at spaces where it is no item of a list, outside of parentheses.
func words(text, separators string) []string {
	depth := 0
	all := strings.FieldsFunc(strings.Trim(strings.TrimSpace(text), "[]"), func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return depth <= 0 && strings.ContainsRune(separators, r)
	})
	for i, word := range all {
		all[i] = strings.TrimSpace(word)
	}
	return slices.DeleteFunc(all, func(word string) bool { return strings.Trim(word, "-") == "" })
}
