package domain

import (
	"cmp"
	"everstep/domain/enum"
	"slices"
	"time"
)

// BeginExecution returns the state with a new execution in progress, which takes the user messages that
// waited. What an earlier one left is dropped, but for the trusted values of one from whose end it goes on. It fails
// where one is in progress or the input makes no sense.
func (s AgentState) BeginExecution(id ExecutionID, budget ExecutionBudget, now time.Time) (AgentState, error) {
	if s.HasActiveExecution() {
		return s, Deniedf("execution: %s is in progress; wait for its end or stop it", s.Execution.ID)
	}
	if id.IsZero() {
		return s, Invalidf("execution_id: is missing; derive it from the agent's")
	}
	if err := budget.Check(); err != nil {
		return s, err
	}
	budget, _ = keep(budget) // it holds no JSON
	var trusted Trusted
	if before := s.Execution; s.Origin != nil && s.Origin.Branch() == nil && s.Origin.ExecutionID == before.ID {
		trusted = before.Trusted
	}
	s.Execution = ExecutionState{
		ID: id, Origin: s.Origin, Status: StatusInProgress, StartedAt: now, Budget: budget, Trusted: trusted,
	}
	s.Origin, s.UnknownOutcomes = nil, withoutTold(s.UnknownOutcomes)
	s.ExecutionCount++
	s.MessageStore = s.MessageStore.taken(id)
	return s.updated(now), nil
}

// WithExecutionError returns the state with an error of the execution itself, such as a hook's, and its
// signal. The first such error is kept; later ones are in their signals.
func (s AgentState) WithExecutionError(err *Error, now time.Time) (AgentState, error) {
	s, failed := s.WithStopSignal(SignalOf(err), now)
	if failed != nil {
		return s, failed
	}
	if s.Execution.Error == nil {
		s.Execution.Error = new(err.kept())
	}
	return s, nil
}

// WithErrorOf returns the state with a signal of reason error as the execution's own error, unless it has one.
func (s AgentState) WithErrorOf(signal StopSignal, now time.Time) AgentState {
	if s.Execution.IsZero() || s.Execution.Error != nil || signal.Reason != ErrorForbade {
		return s
	}
	s.Execution.Error = &Error{Kind: Denied, Message: signal.Message, Source: signal.Source}
	return s.updated(now)
}

// WithExecutionCompleted returns the state with the execution ended: failed by an error, stopped by a
// forced signal, else completed. A step in progress is kept as one that was interrupted.
func (s AgentState) WithExecutionCompleted(now time.Time) (AgentState, error) {
	if err := s.active("completing the execution"); err != nil {
		return s, err
	}
	if step := s.Execution.CurrentStep; step != nil {
		s.Execution.CurrentStep = new(step.interrupted())
		s = s.completedStep(now)
	}
	if account := s.SessionAccount; account != nil {
		s.SessionAccount = &Holder{account.Budget, account.Spent.Add(s.ownSpent())}
	}
	e := &s.Execution
	e.Status, e.CompletedAt = e.terminal(), now
	if len(e.Continuation.StopSignals) == 0 {
		e.Continuation.StopSignals = []StopSignal{Done()}
	}
	return s.updated(now), nil
}

// ForNextExecution returns the state without its ended execution. It fails where one is in progress.
func (s AgentState) ForNextExecution(now time.Time) (AgentState, error) {
	if s.HasActiveExecution() {
		return s, Deniedf("execution: %s is in progress; wait for its end or stop it", s.Execution.ID)
	}
	s.Execution = ExecutionState{}
	return s.updated(now), nil
}

// WithOriginHere returns the state such that the next execution goes on from the one that has ended.
func (s AgentState) WithOriginHere(now time.Time) (AgentState, error) {
	if !s.Status().Terminal() {
		return s, Deniedf("origin: no execution has ended (status %s); there is nothing to go on from", s.Status())
	}
	s.Origin = &Origin{ExecutionID: s.Execution.ID, Step: s.StepCount(), Origin: s.Execution.Origin}
	return s.updated(now), nil
}

// WithOrigin returns the state such that the next execution goes on from a step, by a rewind; nil takes that back. It
// fails where an execution is in progress, and where the step is another agent's.
func (s AgentState) WithOrigin(origin *Origin, now time.Time) (AgentState, error) {
	if s.HasActiveExecution() {
		return s, Deniedf("execution: %s is in progress; wait for its end or stop it", s.Execution.ID)
	}
	if origin != nil && origin.AgentID != s.AgentID {
		return s, Invalidf("origin: is a step of agent %s and not of this one; fork that", origin.AgentID)
	}
	s.Origin = origin
	return s.updated(now), nil
}

