package testsuite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
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

// running is what comes of a script for an agent that has one tool.
func running(t *testing.T, fake *testsuite.Fake, turns ...testsuite.Turn) testsuite.Run {
	t.Helper()
	return testsuite.New(t, testsuite.Config{Tools: []tool.Tool{fake.Tool()}, Turns: turns}).Run("go")
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

// TestEnvTimeIsSkipped: a retry, a slow tool and a slow model, hours in all.
func TestEnvTimeIsSkipped(t *testing.T) {
	t.Parallel()
	spec := domain.ToolSpec{Name: "slow", Effect: domain.ReadOnly, Timeout: 3 * time.Hour}
	slow := testsuite.NewFake(spec, testsuite.After(2*time.Hour, testsuite.Returns("done")))
	first := calls("slow", 2)
	first.Delay = 10 * time.Minute
	begun := time.Now()
	run := running(t, slow, first, testsuite.Turn{Text: "ok", Failures: []testsuite.Failure{{Status: 500}}})
	require.Equal(t, "ok", run.Answer, "%v", run.Error)
	require.Less(t, time.Since(begun), time.Minute)
}

func TestEnvParallelCallsAreInCallOrder(t *testing.T) {
	t.Parallel()
	backwards := func(ctx context.Context, call testsuite.FakeCall) (string, error) {
		return testsuite.After(time.Duration(10-call.Position)*time.Second, testsuite.Returns(string(rune('a'+call.Position))))(ctx, call)
	}
	fake := testsuite.NewFake(domain.ToolSpec{Name: "letter"}, backwards)
	run := running(t, fake, calls("letter", 5), testsuite.Turn{Text: `{{ join "" (results "letter") }}`})
	require.Equal(t, "abcde", run.Answer)
	for i, call := range fake.Calls() {
		require.Equal(t, i, call.Position)
	}
}

func TestEnvBudget(t *testing.T) {
	t.Parallel()
	fake := testsuite.NewFake(domain.ToolSpec{Name: "look"}, nil)
	env := testsuite.New(t, testsuite.Config{
		Tools: []tool.Tool{fake.Tool()}, Budget: domain.ExecutionBudget{MaxSteps: new(int64(2))},
		Turns: []testsuite.Turn{calls("look", 1), calls("look", 1), {Text: "never said"}},
	})
	run := env.Run("go")
	require.Equal(t, domain.StepsLimitReached, run.Outcome.StopReason)
	require.Len(t, run.Steps, 2)
	require.Equal(t, run.Steps[0].Step.ID, env.Run("go").Steps[0].Step.ID, "ids are the same each time")
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
			running(t, fake, calls("pay", 1), testsuite.Turn{Text: "ok"})
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
