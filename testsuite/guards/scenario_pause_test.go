package guards_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/hook"
	"everstep/testsuite"
)

// slowLook is a tool that takes ten seconds.
func slowLook() []tool.Tool {
	return toolsOf(testsuite.NewFake(domain.ToolSpec{Name: "look"}, testsuite.After(10*time.Second, testsuite.Returns("sunny"))))
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
			run := testsuite.New(t, testsuite.Config{Turns: slowTurns(), Tools: slowLook()}).
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
	var ran []time.Time
	run := testsuite.New(t, testsuite.Config{
		Turns: slowTurns(), Tools: slowLook(),
		Hooks: []hook.Hook{forAll(hook.BeforeStep("h", func(c hook.Point) (hook.Point, error) {
			ran = append(ran, c.Now)
			return c, nil
		}))},
	}).Run("go", testsuite.PauseAt(15*time.Second), testsuite.ResumeAt(time.Hour))
	require.Equal(t, domain.Completed, run.Outcome.StopReason)
	require.Len(t, ran, 3)
	require.GreaterOrEqual(t, ran[1].Sub(ran[0]), time.Hour)
}
