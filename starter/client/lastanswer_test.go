package client

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"

	"everstep/domain"
	"everstep/domain/contract"
)

// TestResultOfAHistoryThatCannotBeReplayed, without a worker: its last inference tells, and the source says so. Neither a summary
// nor an inference of a later execution is one, nor what cannot be decoded.
func TestResultOfAHistoryThatCannotBeReplayed(t *testing.T) {
	t.Parallel()
	foreign := func(run *fakeRun, inferred int64) {
		run.events[inferred-1].GetActivityTaskScheduledEventAttributes().Input.Payloads[0].Data = []byte(`{"step": "one"}`)
	}
	run := newRun("run-1", nil)
	run.answers(1, 1, "looking", domain.ToolCall{Name: "ls"})
	asked := run.infers(1, 2)
	run.completes(asked, reply("the answer"))
	foreign(run, asked)
	answered := int64(len(run.events))
	garbled := run.infers(1, 3)
	run.completes(garbled, reply("lost"))
	run.events[len(run.events)-1].GetActivityTaskCompletedEventAttributes().Result.Payloads[0].Data = []byte(`{"message": 7}`)
	run.completes(run.schedule(string(contract.CallModel), contract.ModelRequest{ExecutionID: nth(1), Step: 3, Summary: &domain.SummaryRequest{}}), reply("a summary"))
	run.ends(outcomeOf(1, 3))
	run.memo.Fields[contract.MemoBuild] = payloads(contract.Builds{Begun: "v8", Last: "v9"}).Payloads[0]
	result := func() (r Result) {
		synctest.Test(t, func(t *testing.T) {
			var err error
			r, err = newFake(run).client().Result(t.Context(), nora.name, 0)
			require.NoError(t, err)
		})
		return r
	}
	r := result()
	require.Equal(t, "the answer", r.Answer)
	require.Equal(t, contract.FromRawHistory, r.Source)
	require.Equal(t, []any{answered, "v9", "run-1"}, []any{r.Event, r.Build, r.RunID})
	require.Equal(t, outcomeOf(1, 3), r.Outcome)

	run.sent(2)
	run.answers(2, 1, "of the second")
	run.ends(outcomeOf(2, 1))
	require.Equal(t, "of the second", result().Answer)

	// The session has gone on in a new run since, which has no inference yet.
	run.handsOn("run-2")
	carry, outcome := inMidst(2, 1), outcomeOf(2, 1)
	carry.Outcome = &outcome
	second := newRun("run-2", carry).continues("run-1")
	second.memo = run.memo
	f := newFake(run, second)
	r, err := f.client().Result(t.Context(), nora.name, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"of the second", "run-1"}, []string{r.Answer, r.RunID})
}

// TestResultOfAnEndThatCannotBeRead: how it ended stands in words that this build does not know.
func TestResultOfAnEndThatCannotBeRead(t *testing.T) {
	t.Parallel()
	unknown := payloads(map[string]any{"execution_number": 3, "status": "exalted"})
	run := newRun("run-1", nil)
	run.memo = &commonpb.Memo{Fields: map[string]*commonpb.Payload{contract.MemoOutcome: unknown.Payloads[0]}}
	_, err := newFake(run).client().Result(t.Context(), nora.name, 0)
	requireClass(t, err, Failed)
	require.ErrorContains(t, err, "nobody can read how nora has ended, and no inference of it either")
	run.answers(3, 1, "the answer")
	for _, status := range []enumspb.WorkflowExecutionStatus{enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED} {
		run.status = status
		r, err := newFake(run).client().Result(t.Context(), nora.name, 0)
		require.NoError(t, err)
		require.Equal(t, "the answer", r.Answer)
		require.Equal(t, contract.FromRawHistory, r.Source)
		require.Empty(t, r.Outcome.Status)
		require.Zero(t, r.Number)
		run.memo = nil
	}
}
