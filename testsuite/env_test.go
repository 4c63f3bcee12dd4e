package testsuite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
	"everstep/testsuite"
)

// calls asks for a tool without arguments, n times in one step.
func calls(name string, n int) testsuite.Turn {
	var turn testsuite.Turn
	for range n {
		turn.Calls = append(turn.Calls, testsuite.Call{Name: name})
	}
	return turn
}

func TestEnvRetriesWhatCostNothing(t *testing.T) {
	t.Parallel()
	env := testsuite.New(t, testsuite.Config{Turns: []testsuite.Turn{{
		Text:     "Here I am at last.",
		Usage:    domain.Usage{InputTokens: 10, OutputTokens: 5},
		Failures: []testsuite.Failure{{Status: 429}, {CutAfter: 4}, {Status: 503, Message: "busy"}},
	}}})
	run := env.Run("go")
	require.Equal(t, domain.StatusCompleted, run.Outcome.Status, "%v", run.Error)
	require.Equal(t, "Here I am at last.", run.Answer)
	require.Len(t, run.Asked, 4)
	require.True(t, run.Outcome.Usage.Estimated, "the answer that was cut may have been billed")
	require.Greater(t, run.Outcome.Usage.TotalTokens(), int64(15))
}

func TestEnvRefusedKeyFails(t *testing.T) {
	t.Parallel()
	env := testsuite.New(t, testsuite.Config{Turns: []testsuite.Turn{{Text: "x", Failures: []testsuite.Failure{{Status: 401}}}}})
	run := env.Run("go")
	require.Equal(t, domain.StatusFailed, run.Outcome.Status)
	require.Equal(t, domain.CodeAuth, run.Error.Code)
	require.Len(t, run.Asked, 1)
}

// TestEnvTimeIsSkipped: a retry, a slow tool and a slow model, hours in all.
func TestEnvTimeIsSkipped(t *testing.T) {
	t.Parallel()
	spec := domain.ToolSpec{Name: "slow", Effect: domain.ReadOnly, Timeout: 3 * time.Hour}
	slow := testsuite.NewFake(spec, testsuite.After(2*time.Hour, testsuite.Returns("done")))
	first := calls("slow", 2)
	first.Delay = 10 * time.Minute
	env := testsuite.New(t, testsuite.Config{
		Tools: []tool.Tool{slow.Tool()},
		Turns: []testsuite.Turn{first, {Text: "ok", Failures: []testsuite.Failure{{Status: 500}}}},
	})
	begun := time.Now()
	run := env.Run("go")
	require.Equal(t, "ok", run.Answer, "%v", run.Error)
	require.Less(t, time.Since(begun), time.Minute)
}

func TestEnvToolThatNeverEnds(t *testing.T) {
	t.Parallel()
	hang := func(ctx context.Context, _ testsuite.FakeCall) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}
	for effect, code := range map[domain.Effect]domain.Code{
		domain.ReadOnly: domain.CodeTimeout, domain.AtMostOnce: domain.CodeOutcomeUnknown,
	} {
		t.Run(string(effect), func(t *testing.T) {
			t.Parallel()
			fake := testsuite.NewFake(domain.ToolSpec{Name: "hang", Effect: effect}, hang)
			env := testsuite.New(t, testsuite.Config{
				Tools: []tool.Tool{fake.Tool()}, Turns: []testsuite.Turn{calls("hang", 1), {Text: "over"}},
			})
			run := env.Run("go")
			require.Equal(t, "over", run.Answer)
			require.Len(t, fake.Calls(), 1)
			failed, ok := run.ToolExecutions()[0].Err()
			require.True(t, ok)
			require.Equal(t, code, failed.Code)
		})
	}
}

func TestEnvStopsATool(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		mode   contract.StopMode
		effect domain.Effect
		code   domain.Code
	}{
		{contract.AfterStep, domain.ReadOnly, ""},
		{contract.AfterInference, domain.AtMostOnce, ""},
		{contract.StopNow, domain.ReadOnly, domain.CodeInterrupted},
		{contract.StopNow, domain.AtMostOnce, domain.CodeOutcomeUnknown},
	} {
		t.Run(string(test.mode)+" "+string(test.effect), func(t *testing.T) {
			t.Parallel()
			fake := testsuite.NewFake(domain.ToolSpec{Name: "slow", Effect: test.effect},
				testsuite.After(time.Minute, testsuite.Returns("done")))
			env := testsuite.New(t, testsuite.Config{
				Tools: []tool.Tool{fake.Tool()}, Turns: []testsuite.Turn{calls("slow", 1), {Text: "never said"}},
			})
			run := env.Run("go", testsuite.StopAt(10*time.Second, test.mode))
			require.Equal(t, domain.StatusStopped, run.Outcome.Status)
			require.Len(t, run.Asked, 1, "no inference begins after a stop")
			failed, _ := run.ToolExecutions()[0].Err()
			require.Equal(t, test.code, failed.Code)
		})
	}
}

