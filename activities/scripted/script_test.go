package scripted

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/domain"
)

const whole = `
turns:
  - text: Looking.
    reasoning: hm
    tool_calls:
      - {name: list_files, arguments: {path: ., deep: true, depth: 2, ratio: 0.5, most: 1e3, none: null, names: [a, "1"]}}
      - {id: mine, name: broken, arguments: '{"path":'}
      - name: bare
    usage: {input_tokens: 120, output_tokens: 15, cache_read_tokens: 1, cache_write_tokens: 2, reasoning_tokens: 3}
  - failures: [{status: 429, retry_after: 1s, code: insufficient_quota, message: pay}, {cut_after: 20}]
    delay: 2s
    text: 'The folder holds {{ len (lines (result "list_files")) }} entries.'
    finish_reason: length
`

func TestParse(t *testing.T) {
	t.Parallel()
	s, err := parse("a.yaml", []byte(whole))
	require.NoError(t, err)
	require.Len(t, s.turns, 2)
	first, second := s.turns[0], s.turns[1]
	text, calls, err := first.render(nil, 4)
	require.NoError(t, err)
	require.Equal(t, "Looking.", text)
	require.Equal(t, []domain.ToolCall{
		{ID: "call_4_0", Name: "list_files", Arguments: `{"path":".","deep":true,"depth":2,"ratio":0.5,"most":1e3,"none":null,"names":["a","1"]}`},
		{ID: "mine", Name: "broken", Arguments: `{"path":`},
		{ID: "call_4_2", Name: "bare", Arguments: `{}`},
	}, calls)
	require.Equal(t, domain.Usage{InputTokens: 120, OutputTokens: 15, CacheReadTokens: 1, CacheWriteTokens: 2, ReasoningTokens: 3}, first.usage)
	require.Equal(t, domain.FinishToolCalls, first.finish)
	require.Equal(t, domain.FinishLength, second.finish)
	require.Equal(t, 2*time.Second, second.delay)
	require.Zero(t, second.usage, "unknown: it is reckoned when the turn is played")
	require.Equal(t, []fault{{Rejection: inference.Rejection{Status: 429, RetryAfter: time.Second, Asked: true, Code: "insufficient_quota", Message: "pay"}}, {cut: true, cutAfter: 20}}, second.failures)
}

// TestMistakes: each names the file and the line, and what to do.
func TestMistakes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ file, want string }{
		"empty":                     {"", "a.yaml: is empty"},
		"comments":                  {"# nothing\n", "a.yaml:1:1: has no keys; give it turns"},
		"no turns":                  {"{}", "a.yaml:1:1: turns: is missing; give one for each inference"},
		"a key like another":        {"turns:\n  - txet: x", "a.yaml:2:5: turns[0].txet: there is no such key; did you mean text?"},
		"a template":                {"turns:\n  - text: x\n  - text: '{{ nothing }}'", `a.yaml:3:11: turns[1].text: the template cannot be read: 1: function "nothing" not defined`},
		"a template in an argument": {"turns:\n  - tool_calls:\n      - name: f\n        arguments: {x: '{{ if }}'}", "a.yaml:4:24: turns[0].tool_calls[0].arguments: the template cannot be read"},
		"a call without a name":     {"turns:\n  - tool_calls: [{id: x}]", "a.yaml:2:18: turns[0].tool_calls[0].name: is missing"},
		"a call of a summary":       {"turns: []\nsummaries: [{tool_calls: []}]", "a.yaml:2:14: summaries[0].tool_calls: there is no such key"},
		"a failure of a summary":    {"turns: []\nsummaries: [{failures: [{status: 200}]}]", "a.yaml:2:34: summaries[0].failures[0].status: is 200; give a whole number from 400 to 599"},
		"negative usage":            {"turns:\n  - usage: {input_tokens: -1}", "a.yaml:2:27: turns[0].usage.input_tokens: is -1; give a whole number from 0"},
		"a delay of words":          {"turns:\n  - delay: soon", `a.yaml:2:12: turns[0].delay: is "soon"; give a duration`},
		"a finish reason":           {"turns:\n  - finish_reason: tired", `a.yaml:2:20: turns[0].finish_reason: "tired" is not known; there are stop,`},
		"a failure of nothing":      {"turns:\n  - failures: [{message: x}]", "a.yaml:2:16: turns[0].failures[0]: has to have either a status or cut_after"},
		"a failure of both":         {"turns:\n  - failures: [{status: 500, cut_after: 1}]", "a.yaml:2:16: turns[0].failures[0]: has to have either"},
		"a status that is none":     {"turns:\n  - failures: [{status: 200}]", "a.yaml:2:25: turns[0].failures[0].status: is 200; give a whole number from 400 to 599"},
		"aliases of aliases":        {"turns:\n  - tool_calls: [{name: f, arguments: " + laughs() + "}]", "aliases may repeat themselves"},
		"all at once":               {"turns:\n  - txet: x\n    delay: soon\nsummaries: 5", "a.yaml has 3 problems:\n  a.yaml:2:5: turns[0].txet: there is no such key; did you mean text?\n  a.yaml:3:12: turns[0].delay: "},
		"a nest":                    {"turns: [{json: " + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "}]", "nests deeper than 64 levels"},
		"too large":                 {"turns: []\n#" + strings.Repeat("x", maxScript), "has more than 1048576 bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse("a.yaml", []byte(test.file))
			require.ErrorContains(t, err, test.want)
			require.True(t, strings.HasPrefix(err.Error(), "script a.yaml"), err.Error())
			require.Contains(t, []domain.Kind{domain.Invalid, domain.TooLarge}, domain.AsError(err).Kind)
		})
	}
}

// laughs is a mapping of few bytes that stands for ten million values.
func laughs() string {
	text := "{a: &a [x,x,x,x,x,x,x,x,x,x]"
	for c := 'b'; c <= 'g'; c++ {
		ref := "*" + string(c-1)
		text += ", " + string(c) + ": &" + string(c) + " [" + strings.Repeat(ref+",", 9) + ref + "]"
	}
	return text + "}"
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{whole, `{"turns":[{"text":"{{ prompt }}"}]}`, "turns: [{text: '{{range json prompt}}{{.}}{{end}}'}]", "&a [*a]", "turns: " + laughs(), "? [a]: b"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parse("a.yaml", data)
		if err != nil {
			require.Equal(t, "script a.yaml", domain.AsError(err).Message[:len("script a.yaml")])
			return
		}
		for _, turn := range s.turns {
			_, _, _ = turn.render(scene{domain.UserMessage("[1, 2]")}, 0)
		}
	})
}
