package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// A seat is a file in which a worker notes the queue of the workflows that it has in
// memory. Until the server knows that a worker was lost, each of its workflows waits
// for it once more: whoever sits down in its seat ends that.
type seat struct {
	connection Connection
	once       sync.Once
}

const (
	// oneWait is how long the server is asked for what waits; it takes no less than
	// 2 s, and answers a second before the end that there is nothing.
	oneWait = 2500 * time.Millisecond
	// quiet is how long nothing comes before the queue is given up.
	quiet = time.Second
	// allWaits bounds the whole.
	allWaits = 20 * time.Second
)

// take is a gRPC interceptor, for only what a worker asks names its queue.
func (s *seat) take(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption) error {
	poll, ok := request.(*workflowservice.PollWorkflowTaskQueueRequest)
	if ok && poll.GetTaskQueue().GetKind() == enumspb.TASK_QUEUE_KIND_STICKY {
		s.once.Do(func() {
			before, err := s.note(poll.GetTaskQueue().GetName())
			if err != nil && s.connection.Logger != nil {
				s.connection.Logger.Warn("note the queue of this worker", "seat", s.connection.Seat, "error", err)
			}
			if before == "" {
				return
			}
			ctx, poll := context.WithoutCancel(ctx), proto.CloneOf(poll)
			poll.TaskQueue.Name = before
			go release(ctx, poll, func(ctx context.Context, method string, request, reply any) error {
				return call(ctx, method, request, reply, conn)
			})
		})
	}
	return call(ctx, method, request, reply, conn, options...)
}

// note writes a queue down, and returns the one that was noted before.
func (s *seat) note(queue string) (before string, err error) {
	noted, err := os.ReadFile(s.connection.Seat)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if before = strings.TrimSpace(string(noted)); before == queue {
		before = ""
	}
	return before, errors.Join(err, os.WriteFile(s.connection.Seat, []byte(queue+"\n"), 0o600))
}

// release hands back what waits for a worker that is gone, and tells the server that
// its queue has nobody. Where a call fails, what waits does so until its time-out.
func release(ctx context.Context, poll *workflowservice.PollWorkflowTaskQueueRequest, call func(ctx context.Context, method string, request, reply any) error) {
	ctx, cancel := context.WithTimeout(ctx, allWaits)
	defer cancel()
	leave := func() {
		_ = call(ctx, workflowservice.WorkflowService_ShutdownWorker_FullMethodName, &workflowservice.ShutdownWorkerRequest{
			Namespace: poll.GetNamespace(), StickyTaskQueue: poll.GetTaskQueue().GetName(), Identity: poll.GetIdentity(), Reason: "its place was taken",
		}, &workflowservice.ShutdownWorkerResponse{})
	}
	for {
		asked := make(chan *workflowservice.PollWorkflowTaskQueueResponse, 1)
		go func() {
			var task workflowservice.PollWorkflowTaskQueueResponse
			wait, enough := context.WithTimeout(ctx, oneWait)
			defer enough()
			_ = call(wait, workflowservice.WorkflowService_PollWorkflowTaskQueue_FullMethodName, poll, &task)
			asked <- &task
		}()
		var task *workflowservice.PollWorkflowTaskQueueResponse
		select {
		case task = <-asked:
		case <-time.After(quiet):
			// While somebody still asks, so that nothing comes unseen between the two.
			leave()
			task = <-asked
		}
		if len(task.GetTaskToken()) == 0 {
			leave()
			return
		}
		if task.GetQuery() != nil {
			continue // who asks is sent on to another worker
		}
		_ = call(ctx, workflowservice.WorkflowService_RespondWorkflowTaskFailed_FullMethodName, &workflowservice.RespondWorkflowTaskFailedRequest{
			Namespace: poll.GetNamespace(), Identity: poll.GetIdentity(), TaskToken: task.GetTaskToken(),
			Cause: enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_STICKY_TASK_QUEUE,
		}, &workflowservice.RespondWorkflowTaskFailedResponse{})
	}
}
