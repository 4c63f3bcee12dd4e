package domain

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// This file is how a saved state looks, and how it is kept. Records and exports hold one, so it outlives a build.

// SchemaVersion is written at the root of each saved state. A state of another
// number is not read.
const SchemaVersion = 1

// CheckSchema refuses an object whose schema_version is not the number that this build reads. Where a build may have written
// that number, the error has an [OtherSchema].
func CheckSchema(object []byte, reads int) error {
	var root struct {
		Number json.RawMessage `json:"schema_version"`
		Build  json.RawMessage `json:"build"`
	}
	if err := DecodeInto(object, &root); err != nil {
		return err
	}
	number, err := strconv.Atoi(string(root.Number))
	switch {
	case root.Number == nil:
		return in("schema_version", Errorf(Invalid, "is missing, and this build reads %d; give it as it was written", reads))
	case err != nil || number < 1:
		return in("schema_version", Errorf(Invalid, "is %s, which no build writes, and this build reads %d; give it as it was written", Shorten(oneLine(string(root.Number)), 60), reads))
	case number == reads:
		return nil
	}
	var build string
	if json.Unmarshal(root.Build, &build) != nil {
		build = "" // what is no text names none
	}
	return in("schema_version", &OtherSchema{number, reads, Shorten(oneLine(build), 100)})
}

// An OtherSchema is the error of what another build has written in a form that this build does not read.
type OtherSchema struct {
	number, reads int
	// build wrote it; empty: it names none.
	build string
}

func (e *OtherSchema) Error() string { return e.Advise("read it") }

// Advise says so, and what to do with the build that wrote it.
func (e *OtherSchema) Advise(what string) string {
	by, with := "build "+e.build, "that build"
	if e.build == "" {
		by, with = "a build that it does not name", "the build that wrote it"
	}
	return fmt.Sprintf("is %d, written by %s, and this build reads %d; %s with %s", e.number, by, e.reads, what, with)
}

// oneLine is a text with a single space in place of what has no width of its own or breaks the line.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }), " ")
}

type stateWire struct {
	SchemaVersion int `json:"schema_version"`
	// Build is that of the program which saved the state; empty: the state was not saved for people.
	Build          string       `json:"build,omitzero"`
	AgentID        AgentID      `json:"agent_id"`
	ParentAgentID  AgentID      `json:"parent_agent_id,omitzero"`
	CreatedAt      time.Time    `json:"created_at"`
	UpdatedAt      time.Time    `json:"updated_at"`
	ExecutionCount int          `json:"execution_count"`
	LLMConfig      LLMConfig    `json:"llm_config,omitzero"`
	Context        AgentContext `json:"context"`
	// Trusted are the session's values.
	Trusted Trusted `json:"trusted,omitempty"`
	// Origin is what the next execution goes on from.
	Origin *Origin `json:"origin,omitempty"`
	// Unknown are the calls of unknown outcome. What it points to never changes.
	Unknown []UnknownCall `json:"outcome_unknown,omitempty"`
	// Standing are the session's standing approvals. What it points to never changes.
	Standing []StandingApproval `json:"standing_approvals,omitempty"`
	// Session is nil where the session has no budget. What it points to never changes.
	Session *SessionAccount `json:"session_account,omitempty"`
	// Execution is nil between executions. What it points to never changes.
	Execution *ExecutionState `json:"execution,omitempty"`
}

type contextWire struct {
	MessageStore   MessageStore   `json:"message_store"`
	Metadata       Metadata       `json:"metadata,omitempty"`
	SystemPrompt   string         `json:"system_prompt,omitzero"`
	ResponseFormat ResponseFormat `json:"response_format,omitzero"`
}

type storeWire struct {
	Sections []section `json:"sections"`
}

type section struct {
	Name     string    `json:"name"`
	Messages []Message `json:"messages"`
}

