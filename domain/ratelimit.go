package domain

import "fmt"

// A RateLimit is how fast a provider may be used.
type RateLimit struct {
	// TaskQueue is where inferences wait for their turn. It is a queue of their
	// own, so that what limits them holds nothing else back.
	TaskQueue string `json:"task_queue"`
	// RequestsPerMinute is for all workers of the task queue together, and
	// TokensPerMinute for this one. Zero: no limit.
	RequestsPerMinute int64 `json:"requests_per_minute,omitzero"`
	TokensPerMinute   int64 `json:"tokens_per_minute,omitzero"`
}

// String is the limit in words.
func (r RateLimit) String() string {
	requests, tokens := fmt.Sprintf("%d requests a minute", r.RequestsPerMinute), fmt.Sprintf("%d tokens a minute and worker", r.TokensPerMinute)
	switch {
	case r.TokensPerMinute == 0:
		return requests
	case r.RequestsPerMinute == 0:
		return tokens
	}
	return requests + ", " + tokens
}
