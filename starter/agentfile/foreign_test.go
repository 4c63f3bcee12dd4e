package agentfile_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"everstep/activities/document"
	"everstep/activities/mcp"
	"everstep/domain"
	"everstep/starter/agentfile"
	"everstep/testsuite/golden"
)

// worker has what the files of testdata/foreign.txt are read for.
func worker() agentfile.Settings {
	return agentfile.Settings{
		Tools:  []string{"list_files", "read_file", "search_files", "write_file", "edit_file", "http_get", "shell", "files__*"},
		Models: map[string]string{"fast": "openai/gpt-5-mini", "haiku": "gemini/gemini-2.5-flash"},
	}
}

// TestForeignFiles reads each file of other tools in testdata/foreign.txt: behind each stands what it comes to, as our own
// file and as what is said of it.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	const table = "testdata/foreign.txt"
	archive, err := txtar.ParseFile(filepath.FromSlash(table))
	require.NoError(t, err)
	kinds := map[string]bool{}
	for i := 0; i+1 < len(archive.Files); i += 2 {
		given, read := archive.Files[i], &archive.Files[i+1]
		kind, _, _ := strings.Cut(given.Name, "/")
		require.False(t, kinds[kind], kind)
		kinds[kind] = true
		require.Equal(t, kind+"/read", read.Name)
		text := string(given.Data)
		if strings.Contains(kind, "Windows") {
			text = "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n")
		}
		f, err := worker().Parse(given.Name, []byte(text))
		read.Data = []byte(told(t, f, err))
	}
	require.GreaterOrEqual(t, len(kinds), 16)
	golden.Compare(t, table, string(txtar.Format(archive)), *update)
}

// told is a file as our own, less what is the default, and what is said of it.
func told(t *testing.T, f agentfile.File, err error) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("form: " + f.Dialect + "\n")
	if problems, ok := errors.AsType[document.Problems](err); ok {
		return b.String() + problems.Error() + "\n"
	}
	requireSameAgain(t, f)
	shown, err := f.Resolve().YAML()
	require.NoError(t, err)
	plain, err := agentfile.File{Name: f.Name}.Resolve().YAML()
	require.NoError(t, err)
	usual := strings.Split(string(plain), "\n")
	for line := range strings.SplitSeq(strings.TrimSpace(string(shown)), "\n") {
		if line == "" && b.Len() > 0 || strings.HasPrefix(line, "name:") || strings.HasPrefix(line, "tools:") || !slices.Contains(usual, line) {
			b.WriteString(line + "\n")
		}
	}
	for _, note := range f.Notes {
		b.WriteString("note: " + note + "\n")
	}
	return b.String()
}

// TestForeignPatternsGiveNoMore: a word of a server that the worker lacks takes back no denial of our tools, and each list of
// one server only bounds the agent.
func TestForeignPatternsGiveNoMore(t *testing.T) {
	t.Parallel()
	for front, not := range map[string]string{
		"permission: {'*': deny, 'fetch_*': allow}": "http_get",
		"permission: {'*': deny, 'shell_*': ask}":   "shell",
		"permission: {'bash(*)': deny}":             "shell",
		"tools: {'bash(*)': false}":                 "shell",
		"tools: [read_file, files_delete]\nmcpServers: {files: {includeTools: [read, list], allowedTools: [delete, list]}}": "files__delete",
		"tools: [read_file, files_delete]\nmcpServers: [{files: {includeTools: [read]}}, files]":                            "files__*",
	} {
		f, err := worker().Parse(".opencode/agent/a.md", []byte("---\n"+front+"\n---\nHello.\n"))
		require.NoError(t, err, front)
		require.NotContains(t, f.Definition.Tools, not, front)
	}
}

