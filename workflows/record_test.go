package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// recorder is a world whose worker has records; a try is told the execution's number, and answers how it went.
func recorder(try func(ended contract.EndedExecution) error) *world {
	w := steady(0, false)
	w.list = func(contract.ResolveRequest) (contract.Resolved, error) {
		return contract.Resolved{Records: true, MinOutputTokens: 1, Digest: domain.DigestOf([]byte("resolved"))}, nil
	}
	w.record = func(r contract.RecordRequest) (contract.Segment, error) { return contract.Segment{}, try(*r.Ended) }
	return w
}

// positionRecorder is a world whose worker has records, which take executions. A try to record a position is told its move.
func positionRecorder(try func(contract.Move) error) *world {
	w := recorder(nil)
	w.record = func(r contract.RecordRequest) (contract.Segment, error) {
		if r.Moved == nil {
			return contract.Segment{}, nil
		}
		return contract.Segment{}, try(*r.Moved)
	}
	return w
}

func unrecorded(t *testing.T, env *testsuite.TestWorkflowEnvironment) string {
	t.Helper()
	return status(t, env).History.Unrecorded
}

// TestEachExecutionIsRecordedOnce, after its outcome has been told.
func TestEachExecutionIsRecordedOnce(t *testing.T) {
	t.Parallel()
	var env *testsuite.TestWorkflowEnvironment
	var numbers []int
	w := recorder(func(ended contract.EndedExecution) error {
		want := account.Request{Want: []account.Part{account.Executions, account.Messages, account.State}, Execution: ended.Number}
		value, err := env.QueryWorkflow(string(account.Query), want)
		if err != nil {
			return err
		}
		var page account.Page
		require.NoError(t, value.Get(&page))
		require.Len(t, page.Executions, 1)
		one := page.Executions[0]
		require.NotNil(t, one.Ended)
		require.NotNil(t, one.Constraints)
		require.NotEmpty(t, one.State)
		require.Equal(t, 2*(ended.Number-1), one.MessagesFrom, "a question and an answer each")
		require.Equal(t, 2*ended.Number, one.MessagesTo)
		require.Len(t, page.Messages, 2)
		numbers = append(numbers, ended.Number)
		return nil
	})
	env = w.environment(t)
	promptsHourly(t, env, 2)
	env.RegisterDelayedCallback(env.CancelWorkflow, 3*time.Hour)
	execute(env, input(t, "ann"))
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []int{1, 2, 3}, numbers)
	require.Empty(t, unrecorded(t, env))
}

// TestAStoreThatIsDownHoldsNothingUp: what it did not take is said to be missing, and is tried again with the next.
func TestAStoreThatIsDownHoldsNothingUp(t *testing.T) {
	t.Parallel()
	var env *testsuite.TestWorkflowEnvironment
	var taken []int
	begun := time.Time{}
	w := recorder(func(ended contract.EndedExecution) error {
		if env.Now().Sub(begun) < 150*time.Minute {
			return bucketGone()
		}
		taken = append(taken, ended.Number)
		return nil
	})
	env = w.environment(t)
	begun = env.Now()
	promptsHourly(t, env, 3)
	env.RegisterDelayedCallback(func() {
		require.Equal(t, "executions: 2; the worker failed: the bucket is gone", unrecorded(t, env))
		require.Len(t, w.asked, 2, "executions go on")
	}, 90*time.Minute)
	env.RegisterDelayedCallback(env.CancelWorkflow, 4*time.Hour)
	execute(env, input(t, "ann"))
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []int{1, 2, 3, 4}, taken)
	require.Empty(t, unrecorded(t, env))
}

// TestAnUnnamedAgentEndsWithoutItsRecord where the store is down, and says so.
func TestAnUnnamedAgentEndsWithoutItsRecord(t *testing.T) {
	t.Parallel()
	w := recorder(func(contract.EndedExecution) error { return bucketGone() })
	env := w.environment(t)
	begun := env.Now()
	execute(env, input(t, ""))
	require.NoError(t, env.GetWorkflowError())
	require.Less(t, env.Now().Sub(begun), 2*time.Minute)
	require.Equal(t, "executions: 1; the worker failed: the bucket is gone", unrecorded(t, env))
}

