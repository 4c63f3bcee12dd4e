package render

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
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

// TestEachKindOfWaitIsShown as it waits, by what became of it, and with the commands that answer it.
func TestEachKindOfWaitIsShown(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, rule := range domain.WaitRules() {
		w := domain.Wait{Kind: rule.Kind, Execution: 2, Step: 3, Tool: "pay", Arguments: `{"amount":1}`, Since: testNow}
		if rule.Replies {
			w.Arguments, w.Ask = "", &domain.Question{Text: "How much?", Schema: []byte(`{"type":"integer"}`)}
		}
		status := account.Status{Head: account.Head{Open: true, Waits: []domain.Wait{w}}, Server: account.Server{Source: contract.FromWorkflow}}
		for line := range strings.Lines(StatusText(noTheme(), "notes", status, testNow)) {
			if strings.HasPrefix(line, "  waits ") || strings.HasPrefix(line, "            ") {
				b.WriteString(line)
			}
		}
		var answers []domain.Verdict
		if !rule.Outlasts {
			answers = append(answers, domain.Expired)
			b.WriteString("list: " + listStatus(client.Listed{Open: true, Waiting: 1, WaitsFor: domain.WaitsFor([]domain.Wait{w})}) + "\n")
		}
		b.WriteString(Waiting([]client.WaitingCall{{ID: "notes", Wait: w}}, testNow) + WaitWords(w) + "\n")
		event := client.Event{Tool: w.Tool, Arguments: `{"amount":1}`, Wait: &w, Text: "two"}
		b.WriteString("opened: " + opened(event) + "\n")
		for _, answer := range rule.Answers {
			answers = append(answers, answer.Verdict)
		}
		for _, verdict := range answers {
			w := w.Answered(domain.Answer{Verdict: verdict, By: "ann", Content: "one", Reason: "why", At: testNow})
			event.Wait = &w
			b.WriteString(WaitWords(w) + "\nclosed: " + closed(event) + "\n")
		}
		b.WriteString("\n")
	}
	requireGolden(t, "waits", b.String())
}
