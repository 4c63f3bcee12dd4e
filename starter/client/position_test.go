package client

import (
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
)

// TestAnExecutionIsTheNewestOnceItsUpdateIsAnswered, also while the one before is recorded and nothing of it has begun.
func TestAnExecutionIsTheNewestOnceItsUpdateIsAnswered(t *testing.T) {
	t.Parallel()
	for name, fact := range map[string]history.Fact{
		"send":   history.Sent{Reply: contract.SendReply{Number: 3, Began: true}},
		"rewind": history.Rewound{Request: contract.RewindRequest{Newest: 2, Prompt: "again"}},
		"extend": history.Extended{Reply: contract.ExtendReply{Number: 3, Began: true}},
	} {
		scan := newestScan{ended: 2}
		require.True(t, scan.take(fact), name)
		require.Equal(t, 1, scan.step, name)
	}
	scan := newestScan{ended: 2}
	require.False(t, scan.take(history.Rewound{Request: contract.RewindRequest{Newest: 2}}), "the next message begins it")
	require.Zero(t, scan.step)
}

// TestUnreadMessagesBeginTheNextExecution, of an open session alone, and once the newest has ended.
func TestUnreadMessagesBeginTheNextExecution(t *testing.T) {
	t.Parallel()
	of := func(name string, status enumspb.WorkflowExecutionStatus, ended *contract.Outcome) position {
		described := &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: status}}
		return position{snapshot: snapshot{agent: agent{name: name}, DescribeWorkflowExecutionResponse: described}, ended: ended}
	}
	open, closed := enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
	require.True(t, of("named", open, &contract.Outcome{Unread: 1}).beginsNext())
	require.False(t, of("named", open, &contract.Outcome{}).beginsNext())
	require.False(t, of("named", open, nil).beginsNext(), "it is in progress")
	require.False(t, of("named", closed, &contract.Outcome{Unread: 1}).beginsNext())
	require.False(t, of("", open, &contract.Outcome{Unread: 1}).beginsNext(), "nothing comes after it")
}
