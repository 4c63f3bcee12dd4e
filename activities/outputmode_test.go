package activities_test

import (
	"cmp"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities"
	"everstep/activities/inference"
	"everstep/activities/tool"
	"everstep/activities/transcript"
	"everstep/domain"
	"everstep/domain/contract"
)

const citySchema = `{"type":"object","required":["city"],"properties":{"city":{"type":"string"}},"additionalProperties":false}`

func cityFormat(mode domain.OutputMode) domain.ResponseFormat {
	return domain.ResponseFormat{Type: domain.FormatSchema, Name: "city", Schema: json.RawMessage(citySchema), Mode: mode}
}

// A nativeModel is a provider with response formats of its own, of objects only,
// and of any object only without tools.
type nativeModel struct{ fakeModel }

func (nativeModel) CheckFormat(_ domain.LLMConfig, format domain.ResponseFormat, withTools bool) error {
	if withTools && format.Type == domain.FormatJSON {
		return domain.Invalidf("response_format.type: not beside tools")
	}
	if string(format.Schema) == `true` {
		return domain.Invalidf("response_format.schema: not here")
	}
	return nil
}

func TestOutputMode(t *testing.T) {
	t.Parallel()
	anything := domain.ResponseFormat{Type: domain.FormatSchema, Schema: []byte(`true`)}
	with := func(f domain.ResponseFormat, mode domain.OutputMode) domain.ResponseFormat {
		f.Mode = mode
		return f
	}
	for name, test := range map[string]struct {
		provider string
		format   domain.ResponseFormat
		tools    []string
		want     domain.OutputMode
		wrong    string
	}{
		"native without tools": {provider: "native", format: domain.ResponseFormat{Type: domain.FormatJSON}, want: domain.OutputNative},
		"not beside tools":     {provider: "native", format: domain.ResponseFormat{Type: domain.FormatJSON}, tools: []string{"a"}, want: domain.OutputTool},

		"none":                {provider: "native"},
		"text":                {provider: "native", format: domain.ResponseFormat{Type: domain.FormatText}},
		"native":              {provider: "native", format: cityFormat(""), want: domain.OutputNative},
		"as a tool":           {provider: "plain", format: cityFormat(""), want: domain.OutputTool},
		"any object":          {provider: "plain", format: domain.ResponseFormat{Type: domain.FormatJSON}, want: domain.OutputTool},
		"no object":           {provider: "native", format: anything, want: domain.OutputInstruction},
		"as given":            {provider: "native", format: cityFormat(domain.OutputInstruction), want: domain.OutputInstruction},
		"tool as given":       {provider: "native", format: cityFormat(domain.OutputTool), want: domain.OutputTool},
		"native by none":      {provider: "plain", format: cityFormat(domain.OutputNative), wrong: "response_format.mode: provider plain has no response formats of its own"},
		"refused by the API":  {provider: "native", format: with(anything, domain.OutputNative), wrong: "response_format.schema: not here"},
		"no object as a tool": {provider: "native", format: with(anything, domain.OutputTool), wrong: "response_format.mode: the arguments of a tool are an object"},
		"no such mode":        {provider: "native", format: cityFormat("smoke"), wrong: "smoke"},
		"a wrong schema":      {provider: "native", format: domain.ResponseFormat{Type: domain.FormatSchema, Schema: []byte(`{"type":"flat"}`)}, wrong: "response_format.schema: at /type"},
		"a schema elsewhere":  {provider: "plain", format: domain.ResponseFormat{Type: domain.FormatSchema, Schema: []byte(`{"$ref":"https://example.com"}`)}, wrong: "schemas are never fetched"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			catalog, err := listTools(t, activities.Config{
				Providers: map[string]inference.Provider{"plain": fakeModel(nil), "native": nativeModel{}},
				Tools:     []tool.Tool{named("a")},
			}, domain.Definition{Model: domain.LLMConfig{Provider: test.provider, Model: "m"}, Format: test.format, Tools: test.tools})
			if test.wrong != "" {
				require.ErrorContains(t, err, test.wrong)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, catalog.OutputMode)
		})
	}
}

// TestCallModelTellsTheFormat: each mode tells the model in its own way, and no
// other.
func TestCallModelTellsTheFormat(t *testing.T) {
	t.Parallel()
	for mode, test := range map[domain.OutputMode]struct {
		format domain.ResponseFormat
		tools  []string
		tool   string
		system string
	}{
		domain.OutputNative:      {format: cityFormat(""), tools: []string{"f"}, system: "be brief"},
		domain.OutputTool:        {format: cityFormat(""), tools: []string{"f", "city"}, tool: "city", system: "be brief"},
		domain.OutputInstruction: {format: cityFormat(""), tools: []string{"f"}, system: "be brief\n\nYour final answer must be exactly one JSON value that fits the JSON Schema below: no text before or after it, and no Markdown fence around it.\n\nJSON Schema:\n" + citySchema},
		"":                       {format: domain.ResponseFormat{Type: domain.FormatJSON}, tools: []string{"f"}, system: "be brief\n\nYour final answer must be exactly one JSON object: no text before or after it, and no Markdown fence around it."},
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			mode := cmp.Or(mode, domain.OutputNative)
			b := answeringBench(`{"city":"Ulm"}`, domain.Usage{})
			b.resolved.Definition.Format, b.resolved.OutputMode = test.format, mode
			reply := b.reply(t)
			require.Empty(t, reply.Invalid)
			require.JSONEq(t, `{"city":"Ulm"}`, reply.Message.Text())
			got := b.called
			var tools []string
			for _, spec := range got.Tools {
				tools = append(tools, spec.Name)
			}
			require.Equal(t, test.tools, tools)
			require.Equal(t, test.tool, got.OutputTool)
			require.Equal(t, test.system, got.System)
			require.Equal(t, mode, got.OutputMode)
			require.Len(t, b.resolved.Tools, 1, "what is recorded stays as it is")
		})
	}
}

