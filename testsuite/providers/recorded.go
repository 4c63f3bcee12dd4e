package providers

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
)

// A Recording is an exchange with a real API.
type Recording struct {
	ID       string            `json:"id"`
	API      string            `json:"api"`
	Status   int               `json:"status"`
	Request  string            `json:"request"`
	Response string            `json:"response"`
	Headers  map[string]string `json:"headers"`
}

// IsStream tells a stream from a body in one piece.
func (r Recording) IsStream() bool { return !strings.HasPrefix(strings.TrimSpace(r.Response), "{") }

// Recordings returns the exchanges with an API that were answered, or those that
// ended with an error. It skips the test, aloud, where there are none to read, or none such among them.
func Recordings(t *testing.T, api string, answered bool) []Recording {
	t.Helper()
	var out []Recording
	all := 0
	lines := json.NewDecoder(bufio.NewReader(recorded(t, "llm-recordings.jsonl.gz")))
	for lines.More() {
		var r Recording
		require.NoError(t, lines.Decode(&r))
		all++
		if r.API == api && (r.Status == http.StatusOK) == answered {
			out = append(out, r)
		}
	}
	require.NotZero(t, all, "the data has no exchanges")
	if len(out) == 0 {
		t.Skipf("of the %d exchanges none is of %s (answered: %t): those are NOT checked", all, api, answered)
	}
	return out
}

// recorded reads a file of the data folder. It skips the test, aloud, where there is none.
func recorded(t *testing.T, name string) io.Reader {
	t.Helper()
	data := os.Getenv("EVERSTEP_DATA")
	if data == "" {
		t.Skip("EVERSTEP_DATA is not set: what is in its " + name + " is NOT checked")
	}
	file, err := os.Open(filepath.Join(data, name)) //nolint:gosec // the path is what the test was told
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	unzipped, err := gzip.NewReader(file)
	require.NoError(t, err)
	return unzipped
}

// OpenAISchema is OpenAI's own description of a thing. Loosely lets more than one of its
// alternatives fit, as JSON Schema knows no discriminator. It skips the test, aloud, where
// there is none.
func OpenAISchema(t *testing.T, name string, loosely bool) *jsonschema.Resolved {
	t.Helper()
	text, err := io.ReadAll(recorded(t, "openai-openapi.json.gz"))
	require.NoError(t, err)
	renamed := strings.ReplaceAll(string(text), "#/components/schemas/", "#/$defs/")
	if loosely {
		renamed = strings.ReplaceAll(renamed, `"oneOf"`, `"anyOf"`)
	}
	var api struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	require.NoError(t, json.Unmarshal([]byte(renamed), &api))
	require.Contains(t, api.Components.Schemas, name)
	needed := map[string]json.RawMessage{}
	need(needed, api.Components.Schemas, name)
	whole, err := json.Marshal(map[string]any{"$ref": "#/$defs/" + name, "$defs": needed})
	require.NoError(t, err)
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(whole, &schema))
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	return resolved
}

var reference = regexp.MustCompile(`"#/\$defs/([^"]+)"`)

// need collects a schema and those that it refers to.
func need(into, from map[string]json.RawMessage, name string) {
	if into[name] != nil {
		return
	}
	into[name] = from[name]
	for _, found := range reference.FindAllSubmatch(from[name], -1) {
		need(into, from, string(found[1]))
	}
}
