package activities_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities"
	"everstep/activities/inference"
	"everstep/activities/modelfacts"
	"everstep/activities/tool"
	"everstep/domain"
)

// gateway is a provider that refuses what a definition of its model says.
type gateway struct {
	nativeModel
	refuses *domain.Error
}

func (g gateway) Check(context.Context, domain.LLMConfig) error {
	if g.refuses != nil {
		return g.refuses
	}
	return nil
}

// abilities are what is known of models by their names; of others nothing is.
func abilities(model domain.LLMConfig) (modelfacts.Facts, bool) {
	facts := modelfacts.Facts{Tools: new(true), Images: new(true), JSONSchema: new(true), Source: "a test"}
	switch model.Model {
	case "without tools":
		facts.Tools = new(false)
	case "blind":
		facts.Images = new(false)
	case "without schema":
		facts.JSONSchema = new(false)
	case "without both":
		facts.Tools, facts.JSONSchema = new(false), new(false)
	case "able":
	case "hardly known":
		facts = modelfacts.Facts{}
	default:
		return facts, false
	}
	return facts, true
}

// TestAbilities: what a model cannot do is said before anything begins, and what
// it can do instead; a model of which nothing is known may try.
func TestAbilities(t *testing.T) {
	t.Parallel()
	f := tool.New("f", "does it", domain.ReadOnly, func(context.Context, struct{}) (string, error) { return "", nil })
	config := activities.Config{
		Providers: map[string]inference.Provider{
			"p": gateway{}, "strict": gateway{refuses: domain.Invalidf("options: no such option")},
			"locked": gateway{refuses: domain.CodedErrorf(domain.Denied, domain.CodeAuth, "no key")},
		},
		Tools: []tool.Tool{f}, Facts: abilities,
	}
	f1 := []string{"f"}
	for name, test := range map[string]struct {
		model string
		tools []string
		want  domain.ResponseFormat
		falls []string // as provider/model
		mode  domain.OutputMode
		wrong string
	}{
		"tools":                          {model: "able", tools: f1},
		"tools, nothing known":           {model: "new", tools: f1},
		"tools, not known":               {model: "hardly known", tools: f1},
		"no tools":                       {model: "without tools", tools: f1, wrong: "tools: model p/without tools takes no tools (a test); leave tools out, take another model"},
		"none needed":                    {model: "without tools"},
		"no images":                      {model: "blind"},
		"a schema":                       {model: "able", want: cityFormat(""), mode: domain.OutputNative},
		"a schema, nothing known":        {model: "new", want: cityFormat(""), mode: domain.OutputNative},
		"no schema":                      {model: "without schema", want: cityFormat(""), mode: domain.OutputTool},
		"no schema, but asked for":       {model: "without schema", want: cityFormat(domain.OutputNative), wrong: "response_format.mode: model p/without schema takes no JSON Schema of its own (a test); leave mode out, give tool or instruction"},
		"no schema, any object":          {model: "without schema", want: domain.ResponseFormat{Type: domain.FormatJSON, Mode: domain.OutputNative}, mode: domain.OutputNative},
		"neither":                        {model: "without both", want: cityFormat(""), mode: domain.OutputInstruction},
		"neither, but a tool":            {model: "without both", want: cityFormat(domain.OutputTool), wrong: "response_format.mode: model p/without both takes no tools (a test); leave mode out, give instruction"},
		"a fallback":                     {model: "able", tools: f1, falls: []string{"p/new", "p/able"}},
		"a fallback without tools":       {model: "able", tools: f1, falls: []string{"p/new", "p/without tools"}, wrong: "fallbacks[1]: tools: model p/without tools takes no tools"},
		"a fallback without schema":      {model: "able", want: cityFormat(""), falls: []string{"p/without schema"}, mode: domain.OutputNative},
		"a fallback without that mode":   {model: "able", want: cityFormat(domain.OutputNative), falls: []string{"p/without schema"}, wrong: "fallbacks[0]: response_format.mode: model p/without schema takes no JSON Schema"},
		"a fallback of nobody's":         {model: "able", falls: []string{"q/m"}, wrong: "model: no provider \"q\" on this worker; the providers are: locked, p, strict"},
		"a fallback that is wrong":       {model: "able", falls: []string{"strict/m"}, wrong: "fallbacks[0]: options: no such option"},
		"a fallback without its key yet": {model: "able", falls: []string{"locked/m"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			definition := domain.Definition{Model: domain.LLMConfig{Provider: "p", Model: test.model}, Tools: test.tools, Format: test.want}
			for _, name := range test.falls {
				provider, model, _ := strings.Cut(name, "/")
				definition.Fallbacks = append(definition.Fallbacks, domain.Fallback{Model: domain.LLMConfig{Provider: provider, Model: model}})
			}
			catalog, err := listTools(t, config, definition)
			if test.wrong == "" {
				require.NoError(t, err)
				require.Equal(t, test.mode, catalog.OutputMode)
				return
			}
			require.ErrorContains(t, err, test.wrong)
		})
	}
}

// TestImagesThatNobodySees: a model that is known to see no images is not sent
// any, and nothing is spent on it.
func TestImagesThatNobodySees(t *testing.T) {
	t.Parallel()
	picture := domain.UserMessage("look")
	picture.Parts = append(picture.Parts, domain.Part{Type: domain.PartImage, MediaType: "image/png", Data: []byte("p")})
	for name, refused := range map[string]bool{"blind": true, "able": false, "new": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := answeringBench("a dot", domain.Usage{})
			b.facts = abilities
			b.resolved.Definition.Model.Model = name
			b.say(picture)
			if !refused {
				require.Equal(t, "a dot", b.reply(t).Message.Text())
				return
			}
			app, failed := b.failure(t)
			require.True(t, app.NonRetryable())
			require.Equal(t, domain.Invalid, failed.Kind)
			require.Contains(t, failed.Message, "message 1: model fake/blind takes no images (a test); send what they show as text")
			require.Empty(t, b.called.Messages)
		})
	}
}
