package domain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
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
		return Invalidf("question: is empty")
	case !utf8.ValidString(q.Text + strings.Join(q.Choices, "")):
		return Invalidf("question, choices: one is not valid UTF-8")
	case len(q.Text) > MaxQuestion:
		return TooLargef("question: has %d bytes; at most %d are allowed", len(q.Text), MaxQuestion)
	case len(q.Choices) > MaxChoices:
		return TooLargef("choices: are %d; at most %d are allowed", len(q.Choices), MaxChoices)
	case len(q.Choices) > 0 && len(q.Schema) > 0:
		return Invalidf("choices, schema: give one of them")
	case len(q.Schema) > MaxQuestionSchema || len(q.Schema) > 0 && !json.Valid(q.Schema):
		return Invalidf("schema: is no JSON, or has more than %d bytes", MaxQuestionSchema)
	case q.ExpiresIn < 0 || q.ExpiresIn > seconds:
		return Invalidf("expires_in: is %d seconds; it is at least 1, and at most %d", q.ExpiresIn, seconds)
	case len(q.Default) > 0 && q.ExpiresIn == 0:
		return Invalidf("default: is of no use without expires_in, which says when it holds")
	}
	for i, choice := range q.Choices {
		switch {
		case strings.TrimSpace(choice) == "" || len(choice) > MaxChoice:
			return Invalidf("choices: number %d is empty, or has more than %d bytes", i+1, MaxChoice)
		case slices.Contains(q.Choices[:i], choice):
			return Invalidf("choices: %q is there twice", Shorten(choice, 64))
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
		return "", Invalidf("is no string, as the answer is")
	}
	return q.Content(text, nil)
}

// Content is an answer as the model reads it, or what is wrong with it: a text, one of the choices where there are any,
// or a JSON value where the question has a schema. Whether it fits the schema is not asked here.
func (q Question) Content(text string, value json.RawMessage) (string, error) {
	switch structured := len(q.Schema) > 0; {
	case len(text) > MaxAnswer || len(value) > MaxAnswer:
		return "", TooLargef("answer: has %d bytes; at most %d are allowed", max(len(text), len(value)), MaxAnswer)
	case structured && len(value) == 0:
		return "", Invalidf("answer: is missing; the question asks for a JSON value that fits its schema")
	case structured && text != "" || !structured && len(value) > 0:
		return "", Invalidf("answer: the question asks for %s alone", map[bool]string{true: "a JSON value", false: "a text"}[structured])
	case structured:
		var compact bytes.Buffer
		if err := json.Compact(&compact, value); err != nil || !utf8.Valid(value) {
			return "", Invalidf("answer: is no JSON in UTF-8")
		}
		return compact.String(), nil
	case !utf8.ValidString(text) || strings.TrimSpace(text) == "":
		return "", Invalidf("answer: is empty, or is not valid UTF-8")
	case len(q.Choices) > 0 && !slices.Contains(q.Choices, text):
		return "", Invalidf("answer: %q is none of the choices: %s", Shorten(text, 64), Shorten(fmt.Sprintf("%q", q.Choices), 1000))
	}
	return text, nil
}

// Size is how many bytes the question's texts have.
func (q Question) Size() int {
	return len(q.Text) + len(q.Schema) + len(q.Default) + len(strings.Join(q.Choices, ""))
}
