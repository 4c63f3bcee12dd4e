package account

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"everstep/domain"
	"everstep/domain/contract"
)

// A Raw is the account of one execution whose steps and events are JSON as their run wrote it. Who hands them on, and reads nothing
// of them but their numbers, decodes and encodes none.
type Raw struct {
	Head       *Head          `json:"head,omitempty"`
	Executions []Execution    `json:"executions,omitempty"`
	Steps      []RawItem      `json:"steps,omitempty"`
	Messages   []domain.Entry `json:"messages,omitempty"`
	Events     []RawItem      `json:"events,omitempty"`
}

// A RawItem is a step or an event as JSON, with its number in the execution.
type RawItem struct {
	Number int
	JSON   json.RawMessage
}

// UnmarshalJSON keeps the JSON, and reads the number out of it: that of a step, or the sequence number that events alone have.
func (i *RawItem) UnmarshalJSON(data []byte) error {
	var numbers struct {
		Step  int `json:"number"`
		Event int `json:"sequence"`
	}
	err := json.Unmarshal(data, &numbers)
	*i = RawItem{cmp.Or(numbers.Event, numbers.Step), bytes.Clone(data)}
	return err
}

// MarshalJSON returns the JSON.
func (i RawItem) MarshalJSON() ([]byte, error) { return i.JSON, nil }

// RawQuery is [Query] for who wants the answer as a [RawPage].
const RawQuery contract.Query[Request, RawPage] = contract.Query[Request, RawPage](Query)

// A RawPage is a [Page] whose steps and events are left as JSON.
type RawPage struct {
	Raw
	PageEnd
}

// Parts are what the page has of the account, and how it fits to others.
func (p RawPage) Parts() (Raw, PageEnd) { return p.Raw, p.PageEnd }

// With returns the account with what the next page of the same run has.
func (r Raw) With(next Raw) Raw {
	r.Head = cmp.Or(next.Head, r.Head)
	r.Executions = append(r.Executions, next.Executions...)
	r.Steps, r.Messages, r.Events = append(r.Steps, next.Steps...), append(r.Messages, next.Messages...), append(r.Events, next.Events...)
	return r
}

// After returns the account of a run with what an earlier run has of its execution that comes before: steps and events where the
// execution itself was asked for too.
func (r Raw) After(earlier Raw, held Held) Raw {
	if len(r.Executions) == 0 { // the run began after it
		r.Executions, r.Steps, r.Events = earlier.Executions, earlier.Steps, earlier.Events
	}
	for _, e := range held.Executions {
		if slices.ContainsFunc(r.Executions, func(own Execution) bool { return own.Number == e.Number }) {
			r.Steps = joined(earlier.Steps, func(i RawItem) bool { return i.Number < e.Step }, r.Steps)
			r.Events = joined(earlier.Events, func(i RawItem) bool { return int64(i.Number) < e.Event }, r.Events)
		}
	}
	r.Messages = joined(earlier.Messages, func(m domain.Entry) bool { return m.Index < held.Messages }, r.Messages)
	return r
}

// joined is a list after those items of an earlier one that come before it.
func joined[T any](earlier []T, before func(T) bool, list []T) []T {
	if again := slices.IndexFunc(earlier, func(item T) bool { return !before(item) }); again >= 0 {
		earlier = earlier[:again]
	}
	return slices.Concat(earlier, list)
}