type executionWire struct {
	ID          ExecutionID     `json:"execution_id"`
	Status      ExecutionStatus `json:"status"`
	StartedAt   time.Time       `json:"started_at"`
	CompletedAt time.Time       `json:"completed_at,omitzero"`
	Origin      *Origin         `json:"origin,omitempty"`
	Budget      ExecutionBudget `json:"budget,omitzero"`
	// Trusted are the values that came with this execution, beside the session's.
	Trusted Trusted `json:"trusted,omitempty"`
	ExecutionCounts
	Folded Folded `json:"folded,omitzero"`
	// Steps are pointers so that adding one copies little; what they point to never changes.
	Steps        []*StepExecution `json:"step_executions,omitempty"`
	CurrentSince time.Time        `json:"current_step_started_at,omitzero"`
	Current      *AgentStep       `json:"current_step,omitempty"`
	Continuation Continuation     `json:"continuation,omitzero"`
	Error        *Error           `json:"error,omitempty"`
	// completed is what Folded and Steps come to, so that nobody adds up all steps again at each of them.
	completed Folded
}

// hold replaces the completed steps.
func (w *executionWire) hold(folded Folded, steps []*StepExecution) {
	w.Folded, w.Steps, w.completed = folded, steps, Folded{Spent: folded.Spent, ChildSteps: folded.ChildSteps, Usage: folded.Usage}
	for _, step := range steps {
		w.completed = w.completed.plus(&step.Step)
	}
}

// add completes one more.
func (w *executionWire) add(step *StepExecution) {
	w.Steps, w.completed = plus(w.Steps, step), w.completed.plus(&step.Step)
}

// WithBuild says which build saves the state.
func (s AgentState) WithBuild(build string) AgentState {
	s.w.Build = build
	return s
}

// EncodeFull returns the state as JSON, its execution included.
func (s AgentState) EncodeFull() ([]byte, error) {
	s.w.SchemaVersion = SchemaVersion
	return json.Marshal(s.w)
}

// EncodeSession returns the state as JSON without its execution.
func (s AgentState) EncodeSession() ([]byte, error) {
	s.w.Execution = nil
	return s.EncodeFull()
}

// DecodeAgentState reads either form. An error names the field; unknown keys are ignored.
func DecodeAgentState(data []byte) (AgentState, error) { return Decode[AgentState](data) }

// MarshalJSON writes the full form.
func (s AgentState) MarshalJSON() ([]byte, error) { return s.EncodeFull() }

// UnmarshalJSON reads either form.
func (s *AgentState) UnmarshalJSON(data []byte) error {
	if err := CheckSchema(data, SchemaVersion); err != nil {
		return err
	}
	return decodeWire(data, &s.w, func(w *stateWire) (err error) {
		if w.AgentID.IsZero() {
			return in("agent_id", errors.New("is missing; this is no saved state"))
		}
		if w.ExecutionCount < 0 {
			return in("execution_count", Errorf(Invalid, "is %d; it may not be negative", w.ExecutionCount))
		}
		if err := w.Origin.Check(); err != nil {
			return in("origin", err)
		}
		for i, c := range w.Unknown {
			if c.ID.IsZero() {
				return inItem("outcome_unknown", i, in("tool_execution_id", errors.New("is missing")))
			}
		}
		for i, a := range w.Standing {
			if a.ID.IsZero() {
				return inItem("standing_approvals", i, in("id", errors.New("is missing")))
			}
		}
		if err := w.Session.Check(); err != nil {
			return in("session_account", err)
		}
		w.CreatedAt, w.UpdatedAt, w.LLMConfig = utc(w.CreatedAt), utc(w.UpdatedAt), w.LLMConfig.kept()
		w.Unknown, w.Standing = keptCalls(w.Unknown), keptStanding(w.Standing)
		w.Trusted, err = w.Trusted.kept()
		return err
	})
}

// MarshalJSON writes the form that the state's context has.
func (c AgentContext) MarshalJSON() ([]byte, error) { return json.Marshal(c.w) }

// UnmarshalJSON reads it.
func (c *AgentContext) UnmarshalJSON(data []byte) error {
	return decodeWire(data, &c.w, func(w *contextWire) (err error) {
		if w.Metadata, err = w.Metadata.kept(); err != nil {
			return in("metadata", err)
		}
		w.ResponseFormat, err = w.ResponseFormat.kept()
		return err
	})
}