func TestCallModelChecksAnswers(t *testing.T) {
	t.Parallel()
	thought := []domain.Part{{Type: domain.PartReasoning, Text: "hm"}}
	city := func(arguments string) domain.ToolCall {
		return domain.ToolCall{ID: "city", Name: "city", Arguments: arguments}
	}
	good, other := city(`{"city":"Ulm"}`), domain.ToolCall{ID: "f", Name: "f", Arguments: "{}"}
	calls := func(calls ...domain.ToolCall) []domain.ToolCall { return calls }
	for name, test := range map[string]struct {
		mode    domain.OutputMode
		text    string
		calls   []domain.ToolCall
		cut     bool // off at the limit of output tokens
		want    string
		left    []domain.ToolCall
		invalid string
	}{
		"fits":             {domain.OutputNative, `{"city":"Ulm"}`, nil, false, `{"city":"Ulm"}`, nil, ""},
		"does not":         {domain.OutputNative, `{}`, nil, false, `{}`, nil, `at the root: lacks "city"`},
		"a fence stays":    {domain.OutputInstruction, "```\n{}\n```", nil, false, "```\n{}\n```", nil, "without the Markdown fence"},
		"no answer yet":    {domain.OutputNative, "Looking.", calls(other), false, "Looking.", calls(other), ""},
		"nothing":          {domain.OutputNative, "", nil, false, "", nil, ""},
		"cut off":          {domain.OutputNative, `{"city":"U`, nil, true, `{"city":"U`, nil, "the answer was cut off at the limit of output tokens"},
		"cut off just so":  {domain.OutputNative, `{"city":"U"}`, nil, true, `{"city":"U"}`, nil, ""},
		"by tool":          {domain.OutputTool, "Here it is.", calls(good), false, `{"city":"Ulm"}`, nil, ""},
		"by tool, wrong":   {domain.OutputTool, "", calls(city(`{"town":1}`)), false, `{"town":1}`, nil, `at /town: the schema has no such property`},
		"by tool, no JSON": {domain.OutputTool, "", calls(city(`{"town`)), true, `{"town`, nil, "cut off"},
		"by tool, empty":   {domain.OutputTool, "x", calls(city("")), false, "", nil, ""},
		"by tool and text": {domain.OutputTool, `{"city":"Ulm"}`, nil, false, `{"city":"Ulm"}`, nil, ""},
		"by tool, plain":   {domain.OutputTool, "Ulm", nil, false, "Ulm", nil, "is not JSON"},
		"others win":       {domain.OutputTool, "x", calls(good, other), false, "x", calls(other), ""},
		"twice the same":   {domain.OutputTool, "", calls(good, good), false, `{"city":"Ulm"}`, nil, ""},
		"twice":            {domain.OutputTool, "", calls(good, city(`{"city":"Bonn"}`)), false, `{"city":"Ulm"}`, nil, "the answer was given more than once"},
		"not offered":      {domain.OutputNative, "", calls(good), false, "", calls(good), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// What the provider says of the end, and what is made of it: a call that is the answer ends the step as a text does.
			finish, ends := domain.FinishStop, domain.FinishStop
			if len(test.calls) > 0 {
				finish = domain.FinishToolCalls
			}
			if len(test.left) > 0 {
				ends = domain.FinishToolCalls
			}
			if test.cut {
				finish, ends = domain.FinishLength, domain.FinishLength
			}
			b := modelBenchOf(returning(inference.Answer{Message: inference.AssistantMessage(thought, test.text, test.calls), Response: domain.Response{Finish: finish}}, nil))
			b.resolved.Definition.Format, b.resolved.OutputMode = cityFormat(""), test.mode
			reply := b.reply(t)
			require.Equal(t, test.want, reply.Message.Text())
			require.Equal(t, test.left, reply.Message.ToolCalls)
			require.Equal(t, thought, reply.Message.Parts[:1], "reasoning stays")
			if test.invalid == "" {
				require.Empty(t, reply.Invalid)
			}
			require.Contains(t, reply.Invalid, test.invalid)
			require.Equal(t, ends, reply.Response.Finish)
			if ends != finish {
				require.Equal(t, string(finish), reply.Response.FinishWord, "the provider's own word stays")
			}
			encoded, err := json.Marshal(reply.Message)
			require.NoError(t, err)
			require.Equal(t, domain.DigestOf(encoded), reply.Digest)
		})
	}
}

func TestCheckOutput(t *testing.T) {
	t.Parallel()
	a, err := activities.New(activities.Config{Transcripts: &transcript.Source{Cache: transcript.NewCache(1)}})
	require.NoError(t, err)
	for text, want := range map[string]string{`{"city":"Ulm"}`: "", `{"city":7}`: "at /city: must be of type string and is of type integer"} {
		for range 2 {
			reply, err := outcomeOf(t, plainEnvironment(), a, contract.CheckOutput, contract.OutputRequest{Format: cityFormat(""), Text: text})
			require.NoError(t, err)
			require.Equal(t, want, reply.Invalid)
		}
	}
	_, err = outcomeOf(t, plainEnvironment(), a, contract.CheckOutput, contract.OutputRequest{Format: domain.ResponseFormat{Type: domain.FormatSchema}})
	require.ErrorContains(t, err, "response_format.schema: is missing")
}
