package client

import (
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"everstep/domain"
	"everstep/domain/contract"
)

func TestPosition(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make   func(r *fakeRun)
		number int
		step   int
		ended  domain.ExecutionStatus // empty: in progress
	}{
		"just started":      {func(*fakeRun) {}, 1, 1, ""},
		"in the third step": {func(r *fakeRun) { r.answers(1, 1, "a"); r.answers(1, 2, "b"); r.infers(1, 3) }, 1, 3, ""},
		"in a tool call":    {func(r *fakeRun) { r.answers(1, 1, "a"); r.calls(1, 1, 0, "read_file") }, 1, 1, ""},
		"after its third step": {
			func(r *fakeRun) {
				r.calls(1, 3, 0, "read_file")
				r.completes(r.schedule(string(contract.Record), contract.RecordRequest{}), contract.Segment{})
			}, 1, 4, "",
		},
		"first step after a copy": {
			func(r *fakeRun) { r.schedule(string(contract.Record), contract.RecordRequest{}); r.infers(1, 1) }, 1, 1, "",
		},
		"idle":                  {func(r *fakeRun) { r.answers(1, 1, "a"); r.ends(outcomeOf(1, 1)) }, 1, 0, domain.StatusCompleted},
		"next one begun":        {func(r *fakeRun) { r.answers(1, 1, "a"); r.ends(outcomeOf(1, 1)); r.sent(2) }, 2, 1, ""},
		"next one, in the work": {func(r *fakeRun) { r.ends(outcomeOf(1, 4)); r.sent(2); r.answers(2, 1, "a"); r.infers(2, 2) }, 2, 2, ""},
		"next one before its answer": {
			func(r *fakeRun) { r.ends(outcomeOf(1, 4)); r.infers(2, 1); r.sent(2) }, 2, 1, "",
		},
		"terminated in the work": {
			func(r *fakeRun) { r.infers(1, 3); r.closes(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED) },
			1, 3, domain.StatusFailed,
		},
		"terminated while idle": {
			func(r *fakeRun) {
				r.ends(outcomeOf(1, 4))
				r.closes(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED)
			},
			1, 0, domain.StatusCompleted,
		},
		"completed": {
			func(r *fakeRun) { r.ends(outcomeOf(1, 4)); r.closes(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED) },
			1, 0, domain.StatusCompleted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := newRun("run-1", nil)
			c.make(run)
			p, err := newFake(run).client().locate(t.Context(), "nora")
			require.NoError(t, err)
			require.Equal(t, c.number, p.number)
			require.Equal(t, c.step, p.step)
			if c.ended == "" {
				require.Nil(t, p.ended)
				return
			}
			require.NotNil(t, p.ended)
			require.Equal(t, c.ended, p.ended.Status)
			require.Equal(t, nth(c.number), p.ended.ExecutionID)
		})
	}
}

// TestPositionSeesTheEndAfterTheDescription covers a description that is older
// than the history.
func TestPositionSeesTheEndAfterTheDescription(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	run.answers(1, 1, "a")
	run.ends(outcomeOf(1, 1))
	run.memo = nil
	p, err := newFake(run).client().locate(t.Context(), "nora")
	require.NoError(t, err)
	require.NotNil(t, p.ended)
	require.Equal(t, 1, p.number)
}

func TestPositionOfARunThatTookOver(t *testing.T) {
	t.Parallel()
	first := newRun("run-1", nil)
	first.handsOn("run-2")

	midst := newRun("run-2", inMidst(1, 7)).continues("run-1")
	p, err := newFake(first, midst).client().locate(t.Context(), "nora")
	require.NoError(t, err)
	require.Nil(t, p.ended)
	require.Equal(t, 1, p.number)
	require.Equal(t, 8, p.step, "seven are complete")

	last := outcomeOf(3, 2)
	idle := newRun("run-2", &contract.Carry{Outcome: &last}).continues("run-1")
	p, err = newFake(first, idle).client().locate(t.Context(), "nora")
	require.NoError(t, err)
	require.Equal(t, &last, p.ended)
	require.Equal(t, 3, p.number)
}

func TestTarget(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	run.ends(outcomeOf(1, 4))
	run.sent(2)
	c := newFake(run).client()
	mean, err := c.target(t.Context(), "nora", 0)
	require.NoError(t, err)
	require.Equal(t, 2, mean.asked)
	_, err = c.target(t.Context(), "nora", 3)
	requireClass(t, err, NotFound)
	_, err = c.target(t.Context(), "nora", -1)
	requireClass(t, err, Invalid)
	_, err = c.target(t.Context(), "no ra", 0)
	requireClass(t, err, Invalid)
	_, err = newFake(&fakeRun{id: "other"}).withDeleted("other").client().target(t.Context(), "nora", 0)
	requireClass(t, err, NotFound)
	require.NotContains(t, err.Error(), "`")
	var told *Error
	require.ErrorAs(t, err, &told)
	require.Equal(t, "`list` shows those that there are", told.Next)
}
