package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
)

type weatherArgs struct {
	City  string            `json:"city" jsonschema:"where"`
	Days  int               `json:"days,omitzero" jsonschema:"how many days ahead"`
	Tags  []string          `json:"tags,omitempty"`
	Extra map[string]string `json:"extra,omitempty"`
	Spot  *struct {
		Lat float64 `json:"lat"`
	} `json:"spot,omitempty"`
}

func weather() tool.Tool {
	return tool.New("weather", "Tells the weather.", domain.ReadOnly, func(_ context.Context, args weatherArgs) (string, error) {
		return fmt.Sprintf("%+v", args), nil
	})
}

func TestSpec(t *testing.T) {
	t.Parallel()
	spec := weather().Spec()
	require.Equal(t, "weather", spec.Name)
	require.Equal(t, domain.ReadOnly, spec.Effect)
	require.Zero(t, spec.Timeout)
	require.JSONEq(t, `{
		"type": "object",
		"properties": {
			"city": {"type": "string", "description": "where"},
			"days": {"type": "integer", "description": "how many days ahead"},
			"tags": {"type": ["null", "array"], "items": {"type": "string"}},
			"extra": {"type": "object", "additionalProperties": {"type": "string"}},
			"spot": {"type": ["null", "object"], "properties": {"lat": {"type": "number"}}, "required": ["lat"], "additionalProperties": false}
		},
		"required": ["city"],
		"additionalProperties": false
	}`, string(spec.Schema))

	spec.Schema[0] = 'x'
	require.NoError(t, weather().Check())
	require.True(t, json.Valid(weather().Spec().Schema), "a caller cannot change the tool's own schema")
}

func TestSpecListsPropertiesEvenWhereThereAreNone(t *testing.T) {
	t.Parallel()
	none := tool.New("none", "", domain.ReadOnly, func(context.Context, struct{}) (string, error) { return "ok", nil })
	require.NoError(t, none.Check())
	require.JSONEq(t, `{"type":"object","properties":{},"additionalProperties":false}`, string(none.Spec().Schema))
	result, err := none.Call(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, "ok", result.Content)
	_, err = none.Call(t.Context(), `{"x":1}`)
	require.ErrorContains(t, err, "at /x: the schema has no such property; leave it out")

	free := tool.New("free", "", domain.ReadOnly, func(_ context.Context, m map[string]int) (string, error) { return fmt.Sprint(m), nil })
	require.NoError(t, free.Check())
	require.JSONEq(t, `{"type":"object","properties":{},"additionalProperties":{"type":"integer"}}`, string(free.Spec().Schema))
	result, err = free.Call(t.Context(), `{"a":1,"A":2}`)
	require.NoError(t, err)
	require.Equal(t, "map[A:2 a:1]", result.Content)
}

func TestArgumentsThatFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, arguments, want string }{
		{"required only", `{"city":"Bonn"}`, "{City:Bonn Days:0 Tags:[] Extra:map[] Spot:<nil>}"},
		{"all, with space around", " {\"city\": \"Bonn\", \"days\": 2, \"tags\": [\"a\"], \"extra\": {\"k\": \"v\"}}\n", "{City:Bonn Days:2 Tags:[a] Extra:map[k:v] Spot:<nil>}"},
		{"null where it may be", `{"city":"Bonn","tags":null,"spot":null}`, "{City:Bonn Days:0 Tags:[] Extra:map[] Spot:<nil>}"},
		{"escaped key", `{"c\u0069ty":"Bonn"}`, "{City:Bonn Days:0 Tags:[] Extra:map[] Spot:<nil>}"},
		{"the same key in two objects", `{"city":"city","extra":{"city":"days"}}`, "{City:city Days:0 Tags:[] Extra:map[city:days] Spot:<nil>}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			result, err := weather().Call(t.Context(), c.arguments)
			require.NoError(t, err)
			require.Equal(t, c.want, result.Content)
		})
	}
}

func TestArgumentsThatDoNotFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, arguments, want string }{
		{"empty", ``, `at the root: lacks "city"`},
		{"blank", ` `, "the text is empty; give one JSON value"},
		{"cut", `{"city":"Bo`, "the text is not JSON: unexpected end of JSON input (line 1, column 11)"},
		{"array", `[1]`, "must be of type object and is of type array"},
		{"unknown field", `{"city":"a","when":1}`, "at /when: the schema has no such property; leave it out"},
		{"other case", `{"City":"a"}`, "at the root: lacks \"city\"\nat /City: the schema has no such property; leave it out"},
		{"both cases", `{"city":"a","City":"b"}`, "at /City: the schema has no such property; leave it out"},
		{"key twice", `{"city":"a","city":"b"}`, "the text at /city: the key is there twice"},
		{"key twice, written differently", `{"city":"a","c\u0069ty":"b"}`, "at /city: the key is there twice"},
		{"key twice, deep", `{"city":"a","extra":{"k":"v","k":"w"}}`, "at /extra/k: the key is there twice"},
		{"wrong type", `{"city":3}`, "at /city: must be of type string and is of type integer"},
		{"all at once", `{"days":"x","tags":[1]}`, "at the root: lacks \"city\"\nat /days: must be of type integer and is of type string\nat /tags/0: must be of type string and is of type integer"},
		{"beyond an integer", `{"city":"a","days":9223372036854775808}`, "days: is 9223372036854775808, which is too large; give a smaller whole number"},
		{"beyond a number", `{"city":"a","days":1e999}`, "at /days: has a number that is too large"},
		{"not UTF-8", "{\"city\":\"\xff\"}", "not valid UTF-8"},
		{"deep", strings.Repeat(`{"a":`, 20_000), "exceeded max depth"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := weather().Call(t.Context(), c.arguments)
			require.ErrorContains(t, err, c.want)
			e := domain.AsError(err)
			require.Equal(t, domain.Invalid, e.Kind)
			require.Equal(t, domain.CodeMalformed, e.Code)
			require.True(t, strings.HasPrefix(e.Message, "arguments: "), e.Message)
		})
	}
}

func TestLongArgumentsErrorIsCut(t *testing.T) {
	t.Parallel()
	_, err := weather().Call(t.Context(), `{"city":["`+strings.Repeat("é", 100_000)+`"]}`)
	require.ErrorContains(t, err, "at /city: must be of type string and is of type array")
	require.Less(t, len(err.Error()), 300)
	require.NotContains(t, err.Error(), "�")
}

func TestFromSpec(t *testing.T) {
	t.Parallel()
	echo := func(_ context.Context, arguments json.RawMessage) (tool.Result, error) {
		return tool.Result{Content: string(arguments)}, nil
	}
	free := tool.FromSpec(domain.ToolSpec{Name: "free"}, echo, tool.Timeout(time.Minute))
	require.NoError(t, free.Check())
	require.Equal(t, domain.AtMostOnce, free.Spec().Effect, "a tool that says nothing is at-most-once")
	require.Equal(t, time.Minute, free.Spec().Timeout)
	result, err := free.Call(t.Context(), `{ "any": [1.0] }`)
	require.NoError(t, err)
	require.Equal(t, `{ "any": [1.0] }`, result.Content, "the exact text")
	_, err = free.Call(t.Context(), `{"a":1,"a":2}`)
	require.ErrorContains(t, err, "twice")

	narrow := tool.FromSpec(domain.ToolSpec{Name: "narrow", Schema: json.RawMessage(`{"type":"object","required":["q"]}`)}, echo)
	_, err = narrow.Call(t.Context(), ``)
	require.ErrorContains(t, err, `at the root: lacks "q"`)
}

