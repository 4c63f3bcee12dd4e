package testsuite_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/hook"
	"everstep/testsuite"
)

// when lists how long after the beginning events of a type happened.
func when(e testsuite.Execution, kind domain.EventType) []time.Duration {
	var times []time.Duration
	for _, event := range e.Events {
		if event.Type() == kind {
			times = append(times, event.Head().Time.Sub(e.Events[0].Head().Time).Round(time.Second))
		}
	}
	return times
}

func seconds(n ...int) []time.Duration {
	times := make([]time.Duration, len(n))
	for i, s := range n {
		times[i] = time.Duration(s) * time.Second
	}
	return times
}

// lookFor is a read-only tool that takes a while.
func lookFor(takes time.Duration) *testsuite.Fake {
	return testsuite.NewFake(domain.ToolSpec{Name: "look", Effect: domain.ReadOnly, Timeout: time.Hour}, testsuite.After(takes, testsuite.Returns("sunny")))
}

// slowTurns ask for a tool, twice, and answer; each takes ten seconds.
func slowTurns() []testsuite.Turn {
	asks := testsuite.Turn{Calls: []testsuite.Call{{Name: "look"}}, Delay: 10 * time.Second}
	return []testsuite.Turn{asks, asks, {Text: "done", Delay: 10 * time.Second}}
}

// TestNothingStartsInAPause: what is under way finishes, and nothing else begins
// until it is over. Each inference and each call takes ten seconds.
func TestNothingStartsInAPause(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pause, resume  time.Duration
		asked, started []time.Duration
	}{
		"in an inference": {5 * time.Second, time.Minute, seconds(0, 70, 90), seconds(60, 80)},
		"in a tool":       {15 * time.Second, time.Minute, seconds(0, 60, 80), seconds(10, 70)},
		"and over before": {5 * time.Second, 8 * time.Second, seconds(0, 20, 40), seconds(10, 30)},
		"in the answer":   {45 * time.Second, 0, seconds(0, 20, 40), seconds(10, 30)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := []testsuite.Event{testsuite.PauseAt(test.pause)}
			if test.resume > 0 {
				events = append(events, testsuite.ResumeAt(test.resume))
			}
			run := testsuite.New(t, testsuite.Config{Turns: slowTurns(), Tools: toolsOf(lookFor(10 * time.Second))}).Run("go", events...)
			checkEvents(t, run)
			require.Equal(t, domain.Completed, run.Outcome.StopReason)
			require.Equal(t, test.asked, when(run.Execution, domain.EventInferenceRequested))
			require.Equal(t, test.started, when(run.Execution, domain.EventToolCallStarted))
		})
	}
}

// TestAPauseBetweenTries: no try begins in it, of an inference or of a call that
// did not begin.
func TestAPauseBetweenTries(t *testing.T) {
	t.Parallel()
	t.Run("of an inference", func(t *testing.T) {
		t.Parallel()
		run := testsuite.New(t, testsuite.Config{Turns: []testsuite.Turn{
			{Text: "here I am", Delay: 10 * time.Second, Failures: []testsuite.Failure{{CutAfter: 4}}},
		}}).Run("go", testsuite.PauseAt(time.Second), testsuite.ResumeAt(time.Hour))
		require.Equal(t, domain.Completed, run.Outcome.StopReason)
		asked := when(run.Execution, domain.EventInferenceRequested)
		require.Len(t, asked, 2)
		require.GreaterOrEqual(t, asked[1], time.Hour)
	})
	t.Run("of a call", func(t *testing.T) {
		t.Parallel()
		busy := tool.NotStarted(domain.Errorf(domain.Unavailable, "no line"))
		var tries []time.Duration
		var first time.Time
		look := testsuite.NewFake(domain.ToolSpec{Name: "look"}, func(context.Context, testsuite.FakeCall) (string, error) {
			if first.IsZero() {
				first = time.Now()
			}
			if tries = append(tries, time.Since(first)); time.Since(first) < time.Hour {
				return "", busy
			}
			return "sunny", nil
		})
		run := testsuite.New(t, testsuite.Config{Turns: []testsuite.Turn{calls("look", 1), {Text: "done"}}, Tools: toolsOf(look)}).
			Run("go", testsuite.PauseAt(300*time.Millisecond), testsuite.ResumeAt(2*time.Hour))
		require.Equal(t, domain.Completed, run.Outcome.StopReason, "%v", run.Error)
		for _, after := range tries {
			require.True(t, after < 300*time.Millisecond || after > time.Hour, "a try %s after the first", after)
		}
		require.Equal(t, "sunny", run.ToolExecutions()[0].Value)
	})
}

