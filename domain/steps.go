package domain

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// WithStepStarted returns the state with the next step in progress. It fails where one is, or no execution is.
func (s AgentState) WithStepStarted(id StepID, now time.Time) (AgentState, error) {
	if err := s.active("beginning a step"); err != nil {
		return s, err
	}
	if id.IsZero() {
		return s, Invalidf("step_id: is missing; derive it from the execution's")
	}
	if c := s.Execution.CurrentStep; c != nil {
		return s, Deniedf("step: step %d is in progress; complete it first", c.Number)
	}
	s.Execution.CurrentStep = &AgentStep{ID: id, Number: s.StepCount() + 1, ToolExecutions: []ToolExecution{}, Errors: []Error{}}
	s.Execution.CurrentStepStartedAt = now
	return s.updated(now), nil
}

// WithCurrentStep returns the state with other content for the step in progress.
// Its id and number stay: left zero they are filled in, others are refused.
func (s AgentState) WithCurrentStep(step AgentStep, now time.Time) (AgentState, error) {
	return s.WithCurrentStepIn(Log{}, step, now)
}

// WithCurrentStepIn is WithCurrentStep for a step whose messages stand in a log, which nobody
// changes: those that do are shared with it and not copied.
func (s AgentState) WithCurrentStepIn(log Log, step AgentStep, now time.Time) (AgentState, error) {
	current, err := s.inStep("changing the step")
	if err != nil {
		return s, err
	}
	if !step.ID.IsZero() && step.ID != current.ID {
		return s, Invalidf("step_id: is %s; the step in progress is %s", step.ID, current.ID)
	}
	if step.Number != 0 && step.Number != current.Number {
		return s, Invalidf("number: is %d; the step in progress is %d", step.Number, current.Number)
	}
	kept, err := step.keptAfter(current, log)
	if err != nil {
		return s, invalid(err)
	}
	kept.ID, kept.Number = current.ID, current.Number
	s.Execution.CurrentStep = &kept
	return s.updated(now), nil
}

// WithCurrentStepCompleted returns the state with the step in progress among the completed ones. Its
// messages join the context in an act of their own.
func (s AgentState) WithCurrentStepCompleted(now time.Time) (AgentState, error) {
	if _, err := s.inStep("completing the step"); err != nil {
		return s, err
	}
	return s.completedStep(now), nil
}

func (s AgentState) completedStep(now time.Time) AgentState {
	e := &s.Execution
	step := NewStepExecution(*e.CurrentStep, e.CurrentStepStartedAt, now, e.Continuation)
	e.Steps, e.completed = plus(e.Steps, &step), e.completed.plus(&step.Step)
	e.CurrentStep, e.CurrentStepStartedAt = nil, time.Time{}
	return s.updated(now)
}

func (s AgentState) inStep(doing string) (none AgentStep, _ error) {
	if err := s.active(doing); err != nil {
		return none, err
	}
	if s.Execution.CurrentStep == nil {
		return none, Deniedf("%s: no step is in progress; begin one first", doing)
	}
	return *s.Execution.CurrentStep, nil
}

// StepCount is the number of completed steps of the execution.
func (s AgentState) StepCount() int { return s.Execution.StepCount() }

// TransientStepCount is StepCount and the step in progress.
func (s AgentState) TransientStepCount() int {
	if s.Execution.CurrentStep == nil {
		return s.StepCount()
	}
	return s.StepCount() + 1
}

// StepExecutions are a copy of the completed steps in memory.
func (s AgentState) StepExecutions() []StepExecution {
	var steps []StepExecution
	for _, step := range s.Execution.Steps {
		steps = append(steps, Clone(*step))
	}
	return steps
}

// Steps are copies of the completed steps in memory, without their times: not the one in progress, which is CurrentStep, nor
// those that were folded, of which Execution.Folded and ToolCounts tell. Hooks get the newest of them.
func (s AgentState) Steps() []AgentStep {
	var steps []AgentStep
	for _, step := range s.StepExecutions() {
		steps = append(steps, step.Step)
	}
	return steps
}

// CurrentStep returns a copy of the step in progress, where there is one.
func (s AgentState) CurrentStep() (AgentStep, bool) {
	if s.Execution.CurrentStep == nil {
		return AgentStep{}, false
	}
	return Clone(*s.Execution.CurrentStep), true
}

// CurrentStepStartedAt is when the step in progress began, where there is one.
func (s AgentState) CurrentStepStartedAt() (time.Time, bool) {
	return s.Execution.CurrentStepStartedAt, s.Execution.CurrentStep != nil
}

// LastStepExecution returns the completed step with the highest number, where it is in memory.
func (s AgentState) LastStepExecution() (StepExecution, bool) {
	steps := s.Execution.Steps
	if len(steps) == 0 {
		return StepExecution{}, false
	}
	return Clone(*steps[len(steps)-1]), true
}

// LastStep is the last completed step, without its times.
func (s AgentState) LastStep() (AgentStep, bool) {
	last, ok := s.LastStepExecution()
	return last.Step, ok
}

// CurrentStepOrLast returns the step in progress, else the last completed one.
func (s AgentState) CurrentStepOrLast() (AgentStep, bool) {
	if current, ok := s.CurrentStep(); ok {
		return current, true
	}
	return s.LastStep()
}

// LastStepType is the last completed step's type.
func (s AgentState) LastStepType() (StepType, bool) {
	last, ok := s.LastStepExecution()
	return last.Type, ok
}

