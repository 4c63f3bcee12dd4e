package domain

// Usage counts tokens. Cache counts are part of input and reasoning is part of output, so that the total
// never counts a token twice.
type Usage struct {
	InputTokens      int64 `json:"input_tokens"`
	OutputTokens     int64 `json:"output_tokens"`
	CacheReadTokens  int64 `json:"cache_read_tokens,omitzero"`
	CacheWriteTokens int64 `json:"cache_write_tokens,omitzero"`
	ReasoningTokens  int64 `json:"reasoning_tokens,omitzero"`
	// Estimated means that a part of it was reckoned by us.
	Estimated bool `json:"estimated,omitzero"`
}

// TotalTokens is input plus output.
func (u Usage) TotalTokens() int64 { return addTokens(u.InputTokens, u.OutputTokens) }

// Add returns the sum; it is estimated if either is.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens:      addTokens(u.InputTokens, v.InputTokens),
		OutputTokens:     addTokens(u.OutputTokens, v.OutputTokens),
		CacheReadTokens:  addTokens(u.CacheReadTokens, v.CacheReadTokens),
		CacheWriteTokens: addTokens(u.CacheWriteTokens, v.CacheWriteTokens),
		ReasoningTokens:  addTokens(u.ReasoningTokens, v.ReasoningTokens),
		Estimated:        u.Estimated || v.Estimated,
	}
}

// IsZero reports whether nothing was used.
func (u Usage) IsZero() bool { return u == Usage{} }

// addTokens adds two counts. What does not fit is the largest count, and a
// negative one counts as none, so that no limit fails open.
func addTokens(a, b int64) int64 { return AddCost(a, b) }

// A UsageView is a usage with its total.
type UsageView struct {
	InputTokens      int64 `json:"input_tokens"`
	OutputTokens     int64 `json:"output_tokens"`
	CacheReadTokens  int64 `json:"cache_read_tokens"`
	CacheWriteTokens int64 `json:"cache_write_tokens"`
	ReasoningTokens  int64 `json:"reasoning_tokens"`
	TotalTokens      int64 `json:"total_tokens"`
	Estimated        bool  `json:"estimated,omitzero"`
}

// View returns the usage with its total.
func (u Usage) View() UsageView {
	return UsageView{
		InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CacheReadTokens: u.CacheReadTokens,
		CacheWriteTokens: u.CacheWriteTokens, ReasoningTokens: u.ReasoningTokens,
		TotalTokens: u.TotalTokens(), Estimated: u.Estimated,
	}
}
