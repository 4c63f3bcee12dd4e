package client

import (
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"everstep/domain"
	"everstep/domain/contract"
)

// TestTheMemoTellsWhereAnAgentStands: which execution is the newest, and how it ended, also by the server.
func TestTheMemoTellsWhereAnAgentStands(t *testing.T) {
	t.Parallel()
	const running, closed, terminated = enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED
	for name, c := range map[string]struct {
		status      enumspb.WorkflowExecutionStatus
		head, ended int // the numbers that the memo has; zero: it has none
		number      int
		want        domain.ExecutionStatus // empty: it is in progress
		byServer    bool
	}{
		"begun, and no worker was up":      {running, 0, 0, 1, "", false},
		"ended":                            {closed, 0, 1, 1, domain.StatusCompleted, false},
		"idle":                             {running, 3, 3, 3, domain.StatusCompleted, false},
		"the next has begun":               {running, 4, 3, 4, "", false},
		"terminated while it was idle":     {terminated, 3, 3, 3, domain.StatusCompleted, false},
		"terminated while it was at work":  {terminated, 4, 3, 4, domain.StatusFailed, true},
		"terminated, and no worker was up": {terminated, 0, 0, 1, domain.StatusFailed, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := newRun("run-1", nil)
			if run.status = c.status; c.head > 0 {
				run.sent(c.head)
			}
			if c.ended > 0 {
				run.ends(outcomeOf(c.ended, 1))
			}
			f := newFake(run)
			p, err := f.client().describe(t.Context(), "nora")
			require.NoError(t, err)
			require.Equal(t, c.number, p.number)
			require.Equal(t, c.byServer, p.byServer)
			require.Equal(t, c.want == "", p.ended == nil)
			if p.ended != nil {
				require.Equal(t, c.want, p.ended.Status)
				require.Equal(t, nth(c.number), p.ended.ExecutionID)
			}
			require.Zero(t, f.polls, "no history is read")
		})
	}
}

// TestUnreadMessagesBeginTheNextExecution, of an open session alone, and once the newest has ended.
func TestUnreadMessagesBeginTheNextExecution(t *testing.T) {
	t.Parallel()
	of := func(name string, status enumspb.WorkflowExecutionStatus, ended *contract.Outcome) snapshot {
		described := &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: status}}
		return snapshot{agent: agent{name: name}, DescribeWorkflowExecutionResponse: described, ended: ended}
	}
	open, closed := enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
	require.True(t, of("named", open, &contract.Outcome{Unread: 1}).beginsNext())
	require.False(t, of("named", open, &contract.Outcome{}).beginsNext())
	require.False(t, of("named", open, nil).beginsNext(), "it is in progress")
	require.False(t, of("named", closed, &contract.Outcome{Unread: 1}).beginsNext())
	require.False(t, of("", open, &contract.Outcome{Unread: 1}).beginsNext(), "nothing comes after it")
}
