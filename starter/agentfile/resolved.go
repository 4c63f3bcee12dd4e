package agentfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"

	"everstep/domain"
	"everstep/domain/contract"
)

// A Resolved is an agent as it would run, all defaults set, in the form of an
// agent's file, keys in the order of people: what Load makes of it runs the
// same. What only a worker knows is absent, such as the price of a model that
// the file gives none.
type Resolved []entry

// An entry is a key with its value, which is left out where it is nil or an
// empty text.
type entry struct {
	key   string
	value any
}

// MarshalJSON keeps the order of the keys.
func (r Resolved) MarshalJSON() ([]byte, error) {
	var entries [][]byte
	for _, e := range r {
		raw, err := json.Marshal(e.value)
		if err != nil {
			return nil, err
		}
		if text := printable(raw); text != "null" && text != `""` {
			entries = append(entries, []byte(`"`+e.key+`":`+text))
		}
	}
	return slices.Concat([]byte("{"), bytes.Join(entries, []byte(",")), []byte("}")), nil
}

// printable is JSON with escapes for what YAML does not take as it is, such as control characters.
func printable(raw []byte) string {
	var b strings.Builder
	for _, r := range string(raw) {
		if r < unicode.MaxASCII || r > 0xffff || unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// YAML is the agent as the text of a file.
func (r Resolved) YAML() ([]byte, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	// JSON is YAML: read as such it keeps the order of its keys.
	var node yaml.Node
	if err := yaml.Unmarshal(raw, &node); err != nil {
		return nil, err
	}
	unquote(&node)
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	err = errors.Join(encoder.Encode(&node), encoder.Close())
	return b.Bytes(), err
}

// unquote has a node written as people write YAML.
func unquote(node *yaml.Node) {
	if node.Style = 0; strings.HasPrefix(node.Value, "\t") {
		node.Style = yaml.DoubleQuotedStyle // as the parser takes no block that begins so
	}
	for _, child := range node.Content {
		unquote(child)
	}
}

// Resolve sets the defaults.
func (f File) Resolve() Resolved {
	d := f.Definition
	whole, requests := contract.Resolved{Definition: d}, d.Model.Timeouts
	var tools, servers []string
	for _, name := range d.Tools {
		if server, all := domain.ServerOfAll(name); all {
			servers = append(servers, server)
		} else {
			tools = append(tools, name)
		}
	}
	return Resolved{
		{"name", f.Name}, {"description", f.Description},
		{"model", resolveModel(d.Model)}, {"fallbacks", resolveFallbacks(d.Fallbacks)}, {"system_prompt", d.SystemPrompt},
		{"show_trusted", d.ShowTrusted},
		{"tools", listed(tools)}, {"mcp", servers}, {"hooks", listed(d.Hooks)},
		{"approvals", resolveApprovals(d.Approvals)},
		{"budget", resolveBudget(d.Budget.WithDefaultSteps())}, {"session_budget", resolveBudget(d.SessionBudget)},
		{"guards", resolveGuards(d.Guards.WithDefaults())},
		{"response_format", resolveFormat(d.Format)},
		{"compiler", d.Compiler.OrDefault()}, {"sections", d.Sections},
		{"compaction", resolveCompaction(d.Compaction)},
		{"retry", Resolved{{"attempts", d.Tries()}}},
		{"timeouts", Resolved{
			{"inference", span(whole.InferenceTimeout())}, {"tool", span(whole.ToolTimeout(domain.ToolSpec{}))},
			// What the file does not bound of a request, the worker does.
			{"connect", span(requests.Connect)}, {"first_byte", span(requests.FirstByte)}, {"idle", span(requests.Idle)},
		}},
		{"idle_timeout", span(d.IdleTimeout)},
		{"subagents", resolveOthers(d, spawned)}, {"agents", resolveOthers(d, asTools)}, {"handoffs", resolveOthers(d, handedTo)}, {"subagent_policy", resolvePolicy(d)},
	}
}

// listed is a list that is shown where it is empty, too.
func listed[T any](all []T) []T { return append([]T{}, all...) }

// span is a duration as people write it: 15m, not 15m0s. Zero is none.
func span(d time.Duration) string {
	if d == 0 {
		return ""
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func resolveModel(m domain.LLMConfig) any {
	if m.Provider == "" {
		return nil
	}
	return Resolved{
		{"provider", m.Provider}, {"name", m.Model}, {"base_url", m.BaseURL}, {"max_output_tokens", given(m.MaxOutputTokens)},
		{"context_window", given(m.ContextWindow)}, {"temperature", m.Temperature}, {"top_p", m.TopP}, {"options", m.Options},
		{"price", resolvePrice(m.Price)},
	}
}

// given is a value that is left out where it is zero.
func given[T comparable](value T) any {
	if value == *new(T) {
		return nil
	}
	return value
}

// resolveFallbacks names all failures that each takes over from.
func resolveFallbacks(fallbacks []domain.Fallback) (resolved []Resolved) {
	for _, f := range fallbacks {
		resolved = append(resolved, Resolved{{"model", resolveModel(f.Model)}, {"on", takes(f)}})
	}
	return resolved
}

// resolvePrice is in dollars for a million tokens, as exact decimals.
func resolvePrice(p *domain.Price) any {
	if p == nil {
		return nil
	}
	rates := func(p domain.Price) Resolved {
		return Resolved{
			{"input", domain.USD(p.Input)}, {"output", domain.USD(p.Output)},
			{"cache_read", usd(p.CacheRead)}, {"cache_write", usd(p.CacheWrite)},
		}
	}
	price := rates(*p)
	if l := p.Long; l != nil {
		price = append(price, entry{"long", append(Resolved{{"above_tokens", l.Above}}, rates(l.Price)...)})
	}
	return price
}

func usd(nano *int64) string {
	if nano == nil {
		return ""
	}
	return domain.USD(*nano)
}

func resolveBudget(b domain.ExecutionBudget) map[domain.Limit]any {
	budget := map[domain.Limit]any{}
	for _, rule := range domain.LimitRules() {
		total, limited := rule.Total(b)
		switch {
		case rule.Limit == domain.LimitSteps && b.MaxStepsFrom == domain.StepsNone:
			budget[rule.Limit] = domain.StepsNone
		case !limited:
		case rule.Unit == domain.UnitNanoUSD:
			budget[rule.Limit] = domain.USD(total.Int())
		case rule.Unit == domain.UnitMilliseconds:
			budget[rule.Limit] = total.Seconds()
		case rule.Unit == domain.UnitTime:
			budget[rule.Limit] = total.Time()
		default:
			budget[rule.Limit] = total.Int()
		}
	}
	if len(budget) == 0 {
		return nil
	}
	return budget
}

func resolveGuards(g domain.Guards) (resolved Resolved) {
	for _, rule := range domain.GuardRules() {
		if rule.Key == "" {
			continue
		}
		value := rule.Value(&g)
		switch set := value.(type) {
		case *[]domain.FinishReason:
			value = listed(*set)
		case **domain.Repetition:
			value = resolveRepetition(**set)
		}
		resolved = append(resolved, entry{rule.Key, value})
	}
	return resolved
}

func resolveRepetition(r domain.Repetition) any {
	if r == (domain.Repetition{}) {
		return "off"
	}
	return Resolved{{"nudge_after", r.Nudge}, {"stop_after", r.Stop}}
}

func resolveFormat(f domain.ResponseFormat) any {
	if f.Type == domain.FormatSchema {
		return Resolved{{"name", f.Name}, {"schema", f.Schema}, {"mode", f.Mode}}
	}
	return cmp.Or(f.Type, domain.FormatText)
}

func resolveCompaction(c domain.Compaction) any {
	if c.Off {
		return "off"
	}
	c = c.WithDefaults()
	return Resolved{{"trigger_percent", c.TriggerPercent}, {"target_percent", c.TargetPercent}}
}