// TestWhatNobodyCanTellIsGivenUp, so that it does not keep others from the records.
func TestWhatNobodyCanTellIsGivenUp(t *testing.T) {
	t.Parallel()
	var taken []int
	w := recorder(func(ended contract.EndedExecution) error {
		if ended.Number == 1 {
			return refused(domain.CodedErrorf(domain.Invalid, domain.CodeContextLost, "its run is gone"))
		}
		taken = append(taken, ended.Number)
		return nil
	})
	env := w.environment(t)
	promptsHourly(t, env, 1)
	env.RegisterDelayedCallback(func() { require.Equal(t, "executions that could no longer be told: 1", unrecorded(t, env)) }, 30*time.Minute)
	env.RegisterDelayedCallback(env.CancelWorkflow, 2*time.Hour)
	execute(env, input(t, "ann"))
	require.Equal(t, []int{2}, taken)
}

// TestACancellationBetweenExecutions, as one is being recorded: the message that was taken then begins its execution, which
// tells that the workflow was cancelled. Nothing is asked of a model for it.
func TestACancellationBetweenExecutions(t *testing.T) {
	t.Parallel()
	for name, order := range map[string][]string{"message, cancellation": {"send", "cancel"}, "cancellation, message": {"cancel", "send"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var env *testsuite.TestWorkflowEnvironment
			sent := &verdict{}
			w := recorder(func(ended contract.EndedExecution) error {
				for _, what := range order {
					switch {
					case ended.Number > 1:
					case what == "cancel":
						env.CancelWorkflow()
					default:
						env.UpdateWorkflow(string(contract.UpdateSend), "u1", sent, contract.SendRequest{Prompt: "more"})
					}
				}
				return nil
			})
			env = w.environment(t)
			execute(env, input(t, "ann"))
			out := outcome(t, env)
			require.True(t, out.Closed)
			require.Len(t, w.asked, 1, "nothing is asked after the cancellation")
			if sent.rejected != nil {
				sent.refused(t, "the session has ended")
				require.Equal(t, []any{1, domain.StatusCompleted}, []any{out.Number, out.Status})
				return
			}
			require.Equal(t, []any{2, domain.StatusStopped, domain.UserRequested}, []any{out.Number, out.Status, out.StopReason})
			require.Equal(t, out.ExecutionID, sent.value.(contract.SendReply).ExecutionID)
			require.Contains(t, spoken(t, env), "user: more")
		})
	}
}

// TestEachMoveOfAnIdleSessionIsRecorded, with the position as the activity reads it. A rewind that begins an execution needs no
// record: that of the execution says from where it went on.
func TestEachMoveOfAnIdleSessionIsRecorded(t *testing.T) {
	t.Parallel()
	var env *testsuite.TestWorkflowEnvironment
	var moves [][]int
	w := positionRecorder(func(moved contract.Move) error {
		value, err := env.QueryWorkflow(string(account.Query), account.Request{Want: []account.Part{account.HeadOf}})
		if err != nil {
			return err
		}
		var page account.Page
		require.NoError(t, value.Get(&page))
		position := page.Head.Position
		require.Equal(t, moved, *position.Moved)
		require.NotNil(t, page.Head.Newest.Ended)
		moves = append(moves, []int{moved.Number, moved.After, position.Length, len(position.Edits.TakenBack), position.Edits.CountCleared()})
		return nil
	})
	env = w.environment(t)
	promptsHourly(t, env, 1)
	begun := env.Now()
	rewinds(t, env, 2*time.Hour, "r1", 1, 1)
	updates(env, 3*time.Hour, contract.UpdateClear, "c1", contract.ClearRequest{})
	rewinds(t, env, 4*time.Hour, "r2", 2, 1)
	rewinds(t, env, 5*time.Hour, "r3", 1, 1, thenSaying("otherwise"))
	env.RegisterDelayedCallback(func() {
		require.Empty(t, unrecorded(t, env))
		moved := query(t, env, account.Query, account.Request{Want: []account.Part{account.HeadOf}}).Head.Position.Moved
		require.Equal(t, contract.Move{Number: 4, After: 2, At: begun.Add(5 * time.Hour).UTC()}, *moved)
	}, 6*time.Hour)
	updates(env, 7*time.Hour, contract.UpdateClear, "c2", contract.ClearRequest{})
	closes(env, 8*time.Hour)
	execute(env, input(t, "ann"))
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, [][]int{{1, 2, 4, 1, 0}, {2, 2, 4, 1, 4}, {3, 2, 4, 0, 0}, {5, 3, 6, 1, 6}}, moves)
}

