package stores

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// A Reader finds records. Those of an agent that it does not know are none, and a record that it has not is record.ErrNone.
type Reader interface {
	// Agents are those of which there may be records.
	Agents(ctx context.Context) ([]domain.AgentID, error)
	List(ctx context.Context, agent domain.AgentID) ([]record.Ref, error)
	Get(ctx context.Context, ref record.Ref) (record.Record, error)
}

// A Keeper can be written too.
type Keeper interface {
	Reader
	Record(ctx context.Context, one record.Object) error
	Forget(ctx context.Context, ref record.Ref) error
	Delete(ctx context.Context, agent domain.AgentID) (int, error)
}

// Reads asks of a reader that it tells the executions of one agent that has no others, as they were.
func Reads(t *testing.T, store Reader, want ...record.Record) {
	t.Helper()
	require.NotEmpty(t, want)
	refs, err := store.List(t.Context(), want[0].AgentID)
	require.NoError(t, err)
	require.Len(t, refs, len(want))
	for i, w := range want {
		require.Equal(t, w.Ref(), refs[i], "they come by number")
		got, err := store.Get(t.Context(), refs[i])
		require.NoError(t, err)
		require.JSONEq(t, text(t, w), text(t, got))
	}
	agents, err := store.Agents(t.Context())
	require.NoError(t, err)
	require.Contains(t, agents, want[0].AgentID)
	none, err := store.List(t.Context(), domain.AgentID{UUID: uuid.New()})
	require.NoError(t, err)
	require.Empty(t, none, "of an agent that it does not know there is nothing")
	other := refs[0]
	other.ExecutionID = domain.ExecutionID{UUID: uuid.New()}
	_, err = store.Get(t.Context(), other)
	require.ErrorIs(t, err, record.ErrNone)
}

// Keeps asks of stores that they keep what they are given, each of which starts empty.
func Keeps(t *testing.T, open func(t *testing.T) Keeper) {
	t.Helper()
	t.Run("what is recorded is read back", func(t *testing.T) {
		t.Parallel()
		store, all := open(t), Sample(t, "ann", 3)
		for _, r := range slices.Backward(all) {
			require.NoError(t, store.Record(t.Context(), r))
		}
		for _, r := range Sample(t, "bob", 2) {
			require.NoError(t, store.Record(t.Context(), r))
		}
		Reads(t, store, all...)
	})
	t.Run("the same record twice, at once too", func(t *testing.T) {
		t.Parallel()
		store, all := open(t), Sample(t, "ann", 1)
		var twice sync.WaitGroup
		failed := make(chan error, 8)
		for range cap(failed) {
			twice.Go(func() { failed <- store.Record(context.WithoutCancel(t.Context()), all[0]) })
		}
		twice.Wait()
		for range cap(failed) {
			require.NoError(t, <-failed)
		}
		Reads(t, store, all...)
	})
	t.Run("a later one takes the place of an earlier", func(t *testing.T) {
		t.Parallel()
		store, all := open(t), Sample(t, "ann", 1)
		require.NoError(t, store.Record(t.Context(), all[0]))
		all[0].Ended = &contract.End{Answer: "another"}
		require.NoError(t, store.Record(t.Context(), all[0]))
		Reads(t, store, all...)
	})
	t.Run("what was lost is gone, and no empty record", func(t *testing.T) {
		t.Parallel()
		store, all := open(t), Sample(t, "ann", 3)
		for _, r := range all {
			require.NoError(t, store.Record(t.Context(), r))
		}
		require.NoError(t, store.Forget(t.Context(), all[1].Ref()))
		require.NoError(t, store.Forget(t.Context(), all[1].Ref()), "it may be done again")
		_, err := store.Get(t.Context(), all[1].Ref())
		require.ErrorIs(t, err, record.ErrNone)
		Reads(t, store, all[0], all[2])
	})
	t.Run("all of an agent is deleted, and of no other", func(t *testing.T) {
		t.Parallel()
		store, ann, bob := open(t), Sample(t, "ann", 2), Sample(t, "bob", 2)
		for _, r := range slices.Concat(ann, bob) {
			require.NoError(t, store.Record(t.Context(), r))
		}
		for _, want := range []int{2, 0} {
			n, err := store.Delete(t.Context(), ann[0].AgentID)
			require.NoError(t, err)
			require.Equal(t, want, n)
		}
		left, err := store.List(t.Context(), ann[0].AgentID)
		require.NoError(t, err)
		require.Empty(t, left)
		Reads(t, store, bob...)
	})
	t.Run("what is no record is refused", func(t *testing.T) {
		t.Parallel()
		store, r := open(t), Sample(t, "ann", 1)[0]
		r.Head.Name = "../../bob"
		require.ErrorContains(t, store.Record(t.Context(), r), "name")
		left, err := store.List(t.Context(), r.AgentID)
		require.NoError(t, err)
		require.Empty(t, left)
	})
}

