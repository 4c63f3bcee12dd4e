package whole_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"

	"everstep/activities/gemini"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
)

// recordedWorker is the argument with which the test binary is a worker for recorded sessions: the folder of its seat, the
// address of their server, and the tools' names, follow.
const recordedWorker = "recorded-worker"

func recordedWork(ctx context.Context, args []string) error {
	providers, err := sessionProviders(args[3])
	if err != nil {
		return err
	}
	return serve(ctx, args, host.Config{
		Connection: host.Connection{Seat: args[2] + "/seat"}, Providers: providers, Tools: sessionTools(args[3], args[4:]),
		Approvals: domain.ApprovalsOf("allow"), Log: host.Log{Level: slog.LevelError},
	})
}

// chosen are the recorded runs that a test takes: of so many one, or all with EVERSTEP_RECORDED=all.
func chosen(t *testing.T, every int) (runs []recordedRun) {
	t.Helper()
	if everyRecorded() {
		every = 1
	}
	for i, run := range recordedRuns(t) {
		if i%every == 0 {
			runs = append(runs, run)
		}
	}
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
// killed, each client is closed while the agents are at work, and many turns are stopped, anywhere. The tools' calls may be
// made at most once, and the model makes each call again of which its request does not show what came of it: each effect
// is had once, each request begins with the whole one before it, and what was said in sessions without a stop is what was
// recorded. When the sessions are closed nothing runs.
func TestRecordedRunsAsSessions(t *testing.T) {
	t.Parallel()
	runs, s := chosen(t, 35), connect(t, "plain", nil)
	server := serveSessions(t, connect(t, "plain", nil).agents)
	sessions := make([]*playedSession, len(runs))
	for n, run := range runs {
		if n%5 == 1 {
			run = run.merged()
		}
		runs[n] = run.concluded()
		sessions[n] = server.add(runs[n], n, s.named(run.ID), playedAPIs()[n%len(playedAPIs())])
	}
	report, dir, tools := sessionReport{}, t.TempDir(), toolsOf(runs)
	start := func() func() {
		return s.process(t, recordedWorker, append([]string{dir, server.URL}, tools...)...).Kill
	}
	kill := start()
	for turn := 0; ; turn++ {
		going := slices.DeleteFunc(slices.Clone(sessions), func(p *playedSession) bool { return turn >= len(p.Executions) })
		if len(going) == 0 {
			break
		}
		require.NoError(t, each(going, func(_ int, p *playedSession) error { return p.tell(within(t), s, turn) }))
		s.again(t)
		require.NoError(t, each(going, func(_ int, p *playedSession) error { return p.heard(within(t), s, turn) }))
		kill()
		kill = start()
	}
	require.NoError(t, each(sessions, func(_ int, p *playedSession) error { return p.compare(within(t), s) }))
	for _, p := range sessions {
		report.add(p)
	}
	t.Logf("%d sessions, %d turns stopped", len(sessions), report.stops)
	report.require(t)
	s.closeAll(t, runs)
}

// concluded is the run with a last message of the user, to which the model has nothing more to do.
func (r recordedRun) concluded() recordedRun {
	r = r.finished()
	r.Executions = append(slices.Clip(r.Executions), recordedExecution{
		Prompt: "Is everything done?", Messages: []recordedMessage{{Role: "assistant", Content: "Everything is done."}},
	})
	return r
}

// tell begins a turn.
func (p *playedSession) tell(ctx context.Context, s *stack, turn int) error {
	prompt := p.Executions[turn].Prompt
	if turn > 0 {
		_, err := s.agents.Send(ctx, p.id, client.SendOptions{Prompt: prompt})
		return err
	}
	_, err := s.agents.Start(ctx, client.Start{ID: p.id, Prompt: prompt, Definition: domain.Definition{
		Model: domain.LLMConfig{Provider: p.api.name, Model: p.model}, SystemPrompt: p.System, Tools: p.tools(),
	}})
	return err
}

// heard waits for a turn, and holds how it ended against its plan.
func (p *playedSession) heard(ctx context.Context, s *stack, turn int) error {
	result, err := s.waits(ctx, p.id, turn+1)
	if err != nil {
		return err
	}
	status, reason := domain.StatusCompleted, domain.Completed
	if p.stopped(turn) {
		status, reason = domain.StatusStopped, domain.UserRequested
	}
	if got := result.Outcome; got.Status != status || got.StopReason != reason {
		return fmt.Errorf("%s: turn %d ended %s, %s; want %s, %s (%v)", p.id, turn+1, got.Status, got.StopReason, status, reason, result.Error) //nolint:errorlint // it may be nil
	}
	return nil
}

// compare holds the conversation against the newest request, which has all of it but its own answer, and against the
// recording where no turn was stopped and no call was lost with a worker that was too slow.
func (p *playedSession) compare(ctx context.Context, s *stack) error {
	status, err := s.agents.Status(ctx, p.id)
	if err != nil {
		return err
	}
	request := p.newestRequest()
	if told := resultsIn(request, saysUnknown); told != len(status.Waits) {
		p.finds("the model is told of %d calls that nobody knows the outcome of; there are %d", told, len(status.Waits))
	}
	shown, said := len(slices.DeleteFunc(request, playedTurn.silent)), 0
	for entry, err := range s.agents.Messages(ctx, p.id) {
		if err != nil {
			return err
		}
		if m := recordedOf(entry.Message); m.Role != "assistant" || m.Content != "" || len(m.ToolCalls) > 0 {
			said++
		}
	}
	if said != shown+1 {
		p.finds("the newest request holds %d messages; %d were said before", shown, said-1)
	}
	// Gemini gives calls ids of its own.
	if p.n%3 == 0 && p.api.name != gemini.Name && len(status.Waits) == 0 {
		if err := s.compareTranscript(ctx, p.id, p.recordedRun); err != nil {
			p.finds("%s", err)
		}
	}
	return p.resolve(ctx, s, status.Waits)
}

// resolve says of each call of unknown outcome what became of it, since a session does not close before.
func (p *playedSession) resolve(ctx context.Context, s *stack, unknown []domain.Wait) error {
	for _, call := range unknown {
		verdict, effect := domain.VerdictNotDone, effectOf(call.Tool, call.Arguments)
		if p.times(effect) > 0 {
			verdict = domain.VerdictDone
		}
		if _, err := s.agents.Resolve(ctx, p.id, client.ResolveOptions{Call: call.ToolExecutionID.String(), Verdict: verdict, Reason: "so says the ledger"}); err != nil {
			return err
		}
	}
	return nil
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
