package workflows_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
)

// calling is a model that asks for some calls and then answers.
func calling(calls ...domain.ToolCall) func(contract.ModelRequest) (contract.ModelReply, error) {
	return until(1, says("looking", calls...), "done")
}

// calls is n calls of a tool.
func calls(name string, n int) []domain.ToolCall {
	list := make([]domain.ToolCall, n)
	for i := range list {
		list[i] = domain.ToolCall{ID: "same", Name: name, Arguments: fmt.Sprint(i)}
	}
	return list
}

// gives is a tool that always comes to the same, and breaks one whose attempts fail.
func gives(reply contract.ToolReply) func(contract.ToolRequest) (contract.ToolReply, error) {
	return func(contract.ToolRequest) (contract.ToolReply, error) { return reply, nil }
}

func breaks(err error) func(contract.ToolRequest) (contract.ToolReply, error) {
	return func(contract.ToolRequest) (contract.ToolReply, error) { return contract.ToolReply{}, err }
}

// comesAgain is how an attempt fails whose next one is to come after a time.
func comesAgain(after time.Duration) error {
	return temporal.NewApplicationErrorWithOptions("busy", string(domain.Unavailable), temporal.ApplicationErrorOptions{NextRetryDelay: after})
}

func saw(contract.ToolRequest) (contract.ToolReply, error) {
	return contract.ToolReply{Content: "seen", Digest: domain.DigestOf([]byte("seen"))}, nil
}

// TestWhatBecomesOfACall: each gets one execution and one message.
func TestWhatBecomesOfACall(t *testing.T) {
	t.Parallel()
	atMostOnce := offered("look", domain.AtMostOnce)
	lost := breaks(temporal.NewNonRetryableApplicationError("lost", "internal", nil))
	notStarted := contract.ToolReply{NotStarted: true, Error: domain.Errorf(domain.Unavailable, "the line is busy")}
	for name, test := range map[string]struct {
		tools   []domain.ToolSpec
		call    domain.ToolCall
		tool    func(contract.ToolRequest) (contract.ToolReply, error)
		code    domain.Code
		content string
		ran     int
	}{
		"it runs":       {reads(), look(), saw, "", "seen", 1},
		"unknown":       {reads(), domain.ToolCall{Name: "nothing"}, saw, domain.CodeUnknownTool, `unknown tool "nothing"; the tools are: look`, 0},
		"without tools": {nil, look(), saw, domain.CodeUnknownTool, `unknown tool "look"; the tools are: none`, 0},
		"without a name": {reads(), domain.ToolCall{}, saw, domain.CodeUnknownTool,
			`unknown tool ""; the tools are: look`, 0},
		"of several, one of nothing": {reads(), domain.ToolCall{ID: "1", Name: "multi_tool_use.parallel", Arguments: `{"tool_uses":[{"recipient_name":"functions.no"}]}`}, saw,
			domain.CodeUnknownTool, `call tools directly by their names, several in one turn; the tools are: look`, 0},
		"the worker is lost, at most once": {atMostOnce, look(), lost, domain.CodeOutcomeUnknown, "was not repeated", 1},
		"the worker is lost, read only":    {reads(), look(), lost, "", "the worker failed: lost", 1},
		"it never starts": {atMostOnce, look(), func(contract.ToolRequest) (contract.ToolReply, error) { return notStarted, nil },
			"", "the line is busy", 3},
		"it fails": {atMostOnce, look(), gives(contract.ToolReply{Content: "no such file", Error: domain.Invalidf("no such")}), "", "no such file", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: test.tools, model: calling(test.call), tool: test.tool}
			env := w.executed(t, input(t, ""))
			require.Equal(t, domain.StatusCompleted, outcome(t, env).Status, "what a tool does is data for the model")
			require.Len(t, w.ran, test.ran)
			require.Equal(t, test.ran > 1, w.options[string(contract.CallTool)].DisableEagerExecution, "another worker is asked")
			step := stepsIn(t, env, 0)[0].Step
			require.Len(t, step.ToolExecutions, 1)
			require.False(t, step.Interrupted, "no stop has cut it off")
			execution := step.ToolExecutions[0]
			messages := entriesIn(t, env)
			require.Len(t, messages, 4)
			result := messages[2].Message.ToolResult
			require.Contains(t, result.Content, test.content)
			require.Equal(t, execution.HasError(), result.IsError)
			require.Equal(t, test.call.ID, result.CallID)
			require.Equal(t, execution.ID, domain.TagOf(messages[2].Message).ToolExecutionID)
			if execution.HasError() {
				require.Equal(t, test.code, execution.Error.Code)
				require.Equal(t, domain.StepError, step.Type())
			} else {
				require.Empty(t, test.code)
				require.Equal(t, domain.StepToolExecution, step.Type())
			}
		})
	}
}

