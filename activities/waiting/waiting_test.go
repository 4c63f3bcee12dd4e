package waiting_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/activities/waiting"
	"everstep/domain"
)

func TestWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now() // in a bubble it stands still
		stamp := func(after time.Duration) string { return now.Add(after).UTC().Format(time.RFC3339) }
		for name, test := range map[string]struct {
			tool, arguments string
			// until is how long it waits, content and wrong what it says at once.
			until          time.Duration
			content, wrong string
		}{
			"seconds":             {"sleep", `{"seconds":90}`, 90 * time.Second, "", ""},
			"a part of one":       {"sleep", `{"seconds":0.25}`, 250 * time.Millisecond, "", ""},
			"a year":              {"sleep", `{"seconds":31536000}`, 365 * 24 * time.Hour, "", ""},
			"none":                {"sleep", `{"seconds":0}`, 0, "", "at /seconds: is 0 and must be more than 0"},
			"back":                {"sleep", `{"seconds":-1}`, 0, "", "at /seconds: is -1 and must be more than 0"},
			"more than a year":    {"sleep", `{"seconds":1e300}`, 0, "", "at /seconds: is 1e+300 and must be at most"},
			"in words":            {"sleep", `{"seconds":"5"}`, 0, "", "at /seconds: must be of type number"},
			"without":             {"sleep", `{"minutes":1}`, 0, "", `at the root: lacks "seconds"`},
			"a moment":            {"wait_until", `{"time":"` + stamp(time.Hour) + `"}`, time.Hour, "", ""},
			"a moment elsewhere":  {"wait_until", `{"time":"` + now.Add(time.Hour).In(time.FixedZone("", 7200)).Format(time.RFC3339) + `"}`, time.Hour, "", ""},
			"past":                {"wait_until", `{"time":"` + stamp(-time.Hour) + `"}`, 0, stamp(-time.Hour) + " is past; it is now " + stamp(0), ""},
			"without an offset":   {"wait_until", `{"time":"2026-11-22T18:30:00"}`, 0, "", `"2026-11-22T18:30:00" is no moment with its offset`},
			"no moment":           {"wait_until", `{"time":"tomorrow\u202e"}`, 0, "", `is no moment`},
			"a moment and others": {"wait_until", `{"time":1,"zone":"UTC"}`, 0, "", "at /zone: the schema has no such property"},
		} {
			for _, one := range waiting.Tools() {
				require.NoError(t, one.Check())
				require.Equal(t, domain.ReadOnly, one.Spec().Effect)
				if one.Spec().Name != test.tool {
					continue
				}
				result, err := one.Call(t.Context(), test.arguments)
				until, waits := tool.Waits(err)
				switch {
				case test.wrong != "":
					require.ErrorContains(t, err, test.wrong, name)
					require.Equal(t, domain.CodeMalformed, domain.AsError(err).Code)
				case test.content != "":
					require.NoError(t, err, name)
					require.Equal(t, test.content, result.Content)
				default:
					require.True(t, waits, "%s: %v", name, err)
					require.Equal(t, test.until, until.Sub(now).Round(time.Millisecond), name)
					result, err = one.Call(tool.WithExecution(t.Context(), tool.Call{WaitedUntil: until}), test.arguments)
					require.NoError(t, err, name)
					require.Equal(t, "waited; it is now "+stamp(0), result.Content)
				}
			}
		}
	})
}
