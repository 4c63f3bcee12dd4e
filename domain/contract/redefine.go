package contract

import (
	"slices"
	"time"

	"everstep/domain"
)

// A RedefineRequest gives an open session another definition, from its next execution on.
type RedefineRequest struct {
	Definition domain.Definition `json:"definition"`
	// Fields are the keys of the definition that are taken from it, or of their parts, such as budget.max_steps. None: all
	// of it takes the place of the session's.
	Fields []string `json:"fields,omitempty"`
	// By says who asks for it.
	By     string `json:"by,omitzero"`
	Reason string `json:"reason,omitzero"`
}

// Over is the definition with what the request asks for.
func (r RedefineRequest) Over(d domain.Definition) domain.Definition {
	if len(r.Fields) == 0 {
		return r.Definition
	}
	return d.Taking(r.Definition, r.Fields)
}

// A RedefineReply says what of the session's definition is another.
type RedefineReply struct {
	// Number is of the execution from which on it holds.
	Number int `json:"execution_number"`
	// Fields are what differs; none: nothing does.
	Fields []string `json:"fields,omitempty"`
}

// A Redefinition waits for a session's next execution.
type Redefinition struct {
	Definition domain.Definition `json:"definition"`
	Word       DefinitionWord    `json:"word"`
	// Fields are those that were asked for; none: all of the definition.
	Fields []string `json:"fields,omitempty"`
}

// Over is what waits, in place of another definition than that over which it was asked for.
func (r Redefinition) Over(d domain.Definition) Redefinition {
	r.Definition = RedefineRequest{Definition: r.Definition, Fields: r.Fields}.Over(d)
	return r
}

// Joined are the fields of two redefinitions that become one; none: all.
func Joined(before *Redefinition, fields []string) []string {
	if before == nil || len(fields) == 0 {
		return fields
	}
	if len(before.Fields) == 0 {
		return nil
	}
	joined := slices.Concat(before.Fields, fields)
	slices.Sort(joined)
	return slices.Compact(joined)
}

// A DefinitionWord says who has given a session another definition, when and why.
type DefinitionWord struct {
	By     string    `json:"by,omitzero"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitzero"`
	// Fields are what differs from the definition before.
	Fields []string `json:"fields"`
}
