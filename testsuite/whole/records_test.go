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
		require.Equal(t, len(messages), r.From)
		messages = append(messages, r.Messages...)
		requireSame(t, collect(t, s.agents.Steps(within(t), name, r.Number)), r.Steps)
		result, err := s.agents.Result(within(t), name, r.Number)
		require.NoError(t, err)
		require.Equal(t, result.Answer, r.End.Answer)
		require.Equal(t, result.Outcome.Usage, r.Usage)
		require.Equal(t, result.Outcome.Status, r.Status)
	}
	requireSame(t, collect(t, s.agents.Messages(within(t), name)), messages)
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
			_, err := s.agents.Start(within(t), client.Start{ID: long, Prompt: "go", Definition: scripted(longScript(t, 30, 1), "echo")})
			require.NoError(t, err)
			_, err = s.waits(within(t), long, 1)
			require.NoError(t, err)
			_, err = s.agents.Send(within(t), long, client.SendOptions{Prompt: "and now?"})
			require.NoError(t, err)
			_, err = s.waits(within(t), long, 2)
			require.NoError(t, err)
			all := recordedIn(t, storeAt(t, dir), long, 2)
			require.Equal(t, domain.StatusCompleted, all[0].Status)
			require.Equal(t, domain.StatusFailed, all[1].Status, "the script has no further turn")
			s.requireAsTold(t, long, all)
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
	_, err := s.agents.Start(within(t), client.Start{ID: name, Prompt: "go", Definition: scripted(writeScript(t, "turns: [{text: one}, {text: two}]"))})
	require.NoError(t, err)
	_, err = s.waits(within(t), name, 1)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		status, err := s.agents.Status(within(t), name)
		return err == nil && strings.Contains(status.History.Unrecorded, "executions: 1; records: cannot write")
	}, patience, 20*time.Millisecond)
	require.NoError(t, os.Remove(inTheWay))
	_, err = s.agents.Send(within(t), name, client.SendOptions{Prompt: "more"})
	require.NoError(t, err)
	_, err = s.waits(within(t), name, 2)
	require.NoError(t, err)
	s.requireAsTold(t, name, recordedIn(t, storeAt(t, dir), name, 2))
}

func encoded(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}
