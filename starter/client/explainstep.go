package client

import (
	"cmp"
	"slices"
	"time"

	"everstep/domain"
)

const maxExplainedArguments = 500

// explainStep is what a step itself tells. Without a price its cost is unknown.
func explainStep(s domain.StepExecution, priced bool) ExplainStep {
	step := s.Step
	e := ExplainStep{
		Number: step.Number, StepID: step.ID, Type: new(step.Type()), Interrupted: step.Interrupted,
		StartedAt: orNull(s.StartedAt), Milliseconds: between(s.StartedAt, s.CompletedAt),
		Usage: step.Usage, CostNanoUSD: domain.KnownCost(step.CostNanoUSD, step.Usage.TotalTokens(), priced), toolCalls: step.Spent().ToolCalls,
		Lost: step.Lost, LostNanoUSD: domain.KnownCost(step.LostNanoUSD, step.Lost.TotalTokens(), priced),
		Agent: orNull(step.Agent), FailedAttempts: step.Tries, Tools: []ExplainTool{}, Retries: []ExplainRetry{},
		Compactions: []ExplainCompaction{}, Errors: append([]domain.Error{}, step.Errors...),
	}
	if step.Response != nil { // the attempt that was answered
		e.FailedAttempts = max(step.Tries-1, 0)
	}
	if finish, ok := step.FinishReason(); ok {
		e.FinishReason = &finish
	}
	for _, call := range step.ToolExecutions {
		e.Tools = append(e.Tools, explainTool(call))
	}
	return e
}

// withAttempts adds what the history alone has of the attempts at the step's inferences.
func (e ExplainStep) withAttempts(s stepAttempts) ExplainStep {
	e.FailedAttempts, e.QueuedMilliseconds, e.Retries = s.failed(), s.queued.Milliseconds(), append(e.Retries, s.retries...)
	return e
}

func explainTool(call domain.ToolExecution) ExplainTool {
	e := ExplainTool{
		Tool: call.Name(), Arguments: call.Args(), Outcome: call.Outcome(),
		Milliseconds: between(call.StartedAt, call.CompletedAt), Error: call.Error, Waits: []domain.Wait{}, id: call.ID,
	}
	if short := domain.Shorten(e.Arguments, maxExplainedArguments); short != e.Arguments {
		e.Arguments = short + "…"
	}
	for _, w := range call.Waits {
		e.Waits = append(e.Waits, withContent(w, domain.Shorten(call.Value, maxExplainedArguments)))
	}
	result := call.Value
	if call.Error != nil {
		result = call.Error.Message
	}
	e.ResultTokens = domain.EstimateText(result)
	if e.Outcome.Ran() {
		e.Attempts = max(call.Attempts, 1)
	}
	e.print = call.Digest()
	return e
}

// withContent is the wait of a question with what the model has read as the answer, which the call's value has.
func withContent(w domain.Wait, value string) domain.Wait {
	if w.Kind.Rule().Replies && w.Answer != nil {
		w.Answer = new(*w.Answer)
		w.Answer.Content = value
	}
	return w
}

// hasError leaves out calls that a person denied: that is no fault of the agent.
func (e ExplainStep) hasError() bool {
	denied := func(w domain.Wait) bool { return w.Verdict() == domain.WasDenied }
	return len(e.Errors) > 0 || slices.ContainsFunc(e.Tools, func(t ExplainTool) bool { return t.Error != nil && !slices.ContainsFunc(t.Waits, denied) })
}

func totalsOf(steps []ExplainStep) ExplainTotals {
	t := ExplainTotals{CostNanoUSD: new(int64(0)), LostNanoUSD: new(int64(0))}
	for _, s := range steps {
		if !s.InProgress {
			t.Steps++
		}
		t.Usage, t.Lost, t.ToolCalls = t.Usage.Add(s.Usage), t.Lost.Add(s.Lost), domain.AddCost(t.ToolCalls, s.toolCalls)
		t.CostNanoUSD, t.LostNanoUSD = addCost(t.CostNanoUSD, s.CostNanoUSD), addCost(t.LostNanoUSD, s.LostNanoUSD)
		t.FailedAttempts += s.FailedAttempts
		t.Compactions += len(s.Compactions)
		if s.hasError() {
			t.StepsWithError++
		}
	}
	return t
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

func wasteOf(steps []ExplainStep, t ExplainTotals) ExplainWaste {
	w := ExplainWaste{
		FailedAttempts: t.FailedAttempts, Usage: t.Lost, CostNanoUSD: t.LostNanoUSD,
		Repeated: repeatedCalls(steps), ErrorSteps: []int{},
	}
	if t.CostNanoUSD == nil {
		w.CostNanoUSD = nil // a part of what nobody knows
	}
	if all := t.Usage.TotalTokens(); all > 0 {
		w.Share = new(float64(t.Lost.TotalTokens()) / float64(all))
	}
	for _, s := range steps {
		if s.hasError() {
			w.ErrorSteps = append(w.ErrorSteps, s.Number)
		}
	}
	return w
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
