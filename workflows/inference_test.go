package workflows_test

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"everstep/domain"
	"everstep/domain/contract"
)

// plays is a model that gives one reply after the other.
func plays(replies ...contract.ModelReply) func(contract.ModelRequest) (contract.ModelReply, error) {
	i := 0
	return func(contract.ModelRequest) (contract.ModelReply, error) {
		if i == len(replies) {
			return contract.ModelReply{}, temporal.NewNonRetryableApplicationError("the script is over", "invalid", nil)
		}
		i++
		return replies[i-1], nil
	}
}

// repeats is a model that gives the same reply each time.
func repeats(reply contract.ModelReply) func(contract.ModelRequest) (contract.ModelReply, error) {
	return func(contract.ModelRequest) (contract.ModelReply, error) { return reply, nil }
}

// until is a model that gives the same reply up to a step, and then answers.
func until(step int, reply contract.ModelReply, answer string) func(contract.ModelRequest) (contract.ModelReply, error) {
	return func(r contract.ModelRequest) (contract.ModelReply, error) {
		if r.Step > step {
			return says(answer), nil
		}
		return reply, nil
	}
}

// with changes a reply.
func with(r contract.ModelReply, change func(*contract.ModelReply)) contract.ModelReply {
	change(&r)
	return r
}

func finished(r contract.ModelReply, finish domain.FinishReason) contract.ModelReply {
	return with(r, func(r *contract.ModelReply) { r.Response.Finish = finish })
}

// billed is an attempt that failed and cost something.
func billed(kind domain.Kind) contract.ModelReply {
	return contract.ModelReply{
		Outcome: contract.BilledFailure, Tries: 1, Spent: domain.Usage{InputTokens: 100, Estimated: true},
		Error: domain.Errorf(kind, "the provider failed"),
	}
}

func number(n int64) *int64 { return &n }

// reads is a tool that can be looked at as often as one likes.
func reads() []domain.ToolSpec { return offered("look", domain.ReadOnly) }

// offered is a tool that is all that a worker has.
func offered(tool string, effect domain.Effect) []domain.ToolSpec {
	return []domain.ToolSpec{{Name: tool, Effect: effect}}
}

func lastStep(t *testing.T, env *testsuite.TestWorkflowEnvironment) domain.AgentStep {
	t.Helper()
	steps := stepsIn(t, env, 0)
	require.NotEmpty(t, steps)
	return steps[len(steps)-1].Step
}

