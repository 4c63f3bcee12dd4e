package workflows_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"everstep/domain"
	"everstep/domain/contract"
)

// guarded makes a world one whose agent has guards.
func guarded(w *world, guards domain.Guards) *world {
	guards = guards.WithDefaults()
	w.list = lists(func(c *contract.Resolved) {
		c.Guards = &guards
	})
	return w
}

// signalled is what stopped an execution, in words.
func signalled(t *testing.T, env *testsuite.TestWorkflowEnvironment) domain.StopSignal {
	t.Helper()
	signals := status(t, env).Signals
	require.Len(t, signals, 1)
	return signals[0]
}

func texts(t *testing.T, env *testsuite.TestWorkflowEnvironment, containing string) int {
	t.Helper()
	n := 0
	for _, e := range entriesIn(t, env) {
		if strings.Contains(e.Message.Text(), containing) {
			n++
			require.True(t, domain.TagOf(e.Message).Trace)
		}
	}
	return n
}

// TestRepeatedCallsGuard: a nudge, then a stop, in one run or in many. What counts as repeated is told in domain.
func TestRepeatedCallsGuard(t *testing.T) {
	t.Parallel()
	for _, inferences := range []int{100, 3} {
		t.Run(fmt.Sprint("runs of ", inferences), func(t *testing.T) {
			t.Parallel()
			w := guarded(&world{storage: true, record: stores, tool: saw, model: repeats(says("", look()))}, domain.Guards{})
			for in, ok := input(t, ""), true; ok; {
				env := w.environment(t)
				outgrows(env, inferences)
				execute(env, in)
				if in, ok = handedOn(t, env); ok {
					continue
				}
				endsFor(t, env, domain.StopRequested)
				require.Equal(t, 10, outcome(t, env).Steps)
				require.Equal(t, 1, texts(t, env, "made the same tool calls"))
				signal := signalled(t, env)
				require.Equal(t, "repeated_calls", signal.Source)
				require.Regexp(t, `^10 steps in a row.*guards.repeated_calls.stop_after is`, signal.Message)
				require.JSONEq(t, `"repeated_calls.stop_after"`, string(signal.Context["limit"]))
				require.Equal(t, signal.Context["total"], signal.Context["used"])
				require.Contains(t, string(signal.Context["calls"]), `"name":"look"`)
			}
		})
	}
}

// invalid is an answer that does not fit its format.
func invalid(text string) contract.ModelReply {
	return with(says(text), func(r *contract.ModelReply) { r.Invalid = "at /city: is no string" })
}

// TestStructuredOutputGuard asks again, with what is wrong, and stops after so
// many retries.
func TestStructuredOutputGuard(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		retries *int
		replies []contract.ModelReply
		reason  domain.StopReason
		steps   int
		answer  string
	}{
		"valid at the second try": {nil, []contract.ModelReply{invalid("bad"), says("good")}, domain.Completed, 2, "good"},
		"never valid":             {nil, []contract.ModelReply{invalid("a"), invalid("b"), invalid("c")}, domain.RetryLimitReached, 3, "c"},
		"no retries":              {new(0), []contract.ModelReply{invalid("a")}, domain.RetryLimitReached, 1, "a"},
		"with calls it is nothing, as a pause is": {new(0), []contract.ModelReply{with(says("x", look()), func(r *contract.ModelReply) {
			r.Invalid, r.Response.Finish, r.Response.FinishWord = "no", domain.FinishOther, domain.WordPaused
		}), says("good")}, domain.Completed, 2, "good"},
		"a refusal needs no format": {new(0), []contract.ModelReply{finished(invalid("no"), domain.FinishRefusal)}, domain.Completed, 1, "no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := guarded(&world{model: plays(test.replies...), tool: saw}, domain.Guards{OutputRetries: test.retries})
			env := w.executed(t, input(t, ""))
			out := outcome(t, env)
			require.Equal(t, test.reason, out.StopReason)
			require.Equal(t, test.steps, out.Steps)
			require.Equal(t, test.answer, endOf(t, env, 0).Answer)
			last := stepsIn(t, env, 0)[test.steps-1].Step
			if test.reason == domain.Completed {
				require.Equal(t, domain.StepFinalResponse, last.Type())
				return
			}
			require.Equal(t, domain.StatusStopped, out.Status)
			require.Equal(t, domain.StepError, last.Type(), "there is no final response")
			require.Equal(t, *domain.CodedErrorf(domain.Invalid, domain.CodeInvalidOutput, "the answer does not fit the response format: at /city: is no string").From(domain.SourceOutput), last.Errors[0])
			require.True(t, domain.TagOf(last.Output[0]).Trace)
			signal := signalled(t, env)
			require.Equal(t, "structured_output", signal.Source)
			require.Contains(t, signal.Message, "raise guards.output_retries")
			retries := domain.DefaultOutputRetries
			if test.retries != nil {
				retries = *test.retries
			}
			require.Contains(t, signal.Message, fmt.Sprintf("output_retries is %d", retries))
			require.JSONEq(t, fmt.Sprint(retries), string(signal.Context["total"]))
			require.JSONEq(t, fmt.Sprint(retries+1), string(signal.Context["used"]))
			var problems []string
			require.NoError(t, json.Unmarshal(signal.Context["problems"], &problems))
			require.Equal(t, []string{"at /city: is no string"}, problems)
			require.Equal(t, retries, texts(t, env, "at /city: is no string"), "the model reads what is wrong, unless nothing follows")
		})
	}
}