// TestTimeInAPause does not count in max_seconds; what is under way does, and
// the deadline passes all the same.
func TestTimeInAPause(t *testing.T) {
	t.Parallel()
	deadline := time.Date(2000, 1, 1, 0, 1, 0, 0, time.UTC)
	pause, resume := testsuite.PauseAt(5*time.Second), testsuite.ResumeAt(time.Hour)
	for name, test := range map[string]struct {
		budget domain.ExecutionBudget
		turns  []testsuite.Turn
		events []testsuite.Event
		reason domain.StopReason
		ends   time.Duration
	}{
		"enough seconds": {
			domain.ExecutionBudget{MaxSeconds: new(55.0)}, slowTurns(), []testsuite.Event{pause, resume},
			domain.Completed, time.Hour + 40*time.Second,
		},
		"too few seconds": {
			domain.ExecutionBudget{MaxSeconds: new(25.0)}, slowTurns(), []testsuite.Event{pause, resume},
			domain.TimeLimitReached, time.Hour + 15*time.Second,
		},
		"too few for what is under way": {
			domain.ExecutionBudget{MaxSeconds: new(8.0)}, slowTurns(), []testsuite.Event{pause, resume},
			domain.TimeLimitReached, 8 * time.Second,
		},
		"two pauses": {
			domain.ExecutionBudget{MaxSeconds: new(51.0)}, slowTurns(),
			[]testsuite.Event{pause, testsuite.ResumeAt(time.Minute), testsuite.PauseAt(65 * time.Second), testsuite.ResumeAt(2 * time.Hour)},
			domain.Completed, 2*time.Hour + 30*time.Second,
		},
		"the deadline": {
			domain.ExecutionBudget{Deadline: &deadline}, slowTurns(), []testsuite.Event{pause},
			domain.TimeLimitReached, time.Minute,
		},
		"a stop": {
			domain.ExecutionBudget{MaxSeconds: new(55.0)}, slowTurns(),
			[]testsuite.Event{pause, testsuite.StopAt(time.Hour, domain.AfterStep)},
			domain.UserRequested, time.Hour + 10*time.Second,
		},
		"a stop now": {
			domain.ExecutionBudget{MaxSeconds: new(55.0)}, slowTurns(),
			[]testsuite.Event{pause, testsuite.StopAt(time.Hour, domain.StopNow)},
			domain.UserRequested, time.Hour,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := testsuite.New(t, testsuite.Config{
				Turns: test.turns, Tools: toolsOf(lookFor(10 * time.Second)), Budget: test.budget,
			}).Run("go", test.events...)
			checkEvents(t, run)
			require.Equal(t, test.reason, run.Outcome.StopReason)
			require.Equal(t, []time.Duration{test.ends}, when(run.Execution, domain.EventExecutionStopped))
		})
	}
}

// TestAPauseEndsWithItsExecution: the next one of a session begins at once.
func TestAPauseEndsWithItsExecution(t *testing.T) {
	t.Parallel()
	run := testsuite.New(t, testsuite.Config{Turns: []testsuite.Turn{{Text: "one", Delay: 10 * time.Second}, {Text: "two"}}}).
		Run("go", testsuite.PauseAt(5*time.Second), testsuite.SendAt(time.Minute, "more"))
	require.Len(t, run.Executions, 2)
	require.Equal(t, "two", run.Answer)
}

// TestHooksWaitInAPause: those before a step run when it is over.
func TestHooksWaitInAPause(t *testing.T) {
	t.Parallel()
	var ran []time.Time
	run := testsuite.New(t, testsuite.Config{
		Turns: slowTurns(), Tools: toolsOf(lookFor(10 * time.Second)),
		Hooks: []hook.Hook{forAll(hook.BeforeStep("h", func(c hook.Point) (hook.Point, error) {
			ran = append(ran, c.Now)
			return c, nil
		}))},
	}).Run("go", testsuite.PauseAt(15*time.Second), testsuite.ResumeAt(time.Hour))
	require.Equal(t, domain.Completed, run.Outcome.StopReason)
	require.Len(t, ran, 3)
	require.GreaterOrEqual(t, ran[1].Sub(ran[0]), time.Hour)
}
