package record_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/record"
	"everstep/testsuite/stores"
)

// TestListsOfEmptyItemsTakeNoMemory beyond that of their text, wherever in a record they are: an item of two bytes takes up to a
// kilobyte once it is decoded.
func TestListsOfEmptyItemsTakeNoMemory(t *testing.T) { //nolint:paralleltest // it counts all that is allocated
	list := strings.Repeat("{},", 99_999) + "{}"
	text := stores.Text(t, stores.Sample(t, "ann", 1)[0])
	for field, place := range map[string][2]string{
		"executions[":                                      {`"executions":[`, `"executions":[LIST,`},
		"steps[":                                           {`"steps":[`, `"steps":[LIST,`},
		"steps[0].tool_executions[":                        {`"tool_executions":[]`, `"tool_executions":[LIST]`},
		"steps[0].tool_executions[0].waits[":               {`"tool_executions":[]`, `"tool_executions":[{"waits":[LIST]}]`},
		"steps[0].errors[":                                 {`"errors":[]`, `"errors":[LIST]`},
		"steps[0].output[":                                 {`"output":[`, `"output":[LIST,`},
		"steps[0].output[0].parts[":                        {`"parts":[`, `"parts":[LIST,`},
		"messages[":                                        {`"messages":[{"index"`, `"messages":[LIST,{"index"`},
		"events[":                                          {`"events":[`, `"events":[LIST,`},
		"missing[":                                         {`{"head"`, `{"missing":[LIST],"head"`},
		"executions[0].stop_signals[":                      {`"stop_signals":[`, `"stop_signals":[LIST,`},
		"executions[0].constraints.policies[":              {`"constraints":{`, `"constraints":{"policies":[LIST]`},
		"executions[0].edits_before.taken_back[":           {`"constraints":{`, `"edits_before":{"taken_back":[LIST]},"constraints":{`},
		"head.configuration.changes[":                      {`"head":{`, `"head":{"configuration":{"changes":[LIST]},`},
		"head.waits[":                                      {`"head":{`, `"head":{"waits":[LIST],`},
		"executions[0].final_state.outcome_unknown[":       {`"final_state":{`, `"final_state":{"outcome_unknown":[LIST],`},
		"executions[0].final_state.execution.step_execut":  {`"execution":{`, `"execution":{"step_executions":[LIST],`},
		"executions[0].final_state.context.message_store.": {`"sections":[`, `"sections":[{"name":"a","messages":[LIST]}`},
	} {
		require.Contains(t, text, place[0])
		file := stores.Forged(strings.Replace(text, place[0], strings.Replace(place[1], "LIST", list, 1), 1))
		allocated, err := readCounted(file)
		require.ErrorContains(t, err, "line 2: record."+field)
		require.Less(t, allocated, 60*len(file), field)
	}
}

// TestAFieldThatIsWrongFarBelowOthers is looked for so far that a large file is read some times over, and not once for each level.
func TestAFieldThatIsWrongFarBelowOthers(t *testing.T) { //nolint:paralleltest // it counts all that is allocated
	origin := `{"step":"x","pad":"` + strings.Repeat("a", 100_000) + `"}`
	for range 1000 {
		origin = `{"origin":` + origin + `}`
	}
	text := stores.Text(t, stores.Sample(t, "ann", 1)[0])
	file := stores.Forged(strings.Replace(text, `"stop_signals":[`, `"origin":`+origin+`,"stop_signals":[`, 1))
	allocated, err := readCounted(file)
	require.ErrorContains(t, err, "line 2: record.executions[0].origin.origin.")
	require.Less(t, allocated, 60*len(file))
}

// readCounted reads a file, and counts the bytes that were allocated for it.
func readCounted(file string) (allocated int, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = record.Read(strings.NewReader(file))
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc), err
}
