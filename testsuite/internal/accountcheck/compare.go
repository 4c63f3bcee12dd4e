package accountcheck

import (
	"context"
	"fmt"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/workflow"

	"everstep/domain/account"
	"everstep/workflows/replay"
)

// Compare replays the history of a run up to each of its completed workflow tasks of which there is a note, or up to so
// many of them unless most is zero, and says what differs, also between an account in small pages and in one. It also
// returns how many it has compared. Tasks that failed, or whose worker was lost, have no part in that.
func Compare(ctx context.Context, events []*historypb.HistoryEvent, notes map[int]Note, most int, options replay.Options) (compared int, differ []string, _ error) {
	started := events[0].GetWorkflowExecutionStartedEventAttributes()
	execution := workflow.Execution{ID: started.GetWorkflowId(), RunID: started.GetOriginalExecutionRunId()}
	var tasks []int // indices of the events by which tasks were completed
	for i, event := range events {
		if _, noted := notes[startOf(event)]; noted {
			tasks = append(tasks, i)
		}
	}
	every := 1
	if most > 0 {
		every = max((len(tasks)+most-1)/most, 1)
	}
	for k, i := range tasks {
		if (len(tasks)-1-k)%every != 0 {
			continue // the last one is always compared
		}
		note, length := notes[startOf(events[i])], startOf(events[i])
		// What comes before the next task begins no worker has taken yet.
		end := len(events)
		if next := slices.IndexFunc(events[i:], beginsTask); next >= 0 {
			end = i + next
		}
		var replayed Note
		_, err := replay.Ask(ctx, events[:end], execution, options, func(q *replay.Queries) (err error) {
			ask := func(request account.Request) (account.Page, error) { return replay.Query(q, account.Query, request) }
			if replayed, err = noteOf(note.RunID, length, ask); err != nil {
				return err
			}
			bySmallPages, err := noteOf(note.RunID, length, func(request account.Request) (account.Page, error) {
				request.Bytes = smallPage
				return ask(request)
			})
			differ = append(differ, differences("in small pages it is", bySmallPages, "in one", replayed)...)
			return err
		})
		if err != nil {
			return compared, differ, fmt.Errorf("run %s, replayed up to event %d: %w", note.RunID, end, err)
		}
		compared++
		differ = append(differ, differences("the worker has", note, "a replay", replayed)...)
	}
	return compared, differ, nil
}

// startOf is the id of the event that started the workflow task which an event completes; zero: it completes none.
func startOf(e *historypb.HistoryEvent) int {
	return int(e.GetWorkflowTaskCompletedEventAttributes().GetStartedEventId())
}

// smallPage has room for few items.
const smallPage = 1500

func beginsTask(e *historypb.HistoryEvent) bool {
	return e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED
}
