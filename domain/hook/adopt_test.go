package hook_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
)

// adopted is a context after an activity's reply.
func adopted[At any](t *testing.T, at At, reply contract.HookReply) hook.Context[At] {
	t.Helper()
	id, err := domain.AgentIDOf("ann")
	require.NoError(t, err)
	now := time.Unix(0, 0)
	state := domain.NewAgentState(id, domain.AgentID{}, now, domain.LLMConfig{Provider: "scripted", Model: "/x"})
	state, err = state.WithMetadata("old", json.RawMessage(`1`), now)
	require.NoError(t, err)
	made, err := hook.Adopt(hook.Context[At]{State: state, Now: now, At: at}, reply)
	require.NoError(t, err)
	return made
}

// TestAdopt does what a reply wants done, and nothing where it wants nothing.
func TestAdopt(t *testing.T) {
	t.Parallel()
	idle := adopted(t, hook.Call{Call: domain.ToolCall{Name: "a"}}, contract.HookReply{})
	require.Equal(t, "a", idle.At.Call.Name)
	require.Empty(t, idle.Stops())
	require.False(t, idle.Continues())
	require.Empty(t, idle.State.Messages())

	made := adopted(t, hook.Call{}, contract.HookReply{
		Block: "no", Call: &domain.ToolCall{Name: "b"}, Continue: true, Stop: &domain.StopSignal{Message: "enough"},
		Say:  []domain.Message{domain.UserMessage("look out")},
		Note: domain.Metadata{"old": json.RawMessage(` null `), "new": json.RawMessage(`2`)},
	})
	require.Equal(t, "b", made.At.Call.Name)
	message, blocked := made.At.Blocked()
	require.True(t, blocked)
	require.Equal(t, "no", message)
	require.True(t, made.Continues())
	require.Equal(t, []domain.StopSignal{{Reason: domain.StopRequested, Message: "enough"}}, made.Stops())
	require.Equal(t, "look out", made.State.Messages()[0].Text())
	require.Equal(t, domain.Metadata{"new": json.RawMessage(`2`)}, made.State.Metadata())

	stop := adopted(t, hook.Nothing{}, contract.HookReply{Stop: &domain.StopSignal{Reason: domain.ErrorForbade}})
	require.Equal(t, domain.ErrorForbade, stop.Stops()[0].Reason)

	failed := hook.Result{Execution: domain.ToolExecution{Value: "", Error: domain.Errorf(domain.Internal, "broke")}}
	require.Equal(t, failed, adopted(t, failed, contract.HookReply{}).At)
	mended := adopted(t, failed, contract.HookReply{Content: new("mended")}).At.Execution
	require.Equal(t, "mended", mended.Value)
	require.Nil(t, mended.Error)

	said := hook.Answer{Message: domain.UserMessage("one")}
	require.Equal(t, said, adopted(t, said, contract.HookReply{}).At)
	other := domain.UserMessage("two")
	require.Equal(t, other, adopted(t, said, contract.HookReply{Answer: &other}).At.Message)
}

// TestAdoptRefuses what nobody could keep, also where there is no use for it.
func TestAdoptRefuses(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]contract.HookReply{
		"an answer": {Answer: &domain.Message{Role: "nobody"}},
		"a message": {Say: []domain.Message{{Metadata: domain.Metadata{"n": json.RawMessage(`{`)}}}},
		"a note":    {Note: domain.Metadata{"n": json.RawMessage(`{`)}},
	} {
		_, err := hook.Adopt(hook.Point{Now: time.Unix(0, 0)}, reply)
		require.Error(t, err, name)
	}
}