// TestImagesOfResultsJoin the conversation, unless a hook has had its own word about the result.
func TestImagesOfResultsJoin(t *testing.T) {
	t.Parallel()
	image := []domain.Part{{Type: domain.PartImage, MediaType: "image/png", Data: []byte("png")}}
	for name, test := range map[string]struct {
		hooks []hook.Hook
		want  []domain.Part
	}{
		"shown": {want: image},
		"a hook rewrites": {hooks: []hook.Hook{hook.AfterToolUse("rewrite", func(c hook.ToolResult) (hook.ToolResult, error) {
			c.At.Execution.Value = "nothing to see"
			return c, nil
		})}},
		"a hook reads": {want: image, hooks: []hook.Hook{hook.AfterToolUse("read", func(c hook.ToolResult) (hook.ToolResult, error) { return c, nil })}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: reads(), model: calling(look()), tool: gives(contract.ToolReply{Content: "[image image/png 1 KB]", Digest: domain.DigestOf([]byte("seen")), Parts: image})}
			env := w.environment(t)
			if len(test.hooks) > 0 {
				env = hooked(t, w, nil, test.hooks...)
			}
			execute(env, input(t, ""))
			completes(t, env)
			shown := entriesIn(t, env)[2].Message
			require.Equal(t, test.want, shown.Parts)
		})
	}
}

// TestCallsShareTheRoomForImages of their step: alone each has all of it that a result may have, and nothing says so.
func TestCallsShareTheRoomForImages(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		calls, want int
	}{
		"few":      {16, 0},
		"more":     {17, domain.MaxStepImages / 17},
		"too many": {1000, domain.MaxStepImages / domain.MaxStepCalls},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: reads(), model: calling(calls("look", test.calls)...), tool: saw}
			env := w.executed(t, input(t, ""))
			completes(t, env)
			require.Len(t, w.ran, min(test.calls, domain.MaxStepCalls))
			for _, r := range w.ran {
				require.Equal(t, test.want, r.ImageRoom)
			}
		})
	}
}

// TestAThousandCallsOfOneAnswer must not hold up the workflow task.
func TestAThousandCallsOfOneAnswer(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"look", "nothing"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: reads(), model: calling(calls(name, domain.MaxRequestedCalls)...), tool: saw}
			env := w.executed(t, input(t, ""))
			completes(t, env)
			step := stepsIn(t, env, 0)[0].Step
			require.Len(t, step.ToolExecutions, domain.MaxRequestedCalls)
			executed := 0
			if name == "look" {
				executed = domain.MaxStepCalls
			}
			require.Len(t, w.ran, executed)
			require.Equal(t, domain.CodeNotRun, step.ToolExecutions[domain.MaxStepCalls].Error.Code)
		})
	}
}

func TestCallsCutByTheLengthLimitAreNotRun(t *testing.T) {
	t.Parallel()
	w := &world{tools: reads(), tool: saw}
	w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
		reply, err := calling(look())(r)
		if r.Step == 1 {
			reply.Response.Finish = domain.FinishLength
		}
		return reply, err
	}
	env := w.executed(t, input(t, "", budgeted(callsOf(0))))
	require.Equal(t, domain.StatusCompleted, outcome(t, env).Status, "and use up no budget")
	require.Empty(t, w.ran)
}

