package client

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
)

// decides records a workflow task.
func (r *fakeRun) decides() {
	r.add(&historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED})
}

// TestStatusSaysWhyNothingMoves covers workers that cannot carry the workflow on.
func TestStatusSaysWhyNothingMoves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make  func(r *fakeRun)
		doing string
	}{
		"stuck":            {func(r *fakeRun) { r.infers(1, 1); r.failsOn("", "hook audit: version 2 is needed") }, "a worker cannot carry it on, and tries again: hook audit: version 2 is needed"},
		"stuck while idle": {func(r *fakeRun) { r.ends(stopped(1)); r.failsOn("", "hook audit") }, "a worker cannot carry it on, and tries again: hook audit"},
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
		"mended since": {func(r *fakeRun) { r.infers(1, 1); r.failsOn("", "x"); r.decides(); r.task = nil }, "as the workflow says"},
		"at work":      {func(r *fakeRun) { r.infers(1, 1) }, "as the workflow says"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				run := newRun("run-1", nil)
				c.make(run)
				f := newFake(run)
				f.query = answersAccount(underWay())
				v, err := f.client().Status(t.Context(), "nora")
				require.NoError(t, err)
				require.Equal(t, c.doing, v.Doing)
			})
		})
	}
}

// failsOn is a workflow task that a worker of a build has failed.
func (r *fakeRun) failsOn(build, why string) {
	r.failsTasks(2, &historypb.WorkflowTaskFailedEventAttributes{
		Cause: enumspb.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE, Failure: failure(why),
	}, build)
}
