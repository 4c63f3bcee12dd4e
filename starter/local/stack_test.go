package local

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"everstep/starter/client"
	"everstep/starter/devserver"
)

// An office is a server with an open agent on the queue "slow", and a worker on the queue "quick".
type office struct {
	sdk.Client
	status enumspb.WorkflowExecutionStatus
}

func (office) WorkflowService() workflowservice.WorkflowServiceClient { return counter{} }

func (o office) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: o.status},
		ExecutionConfig:       &workflowpb.WorkflowExecutionConfig{TaskQueue: &taskqueuepb.TaskQueue{Name: "slow"}},
	}, nil
}

// A counter is where workers ask an office for work.
type counter struct {
	workflowservice.WorkflowServiceClient
}

func (counter) DescribeTaskQueue(_ context.Context, r *workflowservice.DescribeTaskQueueRequest, _ ...grpc.CallOption) (*workflowservice.DescribeTaskQueueResponse, error) {
	if r.GetTaskQueue().GetName() != "quick" {
		return &workflowservice.DescribeTaskQueueResponse{}, nil
	}
	return &workflowservice.DescribeTaskQueueResponse{Pollers: []*taskqueuepb.PollerInfo{{Identity: "billing", LastAccessTime: timestamppb.New(time.Now())}}}, nil
}

// TestWhatAnAgentLacks is named before it is sent something, by its own queue.
func TestWhatAnAgentLacks(t *testing.T) {
	t.Parallel()
	at := func(status enumspb.WorkflowExecutionStatus) *Stack {
		o := office{status: status}
		return &Stack{Temporal: o, Agents: client.New(o, client.Config{}), address: "far:7233", namespace: "farm", taskQueue: "quick"}
	}
	open := at(enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING)
	require.Empty(t, open.Missing(t.Context()))
	require.Contains(t, open.MissingFor(t.Context(), "nora"), "no worker answers on task queue slow")
	require.Equal(t, "slow", open.Waits("nora"), "whoever leaves it")
	require.Empty(t, at(enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED).Waits("nora"))
	open.taskQueue, open.worker = "slow", new(workerKeeper)
	require.Empty(t, open.Waits("nora"), "the worker of this process has it until then")
	open.taskQueue, open.worker = "quick", nil
	require.Empty(t, at(enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED).MissingFor(t.Context(), "nora"), "it takes nothing")
	require.Empty(t, open.MissingFor(t.Context(), "no/name"), "which is refused")
}

// TestPollerIsGone tells workers that go on when this process ends from those that do not.
func TestPollerIsGone(t *testing.T) {
	t.Parallel()
	machine, err := os.Hostname()
	require.NoError(t, err)
	ended := exec.Command("true")
	require.NoError(t, ended.Run())
	own := &workerKeeper{}
	own.pid.Store(int64(os.Getpid()))
	identity := func(pid int, machine string) client.Poller {
		return client.Poller{Identity: fmt.Sprintf("%d@%s@", pid, machine)}
	}
	require.True(t, gone(identity(ended.Process.Pid, machine), nil))
	require.False(t, gone(identity(os.Getpid(), machine), nil))
	require.False(t, gone(identity(os.Getppid(), machine), own), "one of the user's own goes on")
	require.True(t, gone(identity(os.Getpid(), machine), own))
	require.False(t, gone(identity(ended.Process.Pid, machine+"-2"), own), "nobody knows")
	require.False(t, gone(client.Poller{Identity: "billing"}, own), "nobody knows")
}

// TestAFullDisk is named where the dev server keeps its state.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := Stack{local: &devserver.Server{StateFile: filepath.Join(folder, "dev.db")}}
	require.Empty(t, s.Full())
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
	s.local.StateFile = filepath.Join(folder, "gone", "dev.db") // as on a disk that takes no more
	require.Contains(t, s.Full(), "the dev server cannot write its state in "+filepath.Join(folder, "gone")+": ")
	require.Empty(t, new(Stack).Full(), "a server elsewhere has a disk elsewhere")
}
