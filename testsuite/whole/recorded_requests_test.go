package whole_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"everstep/activities/openai"
	"everstep/activities/openaichat"
	"everstep/testsuite/providers"
)

// A requestCheck looks at all requests of recorded runs.
type requestCheck struct {
	schemas map[string]*jsonschema.Resolved

	mu sync.Mutex
	// opaque counts, by adapter, what models want back and got.
	opaque map[string]int
}

func newRequestCheck(t *testing.T) *requestCheck {
	t.Helper()
	return &requestCheck{
		schemas: map[string]*jsonschema.Resolved{
			openaichat.Name: providers.OpenAISchema(t, "CreateChatCompletionRequest", true),
			openai.Name:     providers.OpenAISchema(t, "CreateResponse", true),
		},
		opaque: map[string]int{},
	}
}

// of is the check of a run's requests, beside what each of them is held against
// anyway: the recording, and what the API demands.
func (c *requestCheck) of(p *playedRun, api playedAPI) func(step int, body []byte) error {
	return func(step int, body []byte) error {
		c.mu.Lock()
		c.opaque[api.name] += strings.Count(string(body), p.seal+"00")
		c.mu.Unlock()
		return c.fits(api.name, body)
	}
}

// fits holds a request against OpenAI's description, where it is of one of their APIs. Where that tells alternatives apart
// by a discriminator, which JSON Schema does not know, more than one may fit.
func (c *requestCheck) fits(api string, body []byte) error {
	schema := c.schemas[api]
	if schema == nil {
		return nil
	}
	var instance map[string]any
	if err := json.Unmarshal(body, &instance); err != nil {
		return err
	}
	return schema.Validate(instance)
}

// require fails unless reasoning went back in each API.
func (c *requestCheck) require(t *testing.T) {
	t.Helper()
	for _, api := range playedAPIs() {
		require.Positive(t, c.opaque[api.name], "%s: nothing is sent back of what models want back", api.name)
	}
}
