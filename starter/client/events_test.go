package client

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"

	"everstep/domain"
	"everstep/domain/contract"
)

// eventsHeld is a worker whose runs hold ranges of the events of nora's first
// execution, two to a page; the event of number end is its last.
func eventsHeld(ranges map[string][2]int64, end int64) func(context.Context, string, string, any) (any, error) {
	return func(_ context.Context, runID, _ string, in any) (any, error) {
		r := in.(contract.EventsRequest)
		first, last := ranges[runID][0], ranges[runID][1]
		page := contract.EventsPage{ExecutionID: nth(1), Number: 1, First: first}
		if first == 0 {
			return page, nil
		}
		for n := max(r.After, first-1); n < last && n < end+10; n++ {
			if len(page.Events) == 2 {
				page.More = true
				break
			}
			head := domain.EventHeader{Sequence: n + 1, ExecutionID: nth(1)}
			page.Events = append(page.Events, domain.RecordedEvent{Event: domain.AgentStepStarted{EventHeader: head}})
		}
		page.Ended = !page.More && last == end
		return page, nil
	}
}

// toldEvents collects the numbers of events, and the errors in between.
func toldEvents(t *testing.T, f *fakeServer, o EventsOptions) (numbers []int64, gone []string) {
	t.Helper()
	for event, err := range f.client().Events(t.Context(), "nora", o) {
		if err != nil {
			requireClass(t, err, Gone)
			gone = append(gone, err.Error())
			continue
		}
		numbers = append(numbers, event.Head().Sequence)
	}
	return numbers, gone
}

func TestEventsJoinTheRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ranges  map[string][2]int64
		after   int64
		deleted string
		want    []int64
		gone    []string
	}{
		"whole":                {map[string][2]int64{"run-1": {1, 3}, "run-2": {4, 6}, "run-3": {7, 8}}, 0, "", []int64{1, 2, 3, 4, 5, 6, 7, 8}, nil},
		"a run that overlaps":  {map[string][2]int64{"run-1": {1, 5}, "run-2": {4, 6}, "run-3": {7, 8}}, 0, "", []int64{1, 2, 3, 4, 5, 6, 7, 8}, nil},
		"what follows":         {map[string][2]int64{"run-1": {1, 3}, "run-2": {4, 6}, "run-3": {7, 8}}, 5, "", []int64{6, 7, 8}, nil},
		"nothing follows":      {map[string][2]int64{"run-1": {1, 3}, "run-2": {4, 6}, "run-3": {7, 8}}, 8, "", nil, nil},
		"the first is deleted": {map[string][2]int64{"run-2": {4, 6}, "run-3": {7, 8}}, 0, "run-1", []int64{4, 5, 6, 7, 8}, []string{"events 1 to 3 can no longer be read"}},
		"a gap":                {map[string][2]int64{"run-1": {1, 2}, "run-2": {4, 6}, "run-3": {7, 8}}, 0, "", []int64{1, 2, 4, 5, 6, 7, 8}, []string{"events 3 to 3 can no longer be read"}},
		"none are left":        {map[string][2]int64{}, 0, "", nil, []string{"the events of execution 1 of nora after 0 can no longer be read"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := threeRuns(c.ranges)
			f.newest().ends(outcomeOf(1, 9))
			f.query = eventsHeld(c.ranges, 8)
			f.deleted[c.deleted] = true
			numbers, gone := toldEvents(t, f, EventsOptions{After: c.after})
			require.Equal(t, c.want, numbers)
			require.Equal(t, c.gone, gone)
		})
	}
}

// TestEventsFollow asks when the history has grown, and not otherwise, on into
// the next run.
func TestEventsFollow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first := newRun("run-1", nil)
		f := newFake(first)
		ranges, asked := map[string][2]int64{"run-1": {1, 1}}, 0
		f.query = func(ctx context.Context, runID, query string, in any) (any, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			asked++
			return eventsHeld(ranges, 5)(ctx, runID, query, in)
		}
		done := make(chan []int64)
		go func() { numbers, _ := toldEvents(t, f, EventsOptions{}); done <- numbers }()
		synctest.Wait()
		before := asked
		f.change(func() { first.infers(1, 1) })
		synctest.Wait()
		require.Equal(t, before, asked, "only a workflow task changes the workflow")
		f.change(func() { ranges["run-1"] = [2]int64{1, 2}; first.decides() })
		synctest.Wait()
		require.Equal(t, before+1, asked)
		second := newRun("run-2", inMidst(1, 1)).continues("run-1")
		f.change(func() {
			ranges["run-1"], ranges["run-2"] = [2]int64{1, 3}, [2]int64{4, 5}
			first.decides()
			first.handsOn("run-2")
			f.runs = append(f.runs, second)
			second.decides()
		})
		require.Equal(t, []int64{1, 2, 3, 4, 5}, <-done)
	})
}

