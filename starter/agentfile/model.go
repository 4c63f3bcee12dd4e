package agentfile

import (
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"everstep/activities/scripted"
	"everstep/domain"
)

const modelForm = "write it as PROVIDER/NAME, such as openai-chat/gpt-5-mini"

// model reads provider/name, or a mapping that says more.
func (r *reader) model(field string, node *yaml.Node, into *domain.LLMConfig) {
	if node.Kind != yaml.MappingNode {
		text, ok := r.scalarText(field, node)
		if !ok {
			return
		}
		provider, name, ok := strings.Cut(text, "/")
		if !ok || provider == "" || name == "" {
			r.problem(node, field, "%q is no model; %s", shorten(text), modelForm)
			return
		}
		into.Provider, into.Model = provider, r.script(provider, name)
		return
	}
	var m domain.LLMConfig
	keys := r.mapping(field, node,
		r.text("provider", &m.Provider, checkProvider),
		r.text("name", &m.Model),
		r.text("base_url", &m.BaseURL, domain.CheckBaseURL),
		r.count("max_output_tokens", 1, maxTokens, func(n int64) { m.MaxOutputTokens = n }),
		r.count("context_window", 1, maxTokens, func(n int64) { m.ContextWindow = n }),
		r.number("temperature", maxTemperature, func(t float64) { m.Temperature = &t }),
		r.number("top_p", 1, func(p float64) { m.TopP = &p }),
		key{"options", func(field string, node *yaml.Node) { m.Options = r.options(field, node) }},
		key{"price", func(field string, node *yaml.Node) { m.Price = r.price(field, node) }},
	)
	for _, name := range []string{"provider", "name"} {
		if keys != nil && keys[name] == nil {
			r.problem(node, join(field, name), "is missing; a model that is a mapping needs provider and name")
		}
	}
	m.Model = r.script(m.Provider, m.Model)
	*into = m
}

const (
	// maxTokens bounds numbers of tokens: what is above is a mistake.
	maxTokens = 1_000_000_000
	// maxTemperature is above what any provider takes.
	maxTemperature = 100
	// maxPrice bounds what a million tokens cost, in nano-dollars: ten thousand
	// dollars. What is above is a mistake of units.
	maxPrice = 10_000_000_000_000
)

func checkProvider(text string) string {
	if strings.Contains(text, "/") {
		return "has a slash; give the provider here, and the model's name as name"
	}
	return ""
}

// script makes the path of a script absolute, since workers have other current
// directories. It is relative to the agent's file.
func (r *reader) script(provider, name string) string {
	if provider != scripted.Name || name == "" {
		return name
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(r.folder, name)
	}
	if path, err := filepath.Abs(name); err == nil {
		return path
	}
	return name
}

// price reads dollars for a million tokens.
func (r *reader) price(field string, node *yaml.Node) *domain.Price {
	var p domain.Price
	prices := r.prices(&p.Input, &p.Output, &p.CacheRead, &p.CacheWrite)
	keys := r.mapping(field, node, append(prices, key{"long", func(field string, node *yaml.Node) {
		var l domain.LongPrice
		above := r.count("above_tokens", 1, maxTokens, func(n int64) { l.Above = n })
		keys := r.mapping(field, node, append([]key{above}, r.prices(&l.Input, &l.Output, &l.CacheRead, &l.CacheWrite)...)...)
		r.need(field, node, keys, "above_tokens", "input", "output")
		p.Long = &l
	}})...)
	r.need(field, node, keys, "input", "output")
	return &p
}

func (r *reader) prices(input, output *int64, cacheRead, cacheWrite **int64) []key {
	price := func(name string, then func(int64)) key {
		return r.dollars(name, "dollars for a million tokens", maxPrice, then)
	}
	return []key{
		price("input", func(n int64) { *input = n }),
		price("output", func(n int64) { *output = n }),
		price("cache_read", func(n int64) { *cacheRead = &n }),
		price("cache_write", func(n int64) { *cacheWrite = &n }),
	}
}

// need reports keys that a mapping lacks.
func (r *reader) need(field string, node *yaml.Node, keys map[string]*yaml.Node, names ...string) {
	for _, name := range names {
		if keys != nil && keys[name] == nil {
			r.problem(node, join(field, name), "is missing; a price needs %s", strings.Join(names, ", "))
		}
	}
}