// TestSchemasOfOthers: a schema that was not written for this program is taken,
// words of other tools and all; what it says is kept, and nothing is fetched.
func TestSchemasOfOthers(t *testing.T) {
	t.Parallel()
	echo := func(_ context.Context, arguments json.RawMessage) (tool.Result, error) {
		return tool.Result{Content: string(arguments)}, nil
	}
	for name, test := range map[string]struct{ schema, good, bad string }{
		"unknown words":    {`{"type":"object","$id":"https://example.com/a","order":1,"properties":{"a":{"type":"string","nullable":true,"widget":{"x":1}}}}`, `{"a":"x"}`, `{"a":1}`},
		"an old draft":     {`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","required":["a"]}`, `{"a":1}`, `{}`},
		"a format":         {`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"string","format":"date"}}}`, `{"a":"soon"}`, `{"a":1}`},
		"ids within":       {`{"type":"object","properties":{"a":{"$id":"b","$ref":"#/$defs/c"}},"$defs":{"c":{"type":"string"}}}`, `{"a":"x"}`, `{"a":1}`},
		"the other drafts": {`{"type":"object","definitions":{"a":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/a"}},"dependencies":{"b":["a"]}}`, `{"a":"x","b":1}`, `{"b":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := tool.FromSpec(domain.ToolSpec{Name: "a", Schema: json.RawMessage(test.schema)}, echo)
			require.NoError(t, made.Check())
			_, err := made.Call(t.Context(), test.good)
			require.NoError(t, err)
			_, err = made.Call(t.Context(), test.bad)
			require.ErrorContains(t, err, "arguments: at ")
		})
	}
	elsewhere := json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"https://example.com/a"}}}`)
	require.ErrorContains(t, tool.FromSpec(domain.ToolSpec{Name: "a", Schema: elsewhere}, echo).Check(), "outside of the schema; schemas are never fetched")
}

func TestNewResultMayStopTheLoop(t *testing.T) {
	t.Parallel()
	done := tool.NewResult("done", "", domain.ReadOnly, func(context.Context, struct{}) (tool.Result, error) {
		return tool.Result{Content: "bye", Stop: &domain.StopSignal{Reason: domain.StopRequested, Message: "asked"}}, nil
	})
	result, err := done.Call(t.Context(), "{}")
	require.NoError(t, err)
	require.Equal(t, "asked", result.Stop.Message)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	run := func(context.Context, struct{}) (string, error) { return "", nil }
	raw := func(context.Context, json.RawMessage) (tool.Result, error) { return tool.Result{}, nil }
	for _, c := range []struct {
		name string
		tool tool.Tool
		want string
	}{
		{"zero value", tool.Tool{}, `tool "": name: use 1 to 64 letters`},
		{"space in the name", tool.New("a b", "", domain.ReadOnly, run), `tool "a b": name`},
		{"long name", tool.New(strings.Repeat("a", 65), "", domain.ReadOnly, run), "name"},
		{"attempts", tool.New("a", "", domain.ReadOnly, run, tool.Attempts(0)), "attempts: 0 is below 1"},
		{"attempts of a spec", tool.FromSpec(domain.ToolSpec{Name: "a", Attempts: -1}, raw), "attempts: -1 is negative"},
		{"heartbeat", tool.New("a", "", domain.ReadOnly, run, tool.Heartbeat(0)), "heartbeat: 0s is not positive"},
		{"output", tool.New("a", "", domain.ReadOnly, run, tool.MaxOutput(1<<20)), "max output: 1048576 is not between 1024 and 65536"},
		{"effect", tool.New("a", "", "harmless", run), `effect: "harmless" is none of read_only, idempotent, keyed, at_most_once`},
		{"timeout", tool.New("a", "", domain.ReadOnly, run, tool.Timeout(-1)), "timeout: -1ns is not positive"},
		{"arguments that are no object", tool.New("a", "", domain.ReadOnly, func(context.Context, string) (string, error) { return "", nil }), `schema: its type is not "object"`},
		{"arguments without a schema", tool.New("a", "", domain.ReadOnly, func(context.Context, struct{ C chan int }) (string, error) { return "", nil }), "schema: "},
		{"schema that is no JSON", tool.FromSpec(domain.ToolSpec{Name: "a", Schema: json.RawMessage(`{`)}, raw), "schema: "},
		{"schema that does not resolve", tool.FromSpec(domain.ToolSpec{Name: "a", Schema: json.RawMessage(`{"type":"object","$ref":"#/none"}`)}, raw), "schema: "},
		{"no timeout", tool.New("a", "", domain.ReadOnly, run, tool.Timeout(0)), "timeout: 0s is not positive"},
		{"not made by a function of this package", tool.FromSpec(domain.ToolSpec{Name: "a"}, nil), "it was not made with New, NewResult or FromSpec"},
		{"negative timeout of a spec", tool.FromSpec(domain.ToolSpec{Name: "a", Timeout: -1}, raw), "timeout: -1ns is negative"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.ErrorContains(t, c.tool.Check(), c.want)
			_, err := c.tool.Call(t.Context(), "{}")
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestNotStarted(t *testing.T) {
	t.Parallel()
	cause := domain.Errorf(domain.Unavailable, "no route")
	err := fmt.Errorf("send: %w", tool.NotStarted(cause))
	require.True(t, tool.IsNotStarted(err))
	require.Equal(t, "send: no route", err.Error())
	require.Same(t, cause, domain.AsError(err))
	require.False(t, tool.IsNotStarted(errors.New("other")))
	require.NoError(t, tool.NotStarted(nil))
	require.False(t, tool.IsNotStarted(tool.NotStarted(nil)))
}

func TestExecutionOf(t *testing.T) {
	t.Parallel()
	_, ok := tool.ExecutionOf(t.Context())
	require.False(t, ok)
	want := tool.Call{Step: 2, Position: 1, Attempt: 3}
	got, ok := tool.ExecutionOf(tool.WithExecution(t.Context(), want))
	require.True(t, ok)
	require.Equal(t, want, got)
}

func TestLosses(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context, struct{}) (string, error) { return "", nil }
	require.Equal(t, 5, tool.New("x", "", domain.ReadOnly, nothing, tool.Losses(5)).Spec().Losses)
	require.ErrorContains(t, tool.New("x", "", domain.ReadOnly, nothing, tool.Losses(0)).Check(), "losses: 0 is below 1")
}
