package client

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"everstep/activities/output"
	"everstep/domain"
)

// FormatOf returns the response format whose answers are values of a Go type:
// its JSON Schema under a name of letters, digits, _ and -. The empty name is
// the type's own. The fields of structs are described by their tags json and
// jsonschema, as package jsonschema of google/jsonschema-go says. A type that
// has no schema, a recursive one among them, is an error of class Invalid.
func FormatOf[T any](name string) (domain.ResponseFormat, error) {
	if name == "" {
		name = plainName(reflect.TypeFor[T]().Name())
	}
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		return domain.ResponseFormat{}, errorf(Invalid, err, "response_format: %s has no JSON Schema: %s", reflect.TypeFor[T](), err)
	}
	text, err := json.Marshal(schema)
	if err != nil {
		return domain.ResponseFormat{}, errorf(Invalid, err, "response_format: the schema of %s cannot be written: %s", reflect.TypeFor[T](), err)
	}
	format := domain.ResponseFormat{Type: domain.FormatSchema, Name: name, Schema: text}
	if _, err := output.Compile(format); err != nil {
		return domain.ResponseFormat{}, invalid(err)
	}
	return format, nil
}

// plainName keeps of a type's name what a format's name may hold.
func plainName(name string) string {
	name, _, _ = strings.Cut(name, "[")
	plain := strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			return r
		}
		return -1
	}, name)
	if plain == "" {
		return "answer"
	}
	return plain
}

// Output waits until an execution has ended, as Wait does, and returns its
// answer as a Go value. Number zero is the newest execution. It fails where the
// execution did not complete, and where the answer is no such value: give the
// agent the format that FormatOf returns for the type.
func Output[T any](ctx context.Context, c *Client, id string, number int) (T, error) {
	var none T
	r, err := c.Wait(ctx, id, number)
	if err != nil {
		return none, err
	}
	if r.Outcome.Status != domain.StatusCompleted {
		why := string(r.Outcome.StopReason)
		if r.Error != nil {
			why = r.Error.Message
		}
		return none, errorf(Failed, nil, "execution %d of %s has no answer to read: it is %s (%s)", r.Number, id, r.Outcome.Status, why)
	}
	value, err := domain.Decode[T]([]byte(r.Answer))
	if err != nil {
		return none, errorf(Failed, err, "the answer of execution %d of %s is no %s: %s", r.Number, id, reflect.TypeFor[T](), err)
	}
	return value, nil
}

// withOutput adds the answer as a JSON value. What cannot be told is left out:
// the answer itself is there.
func (c *Client) withOutput(ctx context.Context, p position, r Result) Result {
	if r.Outcome.Status != domain.StatusCompleted || !json.Valid([]byte(r.Answer)) {
		return r
	}
	began, err := c.reader(p.agent).First(ctx, r.RunID)
	if err != nil {
		return r
	}
	switch began.Input.Definition.Format.Type {
	case domain.FormatJSON, domain.FormatSchema:
		r.Output = json.RawMessage(strings.TrimSpace(r.Answer))
	case domain.FormatText, "":
	}
	return r
}
