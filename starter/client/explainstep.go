package client

import (
	"cmp"
	"slices"
	"time"

	"everstep/domain"
)

const maxExplainedArguments = 500

// step is what a step itself tells. Without a price its cost is unknown.
func (e *explanation) step(s domain.StepExecution) ExplainStep {
	step, priced := s.Step, e.asked.Priced
	told := ExplainStep{
		Number: step.Number, StepID: step.ID, Type: new(step.Type()), Interrupted: step.Interrupted,
		StartedAt: orNull(s.StartedAt), Milliseconds: between(s.StartedAt, s.CompletedAt),
		Usage: step.Usage, CostNanoUSD: domain.KnownCost(step.CostNanoUSD, step.Usage.TotalTokens(), priced), toolCalls: step.Spent().ToolCalls,
		Lost: step.Lost, LostNanoUSD: domain.KnownCost(step.LostNanoUSD, step.Lost.TotalTokens(), priced),
		Agent: orNull(step.Agent), FailedAttempts: step.Tries, Tools: []ExplainTool{}, Retries: []ExplainRetry{},
		Compactions: []ExplainCompaction{}, Errors: append([]domain.Error{}, step.Errors...),
	}
	if step.Response != nil { // the attempt that was answered
		told.FailedAttempts = max(step.Tries-1, 0)
	}
	if finish, ok := step.FinishReason(); ok {
		told.FinishReason = &finish
	}
	for _, call := range step.ToolExecutions {
		told.Tools = append(told.Tools, e.tool(call))
	}
	return told
}

// tool is what a call tells, with what people have said since of one of unknown outcome.
func (e *explanation) tool(call domain.ToolExecution) ExplainTool {
	told := ExplainTool{
		Tool: call.Name(), Arguments: call.Args(), Outcome: call.Outcome(),
		Milliseconds: between(call.StartedAt, call.CompletedAt), Error: call.Error, Waits: []domain.Wait{}, print: call.Digest(),
	}
	if short := domain.Shorten(told.Arguments, maxExplainedArguments); short != told.Arguments {
		told.Arguments = short + "…"
	}
	for _, w := range call.Waits {
		if w.Kind.Rule().Replies && w.Answer != nil { // the call's value is what the model has read as the answer
			w.Answer = new(*w.Answer)
			w.Answer.Content = domain.Shorten(call.Value, maxExplainedArguments)
		}
		told.Waits = append(told.Waits, w)
	}
	for _, resolved := range e.now.ResolvedOutcomes() {
		if resolved.ToolExecutionID == call.ID && told.Outcome == domain.ToolUnknown {
			told.Waits = append(told.Waits, resolved.Recorded())
		}
	}
	result := call.Value
	if call.Error != nil {
		result = call.Error.Message
	}
	told.ResultTokens = domain.EstimateText(result)
	if told.Outcome.Ran() {
		told.Attempts = max(call.Attempts, 1)
	}
	return told
}

// sumsOf are the sums over steps, and what of that was paid for and led nowhere.
func sumsOf(steps []ExplainStep) (t ExplainTotals, w ExplainWaste) {
	t.CostNanoUSD, w.CostNanoUSD = new(int64(0)), new(int64(0))
	w.Repeated, w.ErrorSteps = repeatedCalls(steps), []int{}
	denied := func(w domain.Wait) bool { return w.Verdict() == domain.WasDenied } // that is no fault of the agent
	failed := func(t ExplainTool) bool { return t.Error != nil && !slices.ContainsFunc(t.Waits, denied) }
	for _, s := range steps {
		if !s.InProgress && !s.uncounted {
			t.Steps++
		}
		t.Usage, t.CostNanoUSD, t.ToolCalls = t.Usage.Add(s.Usage), addCost(t.CostNanoUSD, s.CostNanoUSD), domain.AddCost(t.ToolCalls, s.toolCalls)
		t.Compactions += len(s.Compactions)
		w.Usage, w.CostNanoUSD = w.Usage.Add(s.Lost), addCost(w.CostNanoUSD, s.LostNanoUSD)
		w.FailedAttempts += s.FailedAttempts
		if len(s.Errors) > 0 || slices.ContainsFunc(s.Tools, failed) {
			w.ErrorSteps = append(w.ErrorSteps, s.Number)
		}
	}
	if t.CostNanoUSD == nil {
		w.CostNanoUSD = nil // a part of what nobody knows
	}
	if all := t.Usage.TotalTokens(); all > 0 {
		w.Share = new(float64(w.Usage.TotalTokens()) / float64(all))
	}
	return t, w
}

func addCost(a, b *int64) *int64 {
	if a == nil || b == nil {
		return nil
	}
	return new(domain.AddCost(*a, *b))
}

// orNull is a value that is null in JSON where it is empty.
func orNull[T comparable](value T) *T {
	if value == *new(T) {
		return nil
	}
	return &value
}

// between is in milliseconds; nil where a moment is unknown.
func between(from, to time.Time) *int64 {
	if from.IsZero() || to.IsZero() {
		return nil
	}
	return new(to.Sub(from).Milliseconds())
}

// repeatedCalls are those that gave the same result again, the most wasteful first.
func repeatedCalls(steps []ExplainStep) []ExplainRepeat {
	found := map[domain.Digest]int{}
	all := []ExplainRepeat{}
	for _, s := range steps {
		for _, tool := range s.Tools {
			if s.InProgress || !tool.Outcome.Ran() {
				continue
			}
			at, seen := found[tool.print]
			if !seen {
				at = len(all)
				found[tool.print] = at
				all = append(all, ExplainRepeat{Tool: tool.Tool, Arguments: tool.Arguments, ResultTokens: -tool.ResultTokens})
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
	return repeated
}
