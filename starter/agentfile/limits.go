package agentfile

import (
	"math"
	"time"

	"go.yaml.in/yaml/v3"

	"everstep/domain"
)

// budget reads the limits of an execution.
func (r *reader) budget(field string, node *yaml.Node, into *domain.ExecutionBudget) {
	const most = math.MaxInt64
	r.mapping(field, node,
		r.count("max_steps", 0, most, func(n int64) { into.MaxSteps = &n }),
		r.count("max_tokens", 0, most, func(n int64) { into.MaxTokens = &n }),
		r.number("max_seconds", domain.MaxBudgetSeconds, func(s float64) { into.MaxSeconds = &s }),
		r.dollars("max_cost", "dollars", most, func(n int64) { into.MaxCostNanoUSD = &n }),
		r.deadline("deadline", func(t time.Time) { into.Deadline = &t }),
		r.count("max_tool_calls", 0, most, func(n int64) { into.MaxToolCalls = &n }),
	)
}

// guards reads the built-in hooks.
func (r *reader) guards(field string, node *yaml.Node, into *domain.Guards) {
	r.mapping(field, node,
		key{"finish_reasons", func(field string, node *yaml.Node) {
			r.list(field, node, func(field string, node *yaml.Node) {
				if reason, ok := word(r, field, node, domain.FinishReasons()); ok {
					into.FinishReasons = append(into.FinishReasons, reason)
				}
			})
		}},
		key{"repeated_calls", func(field string, node *yaml.Node) { into.Repetition = r.repetition(field, node) }},
		r.count("output_retries", 0, domain.MaxOutputRetries, func(n int64) { into.OutputRetries = new(int(n)) }),
		r.truth("final_answer", &into.FinalAnswer),
	)
}

// repetition reads off, or when a model that repeats itself is told and stopped.
// What is left out has its default.
func (r *reader) repetition(field string, node *yaml.Node) *domain.Repetition {
	if off(node) {
		return &domain.Repetition{}
	}
	if node.Kind == yaml.ScalarNode {
		r.problem(node, field, "is %q; give off, or a mapping with nudge_after and stop_after", shorten(node.Value))
		return nil
	}
	watch := domain.Repetition{Nudge: domain.DefaultNudge, Stop: domain.DefaultStop}
	before := len(r.problems)
	r.mapping(field, node,
		r.times("nudge_after", &watch.Nudge),
		r.times("stop_after", &watch.Stop),
	)
	if len(r.problems) == before && watch.Stop > 0 && watch.Nudge >= watch.Stop {
		r.problem(node, field, "nudge_after is %d and stop_after %d; the nudge has to come first", watch.Nudge, watch.Stop)
		return nil
	}
	return &watch
}

// times reads how many steps in a row are too many: 2 or more, or 0 for never.
func (r *reader) times(name string, into *int) key {
	return key{name, func(field string, node *yaml.Node) {
		r.count(name, 0, maxTimes, func(n int64) {
			if n == 1 {
				r.problem(node, field, "is 1; give 2 or more, or 0 for never")
				return
			}
			*into = int(n)
		}).read(field, node)
	}}
}

const maxTimes = 1_000_000
