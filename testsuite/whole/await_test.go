package whole_test

import (
	"context"
	"path"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"everstep/activities/tool"
	"everstep/domain"
	agents "everstep/starter/client"
	"everstep/worker/host"
)

// requests counts what goes to a server, by method.
type requests struct {
	mu   sync.Mutex
	sent map[string]int
}

func (r *requests) count(ctx context.Context, method string, in, out any, conn *grpc.ClientConn, next grpc.UnaryInvoker, options ...grpc.CallOption) error {
	r.mu.Lock()
	r.sent[path.Base(method)]++
	r.mu.Unlock()
	return next(ctx, method, in, out, conn, options...)
}

// of is how many there were of a method since the counts began.
func (r *requests) of(method string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent[method]
}

func (r *requests) all() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, sent := range r.sent {
		n += sent
	}
	return n
}

// counted is a client whose requests are counted, from now on.
func (s *stack) counted(t testing.TB) (*agents.Client, *requests) {
	t.Helper()
	counts := &requests{sent: map[string]int{}}
	temporal, err := sdk.Dial(sdk.Options{HostPort: s.address, ConnectionOptions: sdk.ConnectionOptions{
		DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(counts.count)},
	}})
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	counts.sent = map[string]int{}
	return agents.New(temporal, agents.Config{TaskQueue: s.queue, Loopback: true}), counts
}

// eventsOf counts the events of a run, by their types.
func (s *stack) eventsOf(t testing.TB, workflowID string) map[enumspb.EventType]int {
	t.Helper()
	counts := map[enumspb.EventType]int{}
	for _, event := range s.historyNow(t, workflowID, "").Events {
		counts[event.GetEventType()]++
	}
	return counts
}

// TestAwaitIsShared: however many wait for one execution, its workflow has two events of it, and each of them makes a
// request to find the session, one that a worker takes, and one for each 20 s that it then waits.
func TestAwaitIsShared(t *testing.T) {
	t.Parallel()
	const many = 100
	w := newWorkshop()
	s := start(t, host.Config{Tools: []tool.Tool{w.tool(domain.Idempotent)}})
	begun := s.starts(t, agents.Start{ID: s.named("shared"), Prompt: "go", Definition: scripted(writeScript(t, toolScript), "work")})
	<-w.began
	client, counts := s.counted(t)
	began := time.Now()
	answers := make([]string, many)
	var waiting sync.WaitGroup
	for i := range many {
		waiting.Go(func() {
			if result, err := client.Wait(within(t), begun.ID, 1); err == nil {
				answers[i] = result.Answer
			}
		})
	}
	require.Eventually(t, func() bool { return counts.of("UpdateWorkflowExecution") >= many }, patience, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		return s.eventsOf(t, begun.WorkflowID)[enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED] == 1
	}, patience, 50*time.Millisecond)
	w.open()
	waiting.Wait()
	for _, answer := range answers {
		require.Equal(t, "answered", answer)
	}
	events := s.eventsOf(t, begun.WorkflowID)
	require.Equal(t, 1, events[enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED])
	require.Equal(t, 1, events[enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED])
	rounds := 1 + int(time.Since(began)/(20*time.Second))
	require.LessOrEqual(t, counts.of("UpdateWorkflowExecution"), many*(1+rounds))
	require.Zero(t, counts.of("GetWorkflowExecutionHistory")+counts.of("GetWorkflowExecutionHistoryReverse")+counts.of("QueryWorkflow"))
}

// TestAwaitWithoutAWorker notices that the server has ended the workflow.
func TestAwaitWithoutAWorker(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	begun := s.starts(t, agents.Start{ID: s.named("terminated"), Prompt: "go", Definition: scripted(writeScript(t, "turns: [{text: done}]"))})
	client, counts := s.counted(t)
	ended := make(chan agents.Result, 1)
	go func() {
		result, _ := client.Wait(within(t), begun.ID, 1)
		ended <- result
	}()
	require.Eventually(t, func() bool { return counts.of("DescribeWorkflowExecution") >= 3 }, patience, 10*time.Millisecond)
	require.Equal(t, 1, counts.of("UpdateWorkflowExecution"))
	require.NoError(t, s.temporal.TerminateWorkflow(within(t), begun.WorkflowID, "", "by force"))
	require.Equal(t, domain.CodeTerminated, (<-ended).Outcome.Code)
}