// decides records a workflow task.
func (r *fakeRun) decides() {
	r.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED})
}

// fails records a workflow task that failed.
func (r *fakeRun) fails(why string) {
	r.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED,
		Attributes: &historypb.HistoryEvent_WorkflowTaskFailedEventAttributes{
			WorkflowTaskFailedEventAttributes: &historypb.WorkflowTaskFailedEventAttributes{
				Cause: enumspb.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE, Failure: &failurepb.Failure{Message: why},
			},
		},
	})
}

// failsOn is a workflow task that a worker of a build has failed.
func (r *fakeRun) failsOn(build, why string) {
	r.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED,
		Attributes: &historypb.HistoryEvent_WorkflowTaskStartedEventAttributes{
			WorkflowTaskStartedEventAttributes: &historypb.WorkflowTaskStartedEventAttributes{
				WorkerVersion: &commonpb.WorkerVersionStamp{BuildId: build}, //nolint:staticcheck // where servers write it
			},
		},
	})
	r.fails(why)
}

// TestStatusSaysWhyNothingMoves covers workers that cannot carry the workflow on.
func TestStatusSaysWhyNothingMoves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make  func(r *fakeRun)
		doing string
	}{
		"stuck":            {func(r *fakeRun) { r.infers(1, 1); r.fails("hook audit: version 2 is needed") }, "a worker cannot carry it on, and tries again: hook audit: version 2 is needed"},
		"stuck while idle": {func(r *fakeRun) { r.ends(stopped(1)); r.fails("hook audit") }, "a worker cannot carry it on, and tries again: hook audit"},
		"another build": {func(r *fakeRun) {
			r.memo = buildMemo("v1.0.0/sdk-v1.50.0", "")
			r.infers(1, 1)
			r.failsOn("v1.1.0/sdk-v1.50.0", "[TMPRL1100]")
		}, "a worker of another build cannot carry it on (begun by build v1.0.0/sdk-v1.50.0, the workers are of v1.1.0/sdk-v1.50.0: finish it there, or export and fork), and tries again: [TMPRL1100]"},
		"the same build": {func(r *fakeRun) {
			r.memo = buildMemo("v1.0.0/sdk-v1.50.0", "")
			r.infers(1, 1)
			r.failsOn("v1.0.0/sdk-v1.50.0", "hook audit")
		}, "a worker cannot carry it on, and tries again: hook audit"},
		"mended since": {func(r *fakeRun) { r.infers(1, 1); r.fails("x"); r.decides() }, "no worker of task queue of nora says"},
		"at work":      {func(r *fakeRun) { r.infers(1, 1) }, "no worker of task queue of nora says"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				run := newRun("run-1", nil)
				c.make(run)
				v, err := newFake(run).client().Status(t.Context(), "nora")
				require.NoError(t, err)
				require.Equal(t, c.doing, v.Doing)
			})
		})
	}
}

// threeRuns is a chain of three runs in the middle of nora's first execution, each of which takes over what
// is before its range.
func threeRuns[N int | int64](ranges map[string][2]N) *fakeServer {
	f, last := newFake(newRun("run-1", nil)), ranges["run-1"][1]
	for _, id := range []string{"run-2", "run-3"} {
		held, ok := ranges[id]
		if !ok {
			held = [2]N{last + 1, last}
		}
		carry := inMidst(1, int(held[0])-1)
		carry.Base, carry.Sequence, last = int(held[0]), int64(held[0])-1, held[1]
		f.runs = append(f.runs, newRun(id, carry).continues(f.newest().id))
	}
	return f
}
