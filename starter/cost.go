package main

import "everstep/domain"

// unknownCost is what people read where nobody knows the price.
const unknownCost = "unknown"

// knownCost is a cost in dollars; nil where tokens were used and nobody knows
// what they cost. A model that is free costs 0.
func knownCost(nanoUSD, tokens int64, priced bool) *string {
	if nanoUSD == 0 && tokens > 0 && !priced {
		return nil
	}
	return new(domain.USD(nanoUSD))
}

// costOfResult is what an execution cost. What the server ended has counted
// nothing.
func costOfResult(o domain.Outcome) *string {
	switch o.Code {
	case domain.CodeTerminated, domain.CodeTimedOut:
		return nil
	default:
		return knownCost(o.CostNanoUSD, o.Usage.TotalTokens(), o.Priced)
	}
}

// costOfStatus is what the execution has cost so far. Only the workflow, and
// what was noted at the end, tell it.
func costOfStatus(v domain.StatusView) *string {
	switch {
	case v.Source != "" && v.Source != domain.FromWorkflow && v.Source != domain.FromMemo:
		return nil
	case v.Priced || v.Usage.TotalTokens == 0 || costText(v.CostUSD) != "":
		return new(v.CostUSD)
	}
	return nil
}

// costFact is a cost for people; empty where nothing was used, or it was free.
func costFact(cost *string, tokens int64) string {
	switch {
	case cost != nil:
		return costText(*cost)
	case tokens > 0:
		return unknownCost
	}
	return ""
}
