package whole_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"

	"everstep/activities/record"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

// recordsWorker is the argument with which the test binary is a worker that is killed while it records.
const recordsWorker = "records-worker"

func recordsWork(ctx context.Context, args []string) error {
	return serve(ctx, args, host.Config{
		Tools: []tool.Tool{echo()}, Approvals: domain.ApprovalsOf("allow"),
		Storage: args[2] + ".storage", Records: args[2], Log: host.Log{Level: slog.LevelError},
	})
}

// storeAt opens a store of records to look into.
func storeAt(t *testing.T, dir string) *record.Store {
	t.Helper()
	store, err := host.FindRecords(t.Context(), dir)
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// recordedIn waits until a store has so many records of an agent, and reads them.
func recordedIn(t *testing.T, store *record.Store, name string, n int) (all []record.Record) {
	t.Helper()
	id, err := domain.AgentIDOf(name)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		refs, err := store.List(t.Context(), id)
		return err == nil && len(refs) >= n
	}, patience, 20*time.Millisecond)
	refs, err := store.List(t.Context(), id)
	require.NoError(t, err)
	require.Len(t, refs, n)
	for _, ref := range refs {
		r, err := store.Get(t.Context(), ref)
		require.NoError(t, err)
		require.Empty(t, r.Missing)
		all = append(all, r)
	}
	return all
}

// requireAsTold holds records to what the agent's workflow itself tells, step by step and message by message.
func (s *stack) requireAsTold(t *testing.T, name string, all []record.Record) {
	t.Helper()
	var messages []domain.Entry
	for i, r := range all {
		require.Equal(t, i+1, r.Number)
		require.Equal(t, len(messages), r.MessagesFrom)
		messages = append(messages, r.Messages...)
		requireSame(t, s.steps(t, name, r.Number), r.Steps)
		result := s.result(t, name, r.Number)
		require.Equal(t, result.Answer, r.Ended.Answer)
		require.Equal(t, result.Outcome.Usage, r.Usage)
		require.Equal(t, result.Outcome.Status, r.Status)
	}
	requireSame(t, s.messages(t, name), messages)
}

func requireSame[T any](t *testing.T, want, got []T) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		require.JSONEq(t, encoded(t, want[i]), encoded(t, got[i]))
	}
}

// TestRecordsHoldAll of executions that ran over many runs, with a storage for their conversation and without.
func TestRecordsHoldAll(t *testing.T) {
	t.Parallel()
	for name, storage := range map[string]string{"storage": "", "no storage": noStorage} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "records")
			s := startOn(t, "continuing", continuing, host.Config{Tools: []tool.Tool{echo()}, Records: dir, Storage: storage})
			long := s.named("recorded")
			s.starts(t, client.Start{ID: long, Prompt: "go", Definition: scripted(longScript(t, 30, 1), "echo")})
			s.result(t, long, 1)
			s.sent(t, long, client.SendOptions{Prompt: "and now?"})
			s.result(t, long, 2)
			all := recordedIn(t, storeAt(t, dir), long, 2)
			require.Equal(t, domain.StatusCompleted, all[0].Status)
			require.Equal(t, domain.StatusFailed, all[1].Status, "the script has no further turn")
			s.requireAsTold(t, long, all)
			for _, r := range all {
				require.NotEmpty(t, r.Events)
			}
			s.requireExports(t, long, all...)
			s.worker.Stop()
			s.requireExports(t, long, all...)
		})
	}
}

// TestRecordsOverKills: a session whose worker is killed each time that it records has each execution once, and whole.
func TestRecordsOverKills(t *testing.T) {
	t.Parallel()
	const executions = 4
	s, dir := connect(t, "plain", nil), filepath.Join(t.TempDir(), "records")
	name, kills := s.named("killed"), 0
	workflow := domain.WorkflowID(name)
	worker := s.process(t, recordsWorker, dir)
	recording := func() bool {
		run, err := s.temporal.DescribeWorkflowExecution(within(t), workflow, "")
		if err != nil {
			return false
		}
		for _, pending := range run.GetPendingActivities() {
			if pending.GetActivityType().GetName() == string(contract.Record) && pending.GetLastStartedTime() != nil {
				return true
			}
		}
		return false
	}
	for n := 1; n <= executions; n++ {
		var err error
		if n == 1 {
			_, err = s.agents.Start(within(t), client.Start{ID: name, Prompt: "go", Definition: scripted(longScript(t, 3, 4000), "echo")})
		} else {
			_, err = s.agents.Send(within(t), name, client.SendOptions{Prompt: "more"})
		}
		require.NoError(t, err)
		killed := false
		require.Eventually(t, func() bool {
			if !killed && recording() {
				worker.Kill()
				killed = true
				kills++
				worker = s.process(t, recordsWorker, dir)
			}
			result, err := s.agents.Result(within(t), name, n)
			refs, _ := storeAt(t, dir).List(t.Context(), domainID(t, name))
			return err == nil && result.Number == n && len(refs) >= n
		}, patience, time.Millisecond)
	}
	t.Logf("killed while it recorded: %d of %d times", kills, executions)
	all := recordedIn(t, storeAt(t, dir), name, executions)
	s.requireAsTold(t, name, all)
}

