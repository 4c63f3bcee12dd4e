package client

import (
	"fmt"

	"everstep/domain"
)

// exhausted is the refusal to go on where a limit would stop the execution
// before its first step: it names the limit, what is used, and the flag.
func exhausted(reason domain.StopReason, b domain.ExecutionBudget, used domain.Spent) *Error {
	said, flag := string(reason)+" is reached", "a higher total"
	switch {
	case reason == domain.StepsLimitReached && b.MaxSteps != nil:
		said, flag = fmt.Sprintf("max_steps is %d and %d are done", *b.MaxSteps, used.Steps), "--max-steps"
	case reason == domain.TokenLimitReached && b.MaxTokens != nil:
		said, flag = fmt.Sprintf("max_tokens is %d and %d are used", *b.MaxTokens, used.Tokens), "--max-tokens"
	case reason == domain.CostLimitReached && b.MaxCostNanoUSD != nil:
		said, flag = fmt.Sprintf("max_cost is $%s and $%s are spent", domain.USD(*b.MaxCostNanoUSD), domain.USD(used.CostNanoUSD)), "--max-cost"
	case reason == domain.TimeLimitReached && b.MaxSeconds != nil && used.Seconds >= *b.MaxSeconds:
		said, flag = fmt.Sprintf("max_seconds is %v and %.1f are used", *b.MaxSeconds, used.Seconds), "--max-seconds"
	case reason == domain.TimeLimitReached:
		return errorf(Refused, nil, "extend: there is nothing left to go on with: the deadline has passed; give a later one with --deadline")
	}
	return errorf(Refused, nil, "extend: there is nothing left to go on with: %s; give a higher total with %s", said, flag)
}
