package domain

import "slices"

// MaxFoldedErrors is how many errors of folded steps are kept.
const MaxFoldedErrors = 20

// A Folded holds the totals of completed steps that have left memory. They are
// with the history or the storage of earlier runs; StepCount, Usage and
// HasErrors go on counting them.
type Folded struct {
	Steps int   `json:"steps"`
	Usage Usage `json:"usage,omitzero"`
	// CostNanoUSD is the sum of what they cost.
	CostNanoUSD int64 `json:"cost_nano_usd,omitzero"`
	// ErrorCount counts all their errors; Errors are the newest of them.
	ErrorCount int     `json:"error_count,omitzero"`
	Errors     []Error `json:"errors,omitempty"`
}

// IsZero reports whether no step was folded.
func (f Folded) IsZero() bool { return f.Steps == 0 }

// with returns the totals with one more step.
func (f Folded) with(step AgentStep) Folded {
	f.Steps++
	f.Usage = f.Usage.Add(step.Usage)
	f.CostNanoUSD = AddCost(f.CostNanoUSD, step.CostNanoUSD)
	if all := step.AllErrors(); len(all) > 0 {
		f.ErrorCount += len(all)
		f.Errors = append(slices.Clip(f.Errors), all...)
		f.Errors = slices.Clone(f.Errors[max(0, len(f.Errors)-MaxFoldedErrors):])
	}
	return f
}
