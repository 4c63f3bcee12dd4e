package chaos

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"

	"everstep/domain"
	"everstep/worker/host/codec"
)

// inFlight reads from the histories of an agent's runs which calls that may not
// be repeated a worker had when it was lost, and which process that was.
func (p *proof) inFlight(ctx context.Context, got played) (map[domain.ToolExecutionID]int, error) {
	compress, err := codec.New()
	if err != nil {
		return nil, err
	}
	found := make(map[domain.ToolExecutionID]int)
	for waiting := got.runs; len(waiting) > 0; {
		runID := waiting[0]
		waiting = waiting[1:]
		run := runScan{convert: compress.DataConverter(), calls: map[int64]domain.ToolExecutionID{}, pids: map[int64]int{}, found: found}
		events := p.temporal.GetWorkflowHistory(ctx, got.begun.WorkflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if err == nil {
				err = run.take(event)
			}
			if err != nil {
				return nil, fmt.Errorf("read the history of %s: %w", got.begun.WorkflowID, err)
			}
		}
		if run.next != "" {
			waiting = append(slices.Clip(waiting), run.next)
		}
	}
	return found, nil
}

// A runScan reads one run's history.
type runScan struct {
	convert converter.DataConverter
	// calls and pids are by the event that scheduled an activity.
	calls map[int64]domain.ToolExecutionID
	pids  map[int64]int
	found map[domain.ToolExecutionID]int
	next  string
}

func (r *runScan) take(event *historypb.HistoryEvent) error {
	if a := event.GetActivityTaskScheduledEventAttributes(); a != nil && a.GetActivityType().GetName() == string(domain.CallTool) {
		var request domain.ToolRequest
		if err := r.convert.FromPayloads(a.GetInput(), &request); err != nil {
			return err
		}
		if !request.Effect.Repeatable() {
			r.calls[event.GetEventId()] = request.ID()
		}
	}
	if a := event.GetActivityTaskStartedEventAttributes(); a != nil {
		// An identity is the process's id, its host and its queue.
		pid, _, _ := strings.Cut(a.GetIdentity(), "@")
		r.pids[a.GetScheduledEventId()], _ = strconv.Atoi(pid) // zero is no process
	}
	if a := event.GetActivityTaskTimedOutEventAttributes(); a != nil {
		if id, ok := r.calls[a.GetScheduledEventId()]; ok {
			r.found[id] = r.pids[a.GetScheduledEventId()]
		}
	}
	if a := event.GetWorkflowExecutionContinuedAsNewEventAttributes(); a != nil {
		r.next = a.GetNewExecutionRunId()
	}
	return nil
}
