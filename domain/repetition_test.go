package domain_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
)

// cyclesOf are the cycles after steps, each letter one with a call of its own; a space is a step without calls.
func cyclesOf(steps string) (c domain.Cycles) {
	for _, step := range steps {
		digest := domain.DigestOfTexts(string(step))
		if step == ' ' {
			digest = domain.Digest{}
		}
		c = c.With(digest)
	}
	return c
}

func TestCyclesAreCounted(t *testing.T) {
	t.Parallel()
	for steps, want := range map[string]struct {
		length, times int
		whole         bool
	}{
		"":                   {1, 0, true},
		"a":                  {1, 1, true},
		"aab":                {1, 1, true},
		"ababab":             {2, 3, true},
		"abababa":            {2, 3, false},
		"abcdefghiabcdefghi": {1, 1, true},
		"aaaa b":             {1, 1, true},
		"abab ab":            {1, 1, true},
		"abab ":              {1, 0, true},
	} {
		length, times, whole := cyclesOf(steps).Repeated()
		require.Equal(t, want, struct {
			length, times int
			whole         bool
		}{length, times, whole}, steps)
	}
}

// TestCyclesOfAnyLengthAreCounted whatever came before, also where the counts were written down and read back in between,
// and stay as small as they are.
func TestCyclesOfAnyLengthAreCounted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		length, times := rapid.IntRange(1, domain.MaxCycle).Draw(t, "length"), rapid.IntRange(2, 40).Draw(t, "times")
		c := cyclesOf(rapid.StringMatching(`[x-z ]{0,20}`).Draw(t, "before"))
		for i := range length * times {
			c = c.With(domain.DigestOfTexts(fmt.Sprint(i % length)))
			encoded, err := json.Marshal(c)
			require.NoError(t, err)
			require.Less(t, len(encoded), 400)
			c = domain.Cycles{}
			require.NoError(t, json.Unmarshal(encoded, &c))
		}
		gotLength, gotTimes, whole := c.Repeated()
		require.Equal(t, []any{length, times, true}, []any{gotLength, gotTimes, whole})
	})
}

// TestEqualCallsHaveOneDigest: those of one tool with equal arguments and equal results, however they are written.
func TestEqualCallsHaveOneDigest(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	call := func(name, arguments, value string) domain.ToolExecution {
		return domain.ToolExecution{Call: domain.ToolCall{ID: value, Name: name, Arguments: arguments}, Value: value, StartedAt: at, CompletedAt: at}
	}
	failed := func(code domain.Code, message string) domain.ToolExecution {
		e := call("a", "{}", "")
		e.Error = domain.CodedErrorf(domain.Invalid, code, "%s", message)
		return e
	}
	named := func(value string, digest domain.Digest) domain.ToolExecution {
		e := call("a", "{}", value)
		e.ResultDigest = digest
		return e
	}
	other := domain.DigestOfTexts("other")
	for name, test := range map[string]struct {
		a, b domain.ToolExecution
		same bool
	}{
		"order of keys":          {call("a", `{"x":1,"y":[2]}`, "v"), call("a", `{ "y": [2.0], "x": 1e0 }`, "v"), true},
		"no arguments":           {call("a", "", "v"), call("a", "{}", "v"), true},
		"results as JSON":        {call("a", "{}", `{"b":1,"a":2}`), call("a", "{}", `{"a":2, "b":1}`), true},
		"another tool":           {call("a", "{}", "v"), call("b", "{}", "v"), false},
		"other arguments":        {call("a", `{"x":1}`, "v"), call("a", `{"x":2}`, "v"), false},
		"arguments of no JSON":   {call("a", `{"x":1`, "v"), call("a", `{"x":1 `, "v"), false},
		"another result":         {call("a", "{}", "v"), call("a", "{}", "w"), false},
		"an error for a result":  {call("a", "{}", "v"), failed("", "v"), false},
		"equal errors":           {failed(domain.CodeTimeout, "late"), failed(domain.CodeTimeout, "late"), true},
		"another code":           {failed(domain.CodeTimeout, "late"), failed(domain.CodeBlocked, "late"), false},
		"named results":          {named("after 1 s", other), named("after 2 s", other), true},
		"other results so named": {named("cut", other), named("cut", domain.DigestOfTexts("another")), false},
	} {
		require.Equal(t, test.same, test.a.Digest() == test.b.Digest(), name)
	}
	step := func(calls ...domain.ToolExecution) domain.Digest {
		return domain.AgentStep{ToolExecutions: calls}.CallsDigest()
	}
	a, b := call("a", "{}", "v"), call("b", "{}", "v")
	require.Equal(t, step(a, b), step(b, a))
	require.NotEqual(t, step(a, b), step(a, b, b))
	require.NotEqual(t, step(a), step(a, a))
	require.True(t, step().IsZero())
}
