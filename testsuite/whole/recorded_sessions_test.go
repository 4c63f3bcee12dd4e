package whole_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

// recordedWorker is the argument with which the test binary is a worker whose tools answer as they were recorded to: a
// folder of what is expected, and the tools' names, follow.
const recordedWorker = "recorded-worker"

func recordedWork(ctx context.Context, args []string) error {
	return serve(ctx, args, host.Config{
		Connection: host.Connection{Seat: args[2] + ".seat"}, Tools: replayer{args[2]}.named(args[3:]),
		Approvals: domain.ApprovalsOf("allow"), Log: host.Log{Level: slog.LevelError},
	})
}

// chosen are the recorded runs that a test takes: of so many one, or all with EVERSTEP_RECORDED=all.
func chosen(t *testing.T, every int) (runs []recordedRun) {
	t.Helper()
	if everyRecorded() {
		every = 1
	}
	more := 0
	for i, run := range recordedRuns(t) {
		if i%every == 0 {
			runs = append(runs, run)
		}
		if len(run.Executions) > 1 {
			more++
		}
	}
	t.Logf("%d runs; the user says more than one thing in %d of all", len(runs), more)
	return runs
}

// each does something for each of some, at the same time, as many as two processors have time for.
func each[T any](all []T, do func(n int, one T) error) error {
	var group errgroup.Group
	group.SetLimit(6)
	for n, one := range all {
		group.Go(func() error { return do(n, one) })
	}
	return group.Wait()
}

// again is the stack for another client, as another process opens one. What the one before was asked is forgotten.
func (s *stack) again(t *testing.T) {
	t.Helper()
	s.temporal.Close()
	next, err := host.Dial(context.Background(), host.Connection{Address: s.address})
	require.NoError(t, err)
	t.Cleanup(next.Close)
	s.temporal, s.agents = next, client.New(next, client.Config{TaskQueue: s.queue, Loopback: true})
}

// TestRecordedRunsAsSessions: each run is a session, each message of the user a send. After each turn the only worker is
// killed, and each client is closed while the agents are at work: what was said is what was recorded, and when the
// sessions are closed nothing runs.
func TestRecordedRunsAsSessions(t *testing.T) {
	t.Parallel()
	runs, replay, s := chosen(t, 12), newReplayer(t), connect(t, "plain", nil)
	if testing.Short() {
		runs = runs[:min(len(runs), 4)]
	}
	dir, tools, kills, told := t.TempDir(), toolsOf(runs), 0, 0
	start := func() func() { return s.process(t, recordedWorker, append([]string{replay.dir}, tools...)...).Kill }
	kill := start()
	for turn := 0; ; turn++ {
		var going []recordedRun
		for _, run := range runs {
			if turn < len(run.Executions) {
				going = append(going, run)
			}
		}
		if len(going) == 0 {
			break
		}
		require.NoError(t, each(going, func(_ int, run recordedRun) error {
			var opens *domain.Definition
			if turn == 0 {
				opens = new(scripted(run.script(t, dir), run.tools()...))
				opens.SystemPrompt = run.System
			}
			return s.tell(within(t), replay, s.named(run.ID), run.Executions[turn], opens)
		}))
		s.again(t)
		require.NoError(t, each(going, func(_ int, run recordedRun) error {
			return s.heard(within(t), s.named(run.ID), turn+1, run.Executions[turn])
		}))
		kill()
		kill = start()
		kills, told = kills+1, told+len(going)
	}
	t.Logf("%d messages, %d kills between turns, each of all sessions' worker", told, kills)
	require.NoError(t, each(runs, func(_ int, run recordedRun) error {
		return s.compareTranscript(within(t), s.named(run.ID), run)
	}))
	s.closeAll(t, runs)
}

// closeAll closes the sessions of runs, and sees that nothing runs on the stack's queue that they have left.
func (s *stack) closeAll(t *testing.T, runs []recordedRun) {
	t.Helper()
	require.NoError(t, each(runs, func(_ int, run recordedRun) error {
		executions, err := s.agents.Close(within(t), s.named(run.ID))
		if err == nil && executions == 0 {
			err = fmt.Errorf("%s had no execution", run.ID)
		}
		return err
	}))
	s.nothingRuns(t)
}

// nothingRuns waits until no workflow of the stack's queue is open.
func (s *stack) nothingRuns(t *testing.T) {
	t.Helper()
	count := func(more string) int64 {
		found, err := s.temporal.CountWorkflow(within(t), &workflowservice.CountWorkflowExecutionsRequest{
			Query: fmt.Sprintf("TaskQueue = %q%s", s.queue, more),
		})
		if err != nil {
			return -1 // the server is busy, and asked again
		}
		return found.GetCount()
	}
	require.Eventually(t, func() bool { return count("") > 0 && count(` AND ExecutionStatus = "Running"`) == 0 }, patience, 50*time.Millisecond)
}

// A turnstile holds inferences until they are let through, by the agent's workflow and the step. An attempt that is made
// again, as on a machine that is too busy for its heartbeats, is held with the one before.
type turnstile struct {
	mu   sync.Mutex
	held map[string][]*heldStep // by workflow, in the order in which they are to come
}

type heldStep struct {
	// execution is the one that has come; zero: none has.
	execution       domain.ExecutionID
	step            int
	reached, passes chan struct{}
}

// hold has an agent's execution in progress, or the next one, wait before the inference of a step.
func (x *turnstile) hold(workflowID string, step int) *heldStep {
	h := &heldStep{step: step, reached: make(chan struct{}), passes: make(chan struct{})}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.held[workflowID] = append(x.held[workflowID], h)
	return h
}

