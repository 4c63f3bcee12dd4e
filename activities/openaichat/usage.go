package openaichat

import (
	"encoding/json"
	"math"

	"everstep/domain"
)

// usage is what servers report, in OpenAI's form and a few others'.
type usage struct {
	Prompt        count `json:"prompt_tokens"`
	Completion    count `json:"completion_tokens"`
	Total         count `json:"total_tokens"`
	CacheHit      count `json:"prompt_cache_hit_tokens"`
	PromptDetails struct {
		Cached     count `json:"cached_tokens"`
		CacheWrite count `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// domain normalises: cached is part of input, reasoning part of output. Where
// a server counts reasoning beside the completion, its total tells.
func (u usage) domain() domain.Usage {
	out := domain.Usage{
		InputTokens:      int64(u.Prompt),
		OutputTokens:     int64(u.Completion),
		CacheReadTokens:  int64(max(u.PromptDetails.Cached, u.CacheHit)),
		CacheWriteTokens: int64(u.PromptDetails.CacheWrite),
		ReasoningTokens:  int64(u.CompletionDetails.Reasoning),
	}
	if out.ReasoningTokens > 0 && int64(u.Total) == out.InputTokens+out.OutputTokens+out.ReasoningTokens {
		out.OutputTokens += out.ReasoningTokens
	}
	return out
}

// A count is a number of tokens. What is no such number counts as not reported.
type count int64

// UnmarshalJSON never fails.
func (c *count) UnmarshalJSON(data []byte) error {
	var number float64
	if err := json.Unmarshal(data, &number); err != nil || number < 0 || number > math.MaxInt32*float64(1<<10) {
		number = 0
	}
	*c = count(number)
	return nil
}
