package agentfile

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"everstep/activities/document"
	"everstep/activities/mcp"
	"everstep/activities/modelfacts"
	"everstep/activities/output"
	"everstep/activities/scripted"
	"everstep/domain"
	"everstep/domain/enum"
	"everstep/domain/spelling"
)

const (
	modelForm = "write it as PROVIDER/NAME, such as openai-chat/gpt-5-mini"
	// DefaultFormatName is the name of a response format that a file gives none.
	DefaultFormatName = "answer"
	// MaxTokens bounds numbers of tokens: what is above is a mistake.
	MaxTokens = 1_000_000_000
	// maxTemperature is above what any provider takes.
	maxTemperature = 100

	validTrusted  = `^[a-z0-9_]{1,64}$`
	validTool     = `^[a-zA-Z0-9_-]{1,64}$`
	validCompiler = `^[a-z0-9_]{1,64}$`
)

func (a *agent) model(m *domain.LLMConfig) document.Value {
	const needed = "a model that is a mapping needs provider and name"
	price := *cmp.Or(m.Price, &domain.Price{})
	return document.Either(a.modelText(m), document.Mapping(document.Keys{
		{Name: "provider", Doc: "The adapter.", Needed: needed,
			Value: document.Text(&m.Provider, checkProvider).Pattern(`^[^/]*[^/\s][^/]*$`).Example("openai-chat", "scripted")},
		{Name: "name", Doc: "The provider's name of the model; for scripted, a file, from the agent's folder on.", Needed: needed,
			Value: document.Text(&m.Model)},
		{Name: "base_url", Doc: "The address in place of the worker's, where the worker allows it.",
			Value: document.Text(&m.BaseURL, domain.CheckBaseURL).Pattern(`^https?://`)},
		{Name: "max_output_tokens", Doc: "At most so many tokens in one answer.", Value: count(&m.MaxOutputTokens, 1, MaxTokens)},
		{Name: "context_window", Doc: "The model's context window, in tokens, where the worker does not know it.", Value: count(&m.ContextWindow, 1, MaxTokens)},
		{Name: "temperature", Doc: "How freely the model chooses its words; the provider's unless given.", Value: number(&m.Temperature, maxTemperature)},
		{Name: "top_p", Doc: "The share of likely words that it chooses among; the provider's unless given.", Value: number(&m.TopP, 1)},
		{Name: "options", Doc: "Sent as they are, by the provider's own keys.", Value: decoded(&m.Options)},
		{Name: "price", Doc: "What the model costs, in place of the worker's table: dollars for a million tokens.",
			Value: document.Mapping(modelfacts.PriceKeys(&price, 0)).ShownIf(m.Price != nil).Then(func(document.Place) { m.Price = &price })},
	}).Then(func(at document.Place) {
		m.Model = a.script(m.Provider, m.Model)
		if node := document.Member(at.Node, "provider"); node != nil {
			a.names(at.In("provider", node), m.Provider)
		}
	})).ShownIf(m.Provider != "")
}

func (a *agent) modelText(m *domain.LLMConfig) document.Value {
	return document.TextThen(func(text string) string {
		provider, name, ok := strings.Cut(text, "/")
		if !ok || provider == "" || name == "" {
			return fmt.Sprintf("%q is no model; %s", document.Shorten(text), modelForm)
		}
		m.Provider, m.Model = provider, a.script(provider, name)
		return ""
	}).Pattern(`^[^/]+/(.|\n)+$`).Example("openai-chat/gpt-5-mini", "scripted/hello.yaml").Then(func(at document.Place) {
		a.names(at, m.Provider)
	}).Shows(m.String()).ShownIf(m.Provider != "")
}

func (a *agent) names(at document.Place, provider string) {
	a.Providers = append(a.Providers, Provider{provider, at.Says("")})
}