// MarshalJSON writes the sections in order of creation.
func (s MessageStore) MarshalJSON() ([]byte, error) {
	return json.Marshal(storeWire{orEmpty(s.sections)})
}

// UnmarshalJSON reads them. A name that comes twice is an error.
func (s *MessageStore) UnmarshalJSON(data []byte) error {
	var w storeWire
	if err := DecodeInto(data, &w); err != nil {
		return err
	}
	var store MessageStore
	for i, section := range w.Sections {
		if section.Name == "" {
			return inItem("sections", i, in("name", errors.New("is empty; each section has a name")))
		}
		if store.index(section.Name) >= 0 {
			return inItem("sections", i, in("name", Errorf(Invalid, "%q comes twice; each section has its own", section.Name)))
		}
		with, err := store.With(section.Name, section.Messages...)
		if err != nil {
			return inItem("sections", i, err)
		}
		store = with
	}
	*s = store
	return nil
}

// MarshalJSON writes the form that the state's execution has.
func (e ExecutionState) MarshalJSON() ([]byte, error) { return json.Marshal(e.w) }

// UnmarshalJSON reads it, and refuses what no execution can be, so that nothing later has to ask.
func (e *ExecutionState) UnmarshalJSON(data []byte) error {
	return decodeWire(data, &e.w, func(w *executionWire) (err error) {
		if err := w.check(); err != nil {
			return err
		}
		w.StartedAt, w.CompletedAt, w.Budget = utc(w.StartedAt), utc(w.CompletedAt), w.Budget.clone()
		w.WaitingSince, w.CurrentSince = utc(w.WaitingSince), utc(w.CurrentSince)
		w.Folded.Errors = keptErrors(w.Folded.Errors)
		for i, step := range w.Steps {
			if *step, err = step.Kept(); err != nil {
				return inItem("step_executions", i, err)
			}
		}
		if w.Current != nil {
			if *w.Current, err = w.Current.kept(); err != nil {
				return in("current_step", err)
			}
		}
		w.hold(w.Folded, w.Steps)
		if w.Error != nil {
			w.Error = new(w.Error.kept())
		}
		if w.Trusted, err = w.Trusted.kept(); err != nil {
			return err
		}
		w.Continuation, err = w.Continuation.kept()
		return in("continuation", err)
	})
}

func (w executionWire) check() error {
	switch {
	case w.ID.IsZero():
		return in("execution_id", errors.New("is missing"))
	case w.Status == "" || w.Status == StatusPending:
		return in("status", errors.New("an execution that exists is in progress or has ended, never pending"))
	case w.ToolCalls < 0 || w.Waited < 0:
		return in("tool_calls, waited", errors.New("may not be negative"))
	case w.Folded.Check() != nil:
		return in("folded", w.Folded.Check())
	case w.Current == nil && !w.CurrentSince.IsZero():
		return in("current_step_started_at", errors.New("is given, and there is no current_step"))
	case w.Current != nil && w.Status.Terminal():
		return in("current_step", Errorf(Invalid, "is in progress in an execution that is %s", w.Status))
	}
	const apart = "is %d; steps follow on, so it has to be %d"
	for i, step := range w.Steps {
		if want := int(w.Folded.Steps) + i + 1; step == nil {
			return inItem("step_executions", i, errors.New("is null; give the step"))
		} else if step.Step.Number != want {
			return inItem("step_executions", i, in("number", Errorf(Invalid, apart, step.Step.Number, want)))
		}
	}
	if want := int(w.Folded.Steps) + len(w.Steps) + 1; w.Current != nil && w.Current.Number != want {
		return in("current_step", in("number", Errorf(Invalid, apart, w.Current.Number, want)))
	}
	return in("budget", w.Budget.Check())
}

// decodeWire reads a wire struct as a state keeps it. The target changes only where all went well.
func decodeWire[W any](data []byte, target *W, keep func(*W) error) error {
	var wire W
	if err := DecodeInto(data, &wire); err != nil {
		return err
	}
	if err := keep(&wire); err != nil {
		return err
	}
	*target = wire
	return nil
}

// orEmpty makes an absent list an empty one: readers find [] and never null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
