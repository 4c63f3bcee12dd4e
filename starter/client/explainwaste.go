package client

import (
	"cmp"
	"slices"

	"everstep/domain"
)

// wasteOf says what of the steps led nowhere.
func wasteOf(steps []ExplainStep, t ExplainTotals) ExplainWaste {
	w := ExplainWaste{
		FailedAttempts: t.FailedAttempts, Usage: t.Lost, CostNanoUSD: t.LostNanoUSD,
		Repeated: repeatedCalls(steps), ErrorSteps: []int{},
	}
	if t.Usage.TotalTokens > 0 {
		w.Share = new(float64(t.Lost.TotalTokens) / float64(t.Usage.TotalTokens))
	}
	for _, s := range steps {
		if s.hasError() {
			w.ErrorSteps = append(w.ErrorSteps, s.Number)
		}
	}
	return w
}

// repeatedCalls finds the calls that were made more than once and gave the same
// result each time, the most wasteful first.
func repeatedCalls(steps []ExplainStep) []ExplainRepeat {
	found := map[domain.Digest]int{}
	var all []ExplainRepeat
	for _, s := range steps {
		for _, print := range s.prints {
			tool := s.Tools[print.tool]
			at, seen := found[print.digest]
			if !seen {
				found[print.digest] = len(all)
				all = append(all, ExplainRepeat{Tool: tool.Tool, Arguments: tool.Arguments, Times: 1, Steps: []int{s.Number}})
				continue
			}
			all[at].Times++
			all[at].ResultTokens += tool.ResultTokens
			if !slices.Contains(all[at].Steps, s.Number) {
				all[at].Steps = append(all[at].Steps, s.Number)
			}
		}
	}
	repeated := slices.DeleteFunc(all, func(r ExplainRepeat) bool { return r.Times < 2 })
	slices.SortStableFunc(repeated, func(a, b ExplainRepeat) int { return cmp.Compare(b.ResultTokens, a.ResultTokens) })
	return append([]ExplainRepeat{}, repeated...)
}