// TestForeignNamesOfServers: a file gives or takes the tools of a server by the key that it has in a file of MCP servers, or by what
// models are told in the place of that key, also where it has another name here.
func TestForeignNamesOfServers(t *testing.T) {
	t.Parallel()
	const cut = "io.github.somebody/documents"
	document, _ := mcp.ServerNames(cut)
	_, second := mcp.ServerNames("a-b")
	s := agentfile.Settings{Tools: []string{"read_file", "my-server__*", "a-b__*", "Twin__*", "twi-n__*", second + "__*", document + "__*", "mcp-21st__*", "c-d__*", "far__*", "far_off__*", "off__*"}, Unstarted: []string{"off__*"}}
	const claude, copilot, openCode, gemini = ".claude/agents/a.md", ".github/agents/a.agent.md", ".opencode/agent/a.md", ".gemini/agents/a.md"
	for _, row := range []struct{ path, front, has, lacks string }{
		{claude, "tools: mcp__my_server__find, mcp__my.server__see", "my-server__find my-server__see", "my-server__other"},
		{claude, "tools: mcp__io_github_somebody_documents__find", document + "__find", document + "__other"},
		{claude, "tools: mcp__a-b__find", second + "__find", "a-b__find"},
		{claude, "tools: mcp__a.b__find", "a-b__find", second + "__find"},
		{claude, "tools: Read\nmcpServers: [my.server, " + cut + "]", "my-server__find " + document + "__find", ""},
		{claude, "tools: Read\nmcpServers: {my server: {includeTools: [find]}}", "my-server__find", "my-server__other"},
		{claude, "tools: mcp__twin__find", "", "Twin__find twi-n__find"},
		{claude, "disallowedTools: mcp__my_server, mcp__io_github_somebody_documents__find", "a-b__find " + document + "__other", "my-server__find " + document + "__find"},
		{claude, "disallowedTools: mcp__my_*", "a-b__find", "my-server__find"},
		{claude, "tools: mcp__21st__make", "mcp-21st__make", "mcp-21st__other"},
		{claude, "disallowedTools: mcp__21st", "my-server__find", "mcp-21st__make"},
		{claude, "disallowedTools: mcp__TWIN", "my-server__find", "Twin__find twi-n__find"},
		{claude, "mcpServers: {my.server: {enabled: false}, " + cut + ": {excludeTools: [find]}}", document + "__other", "my-server__find " + document + "__find"},
		{claude, "disallowedTools: mcp__my_server__find_all", "my-server__find_all_together my-server__all", mcp.ToolName("my-server", "find.all") + " my-server__find_all"},
		{claude, "disallowedTools: 'mcp__my.server__db/*, mcp__c__d__*_it'", "my-server__find", mcp.ToolName("my-server", "db/all") + " c-d__do_it " + mcp.ToolName("c-d", "do.it")},
		{claude, "mcpServers: {my.server: {excludeTools: ['*all']}}", "my-server__find", mcp.ToolName("my-server", "db/all") + " my-server__all"},
		{openCode, "permission: {far_off_find: deny}", "far__find", "far_off__find far__off_find"},
		{openCode, "permission: {'far_*': deny}", "c-d__find", "far_off__find far__find"},
		{copilot, "tools: [my.server/find, " + cut + "/*]", "my-server__find " + document + "__find", "my-server__other"},
		{copilot, "tools: [my.server]", "my-server__find", "a-b__find"},
		{copilot, "tools: [registry/my.server/find]", "my-server__find", "my-server__other"},
		{openCode, "tools: {'*': false, my_server_find: true, 'a.b_*': true}", "my-server__find a-b__find", "my-server__other"},
		{openCode, "permission: {'my_server*': deny, io_github_somebody_documents_find: deny}", "a-b__find", "my-server__find " + document + "__find"},
		{openCode, "tools: {'*': false, 'io_github_somebody_documents_*': true}", document + "__find", "my-server__find"},
		{claude, "description: Has all.", "read_file my-server__find", "off__find"},
		{claude, "tools: '*'", "read_file my-server__find", "off__find"},
		{claude, "tools: mcp__off__find", "off__find", "read_file"},
		{gemini, "tools: [mcp_my.server_find]", "my-server__find", "my-server__other"},
	} {
		f, err := s.Parse(row.path, []byte("---\n"+row.front+"\n---\nHello.\n"))
		require.NoError(t, err, row.front)
		if strings.Contains(row.lacks, "off__find") {
			require.Contains(t, strings.Join(f.Notes, ""), "MCP server off (the worker does not start it; `starter mcp list` says why)")
		}
		runs := func(name string) bool {
			allowed := f.Definition.Approvals.Over(domain.ApprovalsOf("allow")).RuleOn(domain.ToolSpec{Name: name, Effect: domain.ReadOnly}, `{}`, nil).Then
			return domain.NamesTool(f.Definition.Tools, name) && allowed == domain.Allow
		}
		for name := range strings.FieldsSeq(row.has) {
			require.True(t, runs(name), "%s: %s", row.front, name)
		}
		for name := range strings.FieldsSeq(row.lacks) {
			require.False(t, runs(name), "%s: %s", row.front, name)
		}
	}
}