// TestAnInvalidAnswerAndAStop: what stops is not overridden by another try.
func TestAnInvalidAnswerAndAStop(t *testing.T) {
	t.Parallel()
	w := guarded(&world{tool: saw}, domain.Guards{})
	env := w.environment(t)
	w.model = func(contract.ModelRequest) (contract.ModelReply, error) {
		signalStop(env, contract.StopRequest{})
		return invalid("bad"), nil
	}
	execute(env, input(t, ""))
	endsFor(t, env, domain.UserRequested)
	require.Len(t, w.asked, 1)
}

// TestToolsThatAreWithheldDoNotRun, though the model calls one.
func TestToolsThatAreWithheldDoNotRun(t *testing.T) {
	t.Parallel()
	w := guarded(&world{tool: saw, model: repeats(says("", look()))}, domain.Guards{FinalAnswer: true})
	env := w.executed(t, input(t, "", budgeted(stepsOf(1))))
	require.Equal(t, domain.CodeNotRun, executions(t, env)[0].Error.Code)
	require.Empty(t, w.ran)
}

// TestWhatALimitSays: which it was, how much was used, and how to raise it.
func TestWhatALimitSays(t *testing.T) {
	t.Parallel()
	past := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		budget domain.ExecutionBudget
		says   string
	}{
		"few tokens": {tokensOf(17), "max_tokens is 17, 15 are used, and the next inference is estimated to read "},
		"little cost": {costOf(21_000_000),
			"max_cost is $0.021, $0.02 are spent, and the next inference is estimated to read "},
		"tool calls": {callsOf(1), "max_tool_calls is 1, 1 were used before this step, and the model asked for 1 more"},
		"deadline":   {domain.ExecutionBudget{Deadline: &past}, "the deadline has passed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tool: saw, model: repeats(says("", look()))}
			w.list = lists(func(c *contract.Resolved) {
				// 10 input and 5 output tokens cost 2 cents.
				c.Price = &domain.Price{Input: 1_000_000_000_000, Output: 2_000_000_000_000}
			})
			env := w.executed(t, input(t, "", budgeted(test.budget)))
			endsAs(t, env, domain.StatusStopped)
			signal := signalled(t, env)
			require.Equal(t, "budget", signal.Source)
			require.Contains(t, signal.Message, test.says)
			require.NotContains(t, signal.Message, "extend", "what can go on is advised by who shows it")
		})
	}
}

// TestAModelThatAsksInVainIsStopped: three steps in a row with nothing but
// unknown tools or arguments that cannot be read; one good call begins anew.
func TestAModelThatAsksInVainIsStopped(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tools  []string
		status domain.ExecutionStatus
		steps  int
	}{
		"one between":           {[]string{"nope", "bad", "look", "nope", "bad"}, domain.StatusCompleted, 6},
		"not read":              {[]string{"?", "?", "?", "look"}, domain.StatusStopped, 3},
		"not read, and unknown": {[]string{"nope", "?", "bad"}, domain.StatusStopped, 3},
		"not read twice":        {[]string{"?", "?", "look", "?"}, domain.StatusCompleted, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: []domain.ToolSpec{{Name: "look", Effect: domain.ReadOnly}, {Name: "bad", Effect: domain.ReadOnly}}}
			w.list = func(contract.ResolveRequest) (contract.Resolved, error) {
				guards := domain.Guards{}.WithDefaults()
				return contract.Resolved{Tools: w.tools, MinOutputTokens: 1, Guards: &guards, Digest: domain.DigestOf([]byte("r"))}, nil
			}
			w.model = func(contract.ModelRequest) (contract.ModelReply, error) {
				n := len(w.asked)
				if n <= len(test.tools) && test.tools[n-1] == "?" {
					return with(billed(domain.Invalid), func(r *contract.ModelReply) {
						wrote := domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: "<look"}}}
						r.Error.Code, r.Message, r.Digest = domain.CodeMalformed, &wrote, domain.DigestOfTexts("<look")
					}), nil
				}
				if n <= len(test.tools) {
					return says("", domain.ToolCall{ID: "1", Name: test.tools[n-1], Arguments: fmt.Sprint(n)}), nil
				}
				return says("done"), nil
			}
			w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
				if r.Name == "bad" {
					return contract.ToolReply{Error: domain.CodedErrorf(domain.Invalid, domain.CodeMalformed, "arguments: no object")}, nil
				}
				return saw(r)
			}
			env := w.executed(t, input(t, ""))
			out := outcome(t, env)
			require.Equal(t, test.status, out.Status)
			require.Equal(t, test.steps, out.Steps)
			said := ""
			for _, e := range entriesIn(t, env) {
				said += string(e.Message.Role) + ": " + e.Message.Text() + "\n"
			}
			require.Equal(t, slices.Contains(test.tools, "?"), strings.Contains(said, "assistant: <look\nuser: Your tool call was not made"), said)
		})
	}
}
