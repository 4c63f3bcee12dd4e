package wire

import (
	"bytes"
	"encoding/json"
	"slices"

	"everstep/domain"
)

// A Usage is one as servers report it, each in its own names.
type Usage struct {
	Input             Count        `json:"input_tokens"`
	Prompt            Count        `json:"prompt_tokens"`
	Read              Count        `json:"inputTokens"`
	Metered           Count        `json:"inputTokenCount"`
	Evaluated         Count        `json:"tokens_evaluated"`
	Output            Count        `json:"output_tokens"`
	Completion        Count        `json:"completion_tokens"`
	Written           Count        `json:"outputTokens"`
	MeteredOutput     Count        `json:"outputTokenCount"`
	Predicted         Count        `json:"tokens_predicted"`
	Total             Count        `json:"total_tokens"`
	Cached            Count        `json:"cached_tokens"`
	CacheHit          Count        `json:"prompt_cache_hit_tokens"`
	InputDetails      usageDetails `json:"input_tokens_details"`
	PromptDetails     usageDetails `json:"prompt_tokens_details"`
	OutputDetails     usageDetails `json:"output_tokens_details"`
	CompletionDetails usageDetails `json:"completion_tokens_details"`
	// Of llama.cpp's timings: what it read anew, what it had, and what it wrote.
	TimedPrompt Count `json:"prompt_n"`
	TimedCache  Count `json:"cache_n"`
	TimedOutput Count `json:"predicted_n"`
}

type usageDetails struct {
	Cached     Count `json:"cached_tokens"`
	CacheWrite Count `json:"cache_write_tokens"`
	Reasoning  Count `json:"reasoning_tokens"`
}

// usageDepth is how deep in an answer a usage is looked for: down to choices[0].message.usage.
const usageDepth = 5

// UsageIn is the usage that stands in an answer, or a piece of one: the object with counts of tokens that is nearest to the
// top, whatever its name. Zero: there is none. The JSON is valid.
func UsageIn(data []byte) domain.Usage {
	if !counts(data) {
		return domain.Usage{}
	}
	level := [][]byte{data}
	for range usageDepth {
		var below [][]byte
		for _, raw := range level {
			named := false
			members(raw, func(name, value []byte) {
				named = named || counts(name)
				switch {
				case value[0] != '{' && value[0] != '[':
				case string(name) == `"usage"`: // before llama.cpp's timings, which leave out what was cached
					below = slices.Insert(below, 0, value)
				default:
					below = append(below, value)
				}
			})
			var u Usage
			if named && json.Unmarshal(raw, &u) == nil {
				if found := u.Domain(); found.OutputTokens > 0 || found.InputTokens > found.CacheReadTokens {
					return found
				}
			}
		}
		level = below
	}
	return domain.Usage{}
}

// counts reports whether the name of a count stands in some JSON.
func counts(data []byte) bool {
	return slices.ContainsFunc(countNames, func(name []byte) bool { return bytes.Contains(data, name) })
}

// countNames are what the names of counts have in common.
var countNames = [][]byte{[]byte(`okens"`), []byte(`okenCount"`), []byte(`"tokens_`), []byte(`tokens_details"`), []byte(`"prompt_n"`), []byte(`"predicted_n"`)}

// Domain is the usage in our own form, made consistent.
func (u Usage) Domain() domain.Usage {
	return Consistent(domain.Usage{
		InputTokens:      int64(max(u.Input, u.Prompt, u.Read, u.Metered, u.Evaluated, u.TimedPrompt+u.TimedCache)),
		OutputTokens:     int64(max(u.Output, u.Completion, u.Written, u.MeteredOutput, u.Predicted, u.TimedOutput)),
		CacheReadTokens:  int64(max(u.InputDetails.Cached, u.PromptDetails.Cached, u.CacheHit, u.Cached, u.TimedCache)),
		CacheWriteTokens: int64(max(u.InputDetails.CacheWrite, u.PromptDetails.CacheWrite)),
		ReasoningTokens:  int64(max(u.OutputDetails.Reasoning, u.CompletionDetails.Reasoning)),
	}, int64(u.Total))
}

// Consistent returns a usage whose parts are parts: cached of input, reasoning of output.
// Some servers count them beside, which the total tells, or that a part is more than the
// whole. Where the total tells that they are inside, what was both read and written of the
// cache counts as read. What else the total has beyond its parts was read.
func Consistent(u domain.Usage, total int64) domain.Usage {
	if u.ReasoningTokens > u.OutputTokens || u.ReasoningTokens > 0 && total == u.InputTokens+u.OutputTokens+u.ReasoningTokens {
		u.OutputTokens += u.ReasoningTokens
	}
	cached := u.CacheReadTokens + u.CacheWriteTokens
	within := total == u.InputTokens+u.OutputTokens && max(u.CacheReadTokens, u.CacheWriteTokens) <= u.InputTokens
	if !within && cached > u.InputTokens {
		u.InputTokens += cached
	}
	u.InputTokens = max(u.InputTokens, total-u.OutputTokens)
	u.CacheWriteTokens = min(u.CacheWriteTokens, u.InputTokens-u.CacheReadTokens)
	return u
}