// TestACallMadeAgainUntilAStop: what may have begun is interrupted, may have taken
// effect, and is counted.
func TestACallMadeAgainUntilAStop(t *testing.T) {
	t.Parallel()
	busy := comesAgain(10 * time.Second)
	for name, test := range map[string]struct {
		stop     contract.StopMode
		effect   domain.Effect
		tries    []error // nil: it runs
		code     domain.Code
		content  string
		attempts int
		ran      int
	}{
		"now, in the wait":                    {contract.StopNow, domain.ReadOnly, []error{busy, busy}, domain.CodeInterrupted, "may have taken effect", 2, 2},
		"the next try never begins":           {contract.StopNow, domain.ReadOnly, []error{busy, temporal.NewCanceledError()}, domain.CodeInterrupted, "may have taken effect", 0, 2},
		"none ever began":                     {contract.StopNow, domain.ReadOnly, []error{temporal.NewCanceledError()}, domain.CodeNotRun, "not run", 0, 1},
		"the step finishes":                   {contract.AfterStep, domain.ReadOnly, []error{busy, busy, nil}, "", "seen", 0, 3},
		"it fails for good":                   {contract.AfterStep, domain.ReadOnly, []error{busy, busy, busy}, "", "the worker failed: busy", 3, 3},
		"one that may not be repeated: never": {contract.StopNow, domain.AtMostOnce, []error{busy}, domain.CodeOutcomeUnknown, "was not repeated", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: offered("look", test.effect), model: calling(look())}
			w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
				if err := test.tries[len(w.ran)-1]; err != nil {
					return contract.ToolReply{}, err
				}
				return saw(r)
			}
			env := w.environment(t)
			begun := env.Now()
			stopsWith(env, 15*time.Second, contract.StopRequest{Mode: test.stop})
			execute(env, input(t, "", func(in *contract.SessionInput) {
				in.Budget.MaxToolCalls = number(5)
				if in.Definition.Attempts = 12; test.attempts == len(test.tries) && test.code == "" {
					in.Definition.Attempts = test.attempts
				}
			}))
			outcome(t, env)
			require.Less(t, env.Now().Sub(begun), time.Minute)
			require.Equal(t, len(w.ran) > 1, w.options[string(contract.CallTool)].DisableEagerExecution, "another worker may be able to")
			require.Len(t, w.ran, test.ran)
			for i, r := range w.ran {
				require.Equal(t, i, r.Attempts)
			}
			step := stepsIn(t, env, 0)[0].Step
			require.Equal(t, test.code == domain.CodeInterrupted, step.Interrupted)
			call := step.ToolExecutions[0]
			require.Equal(t, test.attempts, call.Attempts)
			if call.HasError() {
				require.Equal(t, test.code, call.Error.Code)
			}
			require.Contains(t, entriesIn(t, env)[2].Message.ToolResult.Content, test.content)
			used := int64(0)
			if call.Outcome().Ran() {
				used = 1
			}
			require.Equal(t, test.code != domain.CodeNotRun, call.Outcome().Ran())
			require.Equal(t, 5-used, *status(t, env).Ledger.Own().Left.MaxToolCalls)
		})
	}
}

// TestACallThatEndsItsWorkerIsGivenUp, whatever its effect, after as many workers as the tool's definition says. After the first
// it is made again at once, as that may have been chance; then it leaves time to those who died with it.
func TestACallThatEndsItsWorkerIsGivenUp(t *testing.T) {
	t.Parallel()
	busy := comesAgain(time.Second)
	lost := temporal.NewHeartbeatTimeoutError(contract.Heartbeat{Step: 1})
	for name, test := range map[string]struct {
		effect domain.Effect
		losses int
		tries  []error
		code   domain.Code
		says   string
	}{
		"as nobody says":   {domain.ReadOnly, 0, []error{lost, lost}, domain.CodeOutcomeUnknown, "its worker was lost each time"},
		"other failures":   {domain.Idempotent, 0, []error{busy, lost, busy, lost}, domain.CodeOutcomeUnknown, "lost"},
		"as the tool says": {domain.ReadOnly, 3, []error{lost, lost, lost}, domain.CodeOutcomeUnknown, "(3)"},
		"chance":           {domain.ReadOnly, 0, []error{lost, nil}, "", "seen"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: []domain.ToolSpec{{Name: "look", Effect: test.effect, Losses: test.losses}}, model: calling(look())}
			env := w.environment(t)
			var at []time.Time
			w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
				at = append(at, env.Now())
				if err := test.tries[len(at)-1]; err != nil {
					return contract.ToolReply{}, err
				}
				return saw(r)
			}
			execute(env, input(t, ""))
			completes(t, env)
			require.Len(t, w.ran, len(test.tries))
			call := executions(t, env)[0]
			if test.code != "" {
				require.Equal(t, test.code, call.Error.Code)
			}
			require.True(t, call.Outcome().Ran())
			require.Contains(t, entriesIn(t, env)[2].Message.ToolResult.Content, test.says)
			losses := 0
			for i := range test.tries[1:] {
				if !errors.Is(test.tries[i], lost) {
					continue
				}
				if losses++; losses == 1 {
					require.Equal(t, at[i], at[i+1])
				} else {
					require.GreaterOrEqual(t, at[i+1].Sub(at[i]), 5*time.Second)
				}
			}
		})
	}
}

// TestAToolsOwnAttempts bound its tries, and those of a call that did not begin wait as they are told to.
func TestAToolsOwnAttempts(t *testing.T) {
	t.Parallel()
	w := &world{tools: []domain.ToolSpec{{Name: "look", Effect: domain.ReadOnly, Attempts: 2}}, model: calling(look())}
	w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
		require.Equal(t, 2, r.Tries)
		return contract.ToolReply{}, temporal.NewApplicationError("busy", "unavailable")
	}
	env := w.executed(t, input(t, ""))
	completes(t, env)
	require.Len(t, w.ran, 2)

	w = &world{tools: reads(), model: calling(look())}
	w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
		if len(w.ran) < 2 {
			return contract.ToolReply{NotStarted: true, RetryAfterMillis: 600_000, Error: domain.Errorf(domain.Unavailable, "busy")}, nil
		}
		return saw(r)
	}
	env = w.environment(t)
	begun := env.Now()
	execute(env, input(t, ""))
	completes(t, env)
	require.GreaterOrEqual(t, env.Now().Sub(begun), 10*time.Minute)
}