func TestWhatAnInferenceComesTo(t *testing.T) {
	t.Parallel()
	reasoning := contract.ModelReply{Outcome: contract.Answered, Tries: 1, Message: &domain.Message{
		Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartReasoning, Text: "hm"}},
	}, Response: domain.Response{Finish: domain.FinishLength, Usage: domain.Usage{InputTokens: 10, OutputTokens: 5}}}
	nothing := contract.ModelReply{Outcome: contract.Answered, Tries: 1, Response: domain.Response{
		Finish: domain.FinishStop, Usage: domain.Usage{InputTokens: 10},
	}}
	shutDown := contract.ModelReply{Outcome: contract.ShutDown, Tries: 1, Spent: domain.Usage{InputTokens: 30}}
	unread := with(billed(domain.Unavailable), func(r *contract.ModelReply) { r.Error.Code = domain.CodeMalformed })
	otherwise := with(unread, func(r *contract.ModelReply) {
		r.Error = domain.CodedErrorf(domain.Unavailable, domain.CodeMalformed, "a page")
	})
	for name, test := range map[string]struct {
		replies []contract.ModelReply
		budget  domain.ExecutionBudget
		status  domain.ExecutionStatus
		reason  domain.StopReason
		code    domain.Code
		answer  string
		tokens  int64
		asked   int
		nudged  bool
	}{
		"empty, then an answer":  {replies: []contract.ModelReply{nothing, says("hi")}, status: "completed", reason: "completed", answer: "hi", tokens: 25, asked: 2, nudged: true},
		"blank, then an answer":  {replies: []contract.ModelReply{says(" \n"), says("hi")}, status: "completed", reason: "completed", answer: "hi", tokens: 30, asked: 2, nudged: true},
		"refused without words":  {replies: []contract.ModelReply{finished(nothing, "refusal")}, status: "completed", reason: "completed", tokens: 10, asked: 1},
		"filtered after a while": {replies: []contract.ModelReply{finished(says("half"), "content_filter")}, status: "failed", reason: "error", code: "filtered", answer: "half", tokens: 15, asked: 1},
		"cut by the model's own limit": {replies: []contract.ModelReply{finished(says("half"), "length")},
			status: "completed", reason: "completed", answer: "half", tokens: 15, asked: 1},
		"cut by the budget": {replies: []contract.ModelReply{finished(says("half"), "length")}, budget: tokensOf(1000),
			status: "stopped", reason: "token_limit", answer: "half", tokens: 15, asked: 1},
		"all of the budget went into reasoning": {replies: []contract.ModelReply{reasoning}, budget: tokensOf(1000),
			status: "stopped", reason: "token_limit", tokens: 15, asked: 1},
		"billed failures to the end": {replies: []contract.ModelReply{billed(domain.Throttled), billed(domain.Throttled), billed(domain.Throttled), says("late")},
			status: "failed", reason: "error", tokens: 300, asked: 3},
		"an answer that cannot be read, twice": {replies: []contract.ModelReply{unread, unread, says("late")},
			status: "failed", reason: "error", code: "malformed", tokens: 200, asked: 2},
		"an answer that cannot be read, once": {replies: []contract.ModelReply{unread, billed(domain.Unavailable), says("hi")},
			status: "completed", reason: "completed", answer: "hi", tokens: 215, asked: 3},
		"an answer that cannot be read, on each side of an empty one": {replies: []contract.ModelReply{unread, nothing, unread, says("hi")},
			status: "completed", reason: "completed", answer: "hi", tokens: 225, asked: 4, nudged: true},
		"answers that cannot be read, each for another reason": {replies: []contract.ModelReply{unread, otherwise, says("hi")},
			status: "completed", reason: "completed", answer: "hi", tokens: 215, asked: 3},
		"a billed failure that leaves no room": {replies: []contract.ModelReply{billed(domain.Unavailable), says("hi")}, budget: tokensOf(105),
			status: "stopped", reason: "token_limit", tokens: 100, asked: 1},
		"a worker that stops":       {replies: []contract.ModelReply{shutDown, says("hi")}, status: "completed", reason: "completed", answer: "hi", tokens: 45, asked: 2},
		"a reply that says nothing": {replies: []contract.ModelReply{{}}, status: "failed", reason: "error", asked: 1},
		"a failure without its error": {replies: []contract.ModelReply{{Outcome: contract.BilledFailure, Tries: 1}},
			status: "failed", reason: "error", asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{model: plays(test.replies...), tools: reads()}
			env := w.executed(t, input(t, "", func(in *contract.SessionInput) {
				in.Budget, in.Definition.Attempts = test.budget, 3
			}))
			out := outcome(t, env)
			require.Equal(t, test.status, out.Status)
			require.Equal(t, test.reason, out.StopReason)
			require.Equal(t, test.code, out.Code)
			if test.code == domain.CodeWorkerShutdown {
				require.Equal(t, "the inference was cut off 3 times by workers that stopped", status(t, env).Failure().Message)
			}
			require.Equal(t, test.tokens, out.Usage.TotalTokens())
			require.Len(t, w.asked, test.asked)
			require.Equal(t, test.answer, endOf(t, env, 0).Answer)
			require.Equal(t, 1, out.Steps, "the step is kept, whatever it came to")
			for i, r := range w.asked[1:] {
				before := w.asked[i]
				require.Contains(t, [][2]int{{before.Inference, before.Attempts + 1}, {before.Inference + 1, 0}}, [2]int{r.Inference, r.Attempts}, "every try is counted")
			}
			nudged := false
			for _, e := range entriesIn(t, env) {
				require.NotEmpty(t, e.Message.Parts, "nothing is no message")
				nudged = nudged || strings.HasPrefix(e.Message.Text(), "Your answer was empty")
			}
			require.Equal(t, test.nudged, nudged)
		})
	}
}