func text(t *testing.T, r record.Record) string {
	t.Helper()
	encoded, err := json.Marshal(r)
	require.NoError(t, err)
	return string(encoded)
}

// Sample are records of the first executions of an agent, which differ in their status and in what was said.
func Sample(t testing.TB, name string, n int) (all []record.Record) {
	t.Helper()
	id, err := domain.AgentIDOf(name)
	require.NoError(t, err)
	now := time.Date(2026, 1, 2, 3, 4, 5, 6789, time.UTC)
	state := domain.NewAgentState(id, domain.AgentID{}, now, domain.LLMConfig{Provider: "scripted", Model: "/x"})
	var log domain.Log
	for number := 1; number <= n; number++ {
		execution, from := id.Execution("first-run", number), log.Len()
		say := func(m domain.Message) {
			m = domain.Tag{ExecutionID: execution, AgentID: id}.Apply(m)
			log = log.Append("", m, domain.DigestOf([]byte(m.Text())))
		}
		state, err = state.BeginExecution(execution, domain.ExecutionBudget{}, now)
		require.NoError(t, err)
		say(domain.UserMessage("What of <" + name + ">?\nWith \u2028 and \x00 \u009b2J of \u202e."))
		state, err = state.WithStepStarted(execution.Step(1), now)
		require.NoError(t, err)
		answer := domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: "Nothing."}}}
		step, _ := state.CurrentStep()
		step.Output = []domain.Message{answer}
		step.Response = &domain.Response{Finish: domain.FinishStop, Usage: domain.Usage{InputTokens: 3, OutputTokens: 2}}
		state, err = state.WithCurrentStep(step, now)
		require.NoError(t, err)
		say(answer)
		state, err = state.WithCurrentStepCompleted(now)
		require.NoError(t, err)
		if number%2 == 0 {
			state, err = state.WithStopSignal(domain.StopSignal{Reason: domain.UserRequested, Source: "user"}, now)
			require.NoError(t, err)
		}
		state, err = state.WithExecutionCompleted(now.Add(time.Duration(number) * time.Minute))
		require.NoError(t, err)
		all = append(all, sampleOf(t, name, state, log, from))
	}
	return all
}

func sampleOf(t testing.TB, name string, state domain.AgentState, log domain.Log, from int) record.Record {
	t.Helper()
	execution := state.Execution
	folded, err := json.Marshal(state)
	require.NoError(t, err)
	reason, _ := state.StopReason()
	completed := execution.CompletedAt
	told := account.Account{
		Head: &account.Head{AgentID: state.AgentID, Name: name, Run: account.Run{ID: "run", First: "first-run"}},
		Executions: []account.Execution{{
			Outcome: contract.Outcome{
				AgentID: state.AgentID, ExecutionID: execution.ID, Number: state.ExecutionCount, Status: state.Status(), StopReason: reason,
				Steps: state.StepCount(), Usage: state.Usage(),
			},
			StartedAt: execution.StartedAt, CompletedAt: completed, MessagesFrom: from, MessagesTo: log.Len(), RunID: "run",
			Ended: &contract.End{Answer: "Nothing."}, Constraints: &contract.Constraints{}, State: folded,
		}},
		Messages: log.From(from),
	}
	for _, step := range state.StepExecutions() {
		told.Steps = append(told.Steps, account.Step{Execution: state.ExecutionCount, StepExecution: step})
	}
	head := domain.EventHeader{Sequence: 1, Time: execution.StartedAt, AgentID: state.AgentID, ExecutionID: execution.ID}
	told.Events = append(told.Events, domain.Event{Type: domain.EventExecutionStarted, EventHeader: head, Data: domain.AgentExecutionStarted{Number: state.ExecutionCount}})
	head.Sequence, head.Time = 2, completed
	told.Events = append(told.Events, domain.Event{Type: domain.EventExecutionCompleted, EventHeader: head, Data: domain.ExecutionEnded{
		Status: state.Status(), StopReason: reason, Steps: state.StepCount(), Usage: state.Usage(),
	}})
	r, err := record.Of(told)
	require.NoError(t, err)
	require.Empty(t, r.Missing)
	return r
}