// TestForeignFilesWidenNothing: whatever words a file has, in whatever order, under no word of the worker's does a call run
// that would not run for an agent that says nothing of approvals, and no key takes away what another denies.
func TestForeignFilesWidenNothing(t *testing.T) {
	t.Parallel()
	specs := []domain.ToolSpec{
		{Name: "shell", Effect: domain.AtMostOnce}, {Name: "read_file", Effect: domain.ReadOnly}, {Name: "write_file", Effect: domain.Idempotent},
		{Name: "files__delete", Effect: domain.AtMostOnce},
	}
	denied := map[string]string{
		"disallowedTools: Bash(rm:*), Write, mcp__*": "write_file files__delete", "disallowedTools: '*'": "shell read_file write_file files__delete",
		"permission-mode: Plan": "shell write_file files__delete", "permission: {edit: deny, files_delete: deny}": "write_file files__delete",
		"permission: {'*': ask, bash: {'*': deny}}": "shell", "permission: deny": "shell read_file write_file files__delete",
		"readonly: true": "shell write_file files__delete", "tools: ['*', '!Bash', -Write]": "shell write_file", "permissions: {deny: [Bash, mcp__*]}": "shell files__delete",
		"disallowedTools: mcp_*": "", "disallowed-tools: mcp_files_delete": "",
	}
	keys := append(slices.Collect(maps.Keys(denied)), "", "color: red", "permissionMode: bypassPermissions", "permissionMode: acceptEdits",
		"permissionMode: dontAsk", "permissionMode: default", "permission: allow", "permission: {'*': allow, bash: ask}",
		"permission: {bash: {'*': deny, 'git *': allow}}", "tools: Bash(git:*), Read", "tools: ['*', Task]", "tools: {bash: true, '*': true}",
		"allowedTools: mcp__files__delete, Bash", "mcpServers: [files]", "mcp: {files: {command: x, alwaysAllow: ['*']}}")
	order := []domain.Permission{domain.Allow, domain.AskFirst, domain.Deny}
	for _, path := range []string{".claude/agents/a.md", ".opencode/agent/a.md", ".github/agents/a.agent.md", ".gemini/agents/a.md"} {
		for _, key := range keys {
			for _, other := range keys {
				front := key + "\n" + other + "\n"
				f, err := worker().Parse(path, []byte("---\n"+front+"\n---\nHello.\n"))
				if path == ".gemini/agents/a.md" {
					denied["disallowedTools: mcp_*"], denied["disallowed-tools: mcp_files_delete"] = "files__delete", "files__delete"
				}
				if err != nil {
					require.ErrorContains(t, err, "keep one", front)
					continue
				}
				require.True(t, f.Definition.Approvals.LeaveTheRest(), front)
				for _, word := range domain.ApprovalWords() {
					own := domain.ApprovalsOf(word)
					for _, spec := range specs {
						was, is := own.RuleOn(spec, `{}`, nil).Then, f.Definition.Approvals.Over(own).RuleOn(spec, `{}`, nil).Then
						require.GreaterOrEqual(t, slices.Index(order, is), slices.Index(order, was), "%s, %s, %s", front, word, spec.Name)
						if has := domain.NamesTool(f.Definition.Tools, spec.Name); has {
							require.False(t, is != domain.Deny && slices.Contains(strings.Fields(denied[key]), spec.Name), "%s, %s", front, spec.Name)
						}
					}
				}
				for _, name := range f.Definition.Tools {
					require.True(t, domain.NamesTool(worker().Tools, name), "%s: %s", front, name)
				}
			}
		}
	}
}

func TestForeignKeysThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		strings.Repeat("color: red\n", 501):                           "1:1: has more than 500 keys; leave out the others",
		"permission: {" + strings.Repeat("bash: deny, ", 501) + "}\n": "2:13: permission: names 501; leave out all but 500",
		"disallowedTools: " + strings.Repeat("Bash,", 501) + "\n":     "2:18: disallowedTools: names 501; leave out all but 500",
		"model: [" + strings.Repeat("none, ", 501) + "]\n":            "2:8: model: names 501; leave out all but 500",
		"model: {name: a}\n":                                          "2:8: model: is a mapping; give a text, such as openai/gpt-5-mini",
		"disallowedTools: &a [Bash]\n":                                "2:18: anchors and aliases (& and *) are not supported; write the value out, or put a text that begins so into quotes",
		"disallowedTools: !!seq [Bash]\n":                             "2:18: the tag !!seq is not supported; write the value alone",
		"disallowedTools: *a\n":                                       "2:18: anchors and aliases (& and *) are not supported; write the value out, or put a text that begins so into quotes",
		"permission: {bash: deny, bash: allow}\n":                     "2:26: permission.bash: is given twice, first in line 2; keep one",
		"permission: {[bash]: deny}\n":                                "2:14: permission: has a key that is a list; keys are texts",
		"permissions: {rest: [Bash]}\n":                               "2:21: permissions.rest: is a list; give allow, ask or deny",
		"tools: Read\nTools: Bash\n":                                  "3:8: Tools: is given beside the one in line 2; keep one",
	} {
		_, err := agentfile.Settings{}.Parse(".claude/agents/a.md", []byte("---\n"+text+"---\n"))
		require.EqualError(t, err, ".claude/agents/a.md:"+says)
	}
	_, err := worker().Parse(".claude/agents/a.md", []byte("---\ndisallowedTools: "+strings.Repeat("a_", 4e4)+"b\n---\n"))
	require.EqualError(t, err, ".claude/agents/a.md: approvals[0].tool: is no name of a tool; give one, with * for any text", "it ends")
}

func TestForeignFilesAreFoundByName(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, text string) {
		writeFile(t, filepath.Join(folder, filepath.FromSlash(name)), text)
	}
	for _, name := range []string{
		"agents/ours.yaml", ".claude/agents/a.md", ".claude/agents/deep/er/b.md", ".opencode/agent/c.md", ".opencode/agents/d.md",
		".github/agents/e.agent.md", ".github/agents/f.md", ".github/chatmodes/g.chatmode.md", ".gemini/agents/k.md", ".cursor/agents/l.md", ".qwen/agents/n.md",
	} {
		text := "You help.\n"
		if path.Ext(name) == ".yaml" {
			text = "model: p/n\n"
		}
		write(name, text)
	}
	write(".claude/agents/titled.md", "---\nname: \"Code Reviewer (v2)\"\n---\nYou review.\n")
	write(".claude/agents/notes.txt", "none\n")
	write(".github/agents/README.md", "none\n")
	for name, file := range map[string]string{
		"ours": "agents/ours.yaml", "a": ".claude/agents/a.md", "b": ".claude/agents/deep/er/b.md", "c": ".opencode/agent/c.md", "d": ".opencode/agents/d.md",
		"e": ".github/agents/e.agent.md", "f": ".github/agents/f.md", "g": ".github/chatmodes/g.chatmode.md", "k": ".gemini/agents/k.md", "l": ".cursor/agents/l.md", "n": ".qwen/agents/n.md",
		"code-reviewer-v2": ".claude/agents/titled.md", "Code Reviewer (v2)": ".claude/agents/titled.md",
	} {
		found, err := agentfile.Find(folder, name)
		require.NoError(t, err)
		require.Equal(t, filepath.Join(folder, filepath.FromSlash(file)), found)
	}
	write("opencode.json", `{"agent": {"h": {"prompt": "{file:prompts/h.md}"}, "i": {}}}`)
	write("prompts/h.md", "You hold.\n")
	found, err := agentfile.Find(folder, "h")
	require.NoError(t, err)
	h, err := agentfile.Settings{}.Load(found)
	require.NoError(t, err)
	require.Equal(t, "You hold.", h.Definition.SystemPrompt)
	listed, err := agentfile.Settings{}.List(folder)
	require.NoError(t, err)
	require.Len(t, listed, 14)
	for text, says := range map[string]string{
		"{\n// mine\n\"agent\": {],}": ":3:11: is no JSON: invalid character ']' looking for beginning of object key string",
		`{"agent": ["a"]}`:            `:1:11: agent: is a list, not a mapping of keys to values`,
		`{"agent": {` + strings.Repeat(`"a": {}, `, 500) + `"a": {}}}`: `:1:11: agent: names 501; leave out all but 500`,
	} {
		write("opencode.json", text)
		listed, err = agentfile.Settings{}.List(folder)
		require.NoError(t, err)
		require.Len(t, listed, 13)
		require.EqualError(t, listed[12].Problems, filepath.Join(folder, "opencode.json")+says)
	}
	write("opencode.json", `{"mcp": {}}`)
	write("opencode.jsonc", `{"agent": {"j": {"prompt": "You hold."}, /* of mine */},}`)
	listed, err = agentfile.Settings{}.List(folder)
	require.NoError(t, err)
	require.Len(t, listed, 13)
	require.Equal(t, "j", listed[12].File.Name)
	write(".opencode/opencode.json", `{"agent": {"k2": {"prompt": "{file:agent/c.md}"}}}`)
	found, err = agentfile.Find(folder, "k2")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(folder, ".opencode", "opencode.json")+"#k2", found)
	linked := t.TempDir()
	for _, name := range []string{"agents", ".claude"} {
		require.NoError(t, os.Symlink(filepath.Join(folder, name), filepath.Join(linked, name)))
	}
	found, err = agentfile.Find(linked, "ours")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(linked, "agents", "ours.yaml"), found)
	_, err = agentfile.Find(linked, "b")
	require.NoError(t, err)
	write("plugin/.claude-plugin/plugin.json", "{}\n")
	for text, form := range map[string]string{"description: Use when: asked": "Claude Code", "budget: {max_steps: 3}": ""} {
		write("plugin/agents/m.md", "---\n"+text+"\n---\nYou help.\n")
		m, err := agentfile.Settings{}.Load(filepath.Join(folder, "plugin", "agents", "m.md"))
		require.NoError(t, err)
		require.Equal(t, form, m.Dialect)
	}
	write(".opencode/agent/a.md", "You help, too.\n")
	_, err = agentfile.Find(folder, "a")
	require.EqualError(t, err, "a is the name of several: "+filepath.Join(folder, ".claude", "agents", "a.md")+", "+filepath.Join(folder, ".opencode", "agent", "a.md")+"; give the file")
}

