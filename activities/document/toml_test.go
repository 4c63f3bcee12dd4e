package document_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"everstep/activities/document"
)

func readTOML(text string) (*yaml.Node, error) {
	r := &document.Reader{File: "r.toml", Form: document.Form{MaxSize: 1 << 20, Loose: true}}
	root := r.Root(text)
	return root, r.Err()
}

const tables = `title = 'Soup' # of the day
serves = 1_0
stars = 4.5
"very.hot" = true
steps = ["boil",
  "eat",
]
sauce = {name = "pesto", from.town = "Genoa"}
extra.note = """
a
b"""
[extra.more]
hex = 0xff
[[guests]]
name = "Ann"
[guests.seat]
row = 1
[[guests]]
name = "Bob"
`

func TestTOML(t *testing.T) {
	t.Parallel()
	root, err := readTOML(tables)
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, root.Decode(&got))
	require.Equal(t, map[string]any{
		"title": "Soup", "serves": 10, "stars": 4.5, "very.hot": true, "steps": []any{"boil", "eat"},
		"sauce": map[string]any{"name": "pesto", "from": map[string]any{"town": "Genoa"}},
		"extra": map[string]any{"note": "a\nb", "more": map[string]any{"hex": 255}},
		"guests": []any{
			map[string]any{"name": "Ann", "seat": map[string]any{"row": 1}},
			map[string]any{"name": "Bob"},
		},
	}, got)
	r := &document.Reader{File: "r.toml", Form: document.Form{MaxSize: 1 << 20, Loose: true}}
	r.Read(tables, document.Keys{{Name: "title", Value: document.Text(new(string))}, {Name: "guest", Value: document.Text(new(string))}})
	require.ErrorContains(t, r.Err(), "r.toml:14:3: guests: there is no such key; did you mean guest?")
	require.ErrorContains(t, r.Err(), `r.toml:4:1: very.hot: there is no such key`)
}

func TestWhatIsNoTOML(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"a = \n":                            "1:5: is no TOML: unexpected character U+000A at start of value",
		"a = 1\n[b]\nc = 2\nc = 3\n":        "4:1: c: is no TOML: key c is already defined",
		"[a]\n[a]\n":                        "2:2: a: is no TOML: table a already exists",
		"a = 1\n[a.b]\n":                    "2:2: a.b: is no TOML: key a already exists as a value",
		strings.Repeat("a.", 200) + "a = 1": "1:1: nests deeper than 64 levels; make it flatter",
		"a = 1\n[" + strings.Repeat("a.", 200) + "a]":                            "2:2: nests deeper than 64 levels; make it flatter",
		"a = " + strings.Repeat("[", 70) + strings.Repeat("]", 70):               "1:1: nests deeper than 64 levels; make it flatter",
		"a = " + strings.Repeat("{a.b.c = ", 30) + "1" + strings.Repeat("}", 30): "1:199: nests deeper than 64 levels; make it flatter",
		strings.Repeat("#\n", 1<<18):                                             "1:1: has more than 98304 bytes of TOML; make it smaller",
	} {
		_, err := readTOML(text)
		require.EqualError(t, err, "r.toml:"+says)
	}
}

// FuzzTOML: whatever a text holds, reading ends, and what is read are the values that the library decodes.
func FuzzTOML(f *testing.F) {
	for _, seed := range []string{tables, "a = 2020-01-01\nb = inf\n", "[[a]]\n[[a.b]]\n[a.b.c]\n", "a.b = 1\n[a.c]\n", "[a.b]\n[a]\nx = []\n", "[a]\n[[a]]\n", "a = {b = {}}\n\"\" = ''\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		root, err := readTOML(text)
		var want, got any
		if bad := toml.Unmarshal([]byte(text), &want); bad != nil || err != nil {
			require.Error(t, err, "%s", text)
			return
		}
		raw, err := json.Marshal(want)
		if err != nil || strings.ContainsAny(text, "0123456789") {
			return // numbers that JSON does not hold, and those that it writes otherwise
		}
		require.NoError(t, root.Decode(&got))
		read, err := json.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, string(raw), string(read), "%s", text)
	})
}
