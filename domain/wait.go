package domain

import (
	"cmp"
	"encoding/json"
	"maps"
	"time"

	"everstep/domain/enum"
)

// A Wait is a tool call that waits for a person, or did. What runs is exactly what its digest names. The zero value is that of
// a call that has not waited.
type Wait struct {
	Kind            WaitKind        `json:"kind"`
	ToolExecutionID ToolExecutionID `json:"tool_execution_id,omitzero"`
	ExecutionID     ExecutionID     `json:"execution_id,omitzero"`
	// Execution is the number of that one, where the call is over.
	Execution int    `json:"execution_number,omitzero"`
	Step      int    `json:"step,omitzero"`
	Tool      string `json:"tool,omitzero"`
	// Arguments is the exact text that would run; of a call that is over, or that a person has edited, those that were asked
	// about, cut where they are long. Digest is CallDigest of the call with all of them.
	Arguments string `json:"arguments,omitzero"`
	Digest    Digest `json:"digest,omitzero"`
	// Bytes is how long the arguments or the question are, where they are shown cut.
	Bytes int `json:"bytes,omitzero"`
	// Effect is the same for all calls of the agent that would be the same effect, where the outcome is unknown. EffectOf is the
	// agent whose effect it would be, where this one is a fork of that.
	Effect   Digest  `json:"effect_key,omitzero"`
	EffectOf AgentID `json:"effect_of,omitzero"`
	// AskedBy says in words which rule has the call wait.
	AskedBy string `json:"asked_by,omitzero"`
	// Ask is what the call asks, and Why why its outcome is unknown, cut where it is long.
	Ask *Question `json:"ask,omitempty"`
	Why string    `json:"why,omitzero"`
	// Since is when the wait began, and Expires when it is over without anybody's answer; zero: never.
	Since   time.Time `json:"since,omitzero"`
	Expires time.Time `json:"expires_at,omitzero"`
	// Answer is nil as long as nobody has answered. It is given once.
	Answer *Answer `json:"answer,omitempty"`
}

// An Answer is what a person has said about a call that waits, or what became of it when the time was over.
type Answer struct {
	Verdict Verdict `json:"verdict"`
	// Content is what the model reads: the answer to a question, or what a call of unknown outcome would have answered. With a
	// call of a step it is left out, since the call's value has it.
	Content string `json:"content,omitzero"`
	// Edited is CallDigest of what runs instead, where whoever approved the call has changed its arguments.
	Edited Digest `json:"edited,omitzero"`
	// Always is the standing approval by which the call runs, or that was given with the answer; zero: none.
	Always ToolExecutionID `json:"standing_approval,omitzero"`
	// By is who answered, by their own word. Nobody answers what expires.
	By     string    `json:"by,omitzero"`
	At     time.Time `json:"at,omitzero"`
	Reason string    `json:"reason,omitzero"`
	// ExecutionID is the one whose events have it, and Told says that the model has read of it, of a call of unknown outcome:
	// the execution in progress then, else the next; zero until that begins.
	ExecutionID ExecutionID `json:"execution_id,omitzero"`
	Told        bool        `json:"told,omitzero"`
}

// A Verdict says what became of a wait.
type Verdict string

const (
	// Approved: the call may run, once and as it was asked about, or with the arguments that the person gave.
	Approved Verdict = "approved"
	// WasDenied: it may not; the model is told.
	WasDenied Verdict = "denied"
	// AnsweredByPerson: somebody has answered the question.
	AnsweredByPerson Verdict = "answered"
	// AnsweredByDefault: nobody has in time, so the question's own default holds.
	AnsweredByDefault Verdict = "default"
	// Expired: nobody has said anything in time. The call does not run, or the question has no answer.
	Expired Verdict = "expired"
	// VerdictDone: the call of unknown outcome took effect.
	VerdictDone Verdict = "done"
	// VerdictNotDone: it did not, and cannot any more.
	VerdictNotDone Verdict = "not_done"
)

// UnmarshalText accepts the known verdicts only.
func (v *Verdict) UnmarshalText(text []byte) error {
	return enum.Decode(v, text, "verdict", Approved, WasDenied, AnsweredByPerson, AnsweredByDefault, Expired, VerdictDone, VerdictNotDone)
}

// CallDigest names a call by its tool and the exact text of its arguments.
func CallDigest(tool, arguments string) Digest { return DigestOfTexts(tool, arguments) }

// IsZero reports whether nothing has waited.
func (w Wait) IsZero() bool { return w.Kind == "" }

// Open reports whether it waits still.
func (w Wait) Open() bool { return w.Kind != "" && w.Answer == nil }

// Verdict is what became of it; empty: it waits still.
func (w Wait) Verdict() Verdict {
	return cmp.Or(w.Answer, &Answer{}).Verdict
}

// Runs is CallDigest of what may run.
func (w Wait) Runs() Digest {
	return cmp.Or(cmp.Or(w.Answer, &Answer{}).Edited, w.Digest)
}

