package wire

import "everstep/domain"

// Consistent returns a usage in OpenAI's form whose parts are parts: cached is
// part of input, reasoning part of output. Servers are known to count them
// beside, which the total tells, or that a part is more than the whole.
func Consistent(u domain.Usage, total int64) domain.Usage {
	if u.ReasoningTokens > u.OutputTokens || u.ReasoningTokens > 0 && total == u.InputTokens+u.OutputTokens+u.ReasoningTokens {
		u.OutputTokens += u.ReasoningTokens
	}
	if cached := u.CacheReadTokens + u.CacheWriteTokens; cached > u.InputTokens {
		u.InputTokens += cached
	}
	return u
}
