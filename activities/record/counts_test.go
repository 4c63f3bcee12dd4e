package record_test

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/testsuite/stores"
)

// withValues is the text of a record that says something else at a place, as in steps[0].usage.
func withValues(t *testing.T, text, place string, values map[string]any) string {
	t.Helper()
	var root map[string]any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&root))
	at := root
	for _, name := range strings.FieldsFunc(place, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		switch inner := at[name].(type) {
		case map[string]any:
			at = inner
		case []any:
			at = map[string]any{}
			for i, item := range inner {
				at[strconv.Itoa(i)] = item
			}
		default:
			made := map[string]any{}
			at[name], at = made, made
		}
	}
	for name, value := range values {
		at[name] = value
	}
	changed, err := json.Marshal(root)
	require.NoError(t, err)
	return string(changed)
}

// TestCountsThatNoExecutionComesTo are refused, and times, whoever wrote the file, with the name of the field.
func TestCountsThatNoExecutionComesTo(t *testing.T) {
	t.Parallel()
	one := stores.Sample(t, "ann", 1)[0]
	text, origin := stores.Text(t, one), `"execution_id":"`+one.ExecutionID.String()+`","step":`
	const early, late = "1969-01-02T03:04:05Z", "9999-01-02T03:04:05Z"
	for place, test := range map[string]struct {
		value any
		says  string
	}{
		"steps[0].usage.output_tokens":              {-1, "is -1"},
		"steps[0].lost_usage.output_tokens":         {-1, "is -1"},
		"steps[0].children.tokens":                  {-1, "is -1"},
		"steps[0].response.usage.output_tokens":     {-1, "is -1"},
		"steps[0].cost_nano_usd":                    {math.MaxInt64, "is 9223372036854775807; give a number from 0 to 1152921504606846976"},
		"steps[0].lost_nano_usd":                    {-1, "is -1"},
		"steps[0].inference_tries":                  {-1, "is -1"},
		"steps[0].input.edits.hidden":               {-1, "is -1"},
		"executions[0].usage.input_tokens":          {math.MaxInt64, "is 9223372036854775807"},
		"executions[0].prior.seconds":               {1e300, "is 1e+300"},
		"executions[0].final_state.execution_count": {2, "is 2, and the number of the execution 1"},
		"executions[0].final_state.updated_at":      {early, "is in the year 1969"},
		"executions[0].started_at":                  {late, "is in the year 9999"},
		"messages[1].message.created_at":            {late, "is in the year 9999"},
		"events[1].time":                            {early, "is in the year 1969; give a time from 1970 to 9998"},
		"events[1].step":                            {-1, "is -1; give a number from 0 to "},
		"imported_at":                               {late, "is in the year 9999"},
	} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			last := strings.LastIndex(place, ".") + 1
			requireBad(t, stores.Forged(withValues(t, text, place[:last], map[string]any{place[last:]: test.value})), "line 2: record."+place+": "+test.says)
		})
	}
	for name, test := range map[string]struct{ place, values, says string }{
		"an endless origin":      {"executions[0].origin", `{` + origin + `1,"origin":{` + origin + `4611686018427388000}}`, "executions[0].origin.origin.step: is 4611686018427388000"},
		"an origin below zero":   {"executions[0].origin", `{` + origin + `1,"origin":{` + origin + `-1}}`, "executions[0].origin.origin.step: is -1"},
		"edits of no messages":   {"steps[0].input.edits", `{"summary":1099511627776}`, "steps[0].input: edits.summary: is 1099511627776"},
		"edits before the first": {"executions[0].edits_before", `{"hidden":1}`, "executions[0].edits_before: edits.hidden: is 1"},
		"an execution begun":     {"events[1]", `{"type":"AgentExecutionStarted","execution_number":2}`, "events[1].execution_number: is 2, and that of the execution 1"},
		"an inference":           {"events[1]", `{"type":"InferenceResponseReceived","usage":{"output_tokens":-1}}`, "events[1].usage.output_tokens: is -1"},
		"a step":                 {"events[1]", `{"type":"AgentStepCompleted","step_type":"error","usage":{"output_tokens":-1}}`, "events[1].usage.output_tokens: is -1"},
		"tokens so far":          {"events[1]", `{"type":"TokenUsageReported","usage":{"output_tokens":-1}}`, "events[1].usage.output_tokens: is -1"},
		"tokens of the step":     {"events[1]", `{"type":"TokenUsageReported","usage":{"output_tokens":1},"step_usage":{"output_tokens":-1}}`, "events[1].step_usage.output_tokens: is -1"},
		"a sub-agent":            {"events[1]", `{"type":"SubagentCompleted","status":"completed","step_count":4611686018427388000}`, "events[1].step_count: is 4611686018427388000"},
		"an end":                 {"events[1]", `{"type":"AgentExecutionCompleted","status":"completed","stop_reason":"user_requested","step_count":-1}`, "events[1].step_count: is -1"},
		"a failure":              {"events[1]", `{"type":"AgentExecutionFailed","stop_reason":"user_requested","kind":"internal","usage":{"output_tokens":-1}}`, "events[1].usage.output_tokens: is -1"},
		"the length of an event": {"events[1]", `{"type":"ToolCallCompleted","duration_ms":-1}`, "events[1].duration_ms: is -1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var values map[string]any
			require.NoError(t, json.Unmarshal([]byte(test.values), &values))
			requireBad(t, stores.Forged(withValues(t, text, test.place, values)), "line 2: record."+test.says)
		})
	}
}
