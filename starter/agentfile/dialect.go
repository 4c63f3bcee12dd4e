package agentfile

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"everstep/activities/document"
)

// The tools whose files are read as they are.
const (
	claudeCode = "Claude Code"
	openCode   = "opencode"
	copilot    = "GitHub Copilot"
	vsCode     = "VS Code"
	geminiCLI  = "Gemini CLI"
	cursor     = "Cursor"
	qwenCode   = "Qwen Code"
)

// A dialect is a tool with the paths of its files, in lower case, and keys that it alone has. Keys without a tool are of several.
type dialect struct{ name, paths, keys string }

func dialects() []dialect {
	return []dialect{
		{vsCode, `\.(chatmode|prompt)\.md$|/\.github/chatmodes/`, ""},
		{copilot, `\.agent\.md$|/\.github/agents/`, "target infer argument-hint user-invocable disable-model-invocation"},
		{claudeCode, `/\.claude/agents/`, "color memory allowed-tools disallowedTools maxTurns permissionMode mcpServers isolation background initialPrompt"},
		{geminiCLI, `/\.gemini/agents/`, "kind timeout_mins agent_card_url"},
		{cursor, `/\.cursor/agents/`, "readonly is_background"},
		{qwenCode, `/\.qwen/agents/`, "approvalMode runConfig"},
		{openCode, `/(\.opencode|\.config/opencode)/(agents?|modes?)/`, "mode permission steps disable hidden"},
		{"", `^$`, "skills handoffs agents hooks effort metadata options variant reasoningEffort thinking prompt version author license tags category icon emoji vibe tier priority"},
	}
}

// dialectOf is the tool whose file it is by its folder or its endings; empty: these do not tell.
func dialectOf(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	path = strings.ToLower(filepath.ToSlash(path))
	for _, d := range dialects() {
		if regexp.MustCompile(d.paths).MatchString(path) {
			return d.name
		}
	}
	return ""
}

// stem is a file's name without its endings.
func stem(path string) string {
	if _, name, ok := within(path); ok {
		return name
	}
	base := filepath.Base(path)
	base = strings.TrimSuffix(base, filepath.Ext(base))
	if dialectOf(path) != "" {
		base = regexp.MustCompile(`\.(agent|chatmode|prompt)$`).ReplaceAllString(base, "")
	}
	return base
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

// A vocabulary is what tells one form from another.
type vocabulary struct {
	// own are our keys, theirs those of other tools, of which means are those that mean something here.
	own, theirs map[string]bool
	means       map[string]document.Value
	// tells are keys of one tool alone.
	tells map[string]string
	tools map[string][]string
}

func newVocabulary() vocabulary {
	v := vocabulary{own: map[string]bool{}, theirs: map[string]bool{}, tells: map[string]string{}, tools: foreignTools()}
	for _, key := range new(agent).keys() {
		v.own[key.Name] = true
	}
	v.means = (&foreigner{agent: new(agent)}).keys()
	for name := range v.means {
		v.theirs[name] = true
	}
	for _, d := range dialects() {
		for key := range strings.FieldsSeq(d.keys) {
			v.tells[canonical(key)], v.theirs[canonical(key)] = d.name, true
		}
	}
	return v
}

// structured reports whether a key has a meaning that is no free text.
func (v vocabulary) structured(name string) bool {
	return v.means[canonical(name)].Read != nil && !isAmong(name, "name description prompt")
}

// ours reports whether a key is one of ours alone.
func (v vocabulary) ours(name string) bool { return v.own[name] && !v.theirs[canonical(name)] }

// dialect is the tool in whose form front matter is to be read: by the file's folder or endings, else by its keys, and by its
// words for models and tools. Empty: in ours.
func (v vocabulary) dialect(path string, f front) string {
	dialect := dialectOf(path)
	if dialect != "" || slices.ContainsFunc(f.names, v.ours) {
		return dialect
	}
	for _, name := range f.names {
		if tells := v.tells[canonical(name)]; tells != "" {
			return tells
		}
	}
	model, tools := document.Member(f.node, "model"), document.Member(f.node, "tools")
	slashed := func(word string) bool {
		base, _ := bounds(word)
		return strings.Contains(base, "/")
	}
	switch {
	case tools != nil && tools.Kind == yaml.MappingNode && len(tools.Content) > 1 && tools.Content[1].ShortTag() == "!!bool":
		return openCode
	case model != nil && (model.Kind == yaml.SequenceNode || strings.HasSuffix(model.Value, ")") && !slashed(model.Value)),
		slices.ContainsFunc(wordsOf(tools), slashed):
		return copilot
	case model != nil && (model.Value == inherit || strings.HasPrefix(model.Value, "claude-") || foreignModels()[strings.ToLower(model.Value)] != ""),
		plugged(path),
		slices.ContainsFunc(wordsOf(tools), v.foreignTool):
		return claudeCode
	}
	return ""
}

// plugged reports whether a file is an agent of a plugin of Claude Code: agents lie beside the folder that makes it one.
func plugged(path string) bool {
	folder := filepath.Dir(path)
	_, err := os.Stat(filepath.Join(folder, "..", ".claude-plugin"))
	return err == nil && filepath.Base(folder) == "agents"
}

// foreignTool reports whether a word is the name of a tool of another program. One in lower case may be a worker's own.
func (v vocabulary) foreignTool(word string) bool {
	base, _, bounded := strings.Cut(word, "(")
	_, known := v.tools[canonical(base)]
	return bounded || strings.HasPrefix(base, "mcp__") || base == "*" || known && base != strings.ToLower(base)
}