// comes is what holds an inference; nil: nothing.
func (x *turnstile) comes(place contract.Place) *heldStep {
	x.mu.Lock()
	defer x.mu.Unlock()
	var next *heldStep
	for _, h := range x.held[place.WorkflowID] {
		switch {
		case h.step != place.Step:
		case h.execution == place.ExecutionID:
			return h
		case h.execution.IsZero() && next == nil:
			next = h
		}
	}
	if next != nil {
		next.execution = place.ExecutionID
		close(next.reached)
	}
	return next
}

// at is for host.Config.At.
func (x *turnstile) at(ctx context.Context, boundary contract.Boundary) {
	if boundary != contract.BeforeRequest {
		return
	}
	if h := x.comes(contract.PlaceOf(ctx)); h != nil {
		select {
		case <-h.passes:
		case <-ctx.Done():
		}
	}
}

// TestRecordedRunsWhileBusy: of four messages two are sent while the agent gives the answer before them, the first to
// steer it or to have an execution of its own, in turns, the second for one of its own. Each is sent twice, as by a client that
// heard no answer. What was said is what was recorded: each once, in order.
func TestRecordedRunsWhileBusy(t *testing.T) {
	t.Parallel()
	runs, replay, gate := chosen(t, 6), newReplayer(t), &turnstile{held: map[string][]*heldStep{}}
	if testing.Short() {
		runs = runs[:min(len(runs), 4)]
	}
	for i, run := range runs {
		runs[i] = run.finished()
	}
	s, dir := start(t, host.Config{Tools: replay.tools(runs), At: gate.at}), t.TempDir()
	var mu sync.Mutex
	busy, steered, all := 0, 0, 0
	require.NoError(t, each(runs, func(n int, run recordedRun) error {
		b := &busyRun{stack: s, replay: replay, gate: gate, id: s.named(run.ID), run: run, steer: n%2 == 0}
		b.definition = new(scripted(run.script(t, dir), run.tools()...))
		b.definition.SystemPrompt = run.System
		err := b.play(t)
		mu.Lock()
		defer mu.Unlock()
		busy, steered, all = busy+b.busy, steered+b.steered, all+len(run.Executions)
		if err == nil {
			err = s.compareTranscript(within(t), b.id, run)
		}
		if err != nil {
			return fmt.Errorf("run %s: %w", run.ID, err)
		}
		return nil
	}))
	t.Logf("%d of %d messages were sent while the agent was busy, %d of them to steer it", busy, all, steered)
	require.Positive(t, steered)
	s.closeAll(t, runs)
}

// A busyRun plays a run whose messages are sent before the agent is ready for them.
type busyRun struct {
	*stack
	replay     replayer
	gate       *turnstile
	id         string
	run        recordedRun
	definition *domain.Definition
	// steer says whether the next message steers that comes while the agent is busy.
	steer bool

	number, busy, steered int // number is of the newest execution
}

func (b *busyRun) play(t *testing.T) error {
	t.Helper()
	for at := 0; at < len(b.run.Executions); {
		var early []recordedExecution
		if at%4 == 0 {
			early = b.run.Executions[at+1 : min(at+3, len(b.run.Executions))]
		}
		if err := b.group(within(t), b.run.Executions[at], early); err != nil {
			return fmt.Errorf("message %d: %w", at+1, err)
		}
		at += 1 + len(early)
	}
	return nil
}

// group is a message to an idle session, and those that come before it has its answer.
func (b *busyRun) group(ctx context.Context, first recordedExecution, early []recordedExecution) error {
	workflow := domain.WorkflowID(b.id)
	var held *heldStep
	if len(early) > 0 {
		held = b.gate.hold(workflow, first.steps())
	}
	if err := b.tell(ctx, b.replay, b.id, first, b.definition); err != nil {
		return err
	}
	b.definition = nil
	// What each execution is to be, where they have come in order.
	executions := []recordedExecution{first}
	if held != nil {
		<-held.reached
		for n, e := range early {
			delivery := contract.QueueIfBusy
			if n == 0 && b.steer {
				delivery = contract.SteerIfBusy
				b.steered++
				executions[0].Messages = append(append(append([]recordedMessage{}, first.Messages...), recordedMessage{Role: "user", Content: e.Prompt}), e.Messages...)
			} else {
				executions = append(executions, e)
			}
			if err := b.twice(ctx, fmt.Sprintf("%s-%d", b.id, b.number*10+n), client.SendOptions{Prompt: e.Prompt, IfBusy: delivery}); err != nil {
				return err
			}
			b.busy++
		}
		b.steer = !b.steer
	}
	for i, want := range executions {
		if err := b.replay.expect(workflow, want); err != nil {
			return err
		}
		if i+1 < len(executions) { // the next one's results are not to be had by this one
			next := b.gate.hold(workflow, 1)
			if held != nil {
				close(held.passes)
			}
			held = next
		} else if held != nil {
			close(held.passes)
		}
		b.number++
		if err := b.heard(ctx, b.id, b.number, want); err != nil {
			return err
		}
		if i+1 < len(executions) {
			<-held.reached
		}
	}
	return nil
}

// twice sends a message as a client does that heard no answer the first time.
func (b *busyRun) twice(ctx context.Context, id string, o client.SendOptions) error {
	o.RequestID = id
	first, err := b.agents.Send(ctx, b.id, o)
	if err != nil {
		return err
	}
	second, err := b.agents.Send(ctx, b.id, o)
	if err == nil && (first.Waits.IsZero() || first.Waits != second.Waits) {
		err = fmt.Errorf("message %s waits as %s, and again as %s", strings.TrimSpace(id), first.Waits, second.Waits)
	}
	return err
}
