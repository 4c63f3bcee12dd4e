package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/domain"
)

// TestHalvesOfCharacters: what JSON writes as two escapes is one character, in however many pieces it comes, and a half
// that stays alone is U+FFFD. No piece that is told ends in half a character.
func TestHalvesOfCharacters(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pieces []string
		want   string
	}{
		"in one piece":            {[]string{`a\ud83d\ude00b`}, "a😀b"},
		"in two":                  {[]string{`a\ud83d`, `\ude00b`}, "a😀b"},
		"in two, in upper case":   {[]string{`\uD83D`, `\uDE00`}, "😀"},
		"with nothing in between": {[]string{`a\ud83d`, ``, `\ude00b`}, "a😀b"},
		"two in three":            {[]string{`\ud83d`, `\ude00\ud83d`, `\ude01`}, "😀😁"},
		"a first alone":           {[]string{`a\ud83d`, `b`}, "a\ufffdb"},
		"a first at the end":      {[]string{`a`, `\ud83d`}, "a\ufffd"},
		"a second alone":          {[]string{`a`, `\ude00b`}, "a\ufffdb"},
		"two firsts":              {[]string{`\ud83d`, `\ud83d\ude00`}, "\ufffd😀"},
		"the wrong way round":     {[]string{`\ude00\ud83d`}, "\ufffd\ufffd"},
		"an escaped backslash":    {[]string{`\\ud83d`, `\\ude00`}, `\ud83d\ude00`},
		"other escapes":           {[]string{`\n\u00e9\"`, `\ud83d`, `\ude00\t`}, "\n\u00e9\"😀\t"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := ""
			d := &Draft{Emit: func(one inference.Delta) { told += one.Text }}
			for _, piece := range test.pieces {
				var text Text
				require.NoError(t, json.Unmarshal([]byte(`"`+piece+`"`), &text))
				d.Text(0, string(text))
				d.Call(Piece{Index: 0, ID: "a", Name: "f", Arguments: string(text)})
				d.Flush()
			}
			m := d.Finished(domain.FinishStop, "").Message
			require.Equal(t, test.want, m.Text())
			require.Equal(t, test.want, m.ToolCalls[0].Arguments)
			require.Contains(t, test.want, told)
			require.GreaterOrEqual(t, len(told)+sizeOfHalf, len(test.want))
		})
	}
}

// TestMemoryOfEscapes: a half that stands alone costs no memory for each other escape.
func TestMemoryOfEscapes(t *testing.T) {
	data := []byte(`"\ud83d` + strings.Repeat(`\n`, 1<<16) + `"`)
	require.Less(t, testing.AllocsPerRun(1, func() { _, _ = decodeText(data) }), 1000.0)
}
