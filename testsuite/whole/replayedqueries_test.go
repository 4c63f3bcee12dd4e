package whole_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/workflow"

	"everstep/domain/contract"
	"everstep/worker/host/codec"
	"everstep/workflows/replay"
)

// answers are all that an agent's queries answer.
type answers struct {
	Status   contract.StatusView
	Steps    contract.StepsPage
	Messages contract.MessagesPage
	Events   contract.EventsPage
}

// askAll asks every query of a replayed workflow.
func (a *answers) askAll(q *replay.Queries) (err error) {
	if a.Status, err = replay.Query(q, contract.QueryStatus, contract.StatusRequest{}); err != nil {
		return err
	}
	if a.Steps, err = replay.Query(q, contract.QuerySteps, contract.StepsRequest{}); err != nil {
		return err
	}
	if a.Messages, err = replay.Query(q, contract.QueryMessages, contract.MessagesRequest{}); err != nil {
		return err
	}
	a.Events, err = replay.Query(q, contract.QueryEvents, contract.EventsRequest{})
	return err
}

func (a answers) text(t *testing.T) string {
	t.Helper()
	a.Status.History.Events = 0 // it may count a task that only the replay has
	encoded, err := json.Marshal(a)
	require.NoError(t, err)
	return string(encoded)
}

// originalOf is the execution that a history tells of.
func originalOf(events []*historypb.HistoryEvent) workflow.Execution {
	started := events[0].GetWorkflowExecutionStartedEventAttributes()
	return workflow.Execution{ID: started.GetWorkflowId(), RunID: started.GetOriginalExecutionRunId()}
}

func replayOptions() replay.Options { return replay.Options{DataConverter: codec.New().DataConverter()} }

// TestReplayedQueriesOfCutHistories cuts the history of each kind after each of its events.
func TestReplayedQueriesOfCutHistories(t *testing.T) {
	t.Parallel()
	for name, history := range freshHistories(t) {
		if history.Events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName() != string(contract.Execute) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := history.Events
			for i := range events {
				asked := 0
				var a answers
				waiting, err := replay.Ask(t.Context(), events[:i+1], originalOf(events), replayOptions(), func(q *replay.Queries) error {
					asked++
					return a.askAll(q)
				})
				t.Logf("%3d %-40s asked=%d waiting=%d steps=%d events=%d err=%v", i+1, events[i].GetEventType(), asked, len(waiting), a.Status.StepCount, len(a.Events.Events), err)
				_ = enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED
			}
		})
	}
}
