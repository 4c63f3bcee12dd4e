package workflows_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"everstep/domain"
	"everstep/domain/contract"
)

// paysOnce is a tool that must not be repeated, of which the order makes the effect.
func paysOnce() []domain.ToolSpec {
	return []domain.ToolSpec{{Name: "pay", Effect: domain.AtMostOnce, EffectKey: []string{"order"}}, {Name: "look", Effect: domain.ReadOnly}}
}

func payFor(order int, note string) domain.ToolCall {
	return domain.ToolCall{ID: note, Name: "pay", Arguments: fmt.Sprintf(`{"order":%d,"note":%q}`, order, note)}
}

// losesFirst is a tool whose first call loses its worker.
func losesFirst(w *world) func(contract.ToolRequest) (contract.ToolReply, error) {
	return func(r contract.ToolRequest) (contract.ToolReply, error) {
		w.mu.Lock()
		first := len(w.ran) == 1
		w.mu.Unlock()
		if first {
			return contract.ToolReply{}, temporal.NewHeartbeatTimeoutError()
		}
		return saw(r)
	}
}

// resolves resolves the agent's only unresolved call after a while.
func resolves(t *testing.T, env *testsuite.TestWorkflowEnvironment, at time.Duration, id string, as domain.Verdict, result string) *verdict {
	t.Helper()
	v := &verdict{}
	env.RegisterDelayedCallback(func() {
		unknown := waitsOf(t, env, domain.WaitOutcome)
		require.Len(t, unknown, 1)
		env.UpdateWorkflow(string(contract.UpdateAnswer), id, v, contract.AnswerRequest{
			Call: unknown[0].ToolExecutionID, Verdict: as, Text: result, Reason: "the bank says so", By: "test",
		})
	}, at)
	return v
}

// told are the texts of users and tools in the transcript, as they came.
func told(t *testing.T, env *testsuite.TestWorkflowEnvironment) []string {
	t.Helper()
	var texts []string
	for _, e := range entriesIn(t, env) {
		switch {
		case e.Message.ToolResult != nil:
			texts = append(texts, e.Message.ToolResult.Content)
		case e.Message.Role == domain.RoleUser:
			texts = append(texts, e.Message.Text())
		}
	}
	return texts
}

func eventsIn(t *testing.T, env *testsuite.TestWorkflowEnvironment, number int, types ...domain.EventType) []domain.Event {
	t.Helper()
	var found []domain.Event
	for _, e := range eventsOf(t, env, number) {
		if slices.Contains(types, e.Type) {
			found = append(found, e)
		}
	}
	return found
}

// TestWhichCallsAreUnresolved: one that is keyed by its effect is safe to make again.
func TestWhichCallsAreUnresolved(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		key        []string
		unresolved int
	}{
		"keyed by the call":   {nil, 1},
		"keyed by the effect": {[]string{"order"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: []domain.ToolSpec{{Name: "pay", Effect: domain.Keyed, Losses: 1, EffectKey: test.key}}, model: calling(payFor(7, "x"))}
			w.tool = losesFirst(w)
			env := w.executed(t, input(t, ""))
			require.Equal(t, test.unresolved, outcome(t, env).UnknownOutcomes)
			require.Contains(t, told(t, env)[1], "outcome unknown")
		})
	}
}

// TestAResolvedCallIsTold to the model before it is asked next; what was done is not done again in that execution.
func TestAResolvedCallIsTold(t *testing.T) {
	t.Parallel()
	wait := busy()
	for name, test := range map[string]struct {
		verdict domain.Verdict
		result  string
		says    string
		ran     int
	}{
		"done":     {domain.VerdictDone, "receipt 4711", "it was done (the bank says so). Do not call it again for the same. Its result:\nreceipt 4711", 1},
		"not done": {domain.VerdictNotDone, "", "it was not done (the bank says so). It may be called again.", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: paysOnce()}
			// The second step waits for an hour, in which the call is resolved.
			w.model = plays(says("", payFor(7, "first")), wait, says("", payFor(7, "now")), says("", payFor(7, "once more")), says("done"))
			w.tool = losesFirst(w)
			env := w.environment(t)
			resolved := resolves(t, env, time.Minute, "u1", test.verdict, test.result)
			execute(env, input(t, ""))
			require.Zero(t, outcome(t, env).UnknownOutcomes)
			require.NoError(t, resolved.err)
			reply := resolved.value.(contract.AnswerReply)
			require.Zero(t, reply.UnknownOutcomes)
			require.Equal(t, "test", reply.Wait.Answer.By)
			require.Len(t, w.ran, test.ran)
			require.Contains(t, told(t, env)[3], test.says, "%q", told(t, env))
			event := eventsIn(t, env, 1, domain.EventWaitClosed)
			require.Len(t, event, 1)
			require.Equal(t, test.verdict, event[0].Data.(domain.WaitClosed).Verdict)
			require.Empty(t, waitsOf(t, env, domain.WaitOutcome))
		})
	}
}

// TestASessionIsNotClosedWhileCallsAreUnresolved: the next one of its name would make them again.
func TestASessionIsNotClosedWhileCallsAreUnresolved(t *testing.T) {
	t.Parallel()
	w := &world{tools: paysOnce()}
	w.model = plays(says("", payFor(7, "first")), says("one"))
	w.tool = losesFirst(w)
	env := w.environment(t)
	early := closes(env, time.Hour)
	resolved := resolves(t, env, 2*time.Hour, "u2", domain.VerdictDone, "")
	late := closes(env, 3*time.Hour)
	execute(env, input(t, "ann"))
	endsWith(t, env, 1)
	early.refused(t, "close: of 1 calls nobody knows whether they took effect, the first is "+resolved.value.(contract.AnswerReply).Wait.ToolExecutionID.String()+" of pay; resolve them first")
	require.True(t, late.accepted)
	require.NoError(t, late.err)
}

// TestAnIdleSessionResolves: the next execution's events and its model are told, and the one after it may do it anew.
func TestAnIdleSessionResolves(t *testing.T) {
	t.Parallel()
	w := &world{tools: paysOnce()}
	w.model = plays(says("", payFor(7, "first")), says("one"), says("", payFor(7, "again")), says("two"), says("", payFor(7, "for another reason")), says("three"))
	w.tool = losesFirst(w)
	env := w.environment(t)
	resolved := resolves(t, env, time.Hour, "u1", domain.VerdictDone, "")
	twice := &verdict{}
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(string(contract.UpdateAnswer), "u2", twice, contract.AnswerRequest{
			Call: resolved.value.(contract.AnswerReply).Wait.ToolExecutionID, Verdict: domain.VerdictNotDone, Reason: "I think",
		})
	}, 90*time.Minute)
	prompts(env, 2*time.Hour, "and now?")
	prompts(env, 3*time.Hour, "do it once more")
	closes(env, 4*time.Hour)
	execute(env, input(t, "ann"))
	endsWith(t, env, 3)
	twice.refused(t, "was resolved as done")
	require.Empty(t, eventsIn(t, env, 1, domain.EventWaitClosed), "it had ended")
	require.Len(t, eventsIn(t, env, 2, domain.EventWaitClosed), 1)
	require.Equal(t, domain.CodeBlocked, eventsIn(t, env, 2, domain.EventToolCallBlocked)[0].Data.(domain.ToolCallBlocked).Code)
	require.Len(t, w.ran, 2, "the third execution is asked for anew, by somebody who knows")
}
