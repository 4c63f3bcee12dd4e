package workflows

import (
	"cmp"
	"fmt"
	"slices"

	"everstep/domain"
	"everstep/domain/contract"
)

// The sources of what guards signal. They are recorded.
const (
	guardFinish   = "finish_reasons"
	guardRepeated = "repeated_calls"
	guardOutput   = domain.SourceOutput
	guardCalls    = "misguided_calls"
)

// guards is what they remember of an execution between its steps, each of its own.
type guards struct{ contract.Guarded }

// forget begins another execution. It answers with the model that the one before
// began with, where another has taken over.
func (g *guards) forget() (restored *domain.LLMConfig) {
	restored = g.Primary
	*g = guards{}
	return restored
}

// begunAnew is for another agent that goes on with the execution: its own model is the first. Calls that are repeated
// stay so.
func (g *guards) begunAnew() { g.Fallback, g.Primary, g.Invalid = 0, nil, 0 }

func (g *guards) misfit() int {
	g.Invalid++
	return g.Invalid
}

func (g *guards) next(fallbacks []domain.Fallback, failure domain.Failure, now domain.LLMConfig) (domain.LLMConfig, bool) {
	left := fallbacks[min(g.Fallback, len(fallbacks)):]
	i := slices.IndexFunc(left, func(f domain.Fallback) bool { return f.Takes(failure) })
	if i < 0 {
		return domain.LLMConfig{}, false
	}
	if g.Primary == nil {
		g.Primary = &now
	}
	g.Fallback += i + 1
	return left[i].Model, true
}

func (b *budget) reserve() (contract.Reservation, domain.Limit) {
	ledger := b.ledger()
	return b.config.Resolved.Reserve(ledger.Budget(), ledger.Execution.Spent, b.conversation.input())
}

// signalShort says that the next inference does not fit what is left of a
// limit; the empty one is that which lost attempts had taken of.
func (b *budget) signalShort(limit domain.Limit) {
	ledger := b.ledger()
	switch {
	case limit != "":
	case ledger.Totals().MaxTokens != nil:
		limit = domain.LimitTokens
	default:
		limit = domain.LimitCost
	}
	use, _ := ledger.UseOf(limit, b.agent.now())
	b.limited(use, use.TooShortSignal(b.conversation.input()))
}

// limited stops the execution at a limit, of its own or of its session.
func (b *budget) limited(use domain.LimitUse, signal domain.StopSignal) {
	signal.Source = domain.SourceBudget
	if use.Session {
		signal.Source = domain.SourceSessionBudget
	}
	b.agent.Signal(signal)
}

// check is what the guards say after a step, when the hooks have spoken.
func (g *guards) check(t *stepRun) {
	if limits := t.config.Resolved.Guards; limits != nil {
		g.checkFinish(t, limits.FinishReasons)
		g.checkCalls(t)
		if limits.Repetition != nil {
			g.checkRepetition(t, *limits.Repetition)
		}
	}
	if retries := t.config.outputRetries(); t.repeat == inTheFormat && g.Invalid > retries {
		t.agent.signalWith(domain.RetryLimitReached, guardOutput, fmt.Sprintf(
			"%d answers in this execution did not fit the response format, and output_retries is %d; "+
				"make the schema or the instruction clearer, or raise guards.output_retries", g.Invalid, retries),
			map[string]any{"limit": "output_retries", "used": g.Invalid, "total": retries, "problems": t.content.problems()})
	}
	// Last: it asks to go on only where nothing asks to stop.
	if _, signalled := t.agent.state.StopSignal(); t.repeat != unrepeated && !signalled {
		t.agent.requestContinuation()
	}
}

func (g *guards) checkFinish(t *stepRun, reasons []domain.FinishReason) {
	if r := t.content.Response; r != nil && slices.Contains(reasons, r.Finish) {
		t.agent.signalWith(domain.FinishReasonReceived, guardFinish, fmt.Sprintf(
			"the model ended with %q, which guards.finish_reasons lists", r.Finish), map[string]any{"finish_reason": r.Finish})
	}
}

