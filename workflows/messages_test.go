package workflows_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// busy is a first try of an inference that keeps its execution busy for an hour.
func busy() contract.ModelReply {
	return waits(time.Hour)
}

func steer(text string) contract.SendRequest {
	return contract.SendRequest{Prompt: text, IfBusy: contract.SteerIfBusy}
}

func queued(text string) contract.SendRequest {
	return contract.SendRequest{Prompt: text, IfBusy: contract.QueueIfBusy}
}

func stopsAt(env *testsuite.TestWorkflowEnvironment, at time.Duration) {
	stopsWith(env, at, contract.StopRequest{Reason: "enough"})
}

// spoken is what was said, each message with its role.
func spoken(t *testing.T, env *testsuite.TestWorkflowEnvironment) (said []string) {
	t.Helper()
	for _, e := range entriesIn(t, env) {
		text := e.Message.Text()
		if e.Message.ToolResult != nil {
			text = e.Message.ToolResult.Name
		}
		said = append(said, fmt.Sprintf("%s: %s", e.Message.Role, text))
	}
	return said
}

// TestMessagesJoinTheNextStep: who sends is told what waits, the inference how many it reads, and each event how long it waited.
func TestMessagesJoinTheNextStep(t *testing.T) {
	t.Parallel()
	w := &world{tools: reads(), tool: saw, model: plays(busy(), says("looking", look()), says("done"))}
	env := w.environment(t)
	first, second := sends(env, time.Minute, "u1", steer("and that")), sends(env, 2*time.Minute, "u2", steer("and this"))
	var waiting account.Status
	env.RegisterDelayedCallback(func() { waiting = status(t, env) }, 3*time.Minute)
	closes(env, 3*time.Hour)
	execute(env, input(t, "ann"))
	out := outcome(t, env)
	require.Equal(t, []int{1, 2, 0}, []int{out.Number, out.Steps, out.Unread})
	one, two := first.value.(contract.SendReply), second.value.(contract.SendReply)
	require.Equal(t, []any{false, out.ExecutionID, 1, int64(1)}, []any{one.Began, one.ExecutionID, one.Number, one.Place})
	require.Len(t, waiting.Unread, 2)
	require.Equal(t, []any{one.Waits, "and that"}, []any{waiting.Unread[0].ID, waiting.Unread[0].Text})
	for i, event := range dataOf[domain.MessageReceived](t, env, 1) {
		require.Equal(t, []domain.MessageID{one.Waits, two.Waits}[i], event.MessageID)
		require.Greater(t, event.Milliseconds, (50 * time.Minute).Milliseconds())
	}
	require.Equal(t, []int64{0, 2}, []int64{w.asked[1].Heard, w.asked[2].Heard})
}

// TestNoStepIsLeftForAMessage: it costs no budget that it cannot have, and the answer that was given counts.
func TestNoStepIsLeftForAMessage(t *testing.T) {
	t.Parallel()
	w := &world{model: plays(busy(), says("one"), says("two"))}
	env := w.environment(t)
	sends(env, time.Minute, "u1", steer("more"))
	closes(env, 3*time.Hour)
	execute(env, input(t, "ann", func(in *contract.SessionInput) { in.Definition.Budget.MaxSteps = number(1) }))
	endsWith(t, env, 2)
	first := executionIn(t, env, 1)
	require.Equal(t, []any{domain.StatusCompleted, "one"}, []any{first.Status, first.Ended.Answer})
	require.Equal(t, []string{"user: hello", "assistant: one", "user: more", "assistant: two"}, spoken(t, env))
}

