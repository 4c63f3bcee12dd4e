package agentfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"everstep/domain"
	"everstep/domain/contract"
)

// A Resolved is an agent as it would run, all defaults set, in the form of an
// agent's file: what Load makes of it runs the same. What only a worker knows
// is absent, such as the price of a model that the file gives none.
type Resolved struct {
	Name         string     `json:"name"`
	Description  string     `json:"description,omitzero"`
	Model        *Model     `json:"model,omitempty"`
	Fallbacks    []Fallback `json:"fallbacks,omitempty"`
	SystemPrompt string     `json:"system_prompt,omitzero"`
	Tools        []string   `json:"tools"`
	Hooks        []string   `json:"hooks"`
	Budget       Budget     `json:"budget,omitempty"`
	Guards       Guards     `json:"guards"`
	Format       any        `json:"response_format"`
	Compiler     string     `json:"compiler"`
	Sections     []string   `json:"sections,omitempty"`
	Compaction   any        `json:"compaction"`
	Retry        Retry      `json:"retry"`
	Timeouts     Timeouts   `json:"timeouts"`
}

// A Model is the key model.
type Model struct {
	Provider        string          `json:"provider"`
	Name            string          `json:"name"`
	BaseURL         string          `json:"base_url,omitzero"`
	MaxOutputTokens int64           `json:"max_output_tokens,omitzero"`
	ContextWindow   int64           `json:"context_window,omitzero"`
	Temperature     *float64        `json:"temperature,omitempty"`
	TopP            *float64        `json:"top_p,omitempty"`
	Options         domain.Metadata `json:"options,omitempty"`
	Price           *Price          `json:"price,omitempty"`
}

// A Fallback is one of the key fallbacks.
type Fallback struct {
	Model *Model           `json:"model"`
	On    []domain.Failure `json:"on"`
}

// A Price is the key model.price: dollars for a million tokens, as exact
// decimals.
type Price struct {
	Input      string     `json:"input"`
	Output     string     `json:"output"`
	CacheRead  string     `json:"cache_read,omitzero"`
	CacheWrite string     `json:"cache_write,omitzero"`
	Long       *LongPrice `json:"long,omitempty"`
}

// A LongPrice is the key model.price.long.
type LongPrice struct {
	Above      int64  `json:"above_tokens"`
	Input      string `json:"input"`
	Output     string `json:"output"`
	CacheRead  string `json:"cache_read,omitzero"`
	CacheWrite string `json:"cache_write,omitzero"`
}

// A Budget is the key budget: the limits that are set, as a file gives them, the
// cost in dollars as an exact decimal.
type Budget map[domain.Limit]json.RawMessage

// Guards is the key guards. RepeatedCalls is a Repetition, or off.
type Guards struct {
	FinishReasons []domain.FinishReason `json:"finish_reasons"`
	RepeatedCalls any                   `json:"repeated_calls"`
	OutputRetries int                   `json:"output_retries"`
	FinalAnswer   bool                  `json:"final_answer"`
}

// A Repetition is the key guards.repeated_calls.
type Repetition struct {
	Nudge int `json:"nudge_after"`
	Stop  int `json:"stop_after"`
}

// A Format is the key response_format with a schema.
type Format struct {
	Name   string            `json:"name"`
	Schema json.RawMessage   `json:"schema"`
	Mode   domain.OutputMode `json:"mode,omitzero"`
}

// A Compaction is the key compaction.
type Compaction struct {
	Trigger int `json:"trigger_percent"`
	Target  int `json:"target_percent"`
}

// Retry is the key retry.
type Retry struct {
	Attempts int `json:"attempts"`
}

// Timeouts is the key timeouts. What the file does not bound of a request to a
// model is absent: the worker does.
type Timeouts struct {
	Inference string `json:"inference"`
	Tool      string `json:"tool"`
	Connect   string `json:"connect,omitzero"`
	FirstByte string `json:"first_byte,omitzero"`
	Idle      string `json:"idle,omitzero"`
}

// YAML is the agent as the text of a file.
func (d Resolved) YAML() ([]byte, error) {
	raw, err := json.Marshal(d)
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
	if err := encoder.Encode(&node); err != nil {
		return nil, err
	}
	return b.Bytes(), encoder.Close()
}

// unquote has a node written as people write YAML.
func unquote(node *yaml.Node) {
	node.Style = 0
	for _, child := range node.Content {
		unquote(child)
	}
}

