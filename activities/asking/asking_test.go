package asking_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/asking"
	"everstep/activities/tool"
	"everstep/domain"
)

func TestAskUser(t *testing.T) {
	t.Parallel()
	asks := asking.Tool()
	require.NoError(t, asks.Check())
	require.Equal(t, domain.ReadOnly, asks.Spec().Effect)
	for name, test := range map[string]struct {
		arguments string
		question  domain.Question
		wrong     string
	}{
		"a text":            {`{"question":"?"}`, domain.Question{Text: "?"}, ""},
		"choices":           {`{"question":"?","choices":["a","b"],"default":"a","expires_in":60}`, domain.Question{Text: "?", Choices: []string{"a", "b"}, Default: json.RawMessage(`"a"`), ExpiresIn: 60}, ""},
		"a schema":          {`{"question":"?","schema":{"type":"integer"},"default":1,"expires_in":60}`, domain.Question{Text: "?", Schema: json.RawMessage(`{"type":"integer"}`), Default: json.RawMessage(`1`), ExpiresIn: 60}, ""},
		"nothing":           {`{}`, domain.Question{}, `lacks "question"`},
		"an empty question": {`{"question":" "}`, domain.Question{}, "question: is empty"},
		"no such argument":  {`{"question":"?","options":["a"]}`, domain.Question{}, "at /options: the schema has no such property"},
		"a key twice":       {`{"question":"?","question":"!"}`, domain.Question{}, "twice"},
		"too many choices":  {`{"question":"?","choices":["` + strings.Join(strings.Split(strings.Repeat("a", 21), ""), `","`) + `"]}`, domain.Question{}, "at /choices: has 21"},
		"31 days":           {`{"question":"?","expires_in":2678400}`, domain.Question{}, "at /expires_in: is 2.6784e+06 and must be at most 2.592e+06"},
		"a part of one":     {`{"question":"?","expires_in":0.5}`, domain.Question{}, "at /expires_in"},
		"no schema":         {`{"question":"?","schema":{"type":"text"}}`, domain.Question{}, `at /type: is "text" and must be one of`},
		"a schema fetched":  {`{"question":"?","schema":{"$ref":"https://example.com/a"}}`, domain.Question{}, "schema"},
		"no such default":   {`{"question":"?","schema":{"type":"integer"},"default":"a","expires_in":60}`, domain.Question{}, "default: does not fit the schema"},
		"useless default":   {`{"question":"?","default":"a"}`, domain.Question{}, "default: is of no use without expires_in"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := asks.Call(t.Context(), test.arguments)
			question, ok := tool.Asks(err)
			if test.wrong == "" {
				require.True(t, ok, "%v", err)
				require.Equal(t, test.question, question)
				return
			}
			require.False(t, ok)
			require.ErrorContains(t, err, test.wrong)
			require.Equal(t, domain.CodeMalformed, domain.AsError(err).Code)
		})
	}
}
