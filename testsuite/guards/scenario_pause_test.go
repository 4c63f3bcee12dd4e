package guards_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
	"everstep/testsuite"
)

// A stopwatch notes when things really happen, in seconds from the beginning of
// the execution: the workflow's own clock stands still while activities run.
type stopwatch struct {
	began          time.Time
	answered, used []int
}

func (w *stopwatch) now() int { return int(time.Since(w.began).Round(time.Second).Seconds()) }

func (w *stopwatch) hooks() []hook.Hook {
	return []hook.Hook{
		forAll(hook.IO(domain.TriggerBeforeExecution, "watch", func(context.Context, contract.HookRequest) (contract.HookReply, error) {
			w.began = time.Now()
			return contract.HookReply{}, nil
		})),
		forAll(hook.IO(domain.TriggerAfterInference, "watch", func(context.Context, contract.HookRequest) (contract.HookReply, error) {
			w.answered = append(w.answered, w.now())
			return contract.HookReply{}, nil
		})),
	}
}

// look is a tool that takes ten seconds.
func (w *stopwatch) look() *testsuite.Fake {
	return testsuite.NewFake(domain.ToolSpec{Name: "look"}, func(ctx context.Context, c testsuite.FakeCall) (string, error) {
		w.used = append(w.used, w.now())
		return testsuite.After(10*time.Second, testsuite.Returns("sunny"))(ctx, c)
	})
}

// slowTurns ask for a tool, twice, and answer; each takes ten seconds.
func slowTurns() []testsuite.Turn {
	asks := testsuite.Turn{Calls: []testsuite.Call{{Name: "look"}}, Delay: 10 * time.Second}
	return []testsuite.Turn{asks, asks, {Text: "done", Delay: 10 * time.Second}}
}

// when lists when events of a type happened, after the beginning, by the
// workflow's clock. In memory that stands still while activities run.
func when(e testsuite.Execution, kind domain.EventType) []time.Duration {
	var times []time.Duration
	for _, event := range e.Events {
		if event.Type == kind {
			times = append(times, event.Time.Sub(e.Events[0].Time))
		}
	}
	return times
}

// TestNothingStartsInAPause: what is under way finishes, and nothing else begins
// until it is over. Each inference and each call takes ten seconds.
func TestNothingStartsInAPause(t *testing.T) {
	t.Parallel()
	const resume = time.Hour
	for name, test := range map[string]struct {
		pause time.Duration
		// asked and used count the inferences and calls that begin before it is over.
		asked, used int
	}{
		"in the first inference": {5 * time.Second, 1, 0},
		"in the first call":      {15 * time.Second, 1, 1},
		"in the next inference":  {25 * time.Second, 2, 1},
		"in the next call":       {35 * time.Second, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var watch stopwatch
			run := testsuite.New(t, testsuite.Config{Turns: slowTurns(), Tools: toolsOf(watch.look()), Hooks: watch.hooks()}).
				Run("go", testsuite.PauseAt(test.pause), testsuite.ResumeAt(resume))
			checkEvents(t, run)
			require.Equal(t, domain.Completed, run.Outcome.StopReason)
			for kind, before := range map[domain.EventType]int{domain.EventInferenceRequested: test.asked, domain.EventToolCallStarted: test.used} {
				times := when(run.Execution, kind)
				for i, at := range times {
					require.Equal(t, i < before, at < resume, "%s %d at %s", kind, i, at)
				}
			}
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
	var watch stopwatch
	var ran []time.Time
	run := testsuite.New(t, testsuite.Config{
		Turns: slowTurns(), Tools: toolsOf(watch.look()),
		Hooks: append(watch.hooks(), forAll(hook.BeforeStep("h", func(c hook.Point) (hook.Point, error) {
			ran = append(ran, c.Now)
			return c, nil
		}))),
	}).Run("go", testsuite.PauseAt(15*time.Second), testsuite.ResumeAt(time.Hour))
	require.Equal(t, domain.Completed, run.Outcome.StopReason)
	require.Len(t, ran, 3)
	require.GreaterOrEqual(t, ran[1].Sub(ran[0]), time.Hour)
}

// TestALowerLimitOfTime cuts off what is under way, as the limit itself would.
func TestALowerLimitOfTime(t *testing.T) {
	t.Parallel()
	var watch stopwatch
	turns := slowTurns()
	turns[0].Delay = 10 * time.Minute
	run := testsuite.New(t, testsuite.Config{
		Turns: turns, Tools: toolsOf(watch.look()), Hooks: watch.hooks(), Budget: domain.ExecutionBudget{MaxSeconds: new(3600.0)},
	}).Run("go", testsuite.ExtendAt(20*time.Second, domain.ExecutionBudget{MaxSeconds: new(10.0)}))
	checkEvents(t, run)
	require.Equal(t, domain.TimeLimitReached, run.Outcome.StopReason)
	require.True(t, run.Steps[0].Step.Interrupted, "an inference of ten minutes goes on for no time that is left")
	require.Empty(t, watch.answered)
}

// TestAHigherLimitOfTime: the time that was first set rings for nobody.
func TestAHigherLimitOfTime(t *testing.T) {
	t.Parallel()
	var watch stopwatch
	run := testsuite.New(t, testsuite.Config{
		Turns: slowTurns(), Tools: toolsOf(watch.look()), Hooks: watch.hooks(), Budget: domain.ExecutionBudget{MaxSeconds: new(25.0)},
	}).Run("go", testsuite.ExtendAt(20*time.Second, domain.ExecutionBudget{MaxSeconds: new(3600.0)}))
	checkEvents(t, run)
	require.Equal(t, domain.Completed, run.Outcome.StopReason)
	require.Equal(t, []int{10, 30, 50}, watch.answered)
}
