package workflows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
)

// TestWhatRunsIsWhatWasShown: whatever people say about two calls that wait, in whatever order, with whichever digest and whatever
// a hook had put in the place of the arguments: a call runs only by the first answer that was taken for it, once, and with the
// arguments that were shown or that this answer gave.
func TestWhatRunsIsWhatWasShown(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(draw *rapid.T) {
		rewrites := hook.BeforeToolUse("rewrites", func(c hook.ToolUse) (hook.ToolUse, error) {
			if c.At.Call.Arguments == pay("1").Arguments {
				c.At.Call.Arguments = pay("3").Arguments
			}
			return c, nil
		})
		w := &world{model: calling(pay("1"), pay("2")), tool: saw}
		env := hooked(t, w, nil, rewrites)
		resolved := hookedCatalog(t, rewrites)
		resolved.Tools = pays()
		w.list = func(contract.ResolveRequest) (contract.Resolved, error) { return resolved, nil }
		checking(env, "five")
		type answer struct {
			request contract.AnswerRequest
			*verdict
		}
		var answers []answer
		shown := map[domain.ToolExecutionID]domain.Wait{}
		for i := range rapid.IntRange(1, 6).Draw(draw, "answers") {
			which, seen := rapid.IntRange(0, 1).Draw(draw, "call"), rapid.IntRange(0, 1).Draw(draw, "seen")
			verdict := rapid.SampledFrom([]domain.Verdict{domain.Approved, domain.WasDenied}).Draw(draw, "verdict")
			edit := rapid.SampledFrom([]string{"", "", `{"amount": 5}`, `{"amount": "five"}`}).Draw(draw, "edit")
			env.RegisterDelayedCallback(func() {
				for _, call := range pending(t, env) {
					shown[call.ToolExecutionID] = call
				}
				calls := []domain.ToolExecutionID{domain.StepID{}.Tool(0), domain.StepID{}.Tool(0)}
				for id, call := range shown {
					calls[map[string]int{pay("3").Arguments: 0, pay("2").Arguments: 1}[call.Arguments]] = id
				}
				request := contract.AnswerRequest{Verdict: verdict, Call: calls[which], Digest: shown[calls[seen]].Digest, By: fmt.Sprint(i)}
				if verdict == domain.Approved {
					request.Arguments = edit
				}
				given := answer{request, replies(env, fmt.Sprint("answer ", i), request)}
				answers = append(answers, given)
			}, time.Duration(rapid.IntRange(1, 3).Draw(draw, "minute"))*time.Minute+time.Duration(i)*time.Millisecond)
		}
		env.RegisterDelayedCallback(func() {
			env.SignalWorkflow(string(contract.SignalStop), contract.StopRequest{})
		}, time.Hour)
		env.ExecuteWorkflow(string(contract.Execute), askedFor(t))
		require.True(t, outcome(t, env).Status.Terminal())
		want := map[domain.ToolExecutionID]string{}
		taken := map[domain.ToolExecutionID]bool{}
		for _, a := range answers {
			if a.rejected != nil || a.err != nil {
				continue
			}
			require.False(t, taken[a.request.Call], "a call is answered once")
			taken[a.request.Call] = true
			require.Equal(t, shown[a.request.Call].Digest, a.request.Digest, "what somebody else was shown is not taken")
			if a.request.Verdict == domain.Approved {
				want[a.request.Call] = shown[a.request.Call].Arguments
			}
			if a.request.Arguments != "" {
				want[a.request.Call] = a.request.Arguments
			}
		}
		ran := map[domain.ToolExecutionID]string{}
		for _, r := range w.ran {
			require.NotContains(t, ran, r.ID(), "it runs once")
			ran[r.ID()] = r.Arguments
		}
		require.Equal(t, want, ran)
	})
}