// TestARewindIsRecordedOverAKill: the worker is killed after a rewind and before where the session stands is among the records,
// which can be written again when another worker is there. What the server forgets then is read as it was.
func TestARewindIsRecordedOverAKill(t *testing.T) {
	t.Parallel()
	s, dir := connect(t, "plain", nil), filepath.Join(t.TempDir(), "records")
	name := s.named("rewound")
	worker := s.process(t, recordsWorker, dir)
	s.starts(t, client.Start{ID: name, Prompt: "go", Definition: scripted(writeScript(t, "turns: [{text: one}, {text: two}]"))})
	s.result(t, name, 1)
	s.sent(t, name, client.SendOptions{Prompt: "more"})
	s.result(t, name, 2)
	store := storeAt(t, dir)
	newest := recordedIn(t, store, name, 2)[1].Ref()

	folder := filepath.Join(dir, newest.AgentID.String())
	require.NoError(t, os.Rename(folder, folder+".away"))
	require.NoError(t, os.WriteFile(folder, nil, 0o600))
	s.rewinds(t, client.Point{ID: name, Execution: "1"}, client.RewindOptions{})
	worker.Kill()
	require.NoError(t, os.Remove(folder))
	require.NoError(t, os.Rename(folder+".away", folder))
	_, err := store.Position(t.Context(), newest)
	require.ErrorIs(t, err, record.ErrNone)
	marks := func(c *client.Client) (marks []any) {
		for past, err := range c.Executions(within(t), name) {
			require.NoError(t, err)
			marks = append(marks, past.TakenBack, past.NextOrigin)
		}
		return marks
	}
	before := marks(s.agents)
	require.NotNil(t, before[2])

	s.process(t, recordsWorker, dir)
	s.closes(t, name) // a store that has failed too often meanwhile is tried once more
	require.Eventually(t, func() bool {
		_, err := store.Position(t.Context(), newest)
		return err == nil
	}, patience, 20*time.Millisecond)
	s.forgets(t, name)
	require.Equal(t, before, marks(s.over(store)))
}

func domainID(t *testing.T, name string) domain.AgentID {
	t.Helper()
	id, err := domain.AgentIDOf(name)
	require.NoError(t, err)
	return id
}

// TestRecordsAfterAnOutage: the store is no folder for a time; executions end all the same, and are recorded later.
func TestRecordsAfterAnOutage(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "records")
	s := start(t, host.Config{Records: dir})
	name := s.named("outage")
	inTheWay := filepath.Join(dir, domainID(t, name).String())
	require.NoError(t, os.WriteFile(inTheWay, nil, 0o600))
	s.starts(t, client.Start{ID: name, Prompt: "go", Definition: scripted(writeScript(t, "turns: [{text: one}, {text: two}]"))})
	s.result(t, name, 1)
	require.Eventually(t, func() bool {
		status, err := s.agents.Status(within(t), name)
		return err == nil && strings.Contains(status.History.Unrecorded, "executions: 1; records: cannot write")
	}, patience, 20*time.Millisecond)
	require.NoError(t, os.Remove(inTheWay))
	s.sent(t, name, client.SendOptions{Prompt: "more"})
	s.result(t, name, 2)
	s.requireAsTold(t, name, recordedIn(t, storeAt(t, dir), name, 2))
}

