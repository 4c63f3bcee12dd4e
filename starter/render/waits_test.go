package render

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/client"
)

func TestLegible(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"as it is":            {`{"a": "b  c", "d": [1, "é 世"]}`, `{"a": "b  c", "d": [1, "é 世"]}`},
		"scrolled away":       {"{" + strings.Repeat("\n", 500) + strings.Repeat(" \t", 500) + `"a":` + "\r\n" + `1}`, `{ "a": 1}`},
		"escaped quote":       {`{"a\\": "\"  b",   "c": 1}`, `{"a\\": "\"  b", "c": 1}`},
		"zero width":          {"{\"to\": \"a\u200bb\u2060\"}", `{"to": "a\u200bb\u2060"}`},
		"fillers":             {"\u3164\ufe0f\u034f\u00a0", `\u3164\ufe0f\u034f\u00a0`},
		"blank symbols":       {"a\u2800b\U0001d159\U00013441\U00013442\U00016fe4", `a\u2800b\ud834\udd59\ud80d\udc41\ud80d\udc42\ud81b\udfe4`},
		"other fillers":       {"\u115f\u1160\uffa0\u17b4", `\u115f\u1160\uffa0\u17b4`},
		"direction":           {"\u202ea", `\u202ea`},
		"controls":            {"\x1b[31m\u009b", `\u001b[31m\u009b`},
		"tags":                {"\U000e0041", `\udb40\udc41`},
		"a break in a string": {"\"a\nb\"", `"a\u000ab"`},
		"not UTF-8":           {"a\xff", "a\ufffd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, legible(test.text))
		})
	}
}

// TestWaitingIsShownWhole: nothing that a model wrote moves what it wrote out of sight.
func TestWaitingIsShownWhole(t *testing.T) {
	t.Parallel()
	arguments := "{\"a\": 1," + strings.Repeat("\n", 200) + "\"all\": true}"
	call := client.WaitingCall{ID: "notes", Wait: domain.Wait{
		Kind: domain.WaitApproval, Tool: "pay", Arguments: arguments, Digest: domain.CallDigest("pay", arguments),
	}}
	require.Contains(t, Waiting([]client.WaitingCall{call}, time.Time{}), "\n  {\"a\": 1, \"all\": true}\n")
}
