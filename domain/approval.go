package domain

import (
	"everstep/domain/enum"
	"time"
)

// An Approval is a person's word about a tool call, or the wait for one. What runs is exactly what it is bound
// to. The zero value is that of a call that needed none.
type Approval struct {
	// Digest is CallDigest of the call that was asked about.
	Digest Digest `json:"digest"`
	// Rule says in words which rule asked.
	Rule    string    `json:"rule,omitzero"`
	AskedAt time.Time `json:"asked_at"`
	// ExpiresAt is when it is over without anybody's word; zero: never.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	// Decision is empty as long as nobody has decided. It is made once.
	Decision Decision `json:"decision,omitzero"`
	// By is who decided, by their own word, and At when. Nobody decides what expires.
	By     string    `json:"by,omitzero"`
	At     time.Time `json:"decided_at,omitzero"`
	Reason string    `json:"reason,omitzero"`
	// Standing is the standing approval by which the call runs, or that was given with this word; zero: none.
	Standing ToolExecutionID `json:"standing_approval,omitzero"`
	// Edited is CallDigest of what runs instead, where whoever approved the call has changed its arguments. Asked are then
	// those that were asked about, cut where they are long.
	Edited Digest `json:"edited,omitzero"`
	Asked  string `json:"asked,omitzero"`
}

// CallDigest names a call by its tool and the exact text of its arguments.
func CallDigest(tool, arguments string) Digest { return DigestOfTexts(tool, arguments) }

// A Decision is what became of the question whether a tool call may run.
type Decision string

const (
	// Approved: the call may run, once and as it was asked about.
	Approved Decision = "approved"
	// WasDenied: it may not; the model is told.
	WasDenied Decision = "denied"
	// Expired: nobody decided in time, so it may not.
	Expired Decision = "expired"
)

// UnmarshalText accepts the known decisions only.
func (d *Decision) UnmarshalText(text []byte) error {
	return enum.Decode(d, text, "decision", Approved, WasDenied, Expired)
}

// IsZero reports whether nobody was asked.
func (a Approval) IsZero() bool { return a == Approval{} }

// Waits reports whether somebody was asked and nobody has decided.
func (a Approval) Waits() bool { return !a.IsZero() && a.Decision == "" }

// Decided returns the approval with somebody's word.
func (a Approval) Decided(decision Decision, by, reason string, at time.Time) Approval {
	a.Decision, a.By, a.Reason, a.At = decision, Shorten(by, MaxDecider), Shorten(reason, MaxReason), at
	return a
}

// AsEdited returns the approval of a call whose arguments the person has changed.
func (a Approval) AsEdited(tool, asked, edited string) Approval {
	a.Edited, a.Asked = CallDigest(tool, edited), Shorten(asked, maxAsked)
	return a
}

// Runs is CallDigest of what may run.
func (a Approval) Runs() Digest {
	if a.Edited.IsZero() {
		return a.Digest
	}
	return a.Edited
}

const (
	// MaxEdited bounds the arguments that a person gives in place of a model's.
	MaxEdited = 16 << 10
	maxAsked  = 1 << 10
)

// CheckEdited says why a text cannot take the place of the arguments that were asked about.
func CheckEdited(asked, edited string) error {
	switch {
	case len(edited) > MaxEdited:
		return Errorf(TooLarge, "arguments: have %d bytes; at most %d are allowed", len(edited), MaxEdited)
	case edited == asked:
		return Errorf(Invalid, "arguments: are those that were asked about; approve the call as it is")
	case readArguments(edited).root == nil:
		return Errorf(Invalid, "arguments: are no JSON object that all programs read alike; give one object, with each key once, in one case and in UTF-8")
	}
	return nil
}

// EditedNote tells the model that a person has changed the arguments of its call.
func EditedNote(edited string) string {
	return "A person has put other arguments in the place of yours:\n" + edited + "\nThis is what came of the call with them:\n\n"
}

// MaxDecider is how long the name of who decides may be, in bytes.
const MaxDecider = 128

// Refusal is what the model gets to read of a call that was not approved, nil of one that was.
func (a Approval) Refusal() *Error {
	switch a.Decision {
	case WasDenied:
		if a.Reason == "" {
			return CodedErrorf(Denied, CodeDenied, "denied: a person did not allow this call; do not make it again as it is")
		}
		return CodedErrorf(Denied, CodeDenied, "denied: a person did not allow this call: %s", Shorten(a.Reason, MaxReason-64))
	case Expired:
		return CodedErrorf(Denied, CodeDenied, "denied: the approval expired; nobody had allowed this call by %s", a.ExpiresAt.UTC().Format(time.RFC3339))
	case Approved:
	}
	return nil
}

// A PendingApproval is a call that waits for a person's word, as it is shown to people.
type PendingApproval struct {
	PendingCall
	// Arguments is the exact text that would run. It is left out where texts of users may not stand.
	Arguments string `json:"arguments,omitzero"`
	// Bytes is how long the arguments are, where they are shown cut.
	Bytes int `json:"arguments_bytes,omitzero"`
	Approval
}

// Known reports whether Arguments are those that would run: what a hook has put in their place stands in no history.
func (p PendingApproval) Known() bool {
	return p.Bytes > 0 || p.Digest == CallDigest(p.Tool, p.Arguments)
}

// Cut returns the pending approval with at most so many bytes of its arguments.
func (p PendingApproval) Cut(limit int) PendingApproval {
	if n := len(p.Arguments); n > limit {
		p.Arguments, p.Bytes = Shorten(p.Arguments, limit), n
	}
	return p
}

// A PendingCall is a tool call that waits for a person, as it is named to people: for their word, or their answer.
type PendingCall struct {
	ToolExecutionID ToolExecutionID `json:"tool_execution_id"`
	ExecutionID     ExecutionID     `json:"execution_id"`
	Step            int             `json:"step"`
	Tool            string          `json:"tool"`
}

// Pending is the call itself, of whatever waits with it.
func (p PendingCall) Pending() PendingCall { return p }