func encoded(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

// holding is a tool that says when it was called, and waits until it is let go on.
func holding(called, goOn chan struct{}) tool.Tool {
	return tool.New("hold", "Waits.", domain.Idempotent, func(ctx context.Context, _ struct{}) (string, error) {
		select {
		case called <- struct{}{}:
		default:
		}
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return "held", ctx.Err()
	})
}

// TestStepsOutlastTheRuns: what the server has deleted before the execution ended is in its record all the
// same; where the store did not take it, the record says what is missing.
func TestStepsOutlastTheRuns(t *testing.T) {
	t.Parallel()
	for name, breaks := range map[string]bool{"kept": false, "a store that takes no parts": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, called, goOn := filepath.Join(t.TempDir(), "records"), make(chan struct{}, 1), make(chan struct{})
			s := startOn(t, "continuing", continuing, host.Config{Tools: []tool.Tool{echo(), holding(called, goOn)}, Records: dir})
			id := s.named("long")
			agent, err := domain.AgentIDOf(id)
			require.NoError(t, err)
			parts := filepath.Join(dir, agent.String(), "parts")
			if breaks { // a file stands where the folder would be
				require.NoError(t, os.MkdirAll(filepath.Dir(parts), 0o700))
				require.NoError(t, os.WriteFile(parts, nil, 0o600))
			}
			var turns strings.Builder
			turns.WriteString("turns:\n")
			for n := range 20 {
				turns.WriteString("  - tool_calls: [{name: echo, arguments: {text: 'call " + string(rune('a'+n)) + "'}}]\n")
			}
			turns.WriteString("  - tool_calls: [{name: hold, arguments: {}}]\n  - text: done\n")
			s.starts(t, client.Start{ID: id, Prompt: "go", Definition: scripted(writeScript(t, turns.String()), "echo", "hold")})
			<-called
			described, err := s.temporal.DescribeWorkflowExecution(within(t), domain.WorkflowID(id), "")
			require.NoError(t, err)
			info := described.GetWorkflowExecutionInfo()
			require.NotEqual(t, info.GetFirstRunId(), info.GetExecution().GetRunId(), "it has gone on in another run")
			if breaks {
				require.NoError(t, os.Remove(parts))
			} else {
				kept, err := os.ReadDir(parts)
				require.NoError(t, err)
				require.Len(t, kept, 1)
			}
			s.forgetsRun(t, id, info.GetFirstRunId())
			s.requireStepsOfParts(t, id, storeAt(t, dir), breaks)
			close(goOn)
			s.result(t, id, 1)

			store := storeAt(t, dir)
			var refs []record.Ref
			require.Eventually(t, func() bool {
				refs, err = store.List(within(t), agent)
				return err == nil && len(refs) == 1
			}, patience, 50*time.Millisecond)
			r, err := store.Get(within(t), refs[0])
			require.NoError(t, err)
			require.Len(t, r.Messages, r.Outcome.Steps*2, "a prompt, two for each step, and an answer: segments have them")
			if breaks {
				require.Less(t, len(r.Steps), 22)
				require.Contains(t, r.Lacks(), "steps 1 to ")
				return
			}
			require.Empty(t, r.Missing)
			require.Len(t, r.Steps, 22)
			for n, step := range r.Steps {
				require.Equal(t, n+1, step.Step.Number)
			}
			require.Equal(t, "call a", r.Steps[0].Step.ToolExecutions[0].Args()[9:15])
			require.Eventually(t, func() bool { // they are removed once the record is there
				left, err := store.Parts(within(t), refs[0])
				return err == nil && len(left) == 0
			}, patience, 50*time.Millisecond, "the record takes their place")
		})
	}
}

// requireStepsOfParts reads an execution in progress, of which a run is gone: whole with the records that have its part, else
// what is gone is said.
func (s *stack) requireStepsOfParts(t *testing.T, id string, store *record.Store, lost bool) {
	t.Helper()
	c := s.over(store)
	next := 1
	for step, err := range c.Steps(within(t), id, 1) {
		if lost && next == 1 {
			require.ErrorIs(t, err, &client.Error{Class: client.Gone})
			require.ErrorContains(t, err, "steps 1 to ")
			return
		}
		require.NoError(t, err)
		require.Equal(t, next, step.Step.Number)
		next++
	}
	require.Equal(t, 21, next, "the 21st is in progress")
	explained, err := c.Explain(within(t), id, 1)
	require.NoError(t, err)
	require.Len(t, explained.Steps, 21)
	require.Equal(t, "echo", explained.Steps[0].Tools[0].Tool)
	first := 0
	for _, err := range s.agents.Steps(within(t), id, 1) {
		require.ErrorIs(t, err, &client.Error{Class: client.Gone}, "without records it is said to be gone")
		first++
		break
	}
	require.Equal(t, 1, first)
}

// forgetsRun has the server delete one run, and waits until it is gone.
func (s *stack) forgetsRun(t *testing.T, id, run string) {
	t.Helper()
	_, err := s.temporal.WorkflowService().DeleteWorkflowExecution(within(t), &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: domain.WorkflowID(id), RunId: run},
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := s.temporal.DescribeWorkflowExecution(within(t), domain.WorkflowID(id), run)
		return err != nil
	}, patience, 100*time.Millisecond)
}
