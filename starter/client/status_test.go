package client

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"

	"everstep/domain"
	"everstep/domain/contract"
)

func TestStatusAsksTheWorkflow(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	f := newFake(run)
	f.query = answering(contract.StatusView{
		AgentID: nora.id, Number: 1, Status: domain.StatusInProgress, StepCount: 4, Source: contract.FromWorkflow, Open: true,
	})
	v, err := f.client().Status(t.Context(), "nora")
	require.NoError(t, err)
	require.Equal(t, 4, v.StepCount)
	require.Equal(t, contract.FromWorkflow, v.Source)
	require.Equal(t, "run-1", v.RunID)
	require.Equal(t, contract.HistoryView{Events: 1, Bytes: 1000}, v.History)
	require.True(t, v.Open)
}

func TestStatusWithoutAWorker(t *testing.T) {
	t.Parallel()
	beat := contract.Heartbeat{ExecutionID: nth(1), Step: 3, Phase: contract.PhaseStreaming}
	for name, c := range map[string]struct {
		make   func(r *fakeRun)
		want   domain.ExecutionStatus
		steps  int
		source contract.StatusSource
		doing  string
	}{
		"just started": {
			func(r *fakeRun) {
				r.task = &workflowpb.PendingWorkflowTaskInfo{State: enumspb.PENDING_WORKFLOW_TASK_STATE_SCHEDULED}
			},
			domain.StatusInProgress, 0, contract.FromHistory, "it waits for a worker of task queue of nora to go on",
		},
		"an inference that reported": {
			func(r *fakeRun) {
				r.infers(1, 3)
				r.pending = []*workflowpb.PendingActivityInfo{beating("2", 1, beat)}
			},
			domain.StatusInProgress, 2, contract.FromHeartbeat, "step 3: inference, streaming",
		},
		"an inference that did not": {
			func(r *fakeRun) {
				r.infers(1, 3)
				p := beating("2", 1, contract.Heartbeat{})
				p.HeartbeatDetails, p.State = nil, enumspb.PENDING_ACTIVITY_STATE_SCHEDULED
				r.pending = []*workflowpb.PendingActivityInfo{p}
			},
			domain.StatusInProgress, 2, contract.FromHistory, "step 3: inference, waits for a worker",
		},
		"idle": {
			func(r *fakeRun) { r.ends(outcomeOf(1, 5)) },
			domain.StatusCompleted, 5, contract.FromMemo, "idle",
		},
		"completed": {
			func(r *fakeRun) { r.ends(outcomeOf(1, 5)); r.closes(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED) },
			domain.StatusCompleted, 5, contract.FromMemo, "ended",
		},
		"terminated": {
			func(r *fakeRun) { r.infers(1, 3); r.closes(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED) },
			domain.StatusFailed, 2, contract.FromServer, "ended",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				run := newRun("run-1", nil)
				c.make(run)
				start := time.Now()
				v, err := newFake(run).client().Status(t.Context(), "nora")
				require.NoError(t, err)
				require.LessOrEqual(t, time.Since(start), patience)
				require.Equal(t, c.want, v.Status)
				require.Equal(t, c.steps, v.StepCount)
				require.Equal(t, c.source, v.Source)
				require.Equal(t, c.doing, v.Doing)
				require.Equal(t, nth(1), v.ExecutionID)
				require.NotNil(t, v.StopSignals)
				require.NotNil(t, v.PendingApprovals)
				require.NotNil(t, v.PendingQuestions)
				require.Equal(t, c.want == domain.StatusFailed, v.Error != nil)
			})
		})
	}
}

// TestStatusOfATerminatedOneIsNotTheWorkflows covers a worker that would say
// that it is in progress.
func TestStatusOfATerminatedOneIsNotTheWorkflows(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	run.infers(1, 1)
	run.closes(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED)
	f := newFake(run)
	f.query = answering(contract.StatusView{Number: 1, Status: domain.StatusInProgress, Source: contract.FromWorkflow})
	v, err := f.client().Status(t.Context(), "nora")
	require.NoError(t, err)
	require.Equal(t, domain.StatusFailed, v.Status)
	require.Equal(t, domain.CodeTerminated, v.Error.Code)
}

func TestAServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(newRun("run-1", nil))
		f.down = true
		c := f.client()
		start := time.Now()
		_, err := c.Status(t.Context(), "nora")
		requireClass(t, err, Unreachable)
		_, err = c.Wait(t.Context(), "nora", 0)
		requireClass(t, err, Unreachable)
		require.Less(t, time.Since(start), 10*time.Second)
	})
}

func TestReadingTellsThatTheServerIsMissing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(newRun("run-1", nil))
		f.query = func(context.Context, string, string, any) (any, error) {
			f.change(func() { f.down = true })
			return nil, errDown
		}
		seen := 0
		for _, err := range f.client().Messages(t.Context(), "nora") {
			requireClass(t, err, Unreachable)
			require.ErrorContains(t, err, "the server does not answer")
			seen++
		}
		require.Equal(t, 1, seen)
	})
}
