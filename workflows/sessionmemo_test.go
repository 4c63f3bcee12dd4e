package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"

	"everstep/domain/contract"
)

// TestWhatTheMemoTellsOfWhereAnAgentStands: once for each execution that begins after the first, for each pause, suspension and stop
// and their ends, and never for a step.
func TestWhatTheMemoTellsOfWhereAnAgentStands(t *testing.T) {
	t.Parallel()
	w := &world{tools: reads(), tool: saw}
	w.model = plays(says("looking", calls("look", 2)...), says("one"), says("looking", calls("look", 1)...), busy(), says("two"), busy(), says("three"))
	env := w.environment(t)
	var heads []contract.HeadMemo
	env.OnUpsertMemo(mock.Anything).Return(nil).Run(func(args mock.Arguments) {
		if head, ok := args.Get(0).(map[string]any)[contract.MemoHead].(contract.HeadMemo); ok {
			heads = append(heads, head)
		}
	})
	prompts(env, time.Hour, "more")
	pauses(env, time.Hour+time.Second)
	pauses(env, time.Hour+2*time.Second)
	resumes(env, 2*time.Hour)
	updates(env, 3*time.Hour, contract.UpdateSuspend, "u2", contract.SuspendRequest{})
	updates(env, 4*time.Hour, contract.UpdateSuspend, "u3", contract.SuspendRequest{})
	updates(env, 5*time.Hour, contract.UpdateUnsuspend, "u4", contract.UnsuspendRequest{})
	prompts(env, 6*time.Hour, "more still")
	stopsAt(env, 6*time.Hour+time.Second)
	closes(env, 7*time.Hour)
	execute(env, input(t, "ann"))
	endsWith(t, env, 3)
	require.Equal(t, []contract.HeadMemo{
		{Number: 2}, {Number: 2, Paused: true}, {Number: 2}, {Number: 2, Suspended: true}, {Number: 2}, {Number: 3}, {Number: 3, Stopping: true},
	}, heads)
}
