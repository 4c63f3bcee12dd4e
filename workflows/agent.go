package workflows

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// An agent is the state of the agent, with what tells others of its changes: the events of one execution that happened in this
// run, which are made again by replay and cost no history, and what it does now. It alone changes the state.
type agent struct {
	// root outlives a cancellation of the workflow, which is taken as a stop.
	root  workflow.Context
	state domain.AgentState
	// window is of the completed steps, and cut counts those of it that an earlier
	// run has handed on: it has them whole.
	window domain.StepWindow
	cut    int
	// listen gets each event as it happens, except on replay.
	listen func(domain.Event)
	events []domain.Event
	// last is the number of the newest event, also one of an earlier run.
	last int64
	// announced counts the state's stop signals that have had their event.
	announced int
	// step is the one that events belong to, the zero one none.
	step   domain.StepID
	number int
	// doing says what the session does now, for whoever asks.
	doing string
	since time.Time
	// lacking says which worker lacks what, while another one is waited for.
	lacking string
	// failure says why the newest inference failed that has ended; nil: the model answered it.
	failure *domain.Error
}

// create is for an agent that has done nothing yet, of which all is checked.
func (a *agent) create(in *contract.SessionInput) {
	parent := cmp.Or(in.Parent, &contract.Parent{}).AgentID
	a.state = domain.NewAgentState(in.AgentID, parent, a.now(), in.Definition.Model)
	a.instruct(in.Definition)
	if in.Options != nil {
		a.state = must(a.state.WithTrusted(in.Options.Trusted, a.now()))
	}
}

// resume takes over what an earlier run has handed on. Of its completed steps that run has all but the last whole: cut counts those
// that are here.
func (a *agent) resume(carry contract.Carry) error {
	state, err := domain.DecodeAgentState(carry.State)
	if err != nil {
		return err
	}
	a.state, a.cut = state, max(state.StepCount()-int(state.Execution.Folded.Steps)-1, 0)
	a.last, a.announced = carry.Sequence, len(state.StopSignals())
	return nil
}

// fork takes over the state of an agent that has done nothing yet but has an origin in another one.
func (a *agent) fork(in *contract.SessionInput, carry contract.Carry) (err error) {
	if err = a.resume(carry); err != nil {
		return err
	}
	origin := a.state.Origin
	if origin == nil || !a.state.Execution.IsZero() || a.state.SessionAccount != nil || a.state.ExecutionCount > 0 || a.state.AgentID != in.AgentID || origin.ExecutionID != in.Fork.Origin.ExecutionID {
		return domain.Invalidf("fork: the state is none of a new agent that goes on from %s; fork with a client of Everstep", in.Fork.Origin.ExecutionID)
	}
	if in.Options != nil {
		a.state, err = a.state.WithTrusted(in.Options.Trusted, a.now())
	}
	return err
}

func (a *agent) State() domain.AgentState { return a.state }

// rewound is the step from which the next execution goes on, where a rewind has left the session so.
func (a *agent) rewound() *domain.Origin {
	if a.state.HasActiveExecution() {
		return nil
	}
	return a.state.Origin
}

// rewindTarget is the step from which the next execution goes on, after a rewind or at the begin of a fork, without the
// chain of what that step's execution went on from. Nil while an execution is in progress, and where nothing was rewound.
func (a *agent) rewindTarget() *domain.Origin {
	if origin := a.rewound(); origin != nil {
		return origin.Branch()
	}
	return nil
}

// enterExecution makes an execution the one in progress, whose events are counted anew. One that goes on has the
// newest as its origin, and of its budget that much is spent already.
func (a *agent) enterExecution(id domain.ExecutionID, budget domain.ExecutionBudget, goesOn bool, prior domain.Spent, given *domain.StartOptions) {
	if goesOn {
		a.state = must(a.state.WithOriginHere(a.now()))
	}
	a.state = must(a.state.BeginExecution(id, budget, a.now())).WithCounts(domain.ExecutionCounts{Prior: prior}, a.now())
	a.state = must(a.state.WithNotesOf(given, a.now()))
	a.cut, a.events, a.last, a.announced = 0, nil, 0, 0
}

// whole is the state without the steps that an earlier run can tell whole.
func (a *agent) whole() domain.AgentState {
	return a.state.WithStepsFolded(a.state.StepCount() - int(a.state.Execution.Folded.Steps) - a.cut)
}

// shown is the state as hooks get it, with a window of the completed steps that is the same in every run.
func (a *agent) shown() domain.AgentState {
	a.window = a.window.Of(a.state)
	return a.window.In(a.state)
}

// instruct has the model told what a definition says, which was checked, from an execution's beginning on.
func (a *agent) instruct(d domain.Definition) {
	a.state = a.state.WithSystemPrompt(d.SystemPrompt, a.now())
	a.state = must(a.state.WithResponseFormat(d.Format, a.now()))
}

func (a *agent) useModel(model domain.LLMConfig) { a.state = a.state.WithLLMConfig(model, a.now()) }

