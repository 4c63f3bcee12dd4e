package whole_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"everstep/activities/anthropic"
	"everstep/activities/gemini"
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
	// samples are requests with calls, results and reasoning, one for each.
	samples map[string]requestSample
}

// A requestSample is a request of a run, and the step that it was for.
type requestSample struct {
	run  *playedRun
	step int
	body string
}

func newRequestCheck(t *testing.T) *requestCheck {
	t.Helper()
	return &requestCheck{
		schemas: map[string]*jsonschema.Resolved{
			openaichat.Name: providers.OpenAISchema(t, "CreateChatCompletionRequest", true),
			openai.Name:     providers.OpenAISchema(t, "CreateResponse", true),
		},
		opaque: map[string]int{}, samples: map[string]requestSample{},
	}
}

// of is the check of a run's requests, beside what each of them is held against
// anyway: the recording, and what the API demands.
func (c *requestCheck) of(p *playedRun, api playedAPI) func(step int, body []byte) error {
	return func(step int, body []byte) error {
		c.mu.Lock()
		c.opaque[api.name] += strings.Count(string(body), p.seal+"00")
		if text := string(body); strings.Contains(text, api.results) && strings.Contains(text, p.seal+"00") {
			c.samples[api.name] = requestSample{p, step, text}
		}
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

// spoiled are ways to spoil a request: what to find in it, and what to put there.
func spoiled() map[string][][2]string {
	return map[string][][2]string{
		openaichat.Name: {
			{`"role":"user"`, `"role":"nobody"`}, {`"role":"tool"`, `"role":"user"`}, {`"tool_call_id":"`, `"tool_call_id":"x`},
			{`"type":"function"`, `"type":"nonsense"`}, {`"include_usage":true`, `"include_usage":false`}, {`"arguments":`, `"argument":`},
		},
		openai.Name: {
			{`"role":"user"`, `"role":"nobody"`}, {`"type":"function_call_output"`, `"type":"nonsense"`}, {`"call_id":"`, `"call_id":"x`},
			{`"store":false`, `"store":true`}, {`"strict":false`, `"strict":"no"`}, {`"summary":\[`, `"summary":"", "x":[`},
		},
		anthropic.Name: {
			{`"role":"user"`, `"role":"assistant"`}, {`"type":"tool_result"`, `"type":"text"`}, {`"tool_use_id":"`, `"tool_use_id":"x`},
			{`"text":"`, `"text":" ","x":"`}, {`"signature":"`, `"signature":"","x":"`}, {`"input":\{`, `"input":7,"x":{`},
			{`"text":"`, `"x":[` + strings.Repeat(`{"cache_control":{"type":"ephemeral"}},`, 4) + `0],"text":"`},
		},
		gemini.Name: {
			{`"role":"user"`, `"role":"model"`}, {`"role":"model"`, `"role":"assistant"`}, {`"functionResponse":\{`, `"functionCall":{`},
			{`("functionResponse":\{.*?"name":")`, `${1}x`}, {`"text":"`, `"text":"","x":"`}, {`"output":"`, `"result":"`},
		},
	}
}

// require fails unless reasoning went back in each API, and a request that is spoiled would be seen: by
// what the API demands, and where words were changed, by the recording.
func (c *requestCheck) require(t *testing.T) {
	t.Helper()
	for _, api := range playedAPIs() {
		require.Positive(t, c.opaque[api.name], "%s: nothing is sent back of what models want back", api.name)
		sample := c.samples[api.name]
		require.NotNil(t, sample.run, api.name)
		demands := func(body string) (playedRequest, error) {
			request, err := api.read([]byte(body))
			if err == nil {
				err = request.conversation()
			}
			if err == nil {
				err = c.fits(api.name, []byte(body))
			}
			return request, err
		}
		recorded := func(body string) error {
			request, err := demands(body)
			require.NoError(t, err)
			fresh := sample.run.with(nil)
			fresh.api = api
			return fresh.compare(sample.step, []byte(body), request)
		}
		require.NoError(t, recorded(sample.body))
		for _, change := range spoiled()[api.name] {
			found := regexp.MustCompile(change[0]).FindString(sample.body)
			body := strings.Replace(sample.body, found, regexp.MustCompile(change[0]).ReplaceAllString(found, change[1]), 1)
			require.NotEqual(t, sample.body, body, "%s: %q", api.name, change)
			_, err := demands(body)
			require.Error(t, err, "%s: nobody sees %q", api.name, change)
		}
		for _, word := range []string{sample.run.seal + "00", strings.Fields(sample.run.prompt)[0]} {
			at := strings.LastIndex(sample.body, word)
			require.Error(t, recorded(sample.body[:at]+"x"+sample.body[at+1:]), "%s: nobody sees that %q differs", api.name, word)
		}
	}
}
