package record_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/testsuite/stores"
)

// TestCountsThatNoExecutionComesTo are refused, whoever wrote the file, with the name of the field.
func TestCountsThatNoExecutionComesTo(t *testing.T) {
	t.Parallel()
	const endless = 1 << 62
	negative := domain.Usage{OutputTokens: -1}
	origin := func(step int) *domain.Origin {
		id := stores.Sample(t, "ann", 1)[0].ExecutionID
		return &domain.Origin{ExecutionID: id, Step: 1, Origin: &domain.Origin{ExecutionID: id, Step: step}}
	}
	event := func(e domain.Event) func(*record.Record) {
		return func(r *record.Record) { r.Events[1] = e }
	}
	head := stores.Sample(t, "ann", 1)[0].Events[1].EventHeader
	for name, test := range map[string]struct {
		change func(*record.Record)
		want   string
	}{
		"an endless origin":           {func(r *record.Record) { r.Origin = origin(endless) }, "executions[0].origin.step: is 4611686018427387904"},
		"an origin below zero":        {func(r *record.Record) { r.Origin = origin(-1) }, "executions[0].origin.step: is -1"},
		"executions of the state":     {func(r *record.Record) { r.FinalState = stores.Sample(t, "ann", 2)[1].FinalState }, "executions[0].final_state.execution_count: is 2, and the number of the execution 1"},
		"a step's tokens":             {func(r *record.Record) { r.Steps[0].Step.Usage = negative }, "steps[0].usage: may not be negative"},
		"a step's lost tokens":        {func(r *record.Record) { r.Steps[0].Step.Lost = negative }, "steps[0].lost_usage: may not be negative"},
		"tokens of a step's children": {func(r *record.Record) { r.Steps[0].Step.Children.Tokens = -1 }, "steps[0].children: may not be negative"},
		"tokens of a response":        {func(r *record.Record) { r.Steps[0].Step.Response.Usage = negative }, "steps[0].response.usage: may not be negative"},
		"a step's cost":               {func(r *record.Record) { r.Steps[0].Step.CostNanoUSD = -1 }, "steps[0].cost_nano_usd: is -1"},
		"an execution begun":          {event(domain.Event{Type: domain.EventExecutionStarted, EventHeader: head, Data: domain.AgentExecutionStarted{Number: 2}}), "events[1].execution_number: is 2, and that of the execution 1"},
		"an inference":                {event(domain.Event{Type: domain.EventInferenceReceived, EventHeader: head, Data: domain.InferenceResponseReceived{Usage: negative}}), "events[1].usage: may not be negative"},
		"a step":                      {event(domain.Event{Type: domain.EventStepCompleted, EventHeader: head, Data: domain.AgentStepCompleted{StepType: domain.StepError, Usage: negative}}), "events[1].usage: may not be negative"},
		"tokens so far":               {event(domain.Event{Type: domain.EventTokenUsageReported, EventHeader: head, Data: domain.TokenUsageReported{Usage: negative}}), "events[1].usage: may not be negative"},
		"tokens of the step":          {event(domain.Event{Type: domain.EventTokenUsageReported, EventHeader: head, Data: domain.TokenUsageReported{StepUsage: negative}}), "events[1].step_usage: may not be negative"},
		"a sub-agent":                 {event(domain.Event{Type: domain.EventSubagentCompleted, EventHeader: head, Data: domain.SubagentCompleted{Status: domain.StatusCompleted, Steps: endless}}), "events[1].step_count: is 4611686018427387904"},
		"an end":                      {event(domain.Event{Type: domain.EventExecutionCompleted, EventHeader: head, Data: domain.ExecutionEnded{Status: domain.StatusCompleted, StopReason: domain.UserRequested, Steps: -1}}), "events[1].step_count: is -1"},
		"a failure":                   {event(domain.Event{Type: domain.EventExecutionFailed, EventHeader: head, Data: domain.ExecutionEnded{StopReason: domain.UserRequested, Kind: domain.Internal, Usage: negative}}), "events[1].usage: may not be negative"},
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