// TestAnEmptyAnswersRequestFits what the step may answer.
func TestAnEmptyAnswersRequestFits(t *testing.T) {
	t.Parallel()
	nothing := contract.ModelReply{Outcome: contract.Answered, Tries: 1, Response: domain.Response{Finish: domain.FinishStop}}
	for name, test := range map[string]struct {
		tools  []domain.ToolSpec
		format domain.FormatType
		budget domain.ExecutionBudget
		want   string
	}{
		"words or a tool":  {tools: reads(), want: "Your answer was empty. Answer in words, or call a tool."},
		"no calls left":    {tools: reads(), budget: callsOf(0), want: "Your answer was empty. Answer in words."},
		"words":            {want: "Your answer was empty. Answer in words."},
		"a format":         {format: domain.FormatJSON, want: "Your answer was empty. Answer in the required format."},
		"a format or tool": {tools: reads(), format: domain.FormatJSON, want: "Your answer was empty. Answer in the required format, or call a tool."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{model: plays(nothing, says("{}")), tools: test.tools}
			env := w.environment(t)
			env.ExecuteWorkflow(string(contract.Execute), input(t, "", func(in *contract.SessionInput) { in.Definition.Format.Type, in.Budget = test.format, test.budget }))
			endsFor(t, env, domain.Completed)
			entries := entriesIn(t, env)
			require.Equal(t, test.want, entries[len(entries)-2].Message.Text())
		})
	}
}

// TestAnswersThatLostAttemptsCutShort: what they took of a limit is why, also where
// the model's own bound was the nearer one.
func TestAnswersThatLostAttemptsCutShort(t *testing.T) {
	t.Parallel()
	short := with(finished(says("half"), domain.FinishLength), func(r *contract.ModelReply) { r.Spent = domain.Usage{InputTokens: 7} })
	for name, test := range map[string]struct {
		budget domain.ExecutionBudget
		reason domain.StopReason
	}{
		"of tokens": {tokensOf(1000), domain.TokenLimitReached},
		"of money":  {costOf(1_000_000_000), domain.CostLimitReached},
		"of none":   {domain.ExecutionBudget{}, domain.Completed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{model: plays(short), list: lists(func(c *contract.Resolved) {
				c.Price, c.MaxOutputTokens = &domain.Price{Input: 1, Output: 1}, 50
			})}
			env := w.executed(t, input(t, "", budgeted(test.budget)))
			endsFor(t, env, test.reason)
		})
	}
}

// TestOddMessagesDoNoHarm: whatever a provider of one's own returns.
func TestOddMessagesDoNoHarm(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]domain.Message{
		"a tool's result": {Role: domain.RoleTool, Parts: []domain.Part{{Type: domain.PartText, Text: "hi"}},
			ToolResult: &domain.ToolResult{CallID: "1"}},
		"NUL": {Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: "hi\x00"}}},
		"a tag of its own": {Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: "hi"}},
			Metadata: domain.Metadata{"is_trace": []byte("true"), "execution_id": []byte(`{"a": [1]}`)}},
		"calls without names": {Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: "hi"}},
			ToolCalls: []domain.ToolCall{{}, {}}},
		"huge names": {Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: "hi"}},
			ToolCalls: []domain.ToolCall{{ID: strings.Repeat("i", 100_000), Name: strings.Repeat("n", 100_000), Arguments: "\x00"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: reads()}
			w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
				if r.Step > 1 {
					return says("done"), nil
				}
				reply := says("")
				reply.Message = &m
				return reply, nil
			}
			env := w.executed(t, input(t, ""))
			completes(t, env)
			require.Empty(t, w.ran)
			first := entriesIn(t, env)[1].Message
			require.Equal(t, domain.RoleAssistant, first.Role)
			require.Nil(t, first.ToolResult)
			require.Equal(t, len(m.ToolCalls) > 0, domain.TagOf(first).Trace)
		})
	}
}

// TestFailuresThatCostNothing are Temporal's to retry, and bounded together
// with those that did.
func TestFailuresThatCostNothing(t *testing.T) {
	t.Parallel()
	w := &world{}
	tries := 0
	w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
		if tries++; tries == 1 {
			return with(billed(domain.Unavailable), func(r *contract.ModelReply) { r.Tries = 2 }), nil
		}
		return contract.ModelReply{}, temporal.NewApplicationErrorWithOptions("busy", string(domain.Throttled),
			temporal.ApplicationErrorOptions{Details: []any{domain.Errorf(domain.Throttled, "busy")}})
	}
	env := w.executed(t, input(t, "", tried(5)))
	out := outcome(t, env)
	require.Equal(t, domain.StatusFailed, out.Status)
	require.Equal(t, 1+3, tries, "two tries were counted, three are left of five")
	require.Equal(t, "busy", lastStep(t, env).Errors[0].Message)
	require.Equal(t, int64(100), out.Usage.TotalTokens())
}

