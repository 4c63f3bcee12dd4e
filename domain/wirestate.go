package domain

import "errors"

// This file turns states into their wire structs and back.

func (s AgentState) wire() stateWire {
	w := stateWire{
		SchemaVersion: SchemaVersion, AgentID: s.id, ParentAgentID: s.parent,
		CreatedAt: s.createdAt, UpdatedAt: s.updatedAt, ExecutionCount: s.executionCount,
		LLMConfig: s.config, Context: s.context.wire(), Origin: s.origin,
	}
	if s.execution != nil {
		w.Execution = new(s.execution.wire())
	}
	return w
}

func stateOf(w stateWire) (AgentState, error) {
	switch {
	case w.SchemaVersion < 1:
		return AgentState{}, in("schema_version", errors.New("is missing; this is no saved state"))
	case w.SchemaVersion > SchemaVersion:
		return AgentState{}, in("schema_version", Errorf(Invalid, "is %d, and this version reads up to %d; use a newer one", w.SchemaVersion, SchemaVersion))
	case w.ExecutionCount < 0:
		return AgentState{}, in("execution_count", Errorf(Invalid, "is %d; it may not be negative", w.ExecutionCount))
	}
	context, err := contextOf(w.Context)
	if err != nil {
		return AgentState{}, in("context", err)
	}
	s := AgentState{
		id: w.AgentID, parent: w.ParentAgentID, createdAt: utc(w.CreatedAt), updatedAt: utc(w.UpdatedAt),
		executionCount: w.ExecutionCount, config: w.LLMConfig.kept(), context: context, origin: w.Origin,
	}
	if w.Execution != nil {
		execution, err := executionOfWire(*w.Execution)
		if err != nil {
			return AgentState{}, in("execution", err)
		}
		s.execution = &execution
	}
	return s, nil
}

func (c AgentContext) wire() contextWire {
	return contextWire{
		MessageStore: c.store.wire(), Metadata: c.metadata, SystemPrompt: c.systemPrompt, ResponseFormat: c.format,
	}
}

func contextOf(w contextWire) (AgentContext, error) {
	store, err := storeOf(w.MessageStore)
	if err != nil {
		return AgentContext{}, in("message_store", err)
	}
	metadata, err := w.Metadata.kept()
	if err != nil {
		return AgentContext{}, in("metadata", err)
	}
	c := AgentContext{store: store, systemPrompt: w.SystemPrompt, metadata: metadata}
	return c.WithResponseFormat(w.ResponseFormat)
}

func (s MessageStore) wire() storeWire {
	w := storeWire{Sections: make([]sectionWire, len(s.sections))}
	for i, section := range s.sections {
		w.Sections[i] = sectionWire{Name: section.name, Messages: orEmpty(section.messages)}
	}
	return w
}

func storeOf(w storeWire) (MessageStore, error) {
	var s MessageStore
	for i, section := range w.Sections {
		if section.Name == "" {
			return MessageStore{}, inItem("sections", i, in("name", errors.New("is empty; each section has a name")))
		}
		if s.index(section.Name) >= 0 {
			return MessageStore{}, inItem("sections", i, in("name", Errorf(Invalid, "%q comes twice; each section has its own", section.Name)))
		}
		with, err := s.With(section.Name, section.Messages...)
		if err != nil {
			return MessageStore{}, inItem("sections", i, err)
		}
		s = with
	}
	return s, nil
}

func (e ExecutionState) wire() executionWire {
	w := executionWire{
		ExecutionID: e.id, Status: e.status, StartedAt: e.startedAt, CompletedAt: e.completedAt,
		Origin: e.origin, Budget: e.budget, Folded: e.folded,
		ToolCalls: e.counts.ToolCalls, Waited: e.counts.Waited, WaitingSince: e.counts.WaitingSince, Prior: e.counts.Prior,
		CurrentStepStartedAt: e.currentSince, Continuation: e.continuation, Error: e.executionErr,
	}
	for _, step := range e.steps {
		w.StepExecutions = append(w.StepExecutions, step.wire())
	}
	if e.current != nil {
		w.CurrentStep = new(e.current.wire())
	}
	return w
}