// Resolve sets the defaults.
func (f File) Resolve() Resolved {
	d := f.Definition
	return Resolved{
		Name: f.Name, Description: f.Description,
		Model: resolveModel(d.Model), Fallbacks: resolveFallbacks(d.Fallbacks), SystemPrompt: d.SystemPrompt,
		Tools: listed(d.Tools), Hooks: listed(d.Hooks),
		Budget: resolveBudget(d.Budget), Guards: resolveGuards(d.Guards.WithDefaults()),
		Format:   resolveFormat(d.Format),
		Compiler: string(cmp.Or(d.Compiler, domain.CurrentTrace)), Sections: d.Sections,
		Compaction: resolveCompaction(d.Compaction),
		Retry:      Retry{d.Tries()},
		Timeouts: Timeouts{
			Inference: span(contract.Resolved{Definition: d}.InferenceTimeout()),
			Tool:      span(contract.Resolved{Definition: d}.ToolTimeout(domain.ToolSpec{})),
			Connect:   given(d.Model.Timeouts.Connect),
			FirstByte: given(d.Model.Timeouts.FirstByte),
			Idle:      given(d.Model.Timeouts.Idle),
		},
	}
}

// listed is a list that is shown where it is empty, too.
func listed(names []string) []string { return append([]string{}, names...) }

// span is a duration as people write it: 15m, not 15m0s.
func span(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// given is a duration that is absent where the worker decides.
func given(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return span(d)
}

func resolveModel(m domain.LLMConfig) *Model {
	if m.Provider == "" {
		return nil
	}
	return &Model{
		Provider: m.Provider, Name: m.Model, BaseURL: m.BaseURL, MaxOutputTokens: m.MaxOutputTokens,
		ContextWindow: m.ContextWindow, Temperature: m.Temperature, TopP: m.TopP, Options: m.Options,
		Price: resolvePrice(m.Price),
	}
}

// resolveFallbacks names all failures that each takes over from.
func resolveFallbacks(fallbacks []domain.Fallback) []Fallback {
	var resolved []Fallback
	for _, f := range fallbacks {
		resolved = append(resolved, Fallback{Model: resolveModel(f.Model), On: takes(f)})
	}
	return resolved
}

func resolvePrice(p *domain.Price) *Price {
	if p == nil {
		return nil
	}
	price := &Price{Input: domain.USD(p.Input), Output: domain.USD(p.Output), CacheRead: usd(p.CacheRead), CacheWrite: usd(p.CacheWrite)}
	if l := p.Long; l != nil {
		price.Long = &LongPrice{
			Above: l.Above, Input: domain.USD(l.Input), Output: domain.USD(l.Output), CacheRead: usd(l.CacheRead), CacheWrite: usd(l.CacheWrite),
		}
	}
	return price
}

func usd(nano *int64) string {
	if nano == nil {
		return ""
	}
	return domain.USD(*nano)
}

func resolveBudget(b domain.ExecutionBudget) Budget {
	budget := Budget{}
	for _, rule := range domain.LimitRules() {
		total, limited := rule.Total(b)
		if !limited {
			continue
		}
		var value any = total.Int()
		switch rule.Unit {
		case domain.UnitNanoUSD:
			value = domain.USD(total.Int())
		case domain.UnitMilliseconds:
			value = total.Seconds()
		case domain.UnitTime:
			value = total.Time()
		default:
		}
		budget[rule.Limit], _ = json.Marshal(value)
	}
	return budget
}

func resolveGuards(g domain.Guards) Guards {
	guards := Guards{
		FinishReasons: append([]domain.FinishReason{}, g.FinishReasons...),
		RepeatedCalls: Repetition{Nudge: g.Repetition.Nudge, Stop: g.Repetition.Stop},
		OutputRetries: *g.OutputRetries, FinalAnswer: g.FinalAnswer,
	}
	if *g.Repetition == (domain.Repetition{}) {
		guards.RepeatedCalls = "off"
	}
	return guards
}

func resolveFormat(f domain.ResponseFormat) any {
	if f.Type == domain.FormatSchema {
		return Format{Name: f.Name, Schema: f.Schema, Mode: f.Mode}
	}
	return cmp.Or(f.Type, domain.FormatText)
}

func resolveCompaction(c domain.Compaction) any {
	if c.Off {
		return "off"
	}
	c = c.WithDefaults()
	return Compaction{Trigger: c.TriggerPercent, Target: c.TargetPercent}
}