// TestAStoreThatDoesNotTakeAPosition holds nothing up: what is missing is said, and tried again with the next move, and when the
// session closes. What an execution has gone on from since is told by its own record.
func TestAStoreThatDoesNotTakeAPosition(t *testing.T) {
	t.Parallel()
	const down = "the position of the session; the worker failed: the bucket is gone"
	var env *testsuite.TestWorkflowEnvironment
	var taken []int
	begun, tries := time.Time{}, 0
	w := positionRecorder(func(moved contract.Move) error {
		if tries++; env.Now().Sub(begun) < 7*time.Hour {
			return bucketGone()
		}
		taken = append(taken, moved.Number)
		return nil
	})
	env = w.environment(t)
	begun = env.Now()
	updates(env, time.Hour, contract.UpdateClear, "c1", contract.ClearRequest{})
	tried := 0
	env.RegisterDelayedCallback(func() {
		require.Equal(t, down, unrecorded(t, env))
		tried = tries
	}, 2*time.Hour)
	prompts(env, 3*time.Hour, "more")
	env.RegisterDelayedCallback(func() {
		require.Empty(t, unrecorded(t, env))
		require.Equal(t, tried, tries, "it is not tried while nothing happens, nor needed any more")
	}, 4*time.Hour)
	updates(env, 5*time.Hour, contract.UpdateClear, "c2", contract.ClearRequest{})
	env.RegisterDelayedCallback(func() { require.Equal(t, down, unrecorded(t, env)) }, 6*time.Hour)
	closes(env, 8*time.Hour)
	execute(env, input(t, "ann"))
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []int{2}, taken)
	require.Empty(t, unrecorded(t, env))
}

// TestAMessageDoesNotWaitForThePosition: the execution that it begins cuts off the record.
func TestAMessageDoesNotWaitForThePosition(t *testing.T) {
	t.Parallel()
	var env *testsuite.TestWorkflowEnvironment
	sent := &verdict{}
	w := positionRecorder(func(contract.Move) error {
		if !sent.accepted {
			env.UpdateWorkflow(string(contract.UpdateSend), "u1", sent, contract.SendRequest{Prompt: "more"})
		}
		return bucketGone()
	})
	env = w.environment(t)
	begun := env.Now()
	var began time.Duration
	w.model = func(contract.ModelRequest) (contract.ModelReply, error) {
		began = env.Now().Sub(begun)
		return says("one"), nil
	}
	updates(env, time.Hour, contract.UpdateClear, "c1", contract.ClearRequest{})
	closes(env, 2*time.Hour)
	execute(env, input(t, "ann"))
	require.NoError(t, env.GetWorkflowError())
	endsWith(t, env, 2)
	require.Equal(t, time.Hour, began)
}

// TestAPositionIsRecordedByTheNextRun, where the one before could not.
func TestAPositionIsRecordedByTheNextRun(t *testing.T) {
	t.Parallel()
	in := input(t, "named")
	in.Prompt = ""
	carry := fullCarry(t, in)
	carry.Records.Ended, carry.Config.Resolved.Records, carry.Mail.Suspended = nil, true, nil
	in.Carry = &carry
	var taken []int
	w := positionRecorder(func(moved contract.Move) error {
		taken = append(taken, moved.Number)
		return nil
	})
	env := w.environment(t)
	env.RegisterDelayedCallback(func() { require.Empty(t, unrecorded(t, env)) }, time.Minute)
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Hour)
	execute(env, in)
	require.Equal(t, []int{3}, taken)
}

// TestAnExecutionIsKnownBeforeItBegins: whoever has sent the message that begins it may ask for it while the one before is
// recorded.
func TestAnExecutionIsKnownBeforeItBegins(t *testing.T) {
	t.Parallel()
	var env *testsuite.TestWorkflowEnvironment
	sent := &verdict{}
	known := false
	w := recorder(func(ended contract.EndedExecution) error {
		if ended.Number > 1 {
			return nil
		}
		env.UpdateWorkflow(string(contract.UpdateSend), "u1", sent, contract.SendRequest{Prompt: "more"})
		asked := make(chan struct{})
		env.RegisterDelayedCallback(func() { // as soon as the workflow has taken the message and stands still
			defer close(asked)
			value, err := env.QueryWorkflow(string(account.Query), account.Request{Want: []account.Part{account.HeadOf}})
			require.NoError(t, err)
			var page account.Page
			require.NoError(t, value.Get(&page))
			known = page.Head.Newest.Number == 1 && page.Head.BeginsNext()
		}, 0)
		<-asked
		return nil
	})
	env = w.environment(t)
	closes(env, 2*time.Hour)
	execute(env, input(t, "ann"))
	endsWith(t, env, 2)
	require.True(t, known)
}
