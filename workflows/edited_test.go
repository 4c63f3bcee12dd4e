package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
)

// checking has a worker check arguments: they fit unless they hold the word.
func checking(env *testsuite.TestWorkflowEnvironment, unfit string) {
	serves(env, contract.CheckOutput, func(r contract.OutputRequest) (contract.OutputReply, error) {
		if strings.Contains(r.Text, unfit) {
			return contract.OutputReply{Invalid: "/amount: must be a number"}, nil
		}
		return contract.OutputReply{}, nil
	})
}

func edits(env *testsuite.TestWorkflowEnvironment, id, arguments string, call domain.Wait) *verdict {
	return replies(env, id, contract.AnswerRequest{
		Verdict: domain.Approved, Call: call.ToolExecutionID, Digest: call.Digest, Arguments: arguments, Reason: "less",
	})
}

// TestAnEditedCall runs once, with exactly the bytes that a person gave, and the model is told.
func TestAnEditedCall(t *testing.T) {
	t.Parallel()
	const edited = `{"amount":  5}`
	w := &world{tools: pays(), model: calling(pay("7"), look()), tool: saw}
	env := w.environment(t)
	checking(env, "never")
	var word *verdict
	sees(t, env, time.Minute, func(waiting []domain.Wait) { word = edits(env, "edit", edited, waiting[0]) })
	execute(env, askedFor(t))
	completes(t, env)
	require.NoError(t, word.err)
	require.Len(t, w.ran, 2)
	require.Equal(t, edited, w.ran[1].Arguments)
	call := executions(t, env)[0]
	wait := call.Wait(domain.WaitApproval)
	require.Equal(t, edited, call.Call.Arguments)
	require.Equal(t, domain.CallDigest("pay", pay("7").Arguments), wait.Digest, "what was asked about")
	require.Equal(t, domain.CallDigest("pay", edited), wait.Answer.Edited, "what ran")
	require.Equal(t, `approved ann less {"amount": 7}`, strings.Join([]string{string(wait.Verdict()), wait.Answer.By, wait.Answer.Reason, wait.Arguments}, " "))
	require.Equal(t, wait.Answer, word.value.(contract.AnswerReply).Wait.Answer)
	entries := entriesIn(t, env)
	require.Equal(t, domain.EditedNote(edited)+"seen", entries[2].Message.ToolResult.Content)
	require.Equal(t, pay("7").Arguments, entries[1].Message.ToolCalls[0].Arguments, "what the model said stays")
	require.Equal(t, wait.Answer.Edited, eventsIn(t, env, 1, domain.EventWaitClosed)[0].Data.(domain.WaitClosed).Edited)
}

// TestEditsThatAreRefused leave the call waiting as it was.
func TestEditsThatAreRefused(t *testing.T) {
	t.Parallel()
	deny := domain.ApprovalRule{Tool: "pay", Arguments: map[string]json.RawMessage{"amount": json.RawMessage(`{"at_least": 100}`)}, Then: domain.Deny}
	for name, test := range map[string]struct{ arguments, says string }{
		"what does not fit":  {`{"amount": "five"}`, "arguments: do not fit pay, so the call waits as it was: /amount: must be a number"},
		"what a rule denies": {`{"amount": 500}`, "arguments: the rules of this agent do not allow the call with them (rule 1 (pay, amount {\"at_least\":100}: deny)); it waits as it was"},
		"no JSON":            {`amount=5`, "arguments: are no JSON object"},
		"the same":           {`{"amount": 7}`, "arguments: are those that were asked about"},
		"too many":           {`{"note": "` + strings.Repeat("x", domain.MaxEdited) + `"}`, "arguments: have 16396 bytes; at most 16384 are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: pays(), model: calling(pay("7")), tool: saw}
			env := w.environment(t)
			checking(env, "five")
			var refused, approved *verdict
			sees(t, env, time.Minute, func(waiting []domain.Wait) { refused = edits(env, "edit", test.arguments, waiting[0]) })
			sees(t, env, time.Hour, func(waiting []domain.Wait) { approved = approves(env, "approve", waiting[0]) })
			execute(env, askedFor(t, deny))
			if refused.rejected != nil {
				refused.refused(t, test.says)
			} else {
				require.ErrorContains(t, refused.err, test.says)
			}
			require.NoError(t, approved.rejected)
			require.Len(t, w.ran, 1)
			require.Equal(t, `{"amount": 7}`, w.ran[0].Arguments)
		})
	}
}

