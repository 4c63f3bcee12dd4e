package scripted

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

const whole = `
turns:
  - text: Looking.
    reasoning: hm
    tool_calls:
      - {name: list_files, arguments: {path: ., deep: true, depth: 2, ratio: 0.5, none: null, names: [a, "1"]}}
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
	text, calls, err := first.render(&scene{}, 4)
	require.NoError(t, err)
	require.Equal(t, "Looking.", text)
	require.Equal(t, []domain.ToolCall{
		{ID: "call_4_0", Name: "list_files", Arguments: `{"path":".","deep":true,"depth":2,"ratio":0.5,"none":null,"names":["a","1"]}`},
		{ID: "mine", Name: "broken", Arguments: `{"path":`},
		{ID: "call_4_2", Name: "bare", Arguments: `{}`},
	}, calls)
	require.Equal(t, domain.Usage{InputTokens: 120, OutputTokens: 15, CacheReadTokens: 1, CacheWriteTokens: 2, ReasoningTokens: 3}, first.usage)
	require.Equal(t, domain.FinishToolCalls, first.finish)
	require.Equal(t, domain.FinishLength, second.finish)
	require.Equal(t, 2*time.Second, second.delay)
	require.Zero(t, second.usage, "unknown: it is reckoned when the turn is played")
	require.Equal(t, []fault{{status: 429, retryAfter: time.Second, asked: true, code: "insufficient_quota", message: "pay"}, {cut: true, cutAfter: 20}}, second.failures)
}

func TestParseJSON(t *testing.T) {
	t.Parallel()
	s, err := parse("a.json", []byte(`{"turns": [{"text": "hello", "tool_calls": [{"name": "f", "arguments": {"x": 1e3}}]}]}`))
	require.NoError(t, err)
	_, calls, err := s.turns[0].render(&scene{}, 0)
	require.NoError(t, err)
	require.Equal(t, `{"x":1e3}`, calls[0].Arguments)
}

// TestMistakes: each names the file and the line, and what to do.
func TestMistakes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ file, want string }{
		"empty":                     {"", "a.yaml: is empty"},
		"comments":                  {"# nothing\n", "a.yaml: is empty"},
		"not UTF-8":                 {"turns: [{text: \xff}]", "a.yaml: is not valid UTF-8"},
		"not YAML":                  {"turns:\n  - text: 'open\n", "a.yaml:"},
		"tabs":                      {"turns:\n\t- text: x\n", "a.yaml:2:"},
		"a list":                    {"- text: x", "a.yaml:1: the script is not a mapping"},
		"no turns":                  {"{}", "a.yaml:1: the script has no turns"},
		"turns of another kind":     {"turns: 5", "a.yaml:1: turns is not a list"},
		"a turn of another kind":    {"turns:\n  - hello", "a.yaml:2: a turn is not a mapping"},
		"a key like another":        {"turns:\n  - txet: x", `a.yaml:2: a turn has no key "txet"; did you mean "text"?`},
		"a key like none":           {"turns:\n  - greetings: x", `a.yaml:2: a turn has no key "greetings"; it may have text,`},
		"a key of the script":       {"turn: []", `a.yaml:1: the script has no key "turn"; did you mean "turns"?`},
		"a key twice":               {"turns:\n  - text: x\n    text: y", `a.yaml:3: a turn has the key "text" twice`},
		"a merge":                   {"turns:\n  - &a {text: x}\n  - <<: *a", `a.yaml:3: a turn has no key "<<"`},
		"a second document":         {"turns: []\n---\nturns: []", "a.yaml:2: the script has a second document"},
		"text of another kind":      {"turns:\n  - text: [x]", "a.yaml:2: text is not a text"},
		"a template":                {"turns:\n  - text: x\n  - text: '{{ nothing }}'", `a.yaml:3: text: the template cannot be read: 1: function "nothing" not defined`},
		"a template in an argument": {"turns:\n  - tool_calls:\n      - name: f\n        arguments: {x: '{{ if }}'}", "a.yaml:4: the template cannot be read"},
		"a call without a name":     {"turns:\n  - tool_calls: [{id: x}]", "a.yaml:2: a tool call has no name"},
		"arguments as a list":       {"turns:\n  - tool_calls: [{name: f, arguments: [1]}]", "a.yaml:2: arguments is neither a mapping nor a text"},
		"an argument twice":         {"turns:\n  - tool_calls: [{name: f, arguments: {x: 1, x: 2}}]", `a.yaml:2: the key "x"`},
		"an argument of no number":  {"turns:\n  - tool_calls: [{name: f, arguments: {x: .nan}}]", "a.yaml:2: \".nan\" is not a number"},
		"negative usage":            {"turns:\n  - usage: {input_tokens: -1}", "a.yaml:2: input_tokens is \"-1\""},
		"a delay of words":          {"turns:\n  - delay: soon", "a.yaml:2: delay is \"soon\"; give a time like"},
		"a finish reason":           {"turns:\n  - finish_reason: tired", "a.yaml:2: finish_reason is \"tired\"; give one of"},
		"a failure of nothing":      {"turns:\n  - failures: [{message: x}]", "a.yaml:2: a failure has either a status or cut_after"},
		"a failure of both":         {"turns:\n  - failures: [{status: 500, cut_after: 1}]", "a.yaml:2: a failure has either"},
		"a status that is none":     {"turns:\n  - failures: [{status: 200}]", "a.yaml:2: status is 200; give one from 400 to 599"},
		"an alias of itself":        {"turns:\n  - &a\n    tool_calls: [{name: f, arguments: {x: *a}}]", "a.yaml:"},
		"aliases of aliases":        {"turns:\n  - tool_calls: [{name: f, arguments: " + laughs() + "}]", "aliases may repeat themselves"},
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
			_, _, _ = turn.render(&scene{[]domain.Message{domain.UserMessage("[1, 2]")}}, 0)
		}
	})
}