func executionOfWire(w executionWire) (ExecutionState, error) {
	if err := w.check(); err != nil {
		return ExecutionState{}, err
	}
	continuation, err := w.Continuation.kept()
	if err != nil {
		return ExecutionState{}, in("continuation", err)
	}
	e := ExecutionState{
		id: w.ExecutionID, origin: w.Origin, status: w.Status,
		startedAt: utc(w.StartedAt), completedAt: utc(w.CompletedAt), budget: w.Budget.clone(), folded: w.Folded,
		currentSince: utc(w.CurrentStepStartedAt), continuation: continuation,
		counts: ExecutionCounts{w.ToolCalls, w.Waited, utc(w.WaitingSince), w.Prior},
	}
	e.folded.Errors = keptErrors(e.folded.Errors)
	if w.Error != nil {
		e.executionErr = new(w.Error.kept())
	}
	for i, step := range w.StepExecutions {
		completed, err := stepExecutionOf(step)
		if err != nil {
			return ExecutionState{}, inItem("step_executions", i, err)
		}
		e.steps = append(e.steps, &completed)
	}
	if w.CurrentStep != nil {
		current, err := stepOf(*w.CurrentStep)
		if err != nil {
			return ExecutionState{}, in("current_step", err)
		}
		e.current = &current
	}
	return e, nil
}

// check refuses what no execution can be, so that nothing later has to ask.
func (w executionWire) check() error {
	if w.ExecutionID.IsZero() {
		return in("execution_id", errors.New("is missing"))
	}
	if w.Status == "" || w.Status == StatusPending {
		return in("status", errors.New("an execution that exists is in progress or has ended, never pending"))
	}
	if err := w.Budget.Check(); err != nil {
		return in("budget", err)
	}
	if w.ToolCalls < 0 || w.Waited < 0 {
		return in("tool_calls, waited", errors.New("may not be negative"))
	}
	if w.Folded.Steps < 0 || w.Folded.ErrorCount < 0 {
		return in("folded", errors.New("counts may not be negative"))
	}
	for i, step := range w.StepExecutions {
		if want := w.Folded.Steps + i + 1; step.Number != want {
			return inItem("step_executions", i, in("number", Errorf(Invalid, "is %d; steps follow on, so it has to be %d", step.Number, want)))
		}
	}
	if w.CurrentStep == nil {
		if !w.CurrentStepStartedAt.IsZero() {
			return in("current_step_started_at", errors.New("is given, and there is no current_step"))
		}
		return nil
	}
	if w.Status.Terminal() {
		return in("current_step", Errorf(Invalid, "is in progress in an execution that is %s", w.Status))
	}
	if want := w.Folded.Steps + len(w.StepExecutions) + 1; w.CurrentStep.Number != want {
		return in("current_step", in("number", Errorf(Invalid, "is %d; steps follow on, so it has to be %d", w.CurrentStep.Number, want)))
	}
	return nil
}

func (s StepExecution) wire() stepWire {
	w := s.Step.wire()
	w.StartedAt, w.CompletedAt, w.Continuation = s.StartedAt, s.CompletedAt, s.Continuation
	return w
}

func stepExecutionOf(w stepWire) (StepExecution, error) {
	step, err := stepOf(w)
	if err != nil {
		return StepExecution{}, err
	}
	continuation, err := w.Continuation.kept()
	if err != nil {
		return StepExecution{}, in("continuation", err)
	}
	return StepExecution{
		Step: step, StartedAt: utc(w.StartedAt), CompletedAt: utc(w.CompletedAt), Continuation: continuation,
	}, nil
}

func (s AgentStep) wire() stepWire {
	finish, _ := s.FinishReason()
	return stepWire{
		Number: s.Number, StepID: s.ID, Type: s.Type(), FinishReason: finish, Model: s.Model, Usage: s.Usage,
		CostNanoUSD: s.CostNanoUSD, Tries: s.Tries, Lost: s.Lost, LostNanoUSD: s.LostNanoUSD, Interrupted: s.Interrupted, ToolExecutions: orEmpty(s.ToolExecutions), Errors: orEmpty(s.Errors),
		Input: s.Input, Output: s.Output, Response: s.Response,
	}
}

func stepOf(w stepWire) (AgentStep, error) {
	if w.Number < 1 {
		return AgentStep{}, in("number", Errorf(Invalid, "is %d; steps count from 1", w.Number))
	}
	return AgentStep{
		ID: w.StepID, Number: w.Number, Model: w.Model, Input: w.Input, Output: w.Output, Response: w.Response,
		ToolExecutions: w.ToolExecutions, Errors: w.Errors, Usage: w.Usage, Interrupted: w.Interrupted,
		CostNanoUSD: w.CostNanoUSD, Tries: w.Tries, Lost: w.Lost, LostNanoUSD: w.LostNanoUSD,
	}.kept()
}

// orEmpty makes an absent list an empty one: readers find [] and never null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
