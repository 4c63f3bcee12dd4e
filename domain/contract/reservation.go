package contract

import "everstep/domain"

// A Reservation is what one inference may use of its execution's budget.
type Reservation struct {
	// Output clamps the answer; zero is no clamp.
	Output int64
	// foreign says that the clamp is a hook's or the model's and not the budget's.
	foreign bool
	// short is the limit that clamps.
	short domain.Limit
	// TokensLeft and CostLeftNanoUSD are the budget's for the inference with all attempts; zero: no limit.
	TokensLeft, CostLeftNanoUSD int64
}

// Reserve sets aside what the next inference, estimated to read so many tokens, may use. Where not even the
// smallest answer fits it answers with the limit.
func (r *Resolved) Reserve(b domain.ExecutionBudget, spent domain.Spent, input int64) (Reservation, domain.Limit) {
	var v Reservation
	least := max(r.MinOutputTokens, 1)
	clamp := func(output int64, limit domain.Limit) {
		if v.short == "" || output < v.Output {
			v.Output, v.short = output, limit
		}
	}
	if limit := b.MaxTokens; limit != nil {
		v.TokensLeft = *limit - spent.Tokens
		if v.TokensLeft-input < least {
			return v, domain.LimitTokens
		}
		clamp(v.TokensLeft-input, domain.LimitTokens)
	}
	if limit, price := b.MaxCostNanoUSD, r.Price; limit != nil && price != nil {
		v.CostLeftNanoUSD = *limit - spent.CostNanoUSD
		room := v.CostLeftNanoUSD - price.InputCost(input)
		output, priced := price.OutputFor(room, input)
		if room < 0 || priced && output < least {
			return v, domain.LimitCost
		}
		if priced {
			clamp(output, domain.LimitCost)
		}
	}
	switch bound := r.AnswerBound(); {
	case bound <= 0 || bound > v.Output:
	case r.Definition.Model.MaxOutputTokens > 0:
		// The activity knows it too.
		v.Output = 0
	default:
		v.Output, v.foreign = bound, true
	}
	return v, ""
}

// Takes is what an inference may take that reads so many tokens and writes so many, the smallest answer at least.
func (r *Resolved) Takes(input, output int64) domain.Spent {
	output = max(output, r.MinOutputTokens, 1)
	spent := domain.Spent{Steps: 1, Tokens: domain.AddCost(input, output)}
	if r.Price != nil {
		spent.CostNanoUSD = r.Price.Most(input, output)
	}
	return spent
}

// Within returns the reservation with an answer that something else bounds too; zero is no bound.
func (r Reservation) Within(bound int64) Reservation {
	if bound > 0 && (r.Output == 0 || bound < r.Output) {
		r.Output, r.foreign = bound, true
	}
	return r
}

// Longest is how long an answer within the reservation can get; zero: unknown.
func (r Reservation) Longest(by *Resolved) int64 {
	if bound := by.AnswerBound(); r.Output == 0 || bound > 0 && bound < r.Output {
		return bound
	}
	return r.Output
}

// Bound reports whether the budget limited an answer: this reservation, or what lost attempts took of it.
func (r Reservation) Bound(reply ModelReply) bool {
	return r.Limit() != "" || (r.TokensLeft > 0 || r.CostLeftNanoUSD > 0) && !reply.Spent.IsZero()
}

// Limit is the limit that clamps the answer; empty where none does.
func (r Reservation) Limit() domain.Limit {
	if r.Output > 0 && !r.foreign {
		return r.short
	}
	return ""
}
