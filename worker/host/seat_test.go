package host

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

// TestSeat: a worker that takes the place of another hands back, once, what waits for
// the other, and tells the server that the other's queue has nobody.
func TestSeat(t *testing.T) {
	t.Parallel()
	connection := Connection{Seat: filepath.Join(t.TempDir(), "w.seat")}
	var mu sync.Mutex
	var said []string
	waiting := []string{"one", "two"}
	call := func(_ context.Context, _ string, request, reply any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
		mu.Lock()
		defer mu.Unlock()
		switch request := request.(type) {
		case *workflowservice.PollWorkflowTaskQueueRequest:
			said = append(said, "poll "+request.GetTaskQueue().GetName())
			if request.GetTaskQueue().GetName() == "a:1" && reply != nil && len(waiting) > 0 {
				reply.(*workflowservice.PollWorkflowTaskQueueResponse).TaskToken, waiting = []byte(waiting[0]), waiting[1:]
			}
		case *workflowservice.RespondWorkflowTaskFailedRequest:
			said = append(said, "back "+string(request.GetTaskToken()))
		case *workflowservice.ShutdownWorkerRequest:
			said = append(said, "lost "+request.GetNamespace()+" "+request.GetStickyTaskQueue())
		}
		return nil
	}
	serve := func(own string) []string {
		said = nil
		synctest.Test(t, func(t *testing.T) {
			s := &seat{connection: connection}
			for _, queue := range []*taskqueuepb.TaskQueue{
				{Name: "common", Kind: enumspb.TASK_QUEUE_KIND_NORMAL},
				{Name: own, Kind: enumspb.TASK_QUEUE_KIND_STICKY}, {Name: own, Kind: enumspb.TASK_QUEUE_KIND_STICKY},
			} {
				poll := &workflowservice.PollWorkflowTaskQueueRequest{Namespace: "n", TaskQueue: queue}
				require.NoError(t, s.take(t.Context(), "poll", poll, nil, nil, call))
			}
		})
		return said
	}
	require.Equal(t, []string{"poll common", "poll a:1", "poll a:1"}, serve("a:1"))
	require.ElementsMatch(t, []string{
		"poll common", "poll a:2", "poll a:2",
		"poll a:1", "back one", "poll a:1", "back two", "poll a:1", "lost n a:1",
	}, serve("a:2"))
	require.Equal(t, []string{"poll common", "poll a:2", "poll a:2"}, serve("a:2"))
}