// LastStepUsage is the last completed step's usage.
func (s AgentState) LastStepUsage() (Usage, bool) {
	last, ok := s.LastStep()
	return last.Usage, ok
}

// LastStepDuration is how long the last completed step took.
func (s AgentState) LastStepDuration() (time.Duration, bool) {
	last, ok := s.LastStepExecution()
	return last.Duration(), ok
}

// LastStepErrors are the last completed step's errors, those of its tool calls included.
func (s AgentState) LastStepErrors() []Error {
	last, _ := s.LastStep()
	return last.AllErrors()
}

// LastStepToolExecutions are the tool calls of the last completed step.
func (s AgentState) LastStepToolExecutions() []ToolExecution {
	last, _ := s.LastStep()
	return last.ToolExecutions
}

// LastToolExecution is the last tool call of the last step that has one, be it in progress.
func (s AgentState) LastToolExecution() (last ToolExecution, ok bool) {
	for step := range s.Execution.steps {
		if n := len(step.ToolExecutions); n > 0 {
			last, ok = Clone(step.ToolExecutions[n-1]), true
		}
	}
	return last, ok
}

// MaxCount is more than the steps of any execution, its messages, or the executions of any agent: a larger count is refused.
const MaxCount = math.MaxInt32

// MaxFoldedErrors is how many errors of folded steps are kept.
const MaxFoldedErrors = 20

// A Folded holds the totals of completed steps that have left memory; StepCount, Usage and HasErrors
// go on counting them.
type Folded struct {
	// Spent is without tokens, of which Usage tells, and without tool calls, of which ExecutionCounts do.
	Spent
	// ChildSteps are those of sub-agents, which count against max_steps beside the execution's own.
	ChildSteps int64 `json:"child_steps,omitzero"`
	Usage      Usage `json:"usage,omitzero"`
	// ErrorCount counts all their errors; Errors are the newest of them.
	ErrorCount int     `json:"error_count,omitzero"`
	Errors     []Error `json:"errors,omitempty"`
	// Tools counts the calls that were run, by the tool's name.
	Tools map[string]ToolCount `json:"tools,omitempty"`
	EffectCounts
	// SaidLast is the newest text of the model in them, in part where it is long.
	SaidLast string `json:"said_last,omitzero"`
}

// A ToolCount says how often a tool was run, or may have been, and how often of these it came to no result.
type ToolCount struct {
	Ran    int `json:"ran"`
	Failed int `json:"failed,omitzero"`
}

func (f Folded) with(step AgentStep) Folded {
	f = f.plus(&step)
	if all := step.AllErrors(); len(all) > 0 {
		f.ErrorCount += len(all)
		f.Errors = plus(f.Errors, all...)
		f.Errors = slices.Clone(f.Errors[max(0, len(f.Errors)-MaxFoldedErrors):])
	}
	f.Tools = step.counted(maps.Clone(f.Tools))
	f.EffectCounts = f.Merged(step.Effects())
	if text := step.Text(); strings.TrimSpace(text) != "" {
		f.SaidLast = HeadAndTail(text, MaxSaidLast)
	}
	return f
}

// counted adds the step's calls to those of others.
func (s AgentStep) counted(counts map[string]ToolCount) map[string]ToolCount {
	for _, t := range s.ToolExecutions {
		if outcome := t.Outcome(); outcome.Ran() {
			if counts == nil {
				counts = map[string]ToolCount{}
			}
			count := counts[t.Name()]
			count.Ran++
			if outcome != ToolOK && outcome != ToolRunning {
				count.Failed++
			}
			counts[t.Name()] = count
		}
	}
	return counts
}

// ToolCounts counts the calls of the execution that were run, or may have been, by the tool's name: in any run
// those of all its steps, the one in progress and folded ones included.
func (s AgentState) ToolCounts() map[string]ToolCount {
	counts := maps.Clone(s.Execution.Folded.Tools)
	for step := range s.Execution.steps {
		counts = step.counted(counts)
	}
	return counts
}

// plus is with, errors aside.
func (f Folded) plus(step *AgentStep) Folded {
	own := step.Spent()
	own.Steps = 1
	f.Spent, f.Usage, f.ChildSteps = f.Add(own), f.Usage.Add(step.Usage), AddCost(f.ChildSteps, step.Children.Steps)
	f.Tokens, f.ToolCalls = 0, 0
	return f
}

// candidate is where the answer is: the step in progress once the model has answered, else the last.
func (s AgentState) candidate() (AgentStep, bool) {
	if c, ok := s.CurrentStep(); ok && c.Response != nil {
		return c, true
	}
	return s.LastStep()
}

// HasFinalResponse reports whether the newest step is a final response with a text that is not blank.
func (s AgentState) HasFinalResponse() bool {
	_, ok := s.FinalResponse()
	return ok
}

// FinalResponse returns the messages of the answer, where there is one.
func (s AgentState) FinalResponse() ([]Message, bool) {
	step, ok := s.candidate()
	if !ok || step.Type() != StepFinalResponse || strings.TrimSpace(step.Text()) == "" {
		return nil, false
	}
	return step.Output, true
}

// CurrentResponse returns the final response, else what the newest step put out where it wrote anything.
func (s AgentState) CurrentResponse() ([]Message, bool) {
	step, ok := s.candidate()
	if !ok || strings.TrimSpace(step.Text()) == "" {
		return nil, false
	}
	return step.Output, true
}

// Answer is the text of the current response; empty where there is none.
func (s AgentState) Answer() string {
	messages, _ := s.CurrentResponse()
	return AnswerText(messages)
}
