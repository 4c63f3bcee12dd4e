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
	Word       UpdateNote        `json:"word"`
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

// A ChangeNote says who has given a session another definition, when and why.
type ChangeNote struct {
	By     string    `json:"by,omitzero"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitzero"`
	// Asked are the keys that were given; none: all of the definition.
	Asked []string `json:"asked,omitempty"`
}

// An UpdateNote is the ChangeNote of the newest update that holds from an execution on, with those that came earlier.
type UpdateNote struct {
	ChangeNote
	// Fields are what differs from the definition before, of this and of all that are in Before.
	Fields []string `json:"fields"`
	// Before are the newest of the earlier ones, the oldest first, and MoreBefore counts the others.
	Before     []ChangeNote `json:"before,omitempty"`
	MoreBefore int          `json:"more_before,omitzero"`
}

const (
	// MaxEarlierNotes bounds how many of them are kept, the newest.
	MaxEarlierNotes = 4
	// maxEarlierReason bounds what is kept of the reason of each.
	maxEarlierReason = 200
)

// NoteOf is that of whoever asks for another definition, which differs in some fields.
func NoteOf(r RedefineRequest, at time.Time, fields []string) UpdateNote {
	asked := slices.Clone(r.Fields)
	slices.Sort(asked)
	return UpdateNote{ChangeNote: ChangeNote{r.By, at, r.Reason, slices.Compact(asked)}, Fields: fields}
}

// After is the note where another one was given earlier, and no execution has begun with that.
func (w UpdateNote) After(earlier UpdateNote) UpdateNote {
	last := earlier.ChangeNote
	last.Reason = domain.Shorten(last.Reason, maxEarlierReason)
	all := slices.Concat(earlier.Before, []ChangeNote{last}, w.Before)
	more := max(len(all)-MaxEarlierNotes, 0)
	w.Before, w.MoreBefore = all[more:], earlier.MoreBefore+w.MoreBefore+more
	return w
}

// AfterUntold is After where the earlier one was in force, and no worker has said what it means: what differs is of both.
func (w UpdateNote) AfterUntold(earlier *UpdateNote) *UpdateNote {
	if earlier != nil {
		fields := slices.Concat(earlier.Fields, w.Fields)
		slices.Sort(fields)
		w = w.After(*earlier)
		w.Fields = slices.Compact(fields)
	}
	return &w
}
