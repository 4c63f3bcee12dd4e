package record_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/testsuite/stores"
)

// TestCountsThatNoExecutionComesTo are refused, and times, whoever wrote the file, with the name of the field.
func TestCountsThatNoExecutionComesTo(t *testing.T) {
	t.Parallel()
	const endless = 1 << 62
	negative := domain.Usage{OutputTokens: -1}
	origin := func(step int) *domain.Origin {
		id := stores.Sample(t, "ann", 1)[0].ExecutionID
		return &domain.Origin{ExecutionID: id, Step: 1, Origin: &domain.Origin{ExecutionID: id, Step: step}}
	}
	year := func(n int) time.Time { return time.Date(n, 1, 2, 3, 4, 5, 0, time.UTC) }
	event := func(e domain.Event) func(*record.Record) {
		return func(r *record.Record) { r.Events[1] = e }
	}
	head := stores.Sample(t, "ann", 1)[0].Events[1].EventHeader
	for name, test := range map[string]struct {
		change func(*record.Record)
		want   string
	}{
		"an endless origin":           {func(r *record.Record) { r.Origin = origin(endless) }, "executions[0].origin.origin.step: is 4611686018427387904"},
		"an origin below zero":        {func(r *record.Record) { r.Origin = origin(-1) }, "executions[0].origin.origin.step: is -1"},
		"executions of the state":     {func(r *record.Record) { r.FinalState = stores.Sample(t, "ann", 2)[1].FinalState }, "executions[0].final_state.execution_count: is 2, and the number of the execution 1"},
		"a step's tokens":             {func(r *record.Record) { r.Steps[0].Step.Usage = negative }, "steps[0].usage.output_tokens: is -1"},
		"a step's lost tokens":        {func(r *record.Record) { r.Steps[0].Step.Lost = negative }, "steps[0].lost_usage.output_tokens: is -1"},
		"tokens of a step's children": {func(r *record.Record) { r.Steps[0].Step.Children.Tokens = -1 }, "steps[0].children.tokens: is -1"},
		"tokens of a response":        {func(r *record.Record) { r.Steps[0].Step.Response.Usage = negative }, "steps[0].response.usage.output_tokens: is -1"},
		"a step's cost":               {func(r *record.Record) { r.Steps[0].Step.CostNanoUSD = -1 }, "steps[0].cost_nano_usd: is -1"},
		"an execution begun":          {event(domain.Event{Type: domain.EventExecutionStarted, EventHeader: head, Data: domain.AgentExecutionStarted{Number: 2}}), "events[1].execution_number: is 2, and that of the execution 1"},
		"an inference":                {event(domain.Event{Type: domain.EventInferenceReceived, EventHeader: head, Data: domain.InferenceResponseReceived{Usage: negative}}), "events[1].usage.output_tokens: is -1"},
		"a step":                      {event(domain.Event{Type: domain.EventStepCompleted, EventHeader: head, Data: domain.AgentStepCompleted{StepType: domain.StepError, Usage: negative}}), "events[1].usage.output_tokens: is -1"},
		"tokens so far":               {event(domain.Event{Type: domain.EventTokenUsageReported, EventHeader: head, Data: domain.TokenUsageReported{Usage: negative}}), "events[1].usage.output_tokens: is -1"},
		"tokens of the step":          {event(domain.Event{Type: domain.EventTokenUsageReported, EventHeader: head, Data: domain.TokenUsageReported{StepUsage: negative}}), "events[1].step_usage.output_tokens: is -1"},
		"a sub-agent":                 {event(domain.Event{Type: domain.EventSubagentCompleted, EventHeader: head, Data: domain.SubagentCompleted{Status: domain.StatusCompleted, Steps: endless}}), "events[1].step_count: is 4611686018427387904"},
		"an end":                      {event(domain.Event{Type: domain.EventExecutionCompleted, EventHeader: head, Data: domain.ExecutionEnded{Status: domain.StatusCompleted, StopReason: domain.UserRequested, Steps: -1}}), "events[1].step_count: is -1"},
		"a failure":                   {event(domain.Event{Type: domain.EventExecutionFailed, EventHeader: head, Data: domain.ExecutionEnded{StopReason: domain.UserRequested, Kind: domain.Internal, Usage: negative}}), "events[1].usage.output_tokens: is -1"},
		"an endless cost":             {func(r *record.Record) { r.Steps[0].Step.CostNanoUSD = math.MaxInt64 }, "steps[0].cost_nano_usd: is 9223372036854775807; give a number from 0 to 1152921504606846976"},
		"endless tokens":              {func(r *record.Record) { r.Outcome.Usage.InputTokens = math.MaxInt64 }, "executions[0].usage.input_tokens: is 9223372036854775807"},
		"a lost cost":                 {func(r *record.Record) { r.Steps[0].Step.LostNanoUSD = -1 }, "steps[0].lost_nano_usd: is -1"},
		"tries":                       {func(r *record.Record) { r.Steps[0].Step.Tries = -1 }, "steps[0].inference_tries: is -1"},
		"a step of an event":          {func(r *record.Record) { r.Events[1].Step = -1 }, "events[1].step: is -1; give a number from 0 to "},
		"the length of an event":      {event(domain.Event{Type: domain.EventToolCallCompleted, EventHeader: head, Data: domain.ToolCallCompleted{Milliseconds: -1}}), "events[1].duration_ms: is -1"},
		"seconds":                     {func(r *record.Record) { r.Prior.Seconds = 1e300 }, "executions[0].prior.seconds: is 1e+300"},
		"an event of 1969":            {func(r *record.Record) { r.Events[1].Time = year(1969) }, "events[1].time: is in the year 1969; give a time from 1970 to 9998"},
		"a message of 9999":           {func(r *record.Record) { r.Messages[1].Message.CreatedAt = year(9999) }, "messages[1].message.created_at: is in the year 9999"},
		"a beginning in 9999":         {func(r *record.Record) { r.StartedAt = year(9999) }, "executions[0].started_at: is in the year 9999"},
		"a state of 1969":             {func(r *record.Record) { r.FinalState.UpdatedAt = year(1969) }, "executions[0].final_state.updated_at: is in the year 1969"},
		"an import in 9999":           {func(r *record.Record) { r.Imported = year(9999) }, "imported_at: is in the year 9999"},
		"a negative edit":             {func(r *record.Record) { r.Steps[0].Step.Input.Edits.Hidden = -1 }, "steps[0].input.edits.hidden: is -1"},
		"edits of no messages":        {func(r *record.Record) { r.Steps[0].Step.Input.Edits.Summary = 1 << 40 }, "steps[0].input: edits.summary: is 1099511627776"},
		"edits before the first":      {func(r *record.Record) { r.EditsBefore.Hidden = 1 }, "executions[0].edits_before: edits.hidden: is 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := stores.Sample(t, "ann", 1)[0]
			test.change(&r)
			_, err := record.Read(strings.NewReader(written(t, r)))
			require.ErrorContains(t, err, "line 2: record.")
			require.ErrorContains(t, err, test.want)
			require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
		})
	}
}
