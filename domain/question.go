package domain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"everstep/domain/enum"
)

// A Question is what a tool call asks a person. The zero value asks nothing: Check says so.
type Question struct {
	Text string `json:"question"`
	// Choices are the answers that there are; without any the person answers in words of their own.
	Choices []string `json:"choices,omitempty"`
	// Schema is the JSON Schema of an answer that is a JSON value; without one it is a text.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Default is the answer that holds where nobody answers in time: a JSON value, a string where the answer is a text.
	Default json.RawMessage `json:"default,omitempty"`
	// ExpiresIn is for how many seconds people are asked; zero: without end.
	ExpiresIn int64 `json:"expires_in,omitzero"`
}

// The bounds of a question and its answer, in bytes where nothing else is said.
const (
	MaxQuestion       = 4 << 10
	MaxChoices        = 20 // of them
	MaxChoice         = 500
	MaxQuestionSchema = 8 << 10
	MaxAnswer         = 16 << 10
	// MaxQuestionTime is for how long people are asked, where a question says so.
	MaxQuestionTime = 30 * 24 * time.Hour
)

// Check says what is wrong with a question. Whether its schema is one, and its default fits it, is not asked here.
func (q Question) Check() error {
	switch seconds := int64(MaxQuestionTime / time.Second); {
	case strings.TrimSpace(q.Text) == "":
		return Errorf(Invalid, "question: is empty")
	case !utf8.ValidString(q.Text + strings.Join(q.Choices, "")):
		return Errorf(Invalid, "question, choices: one is not valid UTF-8")
	case len(q.Text) > MaxQuestion:
		return Errorf(TooLarge, "question: has %d bytes; at most %d are allowed", len(q.Text), MaxQuestion)
	case len(q.Choices) > MaxChoices:
		return Errorf(TooLarge, "choices: are %d; at most %d are allowed", len(q.Choices), MaxChoices)
	case len(q.Choices) > 0 && len(q.Schema) > 0:
		return Errorf(Invalid, "choices, schema: give one of them")
	case len(q.Schema) > MaxQuestionSchema || len(q.Schema) > 0 && !json.Valid(q.Schema):
		return Errorf(Invalid, "schema: is no JSON, or has more than %d bytes", MaxQuestionSchema)
	case q.ExpiresIn < 0 || q.ExpiresIn > seconds:
		return Errorf(Invalid, "expires_in: is %d seconds; it is at least 1, and at most %d", q.ExpiresIn, seconds)
	case len(q.Default) > 0 && q.ExpiresIn == 0:
		return Errorf(Invalid, "default: is of no use without expires_in, which says when it holds")
	}
	for i, choice := range q.Choices {
		switch {
		case strings.TrimSpace(choice) == "" || len(choice) > MaxChoice:
			return Errorf(Invalid, "choices: number %d is empty, or has more than %d bytes", i+1, MaxChoice)
		case slices.Contains(q.Choices[:i], choice):
			return Errorf(Invalid, "choices: %q is there twice", Shorten(choice, 64))
		}
	}
	if len(q.Default) == 0 {
		return nil
	}
	if _, err := q.defaultContent(); err != nil {
		return in("default", err)
	}
	return nil
}

// defaultContent is the default as the model reads it.
func (q Question) defaultContent() (string, error) {
	if len(q.Schema) > 0 {
		return q.Content("", q.Default)
	}
	var text string
	if json.Unmarshal(q.Default, &text) != nil {
		return "", Errorf(Invalid, "is no string, as the answer is")
	}
	return q.Content(text, nil)
}

// Content is an answer as the model reads it, or what is wrong with it: a text, one of the choices where there are any,
// or a JSON value where the question has a schema. Whether it fits the schema is not asked here.
func (q Question) Content(text string, value json.RawMessage) (string, error) {
	switch structured := len(q.Schema) > 0; {
	case len(text) > MaxAnswer || len(value) > MaxAnswer:
		return "", Errorf(TooLarge, "answer: has %d bytes; at most %d are allowed", max(len(text), len(value)), MaxAnswer)
	case structured && len(value) == 0:
		return "", Errorf(Invalid, "answer: is missing; the question asks for a JSON value that fits its schema")
	case structured && text != "" || !structured && len(value) > 0:
		return "", Errorf(Invalid, "answer: the question asks for %s alone", map[bool]string{true: "a JSON value", false: "a text"}[structured])
	case structured:
		var compact bytes.Buffer
		if err := json.Compact(&compact, value); err != nil || !utf8.Valid(value) {
			return "", Errorf(Invalid, "answer: is no JSON in UTF-8")
		}
		return compact.String(), nil
	case !utf8.ValidString(text) || strings.TrimSpace(text) == "":
		return "", Errorf(Invalid, "answer: is empty, or is not valid UTF-8")
	case len(q.Choices) > 0 && !slices.Contains(q.Choices, text):
		return "", Errorf(Invalid, "answer: %q is none of the choices: %s", Shorten(text, 64), Shorten(fmt.Sprintf("%q", q.Choices), 1000))
	}
	return text, nil
}