// TestPromptsThatNameFiles: no name of an agent, no link and no other name of a file gets what is no prompt into a definition.
func TestPromptsThatNameFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, "home", "repo", filepath.FromSlash(name)) }
	for _, name := range []string{"../ssh/id.txt", "deep/prompt.txt", "prompt.MD", ".env", "secrets.json"} {
		writeFile(t, at(name), "You see it.\n")
	}
	writeFile(t, at("large.md"), strings.Repeat("x", 100_000))
	require.NoError(t, os.Symlink(".env", at("link.md")))
	const named = " is no prompt by its name; let it end in .md, .markdown, .txt, or what it links to"
	for prompt, says := range map[string]string{
		"prompt.MD": "", "deep/prompt.txt": "", "./deep/../prompt.MD": "", "prompt.MD} Look. {file: ./deep/prompt.txt ": "",
		"large.md} {file:large.md} {file:large.md": "names files of more than 262144 bytes; leave some out",
		".env": ".env" + named, "secrets.json": "secrets.json" + named, "link.md": "link.md" + named,
		"id.txt":        "there is no file id.txt in the agent file's folder",
		"../ssh/id.txt": "../ssh/id.txt is outside of the agent file's folder; copy it there and give its path from there",
	} {
		for _, name := range []string{"plain", "a/../../ssh/x", "/../../ssh/x.json#x"} {
			text := fmt.Sprintf(`{"agent": {%q: {"prompt": "{file:%s}"}}}`, name, prompt)
			writeFile(t, at("opencode.json"), text)
			f, err := agentfile.Settings{}.Load(at("opencode.json") + "#" + name)
			if says == "" {
				require.NoError(t, err)
				require.Contains(t, []string{"You see it.", "You see it. Look. You see it."}, f.Definition.SystemPrompt)
				continue
			}
			require.ErrorContains(t, err, "prompt: "+says)
			require.Empty(t, f.Definition.SystemPrompt)
		}
	}
}

// TestForeignSubagentsHaveTheToolsOfTheirParent where their files name none, less what they deny.
func TestForeignSubagentsHaveTheToolsOfTheirParent(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	writeFile(t, filepath.Join(folder, ".claude", "agents", "helper.md"), "---\ndescription: Helps.\ndisallowedTools: Write\ncolor: red\n---\nYou help.\n")
	writeFile(t, filepath.Join(folder, "a.yaml"), "model: p/n\ntools: [read_file, write_file]\nagents: [.claude/agents/helper.md]\n")
	f, err := worker().Load(filepath.Join(folder, "a.yaml"))
	require.NoError(t, err)
	child, ok := f.Definition.Subagent("helper")
	require.True(t, ok)
	require.Equal(t, []string{"read_file", "write_file"}, child.Tools)
	require.Equal(t, []domain.ApprovalRule{{Tool: "write_file", Then: domain.Deny, Tightens: true}}, child.Approvals.Rules)
	require.Len(t, f.Notes, 1)
	require.Contains(t, f.Notes[0], "helper.md: ignored: color")
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}
