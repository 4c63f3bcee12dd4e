package render

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/client"
)

func TestClean(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"plain":           {"Hello, world.\n\tIndented.", "Hello, world.\n\tIndented."},
		"other scripts":   {"héllo 世界 שלום مرحبا 👩‍👩‍👧", "héllo 世界 שלום مرحبا 👩‍👩‍👧"},
		"colour":          {"\x1b[31mred\x1b[0m", "␛[31mred␛[0m"},
		"title":           {"\x1b]0;owned\x07", "␛]0;owned␇"},
		"erase":           {"good\x08\x08\x08\x08evil", "good␈␈␈␈evil"},
		"return":          {"good\revil", "good␍evil"},
		"line breaks":     {"a\r\nb\r\n", "a\nb\n"},
		"null":            {"a\x00b", "a␀b"},
		"delete":          {"a\x7fb", "a␡b"},
		"C1 sequence":     {"a\u009b31mb", "a\ufffd31mb"},
		"C1 byte":         {"a\x9b31mb", "a\ufffd31mb"},
		"override":        {"a\u202eb\u202c", "a\ufffdb\ufffd"},
		"isolate":         {"a\u2066b\u2069", "a\ufffdb\ufffd"},
		"mark":            {"a\u200fb", "a\ufffdb"},
		"line separator":  {"a\u2028b", "a\ufffdb"},
		"a flag":          {"a\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007fb", "a\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007fb"},
		"tags of no flag": {"a\U0001f3f4\U000e0041b", "a\U0001f3f4\ufffdb"},
		"tags":            {"a\U000e0041b", "a\ufffdb"},
		"not UTF-8":       {"a\xffb\xc3", "a\ufffdb\ufffd"},
		"replacement":     {"a\ufffdb", "a\ufffdb"},
		"surrogate bytes": {"\xed\xa0\x80", "\ufffd\ufffd\ufffd"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, Clean(test.text))
		})
	}
}

// A pipe may end at a terminal: what is written there must not steer it either.
func TestAnswersSteerNoTerminal(t *testing.T) {
	t.Parallel()
	const answer = "\x1b]0;owned\x07a\x1bPq\x1b\\b\u009b31mc\u202ed\re\r\nf\u2028g\x1b[1;31mh\x1b[0m\x1b[i\tשלום\xff\n"
	require.Equal(t, "]0;ownedaPq\\bcde\r\nf\ngh\tשלום\ufffd\n", Plain(nil).Answer(answer))
	require.Equal(t, Clean(answer), (&Output{Terminal: true}).Answer(answer))
}

// TestPipedAnswersStayWhole: what steers nothing reaches a file as it was written.
func TestPipedAnswersStayWhole(t *testing.T) {
	t.Parallel()
	const answer = "a,b\r\nשלום\u200e!\u200f\r\n\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f 👩‍👩‍👧 🇩🇪\n"
	require.Equal(t, answer, Plain(nil).Answer(answer))
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a b c  d␛", OneLine(" a\n b\r\n\tc  d\x1b\n"))
	require.Empty(t, OneLine(" \n "))
}

// TestArgumentsKeepTheirBlanks wherever a call is named in one line: whoever decides about it sees what would run.
func TestArgumentsKeepTheirBlanks(t *testing.T) {
	t.Parallel()
	const arguments, shown = "{\n  \"text\":   \"if x:\\n    y\"}", `{ "text": "if x:\n    y"}`
	require.Equal(t, "write "+shown, CallWords("write", arguments))
	text, _ := Notice(client.Event{
		Type: domain.EventWaitOpened, Tool: "write", Arguments: arguments, Wait: &domain.Wait{Kind: domain.WaitApproval, Tool: "write", Arguments: arguments},
	})
	require.Contains(t, text, shown)
}

func FuzzClean(f *testing.F) {
	for _, seed := range []string{"a\r\nb", "\x1b[2J", "\u009b1m", "\u202e", "\xff\xc3", "世", "\r\r\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		requireHarmless(t, Clean(text))
		require.Equal(t, Clean(text), Clean(Clean(text)), "cleaning twice changes nothing")
		require.NotContains(t, OneLine(text), "\n")
		requireHarmless(t, OneLine(text))
		requireHarmless(t, strings.NewReplacer("\r\n", "\n", "\u200e", "", "\u200f", "", "\u061c", "").Replace(stripped(text)))
	})
}

func FuzzJSONIsHarmlessAndMeansTheSame(f *testing.F) {
	for _, seed := range []string{"a\r\nb", "\x1b[2J", "\u009b1m", "\u202e", "世<&>", "\x7f", "\U000e0041", `\u009b`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line, err := domain.Encode(map[string]any{"text": text, "raw": json.RawMessage(`{"a":[1,2]}`)})
		require.NoError(t, err)
		requireHarmless(t, string(line))
		require.NotContains(t, string(line), "\n")
		var back struct{ Text string }
		require.NoError(t, json.Unmarshal(line, &back))
		require.Equal(t, string([]rune(text)), back.Text, "%q", line)
	})
}

// requireHarmless checks a text by rules of its own.
func requireHarmless(t *testing.T, text string) {
	t.Helper()
	require.True(t, utf8.ValidString(text), "%q", text)
	for _, r := range text {
		if r == '\n' || r == '\t' {
			continue
		}
		require.False(t, unicode.IsControl(r), "%U in %q", r, text)
		require.False(t, unicode.Is(unicode.Bidi_Control, r), "%U in %q", r, text)
	}
}

func TestNaughtyStrings(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("EVERSTEP_DATA")
	if folder == "" {
		t.Skip("EVERSTEP_DATA is not set: the naughty strings were not tried")
	}
	data, err := os.ReadFile(filepath.Join(folder, "hostile", "blns", "blns.json"))
	require.NoError(t, err)
	var texts []string
	require.NoError(t, json.Unmarshal(data, &texts))
	require.NotEmpty(t, texts)
	for _, text := range texts {
		requireHarmless(t, Clean(text))
		requireHarmless(t, OneLine(text))
		line, err := domain.Encode(text)
		require.NoError(t, err)
		requireHarmless(t, string(line))
		var back string
		require.NoError(t, json.Unmarshal(line, &back))
		require.Equal(t, text, back)
	}
}