func TestAnActivityThatBreaks(t *testing.T) {
	t.Parallel()
	w := &world{model: func(contract.ModelRequest) (contract.ModelReply, error) {
		return contract.ModelReply{}, temporal.NewNonRetryableApplicationError("boom", "panic", errors.New("secret"))
	}}
	env := w.executed(t, input(t, ""))
	endsAs(t, env, domain.StatusFailed)
	require.Equal(t, "the worker failed: boom", lastStep(t, env).Errors[0].Message)
}

// TestABudgetIsReservedAnewForEachTry: what a failed one has cost is gone.
func TestABudgetIsReservedAnewForEachTry(t *testing.T) {
	t.Parallel()
	w := &world{model: plays(billed(domain.Unavailable), says(""), says("hi"))}
	env := w.executed(t, input(t, "", budgeted(tokensOf(1000))))
	completes(t, env)
	var left []int64
	for _, r := range w.asked {
		left = append(left, r.TokensLeft)
		require.Less(t, r.MaxOutputTokens, r.TokensLeft, "the input is taken off")
	}
	require.Equal(t, []int64{1000, 900, 885}, left)
}

// TestADelayThatAProviderAsksFor is bounded, and a stop ends it.
func TestADelayThatAProviderAsksFor(t *testing.T) {
	t.Parallel()
	for _, asked := range []int64{-5, 10_000, 1 << 62} {
		t.Run(fmt.Sprint(asked), func(t *testing.T) {
			t.Parallel()
			w := &world{model: plays(with(billed(domain.Throttled), func(r *contract.ModelReply) { r.RetryAfterMillis = asked }), says("hi"))}
			env := w.environment(t)
			begun := env.Now()
			execute(env, input(t, ""))
			completes(t, env)
			require.LessOrEqual(t, env.Now().Sub(begun), time.Hour+time.Minute)
			require.GreaterOrEqual(t, env.Now().Sub(begun), min(time.Duration(max(asked, 1000))*time.Millisecond, time.Hour)/2)
		})
	}
}

// TestWhatAProviderCountedIsReckonedWith: where a language takes more tokens
// than we estimate, the next inference is not asked for as if it did not.
func TestWhatAProviderCountedIsReckonedWith(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		estimated bool
		asked     int
	}{"counted": {false, 1}, "reckoned": {true, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: reads(), tool: saw}
			w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
				reply, err := calling(look())(r)
				reply.Response.Usage = domain.Usage{InputTokens: 600, OutputTokens: 10, Estimated: test.estimated}
				return reply, err
			}
			env := w.executed(t, input(t, "", budgeted(tokensOf(1000))))
			require.Len(t, w.asked, test.asked)
			require.Equal(t, test.asked, outcome(t, env).Steps)
		})
	}
}

// TestLongErrorsAreCut: they stay with the state, from run to run.
func TestLongErrorsAreCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("no ", 100_000)
	w := &world{tools: reads(), model: plays(says("", look()), with(billed(domain.Invalid), func(r *contract.ModelReply) { r.Error.Message = long }))}
	w.tool = gives(contract.ToolReply{Error: domain.Invalidf("%s", long)})
	env := w.executed(t, input(t, ""))
	endsAs(t, env, domain.StatusFailed)
	for _, step := range stepsIn(t, env, 0) {
		for _, err := range step.Step.AllErrors() {
			require.LessOrEqual(t, len(err.Message), domain.MaxReason)
		}
	}
}