// TestLongArgumentsTravelByReference, and the message that holds them is named.
func TestLongArgumentsTravelByReference(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", domain.MaxInlineArguments+1)
	w := &world{tools: reads(), tool: saw, model: calling(look(), domain.ToolCall{Name: "look", Arguments: long})}
	env := w.executed(t, input(t, ""))
	completes(t, env)
	for _, r := range w.ran {
		if r.Position == 0 {
			require.Equal(t, "{}", r.Arguments)
			continue
		}
		require.Empty(t, r.Arguments)
		require.Equal(t, &contract.ArgumentsRef{Message: 1, Digest: domain.DigestOf([]byte(long))}, r.Reference)
	}
}

// TestOddSettingsWedgeNothing: what the server would refuse is bounded.
func TestOddSettingsWedgeNothing(t *testing.T) {
	t.Parallel()
	const forever = time.Duration(1<<63 - 1)
	name := strings.Repeat("n", 500)
	w := &world{tools: []domain.ToolSpec{{Name: name, Effect: domain.ReadOnly, Timeout: forever}}, tool: saw, model: calling(domain.ToolCall{Name: name})}
	env := w.executed(t, input(t, "", func(in *contract.SessionInput) {
		in.Definition.InferenceTimeout, in.Definition.Attempts = forever, 1<<40
		in.Timing = contract.Timing{Heartbeat: forever, FirstRetry: forever}
	}))
	completes(t, env)
	require.Len(t, w.ran, 1)
}

// TestAnUnknownToolAmongMany: the model is told of as many as it can be expected to read.
func TestAnUnknownToolAmongMany(t *testing.T) {
	t.Parallel()
	w := &world{model: calling(domain.ToolCall{ID: "1", Name: "nothing"})}
	for i := range 200 {
		w.tools = append(w.tools, domain.ToolSpec{Name: fmt.Sprint("a tool with a name ", i), Effect: domain.ReadOnly})
	}
	env := w.executed(t, input(t, ""))
	content := entriesIn(t, env)[2].Message.ToolResult.Content
	require.Contains(t, content, "a tool with a name 1, ")
	require.True(t, strings.HasSuffix(content, "…"))
	require.Less(t, len(content), 1200)
}

// TestAToolThatAsksToStop: its step finishes, and nothing more begins in it.
func TestAToolThatAsksToStop(t *testing.T) {
	t.Parallel()
	w := &world{tools: append(reads(), domain.ToolSpec{Name: "stop", Effect: domain.AtMostOnce})}
	w.model = calling(domain.ToolCall{ID: "1", Name: "look"}, domain.ToolCall{ID: "2", Name: "stop"})
	w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
		if r.Name == "stop" {
			return contract.ToolReply{Content: "stopping", Stop: &domain.StopSignal{
				Reason: domain.ErrorForbade, Message: "enough", Context: domain.Metadata{"why": []byte(`"so"`)},
			}}, nil
		}
		return contract.ToolReply{NotStarted: true, Error: domain.Errorf(domain.Unavailable, "busy")}, nil
	}
	env := w.executed(t, input(t, ""))
	out := outcome(t, env)
	require.Equal(t, domain.StatusStopped, out.Status)
	require.Equal(t, domain.StopRequested, out.StopReason, "always, whatever the tool says")
	require.Equal(t, 1, out.Steps)
	require.Len(t, w.ran, 2, "the call that did not begin is not made again")
	signals := status(t, env).Signals
	require.Equal(t, []domain.StopSignal{{
		Reason: domain.StopRequested, Message: "enough", Source: "stop", Context: domain.Metadata{"why": []byte(`"so"`)},
	}}, signals)
}

// TestManyToolsThatAskToStop in one step leave no more signals than are kept of one.
func TestManyToolsThatAskToStop(t *testing.T) {
	t.Parallel()
	w := &world{tools: reads(), model: calling(calls("look", 30)...), tool: gives(contract.ToolReply{Stop: &domain.StopSignal{Reason: domain.StopRequested, Message: "enough"}})}
	env := w.executed(t, input(t, ""))
	require.Len(t, status(t, env).Signals, 20)
}
