package workflows_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"
	"pgregory.net/rapid"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
)

// compiled are the messages that an inference was asked with, by the default compiler.
func compiled(entries []domain.Entry, r contract.ModelRequest) []domain.Message {
	chain := append([]domain.ExecutionID{r.ExecutionID}, r.Origins...)
	return domain.CompileEdited("", nil, entries[:r.Log.Length], chain, r.Edits)
}

// TestAQueuedMessageSeesTheTurnBefore: the execution that a queued message begins after one that was stopped in a call asks
// the model with that call and its result.
func TestAQueuedMessageSeesTheTurnBefore(t *testing.T) {
	t.Parallel()
	w := &world{tools: reads(), tool: saw, model: plays(says("looking", look()), busy(), says("two"))}
	env := w.environment(t)
	sends(env, time.Minute, "u1", queued("later"))
	stopsAt(env, 2*time.Minute)
	closes(env, 3*time.Hour, "u2")
	env.ExecuteWorkflow(string(contract.Execute), input(t, "ann"))
	require.Equal(t, 2, outcome(t, env).Number)
	entries := query(t, env, contract.QueryMessages, contract.MessagesRequest{}).Entries
	shown := compiled(entries, w.asked[len(w.asked)-1])
	require.Equal(t, []string{"hello", "looking", "", "later"}, []string{shown[0].Text(), shown[1].Text(), shown[2].Text(), shown[len(shown)-1].Text()})
	require.Equal(t, look(), shown[1].ToolCalls[0])
	require.Equal(t, "seen", shown[2].ToolResult.Content)
}

// TestRequestsBeginWithTheOneBefore: as long as nothing is compacted, whatever models and tools come to, whoever stops
// or says something meanwhile, however executions end, and over however many runs.
func TestRequestsBeginWithTheOneBefore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(draw *rapid.T) {
		replies := rapid.SliceOfN(modelReplies(), 1, 12).Draw(draw, "model")
		tools := rapid.SliceOfN(toolReplies(), 1, 5).Draw(draw, "tool")
		w := &world{tools: []domain.ToolSpec{{Name: "look", Effect: domain.ReadOnly}, {Name: "once", Effect: domain.ReadOnly}}, record: stores}
		w.model = func(contract.ModelRequest) (contract.ModelReply, error) {
			if len(w.asked) > len(replies) {
				return says("the end"), nil
			}
			return replies[len(w.asked)-1], nil
		}
		w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
			return tools[(r.Step*7+r.Position)%len(tools)]()
		}
		in := input(t, "ann", func(in *contract.SessionInput) {
			in.Definition.Attempts = rapid.IntRange(1, 4).Draw(draw, "attempts")
			in.Definition.Budget.MaxSteps = number(rapid.Int64Range(1, 4).Draw(draw, "steps"))
			in.Definition.Guards = domain.Guards{FinalAnswer: rapid.Bool().Draw(draw, "final answer"), Repetition: &domain.Repetition{Nudge: 2, Stop: 3}}
			in.Definition.Format.Type = rapid.SampledFrom([]domain.FormatType{"", domain.FormatJSON}).Draw(draw, "format")
		})
		var entries []domain.Entry
		for run := 1; ; run++ {
			env := w.environment(t)
			if last := rapid.IntRange(1, 6).Draw(draw, "outgrown after"); run < 6 && last < 6 {
				outgrows(env, last)
			}
			for i := range rapid.IntRange(0, 5).Draw(draw, "events") {
				at := time.Duration(rapid.IntRange(0, 20_000).Draw(draw, "at")) * time.Millisecond
				switch id := fmt.Sprint(run, " ", i); rapid.SampledFrom([]string{"steer", "queue", "stop", "extend"}).Draw(draw, "event") {
				case "steer":
					sends(env, at, id, steer("more"))
				case "queue":
					sends(env, at, id, queued("later"))
				case "extend":
					puts(env, at, id, contract.UpdateExtend, contract.ExtendRequest{Budget: domain.ExecutionBudget{MaxSteps: number(9)}})
				case "stop":
					mode := rapid.SampledFrom(enum.Known[contract.StopMode]()).Draw(draw, "mode")
					env.RegisterDelayedCallback(func() { env.SignalWorkflow(string(contract.SignalStop), contract.StopRequest{Mode: mode}) }, at)
				}
			}
			for hour := time.Duration(1); hour < 20; hour++ {
				closes(env, hour*time.Hour, fmt.Sprint("close ", run, " ", hour))
			}
			env.ExecuteWorkflow(string(contract.Execute), in)
			for _, e := range query(t, env, contract.QueryMessages, contract.MessagesRequest{}).Entries {
				if e.Index == len(entries) {
					entries = append(entries, e)
				}
			}
			if _, on := errors.AsType[*workflow.ContinueAsNewError](env.GetWorkflowError()); !on {
				require.NoError(draw, env.GetWorkflowError())
				break
			}
			in, _ = handedOn(t, env)
		}
		checkTranscript(t, entries)
		var before []domain.Message
		for i, r := range w.asked {
			require.True(draw, r.Edits.IsZero(), "nothing is to be compacted here")
			shown := compiled(entries, r)
			require.GreaterOrEqual(draw, len(shown), len(before), "request %d", i)
			for k, m := range before {
				require.True(draw, m.Equal(shown[k]), "request %d, message %d:\n%+v\n%+v", i, k, m, shown[k])
			}
			for _, m := range shown {
				require.False(draw, m.Role == domain.RoleAssistant && len(m.ToolCalls) == 0 && m.Text() == "", "a message without content")
			}
			before = shown
		}
	})
}