func TestEnvParallelCallsAreInCallOrder(t *testing.T) {
	t.Parallel()
	backwards := func(ctx context.Context, call testsuite.FakeCall) (string, error) {
		return testsuite.After(time.Duration(10-call.Position)*time.Second, testsuite.Returns(string(rune('a'+call.Position))))(ctx, call)
	}
	fake := testsuite.NewFake(domain.ToolSpec{Name: "letter"}, backwards)
	env := testsuite.New(t, testsuite.Config{
		Tools: []tool.Tool{fake.Tool()},
		Turns: []testsuite.Turn{calls("letter", 5), {Text: `{{ join "" (results "letter") }}`}},
	})
	require.Equal(t, "abcde", env.Run("go").Answer)
	for i, call := range fake.Calls() {
		require.Equal(t, i, call.Position)
	}
}

func TestEnvBudget(t *testing.T) {
	t.Parallel()
	two := int64(2)
	fake := testsuite.NewFake(domain.ToolSpec{Name: "look"}, nil)
	env := testsuite.New(t, testsuite.Config{
		Tools: []tool.Tool{fake.Tool()}, Budget: domain.ExecutionBudget{MaxSteps: &two},
		Turns: []testsuite.Turn{calls("look", 1), calls("look", 1), {Text: "never said"}},
	})
	run := env.Run("go")
	require.Equal(t, domain.StepsLimitReached, run.Outcome.StopReason)
	require.Len(t, run.Steps, 2)
	require.Equal(t, run.Steps[0].Step.ID, env.Run("go").Steps[0].Step.ID, "ids are the same each time")
}

func TestEnvSeconds(t *testing.T) {
	t.Parallel()
	limit := 90.0
	env := testsuite.New(t, testsuite.Config{
		Definition: domain.Definition{Budget: domain.ExecutionBudget{MaxSeconds: &limit}},
		Turns:      []testsuite.Turn{{Text: "one two three four", Delay: 2 * time.Minute}},
	})
	run := env.Run("go")
	require.Equal(t, domain.TimeLimitReached, run.Outcome.StopReason)
	require.Contains(t, run.Answer, "one two")
	require.True(t, run.Steps[0].Step.Interrupted)
}

func TestEnvLongArguments(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", domain.MaxInlineArguments)
	fake := testsuite.NewFake(domain.ToolSpec{Name: "write"}, nil)
	env := testsuite.New(t, testsuite.Config{
		Tools: []tool.Tool{fake.Tool()},
		Turns: []testsuite.Turn{
			{Calls: []testsuite.Call{{Name: "write", Arguments: map[string]string{"text": long + "<&>\u2028é\""}}}},
			{Text: "ok"},
		},
	})
	require.Equal(t, "ok", env.Run("go").Answer)
	require.JSONEq(t, `{"text":"`+long+`<&>\u2028é\""}`, fake.Calls()[0].Arguments)
}

func TestEnvMalformedArguments(t *testing.T) {
	t.Parallel()
	fake := testsuite.NewFake(forecast().Spec(), nil)
	env := testsuite.New(t, testsuite.Config{
		Tools: []tool.Tool{fake.Tool()},
		Turns: []testsuite.Turn{
			{Calls: []testsuite.Call{{Name: "forecast", Arguments: `{"city": `}, {Name: "forecast", Arguments: map[string]int{"town": 1}}}},
			{Text: "sorry"},
		},
	})
	run := env.Run("go")
	require.Equal(t, "sorry", run.Answer)
	require.Empty(t, fake.Calls(), "what does not fit the schema never runs")
	for _, call := range run.ToolExecutions() {
		require.Equal(t, domain.CodeMalformed, call.Error.Code)
	}
}

func TestEnvFileTools(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := testsuite.New(t, testsuite.Config{
		Dir: dir,
		Turns: []testsuite.Turn{
			{Calls: []testsuite.Call{{Name: "write_file", Arguments: map[string]string{"path": "a.txt", "content": "hello"}}}},
			{Text: "written"},
		},
	})
	run := env.Run("go")
	require.Equal(t, "written", run.Answer)
	require.Equal(t, []string{"write_file"}, run.Called())
	written, err := os.ReadFile(filepath.Join(dir, "a.txt"))
	require.NoError(t, err)
	require.Equal(t, "hello", string(written))
}

