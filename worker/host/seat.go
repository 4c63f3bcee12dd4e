package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"everstep/worker/host/statefile"
)

// NoSeat is the [Connection.Seat] of workers that have none.
const NoSeat = "none"

// mostSeats bounds the workers of a task queue on one machine that have a seat.
const mostSeats = 16

// seats are those of the workers that serve by one connection. A seat is a file in which a worker notes the queue of the
// workflows that it has in memory, and which it keeps locked. Until the server knows that a worker was lost, each of its
// workflows waits for it once more: the next worker that takes its seat ends that.
type seats struct {
	connection Connection
	mu         sync.Mutex
	// taken are the seats by the queues of the workers that came for one; nil: there was none, or the worker has left it.
	taken map[string]*os.File
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

// intercept is a gRPC interceptor, for only what a worker asks names its queue.
func (s *seats) intercept(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption) error {
	switch request := request.(type) {
	case *workflowservice.PollWorkflowTaskQueueRequest:
		if request.GetTaskQueue().GetKind() != enumspb.TASK_QUEUE_KIND_STICKY {
			break
		}
		if before := s.take(request.GetTaskQueue()); before != "" {
			ctx, poll := context.WithoutCancel(ctx), proto.CloneOf(request)
			poll.TaskQueue.Name = before
			go release(ctx, poll, func(ctx context.Context, method string, request, reply any) error {
				return call(ctx, method, request, reply, conn)
			})
		}
	case *workflowservice.ShutdownWorkerRequest: // the worker tells the server itself
		s.leave(request.GetStickyTaskQueue())
	}
	return call(ctx, method, request, reply, conn, options...)
}

// take takes a seat for a worker that comes for the first time. It returns the queue of the worker that was killed in it.
func (s *seats) take(queue *taskqueuepb.TaskQueue) (before string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, came := s.taken[queue.GetName()]; came {
		return ""
	}
	file, err := s.connection.freeSeat(queue.GetNormalName())
	if err == nil && file != nil {
		before, err = note(file, queue.GetName())
	}
	s.taken[queue.GetName()] = file
	if logger := s.connection.Logger; err != nil && logger != nil {
		say := logger.Warn
		if s.connection.Seat == "" { // nobody has asked for one
			say = logger.Info
		}
		say("the worker has no seat: when it is killed, its agents go on later", "error", err)
	}
	return before
}

// leave gives back the seat of a worker that stops.
func (s *seats) leave(queue string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if file := s.taken[queue]; file != nil {
		_ = os.Remove(file.Name()) // where it stays, the next worker tells of a queue that has nobody once more
		_ = file.Close()
		s.taken[queue] = nil
	}
}

// seatFile is the file of the first seat for workers of a task queue, and "" where they have none.
func (c Connection) seatFile(queue string) (path string, err error) {
	switch {
	case c.Seat == NoSeat, c.Seat == "" && statefile.Supported() != nil: // without locks
		return "", nil
	case c.Seat != "":
		return c.Seat, nil
	}
	state := c.State
	if state == "" {
		if state, err = statefile.Default(); err != nil {
			return "", err
		}
	}
	if _, err = os.Stat(filepath.Dir(state)); err != nil {
		return "", err
	}
	return statefile.WorkerFile(state, ".seat", c.Address, c.Namespace, queue), nil
}

// freeSeat opens and locks the first seat that no other worker has. It is nil where there are to be none.
func (c Connection) freeSeat(queue string) (*os.File, error) {
	first, err := c.seatFile(queue)
	if err != nil || first == "" {
		return nil, err
	}
	for _, path := range seatsFrom(first) {
		if file, err := statefile.LockFile(path); !errors.Is(err, statefile.ErrLocked) {
			return file, err
		}
	}
	return nil, fmt.Errorf("%d other workers have one from %s on", mostSeats, first)
}

// seatsFrom are the files of all seats, by the first.
func seatsFrom(first string) []string {
	paths := []string{first}
	for n := 2; n <= mostSeats; n++ {
		paths = append(paths, fmt.Sprintf("%s.%d", first, n))
	}
	return paths
}

// note writes a queue down, and returns the one that was noted before.
func note(file *os.File, queue string) (before string, err error) {
	noted, err := io.ReadAll(file)
	if err == nil {
		err = file.Truncate(0)
	}
	if err == nil {
		_, err = file.WriteAt([]byte(queue+"\n"), 0)
	}
	return strings.TrimSpace(string(noted)), err
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
