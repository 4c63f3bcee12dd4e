package waiting

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"everstep/activities/tool"
	"everstep/domain"
)

const (
	sleepSchema = `{"type":"object","additionalProperties":false,"required":["seconds"],"properties":{
		"seconds":{"type":"number","exclusiveMinimum":0,"maximum":31536000,"description":"how long"}}}`
	untilSchema = `{"type":"object","additionalProperties":false,"required":["time"],"properties":{
		"time":{"type":"string","description":"the moment, with its offset from UTC, as in 2026-11-22T18:30:00Z"}}}`
)

// Tools are sleep and wait_until.
func Tools() []tool.Tool {
	return []tool.Tool{
		waits("sleep", "Waits for some seconds, up to a year, and says what time it is then.", sleepSchema, sleep),
		waits("wait_until", "Waits until a moment, up to a year from now, and says what time it is then.", untilSchema, until),
	}
}

// waits makes a tool of a function that says until when to wait; that may be past.
func waits[Args any](name, description, schema string, until func(given Args, now time.Time) (time.Time, error)) tool.Tool {
	spec := domain.ToolSpec{Name: name, Description: description, Effect: domain.ReadOnly, Schema: json.RawMessage(schema)}
	return tool.FromSpec(spec, tool.Typed(func(ctx context.Context, given Args) (tool.Result, error) {
		now := time.Now()
		if call, _ := tool.ExecutionOf(ctx); !call.WaitedUntil.IsZero() {
			return tool.Result{Content: "waited; it is now " + stamp(now)}, nil
		}
		at, err := until(given, now)
		if err == nil && at.After(now) {
			err = tool.WaitUntil(at)
		}
		return tool.Result{Content: fmt.Sprintf("%s is past; it is now %s", stamp(at), stamp(now))}, err
	}))
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

type sleepArgs struct {
	Seconds float64 `json:"seconds"`
}

func sleep(given sleepArgs, now time.Time) (time.Time, error) {
	return now.Add(time.Duration(given.Seconds * float64(time.Second))), nil
}

type untilArgs struct {
	Time string `json:"time"`
}

func until(given untilArgs, now time.Time) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, given.Time)
	if err != nil {
		return now, domain.CodedErrorf(domain.Invalid, domain.CodeMalformed, "arguments: at /time: %q is no moment with its offset from UTC, as in %s", domain.Shorten(given.Time, 64), stamp(now))
	}
	return at, nil
}