// TestTwoWordsAtOnce: while a worker checks what one person gave, another one decides. The call runs once, as the first
// decision says, and who comes second is told.
func TestTwoWordsAtOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		second func(*testsuite.TestWorkflowEnvironment, domain.Wait) *verdict
		says   string
		ran    []string
	}{
		"approved": {func(env *testsuite.TestWorkflowEnvironment, call domain.Wait) *verdict {
			return approves(env, "second", call)
		}, "was approved already", []string{`{"amount": 7}`}},
		"denied": {func(env *testsuite.TestWorkflowEnvironment, call domain.Wait) *verdict {
			return denies(env, "second", "no", call)
		}, "was denied already", nil},
		"stopped": {func(env *testsuite.TestWorkflowEnvironment, _ domain.Wait) *verdict {
			signalStop(env, contract.StopRequest{})
			return &verdict{}
		}, "edit: the execution was stopped before a worker had checked the arguments", nil},
		"stopped now": {func(env *testsuite.TestWorkflowEnvironment, _ domain.Wait) *verdict {
			signalStop(env, contract.StopRequest{Mode: contract.StopNow})
			return &verdict{}
		}, "edit: the execution was stopped before a worker had checked the arguments", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: pays(), model: calling(pay("7")), tool: saw}
			env := w.environment(t)
			checking(env, "never")
			var first, second *verdict
			sees(t, env, time.Minute, func(waiting []domain.Wait) {
				first = edits(env, "first", `{"amount": 5}`, waiting[0])
				second = test.second(env, waiting[0])
			})
			execute(env, askedFor(t))
			require.True(t, outcome(t, env).Status.Terminal())
			require.True(t, first.accepted)
			require.ErrorContains(t, first.err, test.says)
			require.NoError(t, second.rejected)
			var ran []string
			for _, r := range w.ran {
				ran = append(ran, r.Arguments)
			}
			require.Equal(t, test.ran, ran)
		})
	}
}

// TestHooksSeeWhatWasEdited as they see each call before it runs: an edit gets round none that blocks, and nothing runs
// that nobody has given.
func TestHooksSeeWhatWasEdited(t *testing.T) {
	t.Parallel()
	for edited, says := range map[string]string{
		`{"amount": 5}`: "", `{"amount": 600}`: "blocked: not that much", `{"amount": 6}`: "blocked: a hook would have changed what a person had given",
	} {
		t.Run(edited, func(t *testing.T) {
			t.Parallel()
			var seen []string
			careful := hook.BeforeToolUse("careful", func(c hook.ToolUse) (hook.ToolUse, error) {
				seen = append(seen, c.At.Call.Arguments)
				switch c.At.Call.Arguments {
				case `{"amount": 600}`:
					return hook.Block(c, "not that much"), nil
				case `{"amount": 6}`:
					c.At.Call.Arguments = `{"amount": 600}`
				}
				return c, nil
			})
			w := &world{tools: pays(), model: calling(pay("7")), tool: saw}
			env := hooked(t, w, nil, careful)
			checking(env, "never")
			sees(t, env, time.Minute, func(waiting []domain.Wait) { edits(env, "edit", edited, waiting[0]) })
			execute(env, askedFor(t))
			completes(t, env)
			require.Equal(t, []string{`{"amount": 7}`, edited}, seen)
			call := executions(t, env)[0]
			if says == "" {
				require.Len(t, w.ran, 1)
				require.Equal(t, edited, w.ran[0].Arguments)
				return
			}
			require.Empty(t, w.ran)
			require.Contains(t, call.Error.Message, says)
			require.True(t, call.WasBlocked())
		})
	}
}

// TestHooksTakeTheirTime: what a hook that is an activity takes to look at an edited call counts, though people were waited
// for before.
func TestHooksTakeTheirTime(t *testing.T) {
	t.Parallel()
	looks := func(context.Context, contract.HookRequest) (contract.HookReply, error) {
		return contract.HookReply{}, nil
	}
	slow := hook.IO(domain.TriggerBeforeToolUse, "slow", looks)
	slow.Timeout = time.Hour
	w := &world{tools: pays(), model: calling(pay("7")), tool: saw}
	env := hooked(t, w, nil, slow)
	checking(env, "never")
	env.RegisterActivityWithOptions(looks, activity.RegisterOptions{Name: string(contract.CallHook)})
	env.OnActivity(string(contract.CallHook), mock.Anything, mock.Anything).After(10*time.Minute).Return(contract.HookReply{}, nil)
	sees(t, env, time.Hour, func(waiting []domain.Wait) { edits(env, "edit", `{"amount": 5}`, waiting[0]) })
	in := askedFor(t)
	in.Budget.MaxSeconds = new(15 * 60.0)
	execute(env, in)
	endsFor(t, env, domain.TimeLimitReached)
}

// TestAnEditIsTheEffectThatItIs: one of unknown outcome is not made again by it, and two of one step take turns.
func TestAnEditIsTheEffectThatItIs(t *testing.T) {
	t.Parallel()
	w := &world{tools: paysOnce()}
	w.model = plays(says("", payFor(7, "first")), says("", payFor(8, "second")), says("gave up"))
	w.tool = losesFirst(w)
	env := w.environment(t)
	checking(env, "never")
	sees(t, env, time.Minute, func(waiting []domain.Wait) { approves(env, "first", waiting[0]) })
	sees(t, env, time.Hour, func(waiting []domain.Wait) {
		edits(env, "second", payFor(7, "edited").Arguments, waiting[0])
	})
	execute(env, askedFor(t))
	completes(t, env)
	require.Len(t, w.ran, 1)
	require.Equal(t, domain.CodeOutcomeUnresolved, eventsIn(t, env, 1, domain.EventToolCallBlocked)[0].Data.(domain.ToolCallBlocked).Code)
	texts := told(t, env)
	require.Contains(t, texts[2], domain.EditedNote(payFor(7, "edited").Arguments)+"not run: nobody knows")
}