// WithBudget returns the state with other totals for the execution in progress.
func (s AgentState) WithBudget(b ExecutionBudget, now time.Time) (AgentState, error) {
	if err := cmp.Or(s.active("changing the budget"), b.Check()); err != nil {
		return s, err
	}
	s.Execution.Budget, _ = keep(b)
	return s.updated(now), nil
}

// WithStepsFolded returns the state without its completed steps, all but the newest, whose totals
// and UpdatedAt stay. Fold after Evaluate: it looks at the last step.
func (s AgentState) WithStepsFolded(keep int) AgentState {
	steps, folded := s.Execution.Steps, s.Execution.Folded
	first := max(len(steps)-keep, 0)
	for _, step := range steps[:first] {
		folded = folded.with(step.Step)
	}
	s.Execution = s.Execution.holding(folded, slices.Clone(nilIfEmpty(steps[first:])))
	return s
}

// WithStepsUnfolded returns the state with the steps that were folded, all of them in their order, in place
// of their totals.
func (s AgentState) WithStepsUnfolded(folded []StepExecution) AgentState {
	var steps []*StepExecution
	for _, step := range folded {
		steps = append(steps, &step)
	}
	s.Execution = s.Execution.holding(Folded{}, append(steps, s.Execution.Steps...))
	return s
}

// HasActiveExecution reports whether an execution is in progress.
func (s AgentState) HasActiveExecution() bool { return s.Status() == StatusInProgress }

// Status is that of the execution in progress or, once it is over, of the one that ended last. Pending: the state holds
// none, as before the first.
func (s AgentState) Status() ExecutionStatus { return cmp.Or(s.Execution.Status, StatusPending) }

// Chain lists the execution and those it goes on from, the newest first, for Compile. It is empty between executions.
func (s AgentState) Chain() []ExecutionID {
	if s.Execution.IsZero() {
		return nil
	}
	return s.Execution.Origin.chain(s.Execution.ID)
}

// Budget is the execution's, where there is one.
func (s AgentState) Budget() (ExecutionBudget, bool) {
	return s.Execution.Budget, !s.Execution.IsZero()
}

// ExecutionStartedAt is when the execution began, where there is one.
func (s AgentState) ExecutionStartedAt() (time.Time, bool) {
	return s.Execution.StartedAt, !s.Execution.IsZero()
}

// ExecutionDuration is how long the execution took until now or its end; zero between executions.
func (s AgentState) ExecutionDuration(now time.Time) time.Duration {
	switch e := s.Execution; {
	case e.IsZero():
		return 0
	case e.Status.Terminal():
		return e.CompletedAt.Sub(e.StartedAt)
	}
	return now.Sub(s.Execution.StartedAt)
}

// Usage is the sum over all steps of the execution, the one in progress and folded ones included.
func (s AgentState) Usage() Usage { return s.Execution.total().Usage }

// CostNanoUSD is what they cost; zero where the model has no price.
func (s AgentState) CostNanoUSD() int64 { return s.Execution.total().CostNanoUSD }

// Errors lists each error in memory once: those of the execution's steps, in order, then its own.
func (s AgentState) Errors() []Error {
	all := slices.Clone(s.Execution.Folded.Errors)
	for step := range s.Execution.steps {
		all = append(all, step.AllErrors()...)
	}
	if err := s.Execution.Error; err != nil && !slices.Contains(all, *err) {
		all = append(all, *err)
	}
	return all
}

// HasErrors reports whether anything in the execution failed, in folded steps too.
func (s AgentState) HasErrors() bool { return s.Execution.Folded.ErrorCount > 0 || len(s.Errors()) > 0 }

// An ExecutionStatus says how far an execution is: it moves from pending to in_progress to one of the others.
type ExecutionStatus string

const (
	// StatusPending: there is no execution. One that exists is never pending.
	StatusPending ExecutionStatus = "pending"
	// StatusInProgress: the execution has begun and not ended.
	StatusInProgress ExecutionStatus = "in_progress"
	// StatusCompleted: it ended by itself.
	StatusCompleted ExecutionStatus = "completed"
	// StatusStopped: a limit, a hook, a tool or a person ended it.
	StatusStopped ExecutionStatus = "stopped"
	// StatusFailed: an unrecoverable error ended it.
	StatusFailed ExecutionStatus = "failed"
)

// Terminal reports whether the execution has ended.
func (s ExecutionStatus) Terminal() bool {
	return s == StatusCompleted || s == StatusStopped || s == StatusFailed
}

// UnmarshalText accepts the known statuses only, in the order of life.
func (s *ExecutionStatus) UnmarshalText(text []byte) error {
	return enum.Decode(s, text, "status", StatusPending, StatusInProgress, StatusCompleted, StatusStopped, StatusFailed)
}
