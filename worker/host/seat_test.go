package host

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"

	"everstep/worker/host/statefile"
)

// A seatServer is a server that workers ask for work, and what they said to it. Two tasks wait for the worker of the
// queue a:1.
type seatServer struct {
	mu      sync.Mutex
	said    []string
	waiting []string
}

func (s *seatServer) call(_ context.Context, _ string, request, reply any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch request := request.(type) {
	case *workflowservice.PollWorkflowTaskQueueRequest:
		s.said = append(s.said, "poll "+request.GetTaskQueue().GetName())
		if request.GetTaskQueue().GetName() == "a:1" && reply != nil && len(s.waiting) > 0 {
			reply.(*workflowservice.PollWorkflowTaskQueueResponse).TaskToken, s.waiting = []byte(s.waiting[0]), s.waiting[1:]
		}
	case *workflowservice.RespondWorkflowTaskFailedRequest:
		s.said = append(s.said, "back "+string(request.GetTaskToken()))
	case *workflowservice.ShutdownWorkerRequest:
		s.said = append(s.said, "lost "+request.GetNamespace()+" "+request.GetStickyTaskQueue())
	}
	return nil
}

// serves is a worker that asks for work, with a queue of its own, and what was said meanwhile.
func (s *seatServer) serves(t *testing.T, connection Connection, own string) (*seats, []string) {
	s.said = nil
	worker := &seats{connection: connection, taken: map[string]*os.File{}}
	synctest.Test(t, func(t *testing.T) {
		for _, queue := range []*taskqueuepb.TaskQueue{
			{Name: "common", Kind: enumspb.TASK_QUEUE_KIND_NORMAL},
			{Name: own, NormalName: "common", Kind: enumspb.TASK_QUEUE_KIND_STICKY}, {Name: own, NormalName: "common", Kind: enumspb.TASK_QUEUE_KIND_STICKY},
		} {
			poll := &workflowservice.PollWorkflowTaskQueueRequest{Namespace: "n", TaskQueue: queue}
			require.NoError(t, worker.intercept(t.Context(), "poll", poll, nil, nil, s.call))
		}
	})
	return worker, s.said
}

// killed has the system close what the worker of a queue had open.
func (s *seats) killed(t *testing.T, queue string) { require.NoError(t, s.taken[queue].Close()) }

// TestSeat: a worker that takes the place of a killed one hands back, once, what waits for
// it, and tells the server that its queue has nobody. It does nothing to one that lives, nor to one that has stopped.
func TestSeat(t *testing.T) {
	t.Parallel()
	for name, connection := range map[string]Connection{
		"named": {Seat: filepath.Join(t.TempDir(), "w.seat")}, "by default": {State: filepath.Join(t.TempDir(), "dev.db")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &seatServer{waiting: []string{"one", "two"}}
			alone := func(own string) []string { return []string{"poll common", "poll " + own, "poll " + own} }

			first, said := server.serves(t, connection, "a:1")
			require.Equal(t, alone("a:1"), said)
			beside, said := server.serves(t, connection, "b:1")
			require.Equal(t, alone("b:1"), said, "the first one lives")

			first.killed(t, "a:1")
			second, said := server.serves(t, connection, "a:2")
			require.ElementsMatch(t, append(alone("a:2"), "poll a:1", "back one", "poll a:1", "back two", "poll a:1", "lost n a:1"), said)
			beside.killed(t, "b:1")
			_, said = server.serves(t, connection, "b:2")
			require.ElementsMatch(t, append(alone("b:2"), "poll b:1", "lost n b:1"), said, "of two workers, each has a seat")

			require.NoError(t, second.intercept(t.Context(), "stop", &workflowservice.ShutdownWorkerRequest{StickyTaskQueue: "a:2"}, nil, nil, server.call))
			_, said = server.serves(t, connection, "a:3")
			require.Equal(t, alone("a:3"), said, "the one before has told the server itself")
		})
	}
}

// TestNoSeat is taken where it is turned off, or where no file can be: the log says so once.
func TestNoSeat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, test := range map[string]struct {
		connection Connection
		told       string
	}{
		"turned off":       {connection: Connection{Seat: NoSeat}},
		"no state folder":  {connection: Connection{State: filepath.Join(dir, "none", "dev.db")}, told: "no such file"},
		"cannot be opened": {connection: Connection{Seat: dir}, told: "is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			test.connection.Logger = newLogger(Log{Writer: &log}, &secrets{})
			worker, said := (&seatServer{}).serves(t, test.connection, "a:1")
			require.Equal(t, []string{"poll common", "poll a:1", "poll a:1"}, said)
			require.Nil(t, worker.taken["a:1"])
			require.Contains(t, log.String(), test.told)
			require.Equal(t, min(len(test.told), 1), strings.Count(log.String(), "no seat"))
			require.NoDirExists(t, filepath.Join(dir, "none"))
		})
	}
}

// TestDefaultSeatsAreApart: two workers have the same only for the same task queue of the same namespace and server.
func TestDefaultSeatsAreApart(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "dev.db")
	seen := map[string]bool{}
	for _, c := range []Connection{{}, {Address: "far:7233"}, {Namespace: "other"}} {
		for _, queue := range []string{"one", "two/../../three"} {
			c.State = state
			path, err := c.withDefaults().seatFile(queue)
			require.NoError(t, err)
			require.Equal(t, filepath.Dir(state), filepath.Dir(path))
			require.False(t, seen[path])
			seen[path] = true
		}
	}
	require.NotEqual(t, statefile.WorkerFile(state, ".seat", "a", "bc", "d"), statefile.WorkerFile(state, ".seat", "ab", "c", "d"))
}
