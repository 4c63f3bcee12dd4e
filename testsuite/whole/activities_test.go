package whole_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"

	"everstep/domain"
	"everstep/worker/host/codec"
)

// An endedActivity is an activity with the event that tells how it ended.
type endedActivity struct {
	name      string
	scheduled *historypb.ActivityTaskScheduledEventAttributes
	end       *historypb.HistoryEvent
}

// endedActivities are those of all runs of an agent.
func (s *stack) endedActivities(t *testing.T, id string) (all []endedActivity) {
	t.Helper()
	for run := ""; ; {
		_, previous := s.runInfo(t, domain.WorkflowID(id), run)
		events := s.historyNow(t, domain.WorkflowID(id), run).Events
		for _, event := range events {
			asked := max(
				event.GetActivityTaskCompletedEventAttributes().GetScheduledEventId(), event.GetActivityTaskFailedEventAttributes().GetScheduledEventId(),
				event.GetActivityTaskTimedOutEventAttributes().GetScheduledEventId(), event.GetActivityTaskCanceledEventAttributes().GetScheduledEventId(),
			)
			if asked > 0 {
				scheduled := events[asked-1].GetActivityTaskScheduledEventAttributes()
				all = append(all, endedActivity{scheduled.GetActivityType().GetName(), scheduled, event})
			}
		}
		if run = previous; run == "" {
			return all
		}
	}
}

// request is what the activity was asked.
func request[T any](t *testing.T, a endedActivity) (r T) {
	t.Helper()
	require.NoError(t, codec.New().DataConverter().FromPayloads(a.scheduled.GetInput(), &r))
	return r
}