func (a *agent) extend(budget domain.ExecutionBudget) {
	a.state = must(a.state.WithBudget(budget, a.now()))
}

// budget is the execution's; the zero one sets no limit.
func (a *agent) budget() domain.ExecutionBudget {
	budget, _ := a.state.Budget()
	return budget
}

// Spent is what counts against the execution's totals until now.
func (a *agent) Spent() domain.Spent { return a.state.Spent(a.now()) }

func (a *agent) Wait(on bool) { a.state = a.state.WithWaiting(on, a.now()) }

// resolvedIn notes that the execution's events have an answer, and whether its model was told.
func (a *agent) resolvedIn(call domain.ToolExecutionID, told bool) {
	a.state = a.state.WithResolutionIn(call, a.state.Execution.ID, told, a.now())
}

func (a *agent) counted(calls int64) { a.state = a.state.WithToolCalls(calls, a.now()) }

// Signal adds a signal to stop, and emits one event of it. The state keeps the first hundred that people sent and only counts
// the others: announce does not see those.
func (a *agent) Signal(signal domain.StopSignal) {
	counted := a.state.Continuation().More
	a.state = must(a.state.WithStopSignal(signal, a.now()))
	a.announce()
	if a.state.Continuation().More > counted {
		a.emitStop(signal)
	}
}

func (a *agent) signal(reason domain.StopReason, source, message string) {
	a.Signal(domain.StopSignal{Reason: reason, Source: source, Message: message})
}

func (a *agent) requestContinuation() { a.state = must(a.state.WithContinuationRequested(a.now())) }

// fail ends the execution with an error of its own.
func (a *agent) fail(err *domain.Error) {
	a.state = must(a.state.WithExecutionError(err, a.now()))
	a.announce()
}

// adopt takes a state that was made of this one.
func (a *agent) adopt(made domain.AgentState) { a.state = made }

// checkBetweenSteps reports whether the next step may begin, which only a signal forbids, or the lack of an execution. It
// uses up a request to go on, and a stop is told as an event: a second call may say otherwise than the first.
func (a *agent) checkBetweenSteps() bool {
	state, stop := a.state.EvaluateBetween(a.now())
	a.takeEvaluated(state, stop, stop)
	return !stop
}

// concludeStep evaluates the step that just ended, tells the result as an event, and reports whether the step is the last.
func (a *agent) concludeStep() bool {
	state, stop := a.state.Evaluate(a.now())
	a.takeEvaluated(state, stop, true)
	a.step, a.number = domain.StepID{}, 0
	return stop
}

// takeEvaluated takes over the state after an evaluation, and tells the result as an event where it is to be told: with how many
// stop signals a request to go on has overridden.
func (a *agent) takeEvaluated(state domain.AgentState, stops, told bool) {
	overridden := len(a.state.StopSignals()) - len(state.StopSignals())
	a.state = state
	a.announced = len(state.StopSignals())
	if reason, _ := state.StopReason(); told {
		a.emit(domain.EventContinuationEvaluated, domain.ContinuationEvaluated{Stops: stops, Reason: reason, Overridden: overridden})
	}
}

func (a *agent) startStep(id domain.StepID, number int) {
	a.state = must(a.state.WithStepStarted(id, a.now()))
	a.step, a.number = id, number
	a.emit(domain.EventStepStarted, nil)
}

// keep has the state hold the step, and with it the messages that a log has.
func (a *agent) keep(step *domain.AgentStep, log domain.Log) {
	a.state = must(a.state.WithCurrentStepIn(log, *step, a.now()))
}

// completeStep is told the step as it was kept.
func (a *agent) completeStep(step *domain.AgentStep) {
	began, _ := a.state.CurrentStepStartedAt()
	a.state = must(a.state.WithCurrentStepCompleted(a.now()))
	finish, _ := step.FinishReason()
	a.emit(domain.EventStepCompleted, domain.AgentStepCompleted{
		StepType: step.Type(), Usage: step.Usage, CostNanoUSD: step.CostNanoUSD, FinishReason: finish,
		Milliseconds: a.now().Sub(began).Milliseconds(), ToolCalls: len(step.ToolExecutions), Errors: len(step.AllErrors()),
	})
	a.emit(domain.EventTokenUsageReported, domain.TokenUsageReported{
		Usage: a.state.Usage(), CostNanoUSD: a.state.CostNanoUSD(), StepUsage: step.Usage, StepCostNanoUSD: step.CostNanoUSD,
	})
}

// complete gives the execution its terminal status. Signals that came after so
// many were too late to change it.
func (a *agent) complete(counted int) {
	a.state = a.state.WithLateSignals(counted, a.now())
	a.state = must(a.state.WithExecutionCompleted(a.now()))
}

// must unwraps a change that the loop's own order makes possible, or what was decoded and so can be encoded. An error is a fault
// of the loop: the panic keeps the execution as it is until a mended worker comes.
func must[T any](made T, err error) T {
	if err != nil {
		panic(err)
	}
	return made
}
