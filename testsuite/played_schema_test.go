package testsuite_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
)

// An openAISchema is OpenAI's own description of a request.
type openAISchema struct {
	request *jsonschema.Resolved
	// requests counts what was looked at.
	requests atomic.Int64
}

// newOpenAISchema reads the description of a request. Where it tells
// alternatives apart by a discriminator, which JSON Schema does not know, more
// than one may fit.
func newOpenAISchema(t *testing.T, name string) *openAISchema {
	t.Helper()
	file, err := os.Open(filepath.Join(dataFolder(t), "openai-openapi.json.gz"))
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	unzipped, err := gzip.NewReader(file)
	require.NoError(t, err)
	text, err := io.ReadAll(unzipped)
	require.NoError(t, err)
	var api struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	renamed := strings.NewReplacer("#/components/schemas/", "#/$defs/", `"oneOf"`, `"anyOf"`).Replace(string(text))
	require.NoError(t, json.Unmarshal([]byte(renamed), &api))
	needed := map[string]json.RawMessage{}
	gatherSchemas(needed, api.Components.Schemas, name)
	whole, err := json.Marshal(map[string]any{"$ref": "#/$defs/" + name, "$defs": needed})
	require.NoError(t, err)
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(whole, &schema))
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	return &openAISchema{request: resolved}
}

var schemaReference = regexp.MustCompile(`"#/\$defs/([^"]+)"`)

// gatherSchemas collects a schema and those that it refers to.
func gatherSchemas(into, from map[string]json.RawMessage, name string) {
	if into[name] != nil {
		return
	}
	into[name] = from[name]
	for _, found := range schemaReference.FindAllSubmatch(from[name], -1) {
		gatherSchemas(into, from, string(found[1]))
	}
}

// check validates a request.
func (s *openAISchema) check(body []byte) error {
	s.requests.Add(1)
	var instance map[string]any
	if err := json.Unmarshal(body, &instance); err != nil {
		return err
	}
	return s.request.Validate(instance)
}