// TestEditsAreBounded: whoever tries on and on fills no run; the call waits, and is decided about as it is.
func TestEditsAreBounded(t *testing.T) {
	t.Parallel()
	many := func(env *testsuite.TestWorkflowEnvironment, call domain.Wait, n int) (tried []*verdict) {
		for i := range n {
			tried = append(tried, edits(env, fmt.Sprint("edit ", i), `{"amount": "five"}`, call))
		}
		return tried
	}
	for name, test := range map[string]struct {
		before func(*testsuite.TestWorkflowEnvironment)
		taken  int
		says   string
	}{
		"of one call": {func(*testsuite.TestWorkflowEnvironment) {}, 50, "edit: somebody has tried 50 times to edit call "},
		"near the server's bound of events": {func(env *testsuite.TestWorkflowEnvironment) {
			env.RegisterDelayedCallback(func() { env.SetCurrentHistoryLength(46_000) }, time.Second)
		}, 0,
			"edit: the run has no room for a worker to check it"},
		"near the server's bound of bytes": {func(env *testsuite.TestWorkflowEnvironment) {
			env.RegisterDelayedCallback(func() { env.SetCurrentHistorySize(41 << 20) }, time.Second)
		}, 0,
			"edit: the run has no room for a worker to check it"},
		"near the server's bound of updates": {func(env *testsuite.TestWorkflowEnvironment) {
			var more func(n int)
			more = func(n int) { // a few at a time, as the environment takes them
				for i := range 10 {
					env.UpdateWorkflow(string(contract.UpdateResume), fmt.Sprintf("resume %d %d", n, i), &verdict{}, contract.PauseRequest{})
				}
				if n > 1 {
					env.RegisterDelayedCallback(func() { more(n - 1) }, 10*time.Millisecond)
				}
			}
			env.RegisterDelayedCallback(func() { more(179) }, time.Second)
		}, 10, "edit: the run has no room for a worker to check it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: pays(), model: calling(pay("7")), tool: saw}
			env := w.environment(t)
			checking(env, "five")
			var tried []*verdict
			var approved *verdict
			test.before(env)
			sees(t, env, time.Minute, func(waiting []domain.Wait) {
				tried = many(env, waiting[0], 60)
			})
			sees(t, env, time.Hour, func(waiting []domain.Wait) { approved = approves(env, "approve", waiting[0]) })
			execute(env, askedFor(t))
			for i, one := range tried {
				if i < test.taken {
					require.ErrorContains(t, one.err, "do not fit")
					continue
				}
				one.refused(t, test.says)
				one.refused(t, "approve or deny it as it is")
			}
			require.NoError(t, approved.rejected)
			require.Len(t, w.ran, 1)
		})
	}
}

// TestAHookThatFailsIsTheLast: calls that were edited meanwhile are not made, and no hook sees them.
func TestAHookThatFailsIsTheLast(t *testing.T) {
	t.Parallel()
	io := hook.IO(domain.TriggerBeforeToolUse, "careful", func(context.Context, contract.HookRequest) (contract.HookReply, error) {
		return contract.HookReply{}, nil
	})
	io.Attempts = 2
	w := &world{tools: pays(), model: calling(pay("7"), pay("8")), tool: saw}
	env := hooked(t, w, nil, io)
	seen, asked := map[string]int{}, make(chan struct{})
	serves(env, contract.CheckOutput, func(r contract.OutputRequest) (contract.OutputReply, error) {
		if r.Text == `{"amount": 6}` {
			<-asked // so it is edited while the hook looks at the other call
		}
		return contract.OutputReply{}, nil
	})
	answersHooks(env, func(_ context.Context, r contract.HookRequest) (contract.HookReply, error) {
		if seen[r.Call.Arguments]++; r.Call.Arguments == `{"amount": 5}` {
			if seen[r.Call.Arguments] == 1 {
				close(asked)
			}
			return contract.HookReply{}, errors.New("broken")
		}
		return contract.HookReply{}, nil
	})
	var second *verdict
	sees(t, env, time.Minute, func(waiting []domain.Wait) {
		edits(env, "first", `{"amount": 5}`, waiting[0])
		second = edits(env, "second", `{"amount": 6}`, waiting[1])
	})
	execute(env, askedFor(t))
	require.Equal(t, domain.CodeHookFailed, outcome(t, env).Code)
	require.NoError(t, second.err)
	require.Equal(t, map[string]int{`{"amount": 7}`: 1, `{"amount": 8}`: 1, `{"amount": 5}`: 2}, seen)
	require.Empty(t, w.ran)
	require.Equal(t, domain.CodeNotRun, executions(t, env)[1].Error.Code)
}
