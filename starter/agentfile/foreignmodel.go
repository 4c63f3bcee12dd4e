package agentfile

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"everstep/activities/anthropic"
	"everstep/activities/document"
	"everstep/activities/gemini"
	"everstep/activities/modelfacts"
	"everstep/activities/openai"
	"everstep/worker/host"
)

// foreignModels are words that other tools have for models, by what a user has not said to stand for another.
func foreignModels() map[string]string {
	return map[string]string{
		"opus": anthropic.Name + "/claude-opus-5-5", "sonnet": anthropic.Name + "/claude-sonnet-5-5", "haiku": anthropic.Name + "/claude-haiku-5-5",
	}
}

// model is PROVIDER/NAME for a word of another tool's file, such as sonnet, Claude Sonnet 4.5 (copilot) or google/gemini-2.5-pro;
// empty: none is known by it.
func (s Settings) model(word string) string {
	word = strings.TrimSpace(word)
	short := strings.ToLower(strings.TrimSpace(regexp.MustCompile(`(\s*(\([^()]*\)|\[[^\[\]]*\]))+$`).ReplaceAllString(word, "")))
	if named := cmp.Or(s.Models[strings.ToLower(word)], s.Models[short], foreignModels()[short]); named != "" {
		return named
	}
	if provider, name, ok := strings.Cut(word, "/"); ok {
		if provider = strings.ToLower(provider); provider == "google" {
			provider = gemini.Name
		}
		if name != "" && slices.Contains(host.ProviderNames(), provider) {
			return provider + "/" + name
		}
		return ""
	}
	table := modelfacts.Builtin()
	name := strings.ReplaceAll(short, " ", "-")
	for _, provider := range []string{anthropic.Name, openai.Name, gemini.Name} {
		for _, name := range []string{name, strings.ReplaceAll(name, ".", "-"), "claude-" + strings.ReplaceAll(name, ".", "-")} {
			if _, known := table.Find(provider, name, true); known {
				return provider + "/" + name
			}
		}
	}
	return ""
}

// model is the first word that stands for one here.
func (t *foreigner) model(at document.Place) {
	items := at.Node.Content
	switch {
	case at.Node.Kind == yaml.MappingNode:
		at.Problem("is a mapping; give a text, such as openai/gpt-5-mini")
		return
	case at.Node.Kind == yaml.ScalarNode:
		items = []*yaml.Node{at.Node}
	case tooMany(at, len(items)):
		return
	}
	first := ""
	for _, item := range items {
		if named := t.family.settings.model(item.Value); named != "" {
			if len(items) > 1 {
				t.note("model: of the list %s alone answers; others that take over are fallbacks of a file of ours", named)
			}
			known := *item
			known.Value = named
			t.modelText(&t.Definition.Model).Read(at.On(&known))
			return
		}
		first = cmp.Or(first, document.Shorten(item.Value))
	}
	what := "is none that is known here"
	if first == inherit || first == "" {
		what = "is left to whoever runs it"
	}
	t.note("model: %q %s; the one of --model or EVERSTEP_MODEL answers, or what EVERSTEP_MODELS says of the word", first, what)
}
