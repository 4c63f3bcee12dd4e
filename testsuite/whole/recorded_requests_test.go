package whole_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/anthropic"
	"everstep/activities/gemini"
	"everstep/activities/openai"
	"everstep/activities/openaichat"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/testsuite"
)

// A requestCheck looks at all requests of recorded runs.
type requestCheck struct {
	schemas map[string]*openAISchema

	mu sync.Mutex
	// requests and opaque count, by adapter, what was sent and how much that
	// models want back was in it.
	requests, opaque map[string]int
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
		schemas: map[string]*openAISchema{
			openaichat.Name: newOpenAISchema(t, "CreateChatCompletionRequest"),
			openai.Name:     newOpenAISchema(t, "CreateResponse"),
		},
		requests: map[string]int{}, opaque: map[string]int{}, samples: map[string]requestSample{},
	}
}

// of is the check of a run's requests, beside what each of them is held against
// anyway: the recording, and what the API demands.
func (c *requestCheck) of(p *playedRun, api playedAPI) func(step int, body []byte) error {
	return func(step int, body []byte) error {
		c.mu.Lock()
		c.requests[api.name]++
		c.opaque[api.name] += strings.Count(string(body), p.seal+"00")
		if text := string(body); strings.Contains(text, apiTables()[api.name].results) && strings.Contains(text, p.seal+"00") {
			c.samples[api.name] = requestSample{p, step, text}
		}
		c.mu.Unlock()
		if schema := c.schemas[api.name]; schema != nil {
			return schema.check(body)
		}
		return nil
	}
}

// TestRecordedRequests holds every request that is sent while recorded runs are
// driven, as one execution or as a chat, against OpenAI's own description or
// against what the others demand; and each against the recording, reasoning as
// it came.
func TestRecordedRequests(t *testing.T) {
	t.Parallel()
	check := newRequestCheck(t)
	eachPlayed(t, func(t *testing.T, server *playedServer, run *playedRun, seed uint64) {
		run.check = check.of(run, server.api)
		name := fmt.Sprint(seed)
		if seed%2 == 0 {
			run.chat(t, server, name)
		} else {
			run.play(t, server, name, run.tools())
		}
		require.Len(t, run.asked, len(run.steps))
	})
	if t.Failed() {
		return
	}
	for _, api := range playedAPIs() {
		require.Positive(t, check.opaque[api.name], "%s: nothing is sent back of what models want back", api.name)
		t.Logf("%s: %d requests validated, with %d pieces of reasoning sent back", api.name, check.requests[api.name], check.opaque[api.name])
	}
	for name, schema := range check.schemas {
		require.Equal(t, int64(check.requests[name]), schema.requests.Load(), "%s: not all were held against OpenAI's description", name)
	}
	check.requireTells(t)
}

// chat drives the run as it was recorded: an execution for each message of the
// user.
func (p *playedRun) chat(t *testing.T, server *playedServer, name string) {
	t.Helper()
	var events []testsuite.Event
	for i, s := range p.steps {
		if s.user != "" {
			events = append(events, testsuite.SendAt(time.Duration(i+1)*time.Hour, s.user))
		}
	}
	definition := p.definition(server, name)
	definition.Hooks = nil
	var tools []tool.Tool
	for _, tool := range p.toolNames {
		tools = append(tools, testsuite.NewFake(domain.ToolSpec{Name: tool, Schema: json.RawMessage(anySchema)}, p.newest).Tool())
	}
	run := testsuite.New(t, testsuite.Config{Definition: definition, Provider: server.provider, Tools: tools}).Run(p.prompt, events...)
	p.requireSound(t, nil)
	require.Len(t, run.Executions, len(events)+1)
	for n, e := range run.Executions {
		require.Equal(t, domain.StatusCompleted, e.Outcome.Status, "execution %d: %+v", n+1, e.Error)
	}
	p.requireRecorded(t, run.Messages)
}

// newest is the result of a call of the newest answer.
func (p *playedRun) newest(_ context.Context, call testsuite.FakeCall) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.steps[p.done-1].results[call.Position], nil
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

// requireTells spoils a request of each API, and expects that it is seen: by
// what the API demands, and where words were changed, by the recording.
func (c *requestCheck) requireTells(t *testing.T) {
	t.Helper()
	for _, api := range playedAPIs() {
		sample := c.samples[api.name]
		require.NotNil(t, sample.run, api.name)
		demands := func(body string) (playedRequest, error) {
			request, err := api.read([]byte(body))
			if err == nil {
				err = request.conversation()
			}
			if schema := c.schemas[api.name]; err == nil && schema != nil {
				err = schema.check([]byte(body))
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
