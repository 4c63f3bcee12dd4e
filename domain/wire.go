package domain

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
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
		return in("schema_version", Invalidf("is missing, and this build reads %d; give it as it was written", reads))
	case err != nil || number < 1:
		return in("schema_version", Invalidf("is %s, which no build writes, and this build reads %d; give it as it was written", Shorten(oneLine(string(root.Number)), 60), reads))
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

// WithBuild says which build saves the state.
func (s AgentState) WithBuild(build string) AgentState {
	s.Build = build
	return s
}

// EncodeFull returns the state as JSON, its execution included.
func (s AgentState) EncodeFull() ([]byte, error) { return json.Marshal(s) }

// EncodeSession returns the state as JSON without its execution.
func (s AgentState) EncodeSession() ([]byte, error) {
	s.Execution = ExecutionState{}
	return json.Marshal(s)
}

// DecodeAgentState reads either form. An error names the field; unknown keys are ignored.
func DecodeAgentState(data []byte) (AgentState, error) { return Decode[AgentState](data) }

// UnmarshalJSON reads either form, and refuses what no state can be.
func (s *AgentState) UnmarshalJSON(data []byte) (err error) {
	if err := CheckSchema(data, SchemaVersion); err != nil {
		return err
	}
	type plain AgentState
	var read plain
	if err := DecodeInto(data, &read); err != nil {
		return err
	}
	if read.AgentID.IsZero() {
		return in("agent_id", errors.New("is missing; this is no saved state"))
	}
	if err := checkRecorded(read, math.MaxInt64); err != nil {
		return err
	}
	for i, c := range read.UnknownOutcomes {
		if c.ToolExecutionID.IsZero() {
			return inItem("outcome_unknown", i, in("tool_execution_id", errors.New("is missing")))
		}
		read.UnknownOutcomes[i] = c.kept()
	}
	for i, a := range read.StandingApprovals {
		if a.ID.IsZero() {
			return inItem("standing_approvals", i, in("id", errors.New("is missing")))
		}
		read.StandingApprovals[i] = a.kept()
	}
	if err := in("origin", read.Origin.Check()); err != nil {
		return err
	}
	if session := read.SessionAccount; session != nil && session.Budget.CheckSession() != nil {
		return in("session_account", in("budget", session.Budget.CheckSession()))
	}
	execution := read.Execution // it has seen to itself
	read.Execution = ExecutionState{}
	state, err := keep(AgentState(read))
	if err != nil {
		return err
	}
	state.Execution = execution
	*s = state
	return nil
}

// MarshalJSON writes the sections in order of creation.
func (s MessageStore) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string][]section{"sections": orEmpty(s.sections)})
}

// UnmarshalJSON reads them. A name that comes twice is an error.
func (s *MessageStore) UnmarshalJSON(data []byte) error {
	var read struct {
		Sections []section `json:"sections"`
	}
	if err := DecodeInto(data, &read); err != nil {
		return err
	}
	var store MessageStore
	for i, section := range read.Sections {
		if section.Name == "" {
			return inItem("sections", i, in("name", errors.New("is empty; each section has a name")))
		}
		if store.index(section.Name) >= 0 {
			return inItem("sections", i, in("name", Invalidf("%q comes twice; each section has its own", section.Name)))
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

// UnmarshalJSON reads an execution, and refuses what none can be, so that nothing later has to ask.
func (e *ExecutionState) UnmarshalJSON(data []byte) (err error) {
	type plain ExecutionState
	var read plain
	if err := DecodeInto(data, &read); err != nil {
		return err
	}
	of := ExecutionState(read)
	if err := of.check(); err != nil {
		return err
	}
	if of, err = keep(of); err != nil {
		return err
	}
	*e = of.holding(of.Folded, of.Steps)
	return nil
}

func (e ExecutionState) check() error {
	switch {
	case e.ID.IsZero():
		return in("execution_id", errors.New("is missing"))
	case e.Status == "" || e.Status == StatusPending:
		return in("status", errors.New("an execution that exists is in progress or has ended, never pending"))
	case e.Folded.Steps > MaxCount:
		return in("folded", in("steps", Invalidf("is %d; an execution has at most %d", e.Folded.Steps, MaxCount)))
	case e.CurrentStep == nil && !e.CurrentStepStartedAt.IsZero():
		return in("current_step_started_at", errors.New("is given, and there is no current_step"))
	case e.CurrentStep != nil && e.Status.Terminal():
		return in("current_step", Invalidf("is in progress in an execution that is %s", e.Status))
	}
	const apart = "is %d; steps follow on, so it has to be %d"
	for i, step := range e.Steps {
		if want := int(e.Folded.Steps) + i + 1; step == nil {
			return inItem("step_executions", i, errors.New("is null; give the step"))
		} else if step.Number != want {
			return inItem("step_executions", i, in("number", Invalidf(apart, step.Number, want)))
		}
	}
	if want := e.StepCount() + 1; e.CurrentStep != nil && e.CurrentStep.Number != want {
		return in("current_step", in("number", Invalidf(apart, e.CurrentStep.Number, want)))
	}
	return in("budget", e.Budget.Check())
}

// orEmpty makes an absent list an empty one: readers find [] and never null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
