package guards_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/testsuite"
	"everstep/testsuite/internal/kept"
)

// checkEvents is what holds for the events of every run, whatever happens.
func checkEvents(t *testing.T, run testsuite.Run) {
	t.Helper()
	var queried []domain.Event
	for _, e := range run.Executions {
		queried = append(queried, e.Events...)
		checkExecution(t, e)
	}
	kept.CheckInputs(t, run)
	require.Equal(t, queried, run.Heard, "listeners hear what anyone can ask for, in the same order")
}

func checkExecution(t *testing.T, e testsuite.Execution) {
	t.Helper()
	require.NotEmpty(t, e.Events)
	require.Equal(t, domain.EventExecutionStarted, e.Events[0].Type)
	counts := map[domain.EventType]int{}
	open := map[string]int{}
	tools, asked := map[domain.ToolExecutionID]string{}, map[domain.ToolExecutionID]bool{}
	for i, event := range e.Events {
		head := event.EventHeader
		require.Equal(t, int64(i+1), head.Sequence, "sequence numbers have no gaps")
		require.Equal(t, e.Outcome.ExecutionID, head.ExecutionID)
		require.Equal(t, e.Outcome.AgentID, head.AgentID)
		require.False(t, head.Time.IsZero())
		if i > 0 {
			require.False(t, head.Time.Before(e.Events[i-1].Time), "time does not go back")
		}
		checkRoundTrip(t, event)
		counts[event.Type]++
		within := open["step"] > 0
		if within {
			require.Equal(t, counts[domain.EventStepStarted], head.Step, "what happens in a step says so")
			require.False(t, head.StepID.IsZero())
		}
		about, _ := event.Data.(interface{ Call() domain.EventCall })
		var call domain.ToolExecutionID
		if about != nil {
			call = about.Call().ToolExecutionID
		}
		switch event.Type {
		case domain.EventStepStarted:
			require.False(t, within)
			open["step"]++
			require.Equal(t, counts[event.Type], head.Step)
		case domain.EventStepCompleted:
			require.True(t, within)
			open["step"]--
			require.Zero(t, open["inference"], "an inference is closed in its step")
		case domain.EventInferenceRequested:
			require.True(t, within)
			open["inference"]++
		case domain.EventInferenceReceived:
			open["inference"]--
			require.Zero(t, open["inference"])
		case domain.EventWaitOpened:
			require.Equal(t, beforeWait(event.Data.(domain.WaitOpened).Kind), tools[call])
			asked[call] = true
		case domain.EventWaitClosed:
			if closed := event.Data.(domain.WaitClosed); closed.Kind != domain.WaitOutcome { // that may be of an earlier step
				require.True(t, asked[call] || !closed.Standing.IsZero(), "what a standing approval lets run is not asked about")
				require.Equal(t, beforeWait(closed.Kind), tools[call])
			}
		case domain.EventToolCallStarted:
			require.True(t, within)
			require.Empty(t, tools[call])
			tools[call] = "started"
		case domain.EventToolCallCompleted:
			require.Equal(t, "started", tools[call])
			tools[call] = "completed"
		case domain.EventToolCallBlocked:
			require.Empty(t, tools[call])
			tools[call] = "blocked"
		}
	}
	require.Zero(t, open["step"], "every step is closed")
	for id, state := range tools {
		require.NotEqual(t, "started", state, "call %s is closed", id)
	}
	require.Len(t, tools, len(e.ToolExecutions()), "every call has its event")
	require.Equal(t, e.Outcome.Steps, counts[domain.EventStepCompleted])
	require.Equal(t, e.Outcome.Steps, counts[domain.EventTokenUsageReported])
	require.Equal(t, 1, counts[domain.EventExecutionStarted])
	require.Equal(t, 1, counts[domain.EventExecutionStopped])
	require.Equal(t, 1, counts[domain.EventExecutionCompleted]+counts[domain.EventExecutionFailed])
	closing := e.Events[len(e.Events)-1]
	if e.Outcome.Status == domain.StatusFailed {
		require.Equal(t, domain.EventExecutionFailed, closing.Type)
	} else {
		require.Equal(t, domain.EventExecutionCompleted, closing.Type)
	}
}

// beforeWait is how far a call is that waits: only one that a rule holds back has not begun.
func beforeWait(kind domain.WaitKind) string {
	if kind == domain.WaitApproval {
		return ""
	}
	return "started"
}

func checkRoundTrip(t *testing.T, event domain.Event) {
	t.Helper()
	encoded, err := json.Marshal(event)
	require.NoError(t, err)
	var back domain.Event
	require.NoError(t, json.Unmarshal(encoded, &back))
	require.Equal(t, event, back)
}

// describeRun is what a run came to, as it stands below "expect:".
func describeRun(run testsuite.Run, traced *kept.Trace) string {
	var b strings.Builder
	b.WriteString("  executions:\n")
	for _, e := range run.Executions {
		fmt.Fprintf(&b, "    - status: %s\n      stop_reason: %s\n", e.Outcome.Status, e.Outcome.StopReason)
		if e.Error != nil {
			fmt.Fprintf(&b, "      error: %q\n", strings.TrimSpace(fmt.Sprintf("%s %s: %s", e.Error.Kind, e.Error.Code, e.Error.Message)))
		}
		if e.Answer != "" {
			fmt.Fprintf(&b, "      answer: %q\n", e.Answer)
		}
		var types []string
		for _, s := range e.Steps {
			types = append(types, string(s.Step.Type()))
		}
		fmt.Fprintf(&b, "      steps: [%s]\n", strings.Join(types, ", "))
		b.WriteString("      events: |\n" + indented(kept.EventLines(e.Events), "        "))
	}
	if lines := traced.Lines(); len(lines) > 0 {
		b.WriteString("  triggers: |\n" + indented(lines, "    "))
	}
	b.WriteString("  transcript: |\n" + indented(strings.Split(strings.TrimRight(run.Transcript(), "\n"), "\n"), "    "))
	return b.String()
}

func indented(lines []string, by string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.TrimRight(by+line, " ") + "\n")
	}
	return b.String()
}