// Whole reports whether Arguments are all of what would run.
func (w Wait) Whole() bool { return w.Digest == CallDigest(w.Tool, w.Arguments) }

// Answered returns the wait with somebody's answer, its texts cut where they are long.
func (w Wait) Answered(a Answer) Wait {
	a.By, a.Reason = Shorten(a.By, MaxDecider), Shorten(a.Reason, MaxReason)
	w.Answer = &a
	return w
}

// Lapsed returns the wait as it is when its time is over.
func (w Wait) Lapsed(at time.Time) Wait {
	verdict := Expired
	if w.Ask != nil && len(w.Ask.Default) > 0 {
		verdict = AnsweredByDefault
	}
	return w.Answered(Answer{Verdict: verdict, At: at})
}

// Recorded is the wait as it is recorded with its call, without what that says itself.
func (w Wait) Recorded() Wait {
	recorded := Wait{Kind: w.Kind, Digest: w.Digest, AskedBy: w.AskedBy, Since: w.Since, Expires: w.Expires, Answer: Clone(w.Answer)}
	if w.Answer == nil {
		return recorded
	}
	if recorded.Answer.Content = ""; !w.Answer.Edited.IsZero() {
		recorded.Arguments = Shorten(w.Arguments, 1<<10) // those that the person has changed
	}
	return recorded
}

// Cut returns the wait with at most about so many bytes of its arguments, or of its question. Of a question that is cut the
// choices, the schema and the default are left out.
func (w Wait) Cut(limit int) Wait {
	if w.Ask == nil {
		if size := len(w.Arguments); size > limit {
			w.Bytes, w.Arguments = size, Shorten(w.Arguments, limit)
		}
	} else if size := w.Ask.Size(); size > limit {
		w.Bytes, w.Ask = size, &Question{Text: Shorten(w.Ask.Text, limit), ExpiresIn: w.Ask.ExpiresIn}
	}
	return w
}

// Brief returns the wait without texts of models, tools and people, and without digests, from which short ones could be
// guessed.
func (w Wait) Brief() Wait {
	w.Tool, w.Arguments, w.Bytes, w.AskedBy, w.Ask, w.Why, w.Answer = Shorten(w.Tool, 64), "", 0, "", nil, "", nil
	w.Digest, w.Effect = Digest{}, Digest{}
	return w
}

const (
	// MaxEdited bounds the arguments that a person gives in place of a model's.
	MaxEdited = 16 << 10
	// MaxDecider is how long the name of who answers may be, in bytes.
	MaxDecider = 128
)

// CheckEdited says why a text cannot take the place of the arguments that were asked about.
func CheckEdited(asked, edited string) error {
	switch {
	case len(edited) > MaxEdited:
		return TooLargef("arguments: have %d bytes; at most %d are allowed", len(edited), MaxEdited)
	case edited == asked:
		return Invalidf("arguments: are those that were asked about; approve the call as it is")
	case readArguments(edited) == nil:
		return Invalidf("arguments: are no JSON object that all programs read alike; give one object, with each key once, in one case and in UTF-8")
	}
	return nil
}

// EditedNote tells the model that a person has changed the arguments of its call.
func EditedNote(edited string) string {
	return "A person has put other arguments in the place of yours:\n" + edited + "\nThis is what came of the call with them:\n\n"
}

// Refusal is what the model gets to read of a call that was not approved, nil of one that was.
func (w Wait) Refusal() *Error {
	switch w.Verdict() {
	case WasDenied:
		if w.Answer.Reason == "" {
			return CodedErrorf(Denied, CodeDenied, "denied: a person did not allow this call; do not make it again as it is")
		}
		return CodedErrorf(Denied, CodeDenied, "denied: a person did not allow this call: %s", Shorten(w.Answer.Reason, MaxReason-64))
	case Expired:
		return CodedErrorf(Denied, CodeDenied, "denied: the approval expired; nobody had allowed this call by %s", w.Expires.UTC().Format(time.RFC3339))
	default:
		return nil
	}
}

// Reply is what the model gets to read of a question whose wait is over.
func (w Wait) Reply() string {
	if w.Verdict() == AnsweredByPerson {
		return w.Answer.Content
	}
	nobody := "Nobody had answered by " + w.Expires.UTC().Format(time.RFC3339)
	if given, err := w.Ask.defaultContent(); w.Verdict() == AnsweredByDefault && err == nil {
		return nobody + ", so your default holds:\n" + given
	}
	return nobody + ". Go on without an answer, or ask again."
}

// Mark returns a tool's message with where its content comes from: metadata "provenance", and who said it.
func (w Wait) Mark(m Message) Message {
	if w.Verdict() != AnsweredByPerson {
		return m
	}
	metadata := make(Metadata, len(m.Metadata)+2)
	maps.Copy(metadata, m.Metadata)
	by, _ := json.Marshal(w.Answer.By) // a string always can
	metadata["provenance"], metadata["said_by"] = json.RawMessage(`"person"`), by
	m.Metadata = metadata
	return m
}