// maxMisguided is how many steps in a row may ask for tools in vain.
const maxMisguided = 3

// checkCalls stops a model that asks, time and again, for what it was told is in vain.
func (g *guards) checkCalls(t *stepRun) {
	taken := slices.ContainsFunc(t.content.ToolExecutions, func(e domain.ToolExecution) bool {
		return e.Error == nil || e.Error.Kind != domain.Invalid ||
			e.Error.Code != domain.CodeUnknownTool && e.Error.Code != domain.CodeMalformed
	})
	if t.repeat != inItsCalls && (len(t.content.ToolExecutions) == 0 || taken) {
		g.Misguided = 0
	} else if g.Misguided++; g.Misguided >= maxMisguided {
		t.agent.signalWith(domain.StopRequested, guardCalls, fmt.Sprintf(
			"in %d steps in a row the model asked only for unknown tools or with arguments that no tool takes (%s)",
			g.Misguided, cmp.Or(toolNames(t.calls), "which the provider could not read")),
			map[string]any{"limit": guardCalls, "used": g.Misguided, "total": maxMisguided, "calls": t.content.noted()})
	}
}

// checkRepetition leaves out steps whose calls the provider could not read: those before and behind them may be the same.
func (g *guards) checkRepetition(t *stepRun, limits domain.Repetition) {
	if t.repeat == inItsCalls && len(t.content.ToolExecutions) == 0 {
		return
	}
	g.Cycles = g.Cycles.With(t.content.CallsDigest())
	length, times, whole := g.Cycles.Repeated()
	switch {
	case times < 2 || !whole:
	case limits.Stop > 0 && times >= limits.Stop:
		t.agent.signalWith(domain.StopRequested, guardRepeated, fmt.Sprintf(
			"%s made the same tool calls (%s) and got the same results; guards.repeated_calls.stop_after is %d",
			repeatedSteps(length, times), toolNames(t.calls), limits.Stop),
			map[string]any{"limit": "repeated_calls.stop_after", "used": times, "total": limits.Stop, "cycle_steps": length, "calls": t.content.noted()})
	case times == limits.Nudge:
		t.interject("", domain.UserMessage(fmt.Sprintf(
			"The last %s made the same tool calls with the same arguments and got the same results. "+
				"Repeating them will not help: try something else, or answer with what you have.", repeatedSteps(length, times))))
	}
}

// repeatedSteps says how many steps in a row were the same, or in which cycle they came again.
func repeatedSteps(length, times int) string {
	if length == 1 {
		return fmt.Sprintf("%d steps in a row", times)
	}
	return fmt.Sprintf("%d steps in a row, a cycle of %d made %d times,", length*times, length, times)
}

// withholdToolsAtTheEnd withholds the tools at the last step that max_steps allows, where
// the agent wants that, and tells the model to answer.
func (t *stepRun) withholdToolsAtTheEnd() {
	if guards := t.config.Resolved.Guards; guards == nil || !guards.FinalAnswer || len(t.config.Resolved.Tools) == 0 {
		return
	}
	if limit := t.session.budget.ledger().Budget().MaxSteps; limit == nil || t.agent.Spent().Steps < *limit {
		return
	}
	t.request.WithoutTools = true
	t.interject("", domain.UserMessage("This is the last step that the budget allows, so no tools are available any more. Answer now with what you have."))
}

// failOver lets the next model take over that is set to do so for an error. The step
// is over and stays as it is. It answers false where none takes over.
func (t *stepRun) failOver(err *domain.Error) bool {
	failure, ok := domain.FailureOf(err)
	if !ok || t.noMore() {
		return false
	}
	model, found := t.session.guards.next(t.config.Resolved.Definition.Fallbacks, failure, t.agent.state.LLMConfig)
	if !found {
		return false
	}
	t.agent.useModel(model)
	t.repeatFor(byAnotherModel)
	return true
}
