package whole_test

import (
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"everstep/testsuite/providers"
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
	return &openAISchema{request: providers.OpenAISchema(t, name, true)}
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
