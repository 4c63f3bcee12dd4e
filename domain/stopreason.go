package domain

import (
	"everstep/domain/enum"
	"slices"
)

// A StopReason says why an execution stops. Unknown values fail to decode, so a
// new one is taught to every reader before anything writes it.
type StopReason string

const (
	// ErrorForbade: an unrecoverable error.
	ErrorForbade StopReason = "error"
	// StopRequested: a hook or a tool asked.
	StopRequested StopReason = "stop_requested"
	// StepsLimitReached: max_steps.
	StepsLimitReached StopReason = "steps_limit"
	// TokenLimitReached: max_tokens, or too few left for another inference.
	TokenLimitReached StopReason = "token_limit"
	// CostLimitReached: max_cost.
	CostLimitReached StopReason = "cost_limit"
	// ToolCallLimitReached: the model asked for more calls than max_tool_calls had left.
	ToolCallLimitReached StopReason = "tool_call_limit"
	// TimeLimitReached: max_seconds or the deadline.
	TimeLimitReached StopReason = "time_limit"
	// RetryLimitReached: the answers did not pass their check too often.
	RetryLimitReached StopReason = "retry_limit"
	// FinishReasonReceived: the model ended with a finish reason that a guard is set to stop at.
	FinishReasonReceived StopReason = "finish_reason"
	// UserRequested: a person or program outside asked.
	UserRequested StopReason = "user_requested"
	// Completed: the agent was done.
	Completed StopReason = "completed"
	// Unknown: the cause could not be told.
	Unknown StopReason = "unknown"
)

// StopReasons lists every reason, the one that counts most first; of equals, in the order of limits.
func StopReasons() []StopReason {
	return []StopReason{
		ErrorForbade, StopRequested, StepsLimitReached, TokenLimitReached, CostLimitReached,
		ToolCallLimitReached, TimeLimitReached, RetryLimitReached, FinishReasonReceived, UserRequested,
		Completed, Unknown,
	}
}

// Priority ranks the reasons: of several signals the one with the lowest
// number counts, and the earliest among equals.
func (r StopReason) Priority() int {
	if r == CostLimitReached || r == ToolCallLimitReached {
		r = TokenLimitReached
	}
	ranks := []StopReason{
		ErrorForbade, StopRequested, StepsLimitReached, TokenLimitReached, TimeLimitReached, RetryLimitReached,
		FinishReasonReceived, UserRequested, Completed,
	}
	if rank := slices.Index(ranks, r); rank >= 0 {
		return rank
	}
	return len(ranks)
}

// Forced reports whether an execution that ends for this reason was stopped,
// and did not end by itself.
func (r StopReason) Forced() bool { return r != FinishReasonReceived && r != Completed }

// WasForceStopped is Forced under the name that readers of a state expect.
func (r StopReason) WasForceStopped() bool { return r.Forced() }

// Overridable reports whether a continuation request may override the reason. An
// error, a limit and a user's stop are promises that no hook can cancel.
func (r StopReason) Overridable() bool {
	return r == StopRequested || r == FinishReasonReceived || r == Completed || r == Unknown
}

// OfLimit reports whether the reason is that of a limit.
func (r StopReason) OfLimit() bool {
	return slices.ContainsFunc(limitRules[:], func(rule LimitRule) bool { return rule.Reason == r })
}

// UnmarshalText accepts the known reasons only.
func (r *StopReason) UnmarshalText(text []byte) error {
	return enum.Decode(r, text, StopReasons(), "stop reason")
}