// TestCalledAreTheToolsThatRan: not what was unknown, blocked or never begun; but
// also what says of itself that it was blocked.
func TestCalledAreTheToolsThatRan(t *testing.T) {
	t.Parallel()
	look := testsuite.NewFake(domain.ToolSpec{Name: "look"}, testsuite.Returns("sunny"))
	pay := testsuite.NewFake(domain.ToolSpec{Name: "pay"}, testsuite.Fails(domain.CodedErrorf(domain.Denied, domain.CodeBlocked, "no card")))
	forbid := hook.BeforeToolUse("forbid", func(c hook.ToolUse) (hook.ToolUse, error) {
		if c.At.Call.Arguments == `{"at":"night"}` {
			return hook.Block(c, "it is dark"), nil
		}
		return c, nil
	})
	forbid.Always = true
	env := testsuite.New(t, testsuite.Config{
		Tools: []tool.Tool{look.Tool(), pay.Tool()}, Hooks: []hook.Hook{forbid},
		Definition: domain.Definition{Budget: domain.ExecutionBudget{MaxToolCalls: new(int64(2))}},
		Turns: []testsuite.Turn{{Calls: []testsuite.Call{
			{Name: "nothing"}, {Name: "pay"}, {Name: "look", Arguments: map[string]string{"at": "night"}}, {Name: "look"}, {Name: "look"},
		}}},
	})
	run := env.Run("go")
	require.Equal(t, domain.ToolCallLimitReached, run.Outcome.StopReason)
	require.Equal(t, []string{"pay", "look"}, run.Called())
	var outcomes []domain.ToolOutcome
	for _, call := range run.ToolExecutions() {
		outcomes = append(outcomes, call.Outcome())
	}
	require.Equal(t, []domain.ToolOutcome{domain.ToolNotRun, domain.ToolFailed, domain.ToolBlocked, domain.ToolOK, domain.ToolNotRun}, outcomes)
}

// TestAStepNamesWhatTheModelSaw also what a hook and a guard have said just before.
func TestAStepNamesWhatTheModelSaw(t *testing.T) {
	t.Parallel()
	say := hook.BeforeInference("say", func(c hook.Inference) (hook.Inference, error) { return c.Say(domain.RoleUser, "mind the gap"), nil })
	say.Always = true
	look := testsuite.NewFake(domain.ToolSpec{Name: "look"}, testsuite.Returns("sunny"))
	run := testsuite.New(t, testsuite.Config{
		Tools: []tool.Tool{look.Tool()}, Hooks: []hook.Hook{say}, Turns: []testsuite.Turn{calls("look", 1), {Text: "done"}},
		Definition: domain.Definition{Guards: domain.Guards{FinalAnswer: true}, Budget: domain.ExecutionBudget{MaxSteps: new(int64(2))}},
	}).Run("go")
	require.Len(t, run.Steps, 2)
	for n, said := range []int{2, 6} { // the prompt and the hook; then call, result, guard and hook
		require.Len(t, run.Asked[n].Messages, said)
		require.Equal(t, run.Asked[n].Messages, run.Shown(run.Steps[n].Step))
	}
}

func TestEnvInRealTime(t *testing.T) {
	t.Parallel()
	const delay = 300 * time.Millisecond
	env := testsuite.New(t, testsuite.Config{
		RealTime: true, Turns: []testsuite.Turn{{Text: "slowly", Delay: delay}},
	})
	begun := time.Now()
	require.Equal(t, "slowly", env.Run("go").Answer)
	require.GreaterOrEqual(t, time.Since(begun), delay)
}

func TestFakeRetries(t *testing.T) {
	t.Parallel()
	busy := testsuite.Fails(domain.Errorf(domain.Unavailable, "busy"))
	for effect, attempts := range map[domain.Effect]int{domain.Keyed: 2, domain.AtMostOnce: 1} {
		t.Run(string(effect), func(t *testing.T) {
			t.Parallel()
			fake := testsuite.NewFake(domain.ToolSpec{Name: "pay", Effect: effect}, testsuite.InTurn(busy, testsuite.Returns("paid")))
			env := testsuite.New(t, testsuite.Config{
				Tools: []tool.Tool{fake.Tool()}, Turns: []testsuite.Turn{calls("pay", 1), {Text: "ok"}},
			})
			env.Run("go")
			require.Len(t, fake.Calls(), attempts)
			for i, call := range fake.Calls() {
				require.Equal(t, i+1, call.Attempt)
				require.Equal(t, fake.Calls()[0].ID, call.ID)
			}
		})
	}
}

func TestFakeOfNothing(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, testsuite.NewFake(domain.ToolSpec{}, nil).Tool().Check(), "name")
	got, err := testsuite.InTurn()(t.Context(), testsuite.FakeCall{})
	require.NoError(t, err)
	require.Empty(t, got)
	_, err = testsuite.Fails(errors.New("no"))(t.Context(), testsuite.FakeCall{})
	require.EqualError(t, err, "no")
}
