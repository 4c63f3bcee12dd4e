package document_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/document"
)

// TestJSONIsReadWithItsEscapes: what encoders of JSON write is read, YAML knows it or not.
func TestJSONIsReadWithItsEscapes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`"family \ud83d\udc68 ok"`:         "family 👨 ok",
		`"\u0041\uD83D\uDC68\uD83D\uDC69"`: "A👨👩",
		`"a\/b\\/c"`:                       `a/b\/c`,
		`"\\ud83d"`:                        `\ud83d`,
		`"\"\n"`:                           "\"\n",
		"\"a\x7f\u0085\u0080\u2028\ufeff\uffff\"": "a\x7f\u0085\u0080\u2028\ufeff\uffff",
	} {
		var got recipe
		r := &document.Reader{File: "r.JSON"}
		r.Read(`{"title": `+text+`}`, got.keys())
		require.NoError(t, r.Err())
		require.Equal(t, want, got.title, "%s", text)
	}
}

// TestProblemsOfJSON: they say JSON, and where.
func TestProblemsOfJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\"title\":\n \"é\\ud83d\"}":      `r.json:2:4: \ud83d is half a character; give both halves, or the character itself`,
		"{\"title\": \"\\udc68\\ud83dx\"}": `r.json:1:12: \udc68 is half a character`,
		"{\"title\":\n  x: y}":             "r.json:2:3: is no JSON: invalid character 'x' looking for beginning of value",
		"{\"title\": [":                    "r.json:1:11: is no JSON: unexpected end of JSON input",
	} {
		r := &document.Reader{File: "r.json"}
		require.Nil(t, r.Read(text, new(recipe).keys()))
		require.ErrorContains(t, r.Err(), want)
	}
}
