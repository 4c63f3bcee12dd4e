package domain_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// TestDecodeNamesTheField spoils one value of a saved state each time.
func TestDecodeNamesTheField(t *testing.T) {
	t.Parallel()
	state := encoded(t, busyState())
	for name, c := range map[string]struct{ old, new, path, fault string }{
		"date":            {`"created_at":"2026-01-02T12:00:00.123456789Z","updated_at"`, `"created_at":"yesterday","updated_at"`, "created_at: ", "yesterday"},
		"deadline":        {`"deadline":"2026-01-02T13:00:00.123456789Z"`, `"deadline":"noon"`, "execution.budget.deadline: ", "noon"},
		"status":          {`"status":"in_progress"`, `"status":"paused"`, "execution.status: ", `"paused" is none of pending`},
		"pending":         {`"status":"in_progress"`, `"status":"pending"`, "execution.status: ", "never pending"},
		"no status":       {`"status":"in_progress"`, `"state":"in_progress"`, "execution.status: ", "never pending"},
		"terminal":        {`"status":"in_progress"`, `"status":"failed"`, "execution.current_step: ", "is failed"},
		"step type":       {`"type":"error","finish_reason"`, `"type":"oops","finish_reason"`, "execution.step_executions[0].type: ", `"oops" is none of`},
		"signal reason":   {`"reason":"user_requested"`, `"reason":"bored"`, "execution.continuation.stop_signals[0].reason: ", `"bored" is none of error`},
		"error kind":      {`"kind":"denied"`, `"kind":"mean"`, "execution.step_executions[0].tool_executions[1].error.kind: ", `"mean" is none of invalid`},
		"no role":         {`"role":"user"`, `"rolle":"user"`, "context.message_store.sections[0].messages[0].role: ", "is missing"},
		"format name":     {`"name":"report",`, ``, "context.response_format: ", "needs a name and a schema"},
		"budget type":     {`"max_steps":10`, `"max_steps":"ten"`, "execution.budget.max_steps: ", "cannot unmarshal string"},
		"half a step":     {`"max_steps":10`, `"max_steps":1.5`, "execution.budget.max_steps: ", "is 1.5; give a whole number, without a point"},
		"budget overflow": {`"max_tokens":5000`, `"max_tokens":99999999999999999999`, "execution.budget.max_tokens: ", "is 99999999999999999999, which is too large; give a smaller whole number"},
		"budget negative": {`"max_tokens":5000`, `"max_tokens":-1`, "execution.budget: max_tokens: ", "is -1"},
		"section twice":   {`"sections":[{"name":"messages",`, `"sections":[{"name":"messages","messages":[]},{"name":"messages",`, "context.message_store.sections[1].name: ", `"messages" comes twice`},
		"step number":     {`"step_executions":[{"number":1`, `"step_executions":[{"number":3`, "execution.step_executions[0].number: ", "it has to be 1"},
		"no current":      {`"current_step":`, `"next_step":`, "execution.current_step_started_at: ", "there is no current_step"},
		"no execution id": {`"execution":{"execution_id":`, `"execution":{"id":`, "execution.execution_id: ", "is missing"},
		"no agent":        {`"agent_id":`, `"agent":`, "agent_id: ", "is missing"},
		"no schema":       {`"schema_version":1`, `"version":1`, "schema_version: ", "is missing, and this build reads 1"},
		"newer schema":    {`"schema_version":1`, `"schema_version":2`, "schema_version: ", "is 2, written by a build that it does not name, and this build reads 1; read it with the build that wrote it"},
		"negative count":  {`"execution_count":1`, `"execution_count":-1`, "execution_count: ", "is -1"},
		"digest":          {`"digest":"Cs`, `"digest":"Ä`, "execution.step_executions[0].input.digest: ", "22 characters of base64url"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, state, c.old)
			_, err := domain.DecodeAgentState([]byte(strings.Replace(state, c.old, c.new, 1)))
			require.ErrorContains(t, err, c.path)
			require.ErrorContains(t, err, c.fault)
			require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
		})
	}
}

// TestDecodeIgnoresUnknownKeys adds keys of a newer writer at every level.
func TestDecodeIgnoresUnknownKeys(t *testing.T) {
	t.Parallel()
	for name, state := range states() {
		newer := strings.ReplaceAll(encoded(t, state), `":{"`, `":{"from_the_future":[{"a":1}],"`)
		newer = strings.Replace(newer, `"team":{"from_the_future":[{"a":1}],`, `"team":{`, 1) // what users wrote stays
		newer = strings.ReplaceAll(newer, `"metadata":{"from_the_future":[{"a":1}],`, `"metadata":{`)
		newer = strings.ReplaceAll(newer, `"tools":{"from_the_future":[{"a":1}],`, `"tools":{`)
		newer = strings.ReplaceAll(newer, `"opaque":{"from_the_future":[{"a":1}],`, `"opaque":{`)
		newer = strings.ReplaceAll(newer, `"options":{"from_the_future":[{"a":1}],`, `"options":{`)
		newer = strings.ReplaceAll(newer, `"schema":{"from_the_future":[{"a":1}],`, `"schema":{`)
		newer = strings.ReplaceAll(newer, `"trusted":{"from_the_future":[{"a":1}],`, `"trusted":{`)
		newer = strings.ReplaceAll(newer, `"order":{"from_the_future":[{"a":1}],`, `"order":{`)
		newer = strings.ReplaceAll(newer, `"context":{"from_the_future":[{"a":1}],"n"`, `"context":{"n"`)
		require.Contains(t, newer, "from_the_future", name)
		got, err := domain.DecodeAgentState([]byte(newer))
		require.NoError(t, err, name)
		require.Equal(t, state, got, name)
	}
}

