package agentfile

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"everstep/activities/document"
	"everstep/domain"
)

var inSettings = regexp.MustCompile(`(?s)^(.*?\.jsonc?)#(.*)$`)

// within parts the path of an agent among opencode's settings: opencode.json#NAME.
func within(path string) (file, name string, ok bool) {
	if found := inSettings.FindStringSubmatch(path); found != nil {
		return found[1], found[2], true
	}
	return path, "", false
}

// takeSettings takes all agents in a file of opencode's settings, or the file itself with what is wrong with it.
func (s Settings) takeSettings(file string, take func(File, error)) {
	data, err := read(file, settingsEndings)
	if err != nil {
		return
	}
	whole := newAgent(file, newFamily(s))
	text, ok := whole.Text(data)
	var root *yaml.Node
	if ok {
		root = whole.settings(text)
	}
	if root == nil {
		take(whole.File, whole.Err())
		return
	}
	for name := range document.Valued(document.Member(root, "agent")) {
		a := newAgent(file+"#"+name.Value, newFamily(s))
		a.readSettings(root, name.Value)
		take(a.done())
	}
}

// settings are opencode's, of which no key stands twice; nil: all about them is told.
func (a *agent) settings(text string) *yaml.Node {
	if root := a.Root(text); root != nil {
		a.At("", document.WithValues(root)).Entries(nil, func(name *yaml.Node, at document.Place) {
			if name.Value == "agent" && !tooMany(at, len(at.Node.Content)/2) {
				at.On(document.WithValues(at.Node)).Entries(nil, func(*yaml.Node, document.Place) {})
			}
		})
		if len(a.Problems) == 0 {
			return root
		}
	}
	return nil
}

// readSettings reads an agent under what the settings say of all agents.
func (a *agent) readSettings(root *yaml.Node, name string) {
	a.Dialect = openCode
	agents := document.Member(root, "agent")
	given := document.Member(agents, name)
	if given == nil || given.Kind != yaml.MappingNode {
		a.At("agent", cmp.Or(given, agents, root)).Problem("has no mapping %q; name one that it has behind the #", document.Shorten(name))
		return
	}
	f := front{field: "agent." + document.Shorten(name), above: root, node: &yaml.Node{Kind: yaml.MappingNode}}
	f.take(given)
	a.readForeign(newVocabulary(), f, "", 1)
}

var (
	promptFile     = regexp.MustCompile(`\{file:([^{}]+)\}`)
	promptVariable = regexp.MustCompile(`\{env:[^{}]+\}`)
)

// promptOf is a prompt with the texts of the files that it names, as in {file:./prompts/review.md}. No file reads variables.
func (t *foreigner) promptOf(text string) (whole string, wrong error) {
	const prompts = ".md, .markdown, .txt"
	for _, variable := range promptVariable.FindAllString(text, maxForeign) {
		t.ignore("%s (no variable gets into a prompt)", variable)
	}
	total := 0
	whole = promptFile.ReplaceAllStringFunc(text, func(named string) string {
		if wrong != nil {
			return ""
		}
		file := strings.TrimSpace(promptFile.FindStringSubmatch(named)[1])
		var data []byte
		data, wrong = t.below(file, domain.MaxSystemPrompt, prompts)
		total += len(data)
		switch target, _ := filepath.EvalSymlinks(filepath.Join(t.folder, file)); {
		case wrong != nil:
		case !ends(target, prompts):
			wrong = fmt.Errorf("%s is no prompt by its name; let it end in %s, or what it links to", document.Shorten(file), prompts)
		case total > domain.MaxSystemPrompt:
			wrong = fmt.Errorf("names files of more than %d bytes; leave some out", domain.MaxSystemPrompt)
		}
		return strings.ToValidUTF8(strings.TrimSpace(string(data)), "")
	})
	if wrong != nil {
		return "", wrong
	}
	return whole, nil
}