// TestAPausedAnswerGoesOn: a provider that pauses in its answer is asked to go
// on, within the step, with what it has said so far; not for ever.
func TestAPausedAnswerGoesOn(t *testing.T) {
	t.Parallel()
	paused := func() (contract.ModelReply, error) {
		reply := says("a part")
		reply.Response.Finish, reply.Response.FinishWord = domain.FinishOther, domain.WordPaused
		return reply, nil
	}
	for name, test := range map[string]struct {
		pauses int
		status domain.ExecutionStatus
		asked  int
	}{"twice": {2, domain.StatusCompleted, 3}, "for ever": {100, domain.StatusFailed, 17}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{}
			w.model = func(contract.ModelRequest) (contract.ModelReply, error) {
				if len(w.asked) <= test.pauses {
					return paused()
				}
				return says("the whole"), nil
			}
			env := w.executed(t, input(t, ""))
			out := outcome(t, env)
			require.Equal(t, test.status, out.Status)
			require.Equal(t, 1, out.Steps)
			require.Len(t, w.asked, test.asked)
			require.Equal(t, int64(15*test.asked), out.Usage.TotalTokens())
			require.Equal(t, w.asked[0].Log.Length+1, w.asked[1].Log.Length, "what was said is sent back")
		})
	}
}

// TestALostInference comes back with what was said and spent: it is made again, and a
// stop or a limit that meets the wait for that keeps both.
func TestALostInference(t *testing.T) {
	t.Parallel()
	beat := contract.Heartbeat{
		Step: 1, Phase: contract.PhaseStreaming, Tail: "half", Length: 8, Attempt: 1,
		Spent: domain.Usage{InputTokens: 7}, Reserved: domain.Usage{InputTokens: 50, OutputTokens: 900},
	}
	for name, test := range map[string]struct {
		losses   int
		silent   bool
		answers  int64
		attempts int
		stop     contract.StopMode
		paused   time.Duration
		seconds  float64
		max      *int64
		status   domain.ExecutionStatus
		text     string
		tokens   int64
		asked    int
	}{
		"made again":              {losses: 1, status: domain.StatusCompleted, text: "done", tokens: 59 + 3, asked: 2},
		"lost each time":          {losses: 99, status: domain.StatusFailed, tokens: 19*59 + 957, asked: 20},
		"a stop in the wait":      {losses: 9, stop: contract.StopNow, status: domain.StatusStopped, text: "…half", tokens: 2 * 59, asked: 2},
		"a stop in a pause after": {losses: 9, stop: contract.StopNow, paused: time.Hour, status: domain.StatusStopped, text: "…half", tokens: 2 * 59, asked: 2},
		"a limit of tokens":       {losses: 9, max: number(60), status: domain.StatusStopped, text: "…half", tokens: 59, asked: 1},
		"nothing heard":           {losses: 1, silent: true, answers: 30, status: domain.StatusCompleted, text: "done", tokens: 36 + 3, asked: 2},
		"the clamp is smaller":    {losses: 9, silent: true, answers: 30, max: number(20), status: domain.StatusStopped, tokens: 20, asked: 1},
		"a limit":                 {losses: 9, seconds: 2, status: domain.StatusStopped, text: "…half", tokens: 2 * 59, asked: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			attempts := cmp.Or(test.attempts, 4)
			w := &world{loses: true}
			w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
				require.Equal(t, []int{0, len(w.asked) - 1, attempts}, []int{r.Attempts, r.Lost, r.Tries})
				if len(w.asked) <= test.losses {
					if test.silent {
						return contract.ModelReply{}, temporal.NewHeartbeatTimeoutError()
					}
					return contract.ModelReply{}, temporal.NewHeartbeatTimeoutError(beat)
				}
				return with(says("done"), func(r *contract.ModelReply) { r.Response.Usage = domain.Usage{InputTokens: 2, OutputTokens: 1} }), nil
			}
			env := w.environment(t)
			if test.stop != "" {
				stopsWith(env, 2*time.Second+test.paused, contract.StopRequest{Mode: test.stop})
			}
			if test.paused > 0 {
				pauses(env, 2*time.Second)
			}
			execute(env, input(t, "", func(in *contract.SessionInput) {
				in.Definition.Model.MaxOutputTokens = test.answers
				if in.Definition.Attempts, in.Budget.MaxTokens = attempts, test.max; test.seconds > 0 {
					in.Budget.MaxSeconds = &test.seconds
				}
			}))
			out := outcome(t, env)
			require.Equal(t, test.status, out.Status)
			require.Equal(t, test.tokens, out.Usage.TotalTokens())
			require.Len(t, w.asked, test.asked)
			last := entriesIn(t, env)
			if test.text != "" {
				require.Equal(t, test.text, last[len(last)-1].Message.Text())
			} else {
				require.Len(t, last, 1)
			}
		})
	}
}
