package domain

// A Reservation is what one inference may use of its execution's budget.
type Reservation struct {
	// Output clamps the answer; zero is no clamp.
	Output int64
	// foreign says that the clamp is a hook's or the model's and not the budget's.
	foreign bool
	// short is the limit that clamps.
	short Limit
	// TokensLeft and CostLeftNanoUSD are what the budget has for this inference
	// with all its attempts; zero is no limit.
	TokensLeft, CostLeftNanoUSD int64
}

// Reserve sets aside what the next inference may use, which is estimated to read
// so many tokens; what earlier tries have used is spent. Where not even the
// smallest answer fits it answers with the limit.
func (b ExecutionBudget) Reserve(spent Spent, input int64, resolved *Resolved) (Reservation, Limit) {
	var r Reservation
	least := max(resolved.MinOutputTokens, 1)
	clamp := func(output int64, limit Limit) {
		if r.short == "" || output < r.Output {
			r.Output, r.short = output, limit
		}
	}
	if limit := b.MaxTokens; limit != nil {
		r.TokensLeft = *limit - spent.Tokens
		if r.TokensLeft-input < least {
			return r, LimitTokens
		}
		clamp(r.TokensLeft-input, LimitTokens)
	}
	if limit, price := b.MaxCostNanoUSD, resolved.Price; limit != nil && price != nil {
		r.CostLeftNanoUSD = *limit - spent.CostNanoUSD
		room := r.CostLeftNanoUSD - price.InputCost(input)
		output, priced := price.OutputFor(room, input)
		if room < 0 || priced && output < least {
			return r, LimitCost
		}
		if priced {
			clamp(output, LimitCost)
		}
	}
	switch bound := resolved.AnswerBound(); {
	case bound <= 0 || bound > r.Output:
	case resolved.Definition.Model.MaxOutputTokens > 0:
		// The activity knows it too.
		r.Output = 0
	default:
		r.Output, r.foreign = bound, true
	}
	return r, ""
}

// Within returns the reservation with an answer that something other than the
// budget bounds too; zero is no bound.
func (r Reservation) Within(bound int64) Reservation {
	if bound > 0 && (r.Output == 0 || bound < r.Output) {
		r.Output, r.foreign = bound, true
	}
	return r
}

// Bound reports whether it was the budget that limited the length of an answer:
// this reservation, or what lost attempts had taken of it.
func (r Reservation) Bound(reply ModelReply) bool {
	return r.Limit() != "" || (r.TokensLeft > 0 || r.CostLeftNanoUSD > 0) && !reply.Spent.IsZero()
}

// Limit is the limit that clamps the answer; empty where none does.
func (r Reservation) Limit() Limit {
	if r.Output > 0 && !r.foreign {
		return r.short
	}
	return ""
}
