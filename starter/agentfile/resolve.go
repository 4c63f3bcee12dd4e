package agentfile

import (
	"cmp"
	"strings"
	"time"

	"everstep/domain"
)

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
		Retry:      Retry{cmp.Or(d.Attempts, domain.DefaultAttempts)},
		Timeouts: Timeouts{
			Inference: span(cmp.Or(d.InferenceTimeout, domain.DefaultInferenceTimeout)),
			Tool:      span(cmp.Or(d.ToolTimeout, domain.DefaultToolTimeout)),
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

func resolveBudget(b domain.ExecutionBudget) *Budget {
	if b.IsEmpty() {
		return nil
	}
	return &Budget{
		MaxSteps: b.MaxSteps, MaxTokens: b.MaxTokens, MaxSeconds: b.MaxSeconds, MaxCost: usd(b.MaxCostNanoUSD),
		Deadline: b.Deadline, MaxToolCalls: b.MaxToolCalls,
	}
}

func resolveGuards(g domain.Guards) Guards {
	guards := Guards{
		FinishReasons: append([]domain.FinishReason{}, g.FinishReasons...),
		RepeatedCalls: Repetition{Nudge: g.Repetition.Nudge, Stop: g.Repetition.Stop},
		OutputRetries: *g.OutputRetries, FinalAnswer: g.FinalAnswer,
	}
	if *g.Repetition == (domain.Repetition{}) {
		guards.RepeatedCalls = wordOff
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
		return wordOff
	}
	c = c.WithDefaults()
	return Compaction{Trigger: c.TriggerPercent, Target: c.TargetPercent}
}
