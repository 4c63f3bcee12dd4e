package openaichat

import (
	"everstep/activities/inference/wire"
	"everstep/domain"
)

// usage is what servers report, in OpenAI's form and a few others'.
type usage struct {
	Prompt        wire.Count `json:"prompt_tokens"`
	Completion    wire.Count `json:"completion_tokens"`
	Total         wire.Count `json:"total_tokens"`
	CacheHit      wire.Count `json:"prompt_cache_hit_tokens"`
	PromptDetails struct {
		Cached     wire.Count `json:"cached_tokens"`
		CacheWrite wire.Count `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning wire.Count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (u usage) domain() domain.Usage {
	return wire.Consistent(domain.Usage{
		InputTokens:      int64(u.Prompt),
		OutputTokens:     int64(u.Completion),
		CacheReadTokens:  int64(max(u.PromptDetails.Cached, u.CacheHit)),
		CacheWriteTokens: int64(u.PromptDetails.CacheWrite),
		ReasoningTokens:  int64(u.CompletionDetails.Reasoning),
	}, int64(u.Total))
}