func TestDecodeLeavesTheTargetOnError(t *testing.T) {
	t.Parallel()
	state := endedState()
	require.Error(t, state.UnmarshalJSON([]byte(`{"schema_version":1,"agent_id":7}`)))
	require.Equal(t, endedState(), state)
}

// TestDecodeTimesToUTC reads a time of another zone as the same instant.
func TestDecodeTimesToUTC(t *testing.T) {
	t.Parallel()
	state := strings.ReplaceAll(encoded(t, endedState()), "T12:00:00.123456789Z", "T14:00:00.123456789+02:00")
	got, err := domain.DecodeAgentState([]byte(state))
	require.NoError(t, err)
	require.Equal(t, endedState(), got)
}

// TestSingleValuesAreInUTC as those of a state are.
func TestSingleValuesAreInUTC(t *testing.T) {
	t.Parallel()
	const zoned, instant = `"2026-01-02T14:00:00+02:00"`, `"2026-01-02T12:00:00Z"`
	for name, again := range map[string]func([]byte) (any, error){
		`{"created_at":TIME,"role":"user"}`:                         func(b []byte) (any, error) { return domain.Decode[domain.Message](b) },
		`[{"index":0,"message":{"created_at":TIME,"role":"user"}}]`: func(b []byte) (any, error) { return domain.Decode[[]domain.Entry](b) },
		`{"started_at":TIME,"completed_at":TIME}`:                   func(b []byte) (any, error) { return domain.Decode[domain.ToolExecution](b) },
		`{"deadline":TIME}`:                                         func(b []byte) (any, error) { return domain.Decode[domain.ExecutionBudget](b) },
		`{"waiting_since":TIME}`:                                    func(b []byte) (any, error) { return domain.Decode[domain.ExecutionCounts](b) },
		`{"type":"AgentStepStarted","time":TIME}`:                   func(b []byte) (any, error) { return domain.Decode[domain.Event](b) },
	} {
		got, err := again([]byte(strings.ReplaceAll(name, "TIME", zoned)))
		require.NoError(t, err)
		want, err := again([]byte(strings.ReplaceAll(name, "TIME", instant)))
		require.NoError(t, err)
		require.Equal(t, want, got, name)
	}
}

// TestListsOfNothingAreRefused, however their keys and the space between are written, and with the item that is one too many. Texts
// whose items say something are read.
func TestListsOfNothingAreRefused(t *testing.T) {
	t.Parallel()
	type text struct {
		Label string          `json:"label"`
		List  []domain.Wait   `json:"list"`
		Deep  *text           `json:"deep"`
		Named map[string]text `json:"named"`
		Raw   json.RawMessage `json:"raw"`
	}
	many := func(item string) string { return strings.Repeat(item+",", 9_999) + item }
	for given, want := range map[string]string{
		`{"list":[` + many("{}") + `]}`:                                           "list[",
		`{"LIST":[` + many("{}") + `]}`:                                           "list[",
		`{"\u006cist" : [` + many("{ }") + `] }`:                                  "list[",
		"\n{ \"label\" :\t\"a\\\"]}\" , \"list\"\r\n: [ " + many("null") + " ]}":  "list[",
		`{"deep":{"raw":[{"list":[{}]},"]",-1.5e3],"list":[` + many("{}") + `]}}`: "deep.list[",
		`{"named":{"a":{},"b":{"list":[` + many("{}") + `]}}}`:                    "named.b.list[",
		`{"raw":[` + many("{}") + `],"other":[` + many("[]") + `]}`:               "",
		`{"list":[` + many(`{"why":"`+strings.Repeat("x", 100)+`"}`) + `]}`:       "",
		`{"deep":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`:  "cannot unmarshal array",
		`{"deep":` + strings.Repeat("[", 20_000):                                  "max depth",
		`{"list":[` + many("{}"):                                                  "unexpected end",
		`"` + strings.Repeat("x", 9_999) + `"`:                                    "cannot unmarshal string",
	} {
		_, err := domain.Decode[text]([]byte(given))
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want, domain.Shorten(given, 40))
		if strings.HasSuffix(want, "[") {
			require.ErrorContains(t, err, "]: is one item too many: ", domain.Shorten(given, 40))
		}
	}
}

// TestAnAnswerOfManySmallItemsIsRead: a user's type may be as wide as it likes.
func TestAnAnswerOfManySmallItemsIsRead(t *testing.T) {
	t.Parallel()
	type row struct {
		Name, Street, City, Country, Note, Phone, Mail string
	}
	text := []byte(`[` + strings.Repeat(`{},`, 9_999) + `{"Name":"ann"}]`)
	var rows []row
	require.NoError(t, domain.DecodeTyped(text, &rows))
	require.Len(t, rows, 10_000)
	require.Equal(t, "ann", rows[9_999].Name)
	require.ErrorContains(t, domain.DecodeInto(text, &rows), "is one item too many")
}