func failure(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// wordOf is one of the words of an enum.
func wordOf[E ~string, P interface {
	*E
	encoding.TextUnmarshaler
}](into *E) document.Value {
	return document.Word(into, enum.Known[E, P]())
}

// decoded is a mapping of any keys.
func decoded[T any](into *T) document.Value {
	return document.JSON(func(raw json.RawMessage) string { return failure(json.Unmarshal(raw, into)) }).Shows(*into)
}

func checkProvider(text string) string {
	if strings.Contains(text, "/") {
		return "has a slash; give the provider here, and the model's name as name"
	}
	return ""
}

// script makes the path of a script absolute, since workers have other current
// directories. It is relative to the agent's file.
func (a *agent) script(provider, name string) string {
	if provider != scripted.Name || name == "" {
		return name
	}
	path, _ := filepath.Abs(a.join(name)) // there is none where nobody knows the current directory
	return cmp.Or(path, name)
}

func (a *agent) fallback(f *domain.Fallback) document.Value {
	return document.Either(a.modelText(&f.Model), document.Mapping(document.Keys{
		{Name: "model", Doc: "Who takes over, as the key model of the agent.", Value: a.model(&f.Model), Needed: modelForm},
		{Name: "on", Doc: "The failures that it takes over from.", Value: failures(f)},
	}))
}

// failures are those that a fallback takes over from. To leave the list out means
// many and not none, so an empty one is a problem.
func failures(f *domain.Fallback) document.Value {
	list := document.ListOf(&f.On, wordOf).Default(takes(domain.Fallback{})).Then(func(at document.Place) {
		if len(f.On) == 0 {
			at.Problem("is empty; name a failure or leave the key out")
		}
		for i, failure := range f.On {
			if slices.Contains(f.On[:i], failure) {
				at.Item(i, at.Node.Content[i]).Problem("%s is listed twice; keep one", failure)
			}
		}
	})
	list.Schema.MinItems, list.Schema.UniqueItems = new(1), true
	list.Shown = takes(*f) // those that are meant without a list, too
	return list
}

// takes are all failures that a fallback takes over from.
func takes(f domain.Fallback) []domain.Failure {
	return slices.DeleteFunc(enum.Known[domain.Failure](), func(failure domain.Failure) bool { return !f.Takes(failure) })
}

func tools(into *[]string, doubts *document.Problems) document.Value {
	list := func(into *[]string) document.Value { return document.Names(into, "tool", validTool, checkTool) }
	var allow, deny []string
	var denied document.Place
	return document.Either(list(into), document.Mapping(document.Keys{
		{Name: "allow", Doc: "A list, or a text with commas.", Value: list(&allow), Needed: "an agent has the tools that are allowed, so there is nothing to deny"},
		{Name: "deny", Doc: "What the agent has not, even if it is allowed; agents check finds what is both.",
			Value: list(&deny).Then(func(at document.Place) { denied = at })},
	}).Then(func(at document.Place) {
		for i, name := range deny {
			one := denied
			if denied.Node.Kind == yaml.SequenceNode {
				one = denied.On(denied.Node.Content[i])
			}
			if slices.Contains(allow, name) {
				*doubts = append(*doubts, one.Says("%s is in %s, too, so the agent has it not; name it in one of them", name, document.Join(at.Field, "allow")))
			} else if near, ok := spelling.Nearest(name, allow); ok {
				one.Problem("%s is not allowed in the first place; did you mean %s?", name, near)
			}
		}
		*into = slices.DeleteFunc(allow, func(name string) bool { return slices.Contains(deny, name) })
	})).Shows(*into)
}

func checkTool(name string) string {
	if strings.ContainsAny(name, "*?") {
		servers := ""
		if _, all := domain.ServerOfAll(name); all {
			servers = ", or the MCP server under mcp"
		}
		return fmt.Sprintf("%q is a wildcard, which is not supported; name each tool%s", document.Shorten(name), servers)
	}
	return matches(validTool, "name of a tool; use 1 to 64 letters, digits, dashes and underscores")(name)
}

// servers are MCP servers: the names of all tools, or of some, of each.
func servers(into *[]string) document.Value {
	var whole, shown []string
	for _, all := range *into {
		server, _ := domain.ServerOfAll(all)
		shown = append(shown, server)
	}
	all := document.Names(&whole, "MCP server", mcp.ServerPattern, mcp.CheckServer).Then(func(document.Place) {
		for _, server := range whole {
			*into = append(*into, domain.AllToolsOf(server))
		}
	})
	return document.Either(all, document.MapOf(mcp.CheckServer, func(server string) document.Value {
		var tools []string
		list := document.Names(&tools, "tool", "")
		read := list.Read
		list.Read = func(at document.Place) {
			if at.Node.Kind == yaml.MappingNode {
				at.Problem("is no list of tools; how a server is started or reached is in the worker's file (EVERSTEP_MCP): an agent starts no programs")
				return
			}
			read(at)
			for _, tool := range tools {
				*into = append(*into, mcp.ToolName(server, tool))
			}
		}
		return list
	})).Shows(shown)
}

func (a *agent) format(into *domain.ResponseFormat) document.Value {
	plain := []domain.FormatType{domain.FormatText, domain.FormatJSON}
	short := document.Word(&into.Type, plain)
	short.Read = document.TextThen(func(text string) string {
		if !slices.Contains(plain, domain.FormatType(text)) {
			return fmt.Sprintf("%q is not known; give %s, %s, or a mapping with a schema", document.Shorten(text), plain[0], plain[1])
		}
		into.Type = domain.FormatType(text)
		return ""
	}).Read
	f := domain.ResponseFormat{Type: domain.FormatSchema, Name: DefaultFormatName}
	if into.Type == f.Type {
		f = *into
	}
	either := document.Either(short, document.Mapping(document.Keys{
		{Name: "name", Doc: "What the provider is told that the answer is called.", Value: document.Text(&f.Name, matches(validTool, "name of a format; use 1 to 64 letters, digits, dashes and underscores")).Pattern(validTool).Default(DefaultFormatName)},
		{Name: "schema", Doc: "A JSON Schema, or the path of a JSON file that holds one, in the agent's folder or below.",
			Value: a.schema(&f.Schema), Needed: "give a JSON Schema, or the path of a file that holds one"},
		{Name: "mode", Doc: "How the model is told; what the provider does best unless given.", Value: wordOf(&f.Mode)},
	}).Then(func(document.Place) { *into = f }))
	if into.Type != f.Type {
		either.Shown = cmp.Or(into.Type, domain.FormatText)
	}
	return either
}

// schema is a JSON Schema in the file itself, or in one beside it. It is checked as far as that can be done without the
// provider, and without fetching anything.
func (a *agent) schema(into *json.RawMessage) document.Value {
	take := func(raw json.RawMessage) string {
		*into = raw
		_, err := output.Compile(domain.ResponseFormat{Type: domain.FormatSchema, Name: DefaultFormatName, Schema: raw})
		return strings.TrimPrefix(failure(err), "response_format.schema: ")
	}
	return document.Either(document.TextThen(func(path string) string {
		raw, err := a.schemaFile(path)
		if err != nil {
			return err.Error()
		}
		return take(raw)
	}), document.JSON(take)).Shows(*into)
}

func compiler(into *domain.Compiler) document.Value {
	var builtin []string
	var examples []any
	for _, c := range domain.Compilers() {
		builtin, examples = append(builtin, string(c)), append(examples, c)
	}
	return document.TextThen(func(text string) string {
		var c domain.Compiler
		if err := c.UnmarshalText([]byte(text)); err != nil {
			return fmt.Sprintf("%q is no name of a compiler; use lower-case letters, digits and underscores, %d at most", document.Shorten(text), domain.MaxCompilerName)
		}
		if near, ok := spelling.Nearest(text, builtin); ok && !c.Builtin() {
			return fmt.Sprintf("%q is too like one of ours; did you mean %s?", text, near)
		}
		*into = c
		return ""
	}).Pattern(validCompiler).Example(examples...).Shows(*into).Default(domain.WholeConversation)
}

func checkPrompt(text string) string {
	if len(text) > domain.MaxSystemPrompt {
		return fmt.Sprintf("has %d bytes; at most %d are allowed", len(text), domain.MaxSystemPrompt)
	}
	return ""
}