// An Answer is a person's word about a question that a tool call asks, or the wait for one. The zero value is that of a call
// that asks nothing.
type Answer struct {
	// Digest is CallDigest of the call that asks.
	Digest  Digest    `json:"digest"`
	AskedAt time.Time `json:"asked_at"`
	// ExpiresAt is when it is over without anybody's answer; zero: never.
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	// Outcome is empty as long as nobody has answered. It is decided once.
	Outcome AnswerOutcome `json:"outcome,omitzero"`
	// By is who answered, by their own word, and At when that was, or when the time was over. Reason is recorded only.
	By     string    `json:"by,omitzero"`
	At     time.Time `json:"answered_at,omitzero"`
	Reason string    `json:"reason,omitzero"`
}

// An AnswerOutcome is what became of a question.
type AnswerOutcome string

const (
	// AnsweredByPerson: somebody has answered.
	AnsweredByPerson AnswerOutcome = "answered"
	// AnsweredByDefault: nobody has in time, so the question's own default holds.
	AnsweredByDefault AnswerOutcome = "default"
	// NobodyAnswered: nobody has in time, and there is no default.
	NobodyAnswered AnswerOutcome = "expired"
)

// UnmarshalText accepts the known outcomes only.
func (o *AnswerOutcome) UnmarshalText(text []byte) error {
	return enum.Decode(o, text, "answer outcome", AnsweredByPerson, AnsweredByDefault, NobodyAnswered)
}

// IsZero reports whether nothing was asked.
func (a Answer) IsZero() bool { return a == Answer{} }

// Waits reports whether people are asked and nobody has answered.
func (a Answer) Waits() bool { return !a.IsZero() && a.Outcome == "" }

// Answered returns the answer with somebody's word.
func (a Answer) Answered(by, reason string, at time.Time) Answer {
	a.Outcome, a.By, a.Reason, a.At = AnsweredByPerson, Shorten(by, MaxDecider), Shorten(reason, MaxReason), at
	return a
}

// Expired returns the answer to a question whose time is over.
func (a Answer) Expired(q Question, at time.Time) Answer {
	a.Outcome, a.At = NobodyAnswered, at
	if len(q.Default) > 0 {
		a.Outcome = AnsweredByDefault
	}
	return a
}

// Says is what the model gets to read of a question whose wait is over; content is what a person has answered.
func (a Answer) Says(q Question, content string) string {
	if a.Outcome == AnsweredByPerson {
		return content
	}
	nobody := "Nobody had answered by " + a.ExpiresAt.UTC().Format(time.RFC3339)
	if given, err := q.defaultContent(); a.Outcome == AnsweredByDefault && err == nil {
		return nobody + ", so your default holds:\n" + given
	}
	return nobody + ". Go on without an answer, or ask again."
}

// The metadata keys that say of a tool's message that it holds a person's answer, and whose.
const (
	keyProvenance = "provenance"
	keySaidBy     = "said_by"
)

// ProvenancePerson is the provenance of a message that holds a person's own words.
const ProvenancePerson = "person"

// Mark returns a tool's message with where its content comes from: metadata "provenance", and who said it.
func (a Answer) Mark(m Message) Message {
	if a.Outcome != AnsweredByPerson {
		return m
	}
	metadata := make(Metadata, len(m.Metadata)+2)
	maps.Copy(metadata, m.Metadata)
	by, _ := json.Marshal(a.By) // a string always can
	metadata[keyProvenance], metadata[keySaidBy] = json.RawMessage(`"`+ProvenancePerson+`"`), by
	m.Metadata = metadata
	return m
}

// A PendingQuestion is a question that waits for a person's answer, as it is shown to people.
type PendingQuestion struct {
	PendingCall
	Question
	// Bytes is how long the question is, with choices, schema and default, where it is shown cut.
	Bytes int `json:"question_bytes,omitzero"`
	Answer
}

// Size is how many bytes the question's texts have.
func (q Question) Size() int {
	n := len(q.Text) + len(q.Schema) + len(q.Default)
	for _, choice := range q.Choices {
		n += len(choice)
	}
	return n
}

// Cut returns the pending question with at most about so many bytes of what is asked. Of one that is cut the choices, the
// schema and the default are left out.
func (p PendingQuestion) Cut(limit int) PendingQuestion {
	if n := p.Size(); n > limit {
		p.Question = Question{Text: Shorten(p.Text, limit), ExpiresIn: p.ExpiresIn}
		p.Bytes = n
	}
	return p
}