// TestTakingMessagesBack: only what was not read yet, and by its name where several wait.
func TestTakingMessagesBack(t *testing.T) {
	t.Parallel()
	w := &world{model: plays(busy(), says("one"), says("two"))}
	env := w.environment(t)
	first, second := sends(env, time.Minute, "u1", steer("a")), sends(env, time.Minute, "u2", steer("b"))
	unsend := func(at time.Duration, id string, request func() contract.UnsendRequest) *verdict {
		v := &verdict{}
		env.RegisterDelayedCallback(func() { env.UpdateWorkflow(string(contract.UpdateUnsend), id, v, request()) }, at)
		return v
	}
	nameless := func() contract.UnsendRequest { return contract.UnsendRequest{} }
	none := unsend(0, "u3", nameless)
	which := unsend(2*time.Minute, "u4", nameless)
	named := func(length int) func() contract.UnsendRequest {
		return func() contract.UnsendRequest {
			return contract.UnsendRequest{MessageID: first.value.(contract.SendReply).Waits.String()[:length]}
		}
	}
	short := unsend(150*time.Second, "u8", named(3))
	one := unsend(3*time.Minute, "u5", named(8))
	gone := unsend(4*time.Minute, "u6", named(36))
	last := unsend(5*time.Minute, "u7", nameless)
	execute(env, input(t, ""))
	require.Equal(t, 1, outcome(t, env).Steps)
	none.refused(t, "message: none waits")
	which.refused(t, "message: 2 may be meant; name one: "+first.value.(contract.SendReply).Waits.String())
	short.refused(t, "is short for what is changed by it")
	require.Equal(t, 1, one.value.(contract.UnsendReply).Left)
	gone.refused(t, "is none of those that wait")
	require.Equal(t, second.value.(contract.SendReply).Waits, last.value.(contract.UnsendReply).MessageID)
	require.Equal(t, []string{"user: hello", "assistant: one"}, spoken(t, env))
}

func TestWhatCannotWait(t *testing.T) {
	t.Parallel()
	for says, request := range map[string]contract.SendRequest{
		"model: execution 1 is in progress":  {Prompt: "more", IfBusy: contract.SteerIfBusy, Model: &domain.LLMConfig{Provider: "scripted", Model: "/y"}},
		"budget: execution 1 is in progress": {Prompt: "more", IfBusy: contract.SteerIfBusy, Budget: stepsOf(2)},
		"metadata, messages, trusted":        {Prompt: "more", IfBusy: contract.SteerIfBusy, Options: conversed(t)},
		"would take":                         {Prompt: strings.Repeat("x", 250_000), IfBusy: contract.SteerIfBusy},
		"execution 1 is in progress; wait":   {Prompt: "more", IfBusy: contract.RefuseIfBusy},
		"is in progress; wait for it":        {Prompt: "more", IfBusy: contract.SteerIfBusy, IfIdle: true},
		"is not in progress":                 {Prompt: "more", IfBusy: contract.SteerIfBusy, ExecutionID: input(t, "ann").AgentID.Execution("x", 1)},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			w := &world{model: plays(busy(), answer("one"))}
			env := w.environment(t)
			v := sends(env, time.Minute, "u1", request)
			closes(env, 3*time.Hour)
			execute(env, input(t, "ann"))
			endsWith(t, env, 1)
			require.False(t, v.accepted)
			v.refused(t, says)
		})
	}
}

func answer(text string) contract.ModelReply { return says(text) }

// TestQueuedMetadataHasOneBound: each message that waits adds its own, and all of it has to fit.
func TestQueuedMetadataHasOneBound(t *testing.T) {
	t.Parallel()
	w := &world{model: plays(busy(), says("one"), says("two"), says("three"))}
	env := w.environment(t)
	large := func(key string) contract.SendRequest {
		request := queued(key)
		given, err := domain.NewStartOptions(domain.Metadata{key: json.RawMessage(strconv.Quote(strings.Repeat("x", 60<<10)))}, nil, nil)
		require.NoError(t, err)
		request.Options = given
		return request
	}
	first := sends(env, time.Minute, "u1", large("a"))
	second := sends(env, 2*time.Minute, "u2", large("b"))
	same := sends(env, 3*time.Minute, "u3", large("a"))
	closes(env, 5*time.Hour)
	execute(env, input(t, "ann"))
	endsWith(t, env, 3)
	require.NoError(t, first.rejected)
	second.refused(t, "metadata")
	require.NoError(t, same.rejected, "it takes the place of what waits")
}
