package workflows

import (
	"cmp"
	"slices"

	"everstep/domain"
)

// guards is what the table of guards remembers of an execution between its steps, and which fallback has taken over.
type guards struct{ domain.Guarded }

// forget begins another execution. It answers with the model that the one before
// began with, where another has taken over.
func (g *guards) forget() (restored *domain.LLMConfig) {
	restored = g.Primary
	g.Guarded = domain.Guarded{}
	return restored
}

// begunAnew is for another agent that goes on with the execution: its own model is the first. Calls that are repeated
// stay so.
func (g *guards) begunAnew() { g.Fallback, g.Primary, g.Invalid = 0, nil, 0 }

// misfit counts an answer that does not fit the response format.
func (g *guards) misfit() int {
	g.Invalid++
	return g.Invalid
}

// failOver lets the next model take over that is set to do so for an error. The step
// is over and stays as it is. It answers false where none takes over.
func (g *guards) failOver(t *stepRun, err *domain.Error) bool {
	failure, ok := domain.FailureOf(err)
	if !ok || t.noMore() {
		return false
	}
	fallbacks := t.config.Resolved.Definition.Fallbacks
	left := fallbacks[min(g.Fallback, len(fallbacks)):]
	i := slices.IndexFunc(left, func(f domain.Fallback) bool { return f.Takes(failure) })
	if i < 0 {
		return false
	}
	g.Primary = cmp.Or(g.Primary, new(t.agent.state.LLMConfig))
	g.Fallback += i + 1
	t.agent.useModel(left[i].Model)
	t.repeatFor(byAnotherModel)
	return true
}

// check is what the guards say after a step, when the hooks have spoken.
func (g *guards) check(t *stepRun) {
	after, stops, nudges := t.config.guards().Judge(g.Guarded, domain.GuardedStep{
		AgentStep: t.content.AgentStep, Unread: t.repeat == inItsCalls, Misfit: t.repeat == inTheFormat,
	})
	g.Guarded = after
	for _, nudge := range nudges {
		t.interject("", domain.UserMessage(nudge))
	}
	for _, stop := range stops {
		t.agent.Signal(stop)
	}
	// Last: it asks to go on only where nothing asks to stop.
	if _, signalled := t.agent.state.StopSignal(); t.repeat != unrepeated && !signalled {
		t.agent.requestContinuation()
	}
}

// withholdToolsAtTheEnd withholds the tools at the last step that max_steps allows, where
// the agent wants that, and tells the model to answer.
func (t *stepRun) withholdToolsAtTheEnd() {
	if !t.config.guards().FinalAnswer || len(t.config.Resolved.Tools) == 0 {
		return
	}
	if limit := t.session.budget.ledger().Budget().MaxSteps; limit == nil || t.agent.Spent().Steps < *limit {
		return
	}
	t.request.WithoutTools = true
	t.interject("", domain.UserMessage("This is the last step that the budget allows, so no tools are available any more. Answer now with what you have."))
}
