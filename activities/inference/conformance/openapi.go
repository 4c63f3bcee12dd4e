package conformance

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
)

// OpenAISchema is OpenAI's own description of a thing of that name. Where it
// tells alternatives apart by a discriminator, which JSON Schema does not know,
// loosely lets more than one fit. It skips the test, aloud, where the
// description is not there.
func OpenAISchema(t *testing.T, name string, loosely bool) *jsonschema.Resolved {
	t.Helper()
	data := os.Getenv("EVERSTEP_DATA")
	if data == "" {
		t.Skip("EVERSTEP_DATA is not set: requests are NOT checked against OpenAI's schema")
	}
	file, err := os.Open(filepath.Join(data, "openai-openapi.json.gz")) //nolint:gosec // the path is what the test was told
	require.NoError(t, err)
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	require.NoError(t, err)
	text, err := io.ReadAll(unzipped)
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
