package testsuite_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/testsuite"
)

func sortedNames[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// checkEvents is what holds for the events of every run, whatever happens.
func checkEvents(t *testing.T, run testsuite.Run) {
	t.Helper()
	var queried []domain.Event
	for _, e := range run.Executions {
		queried = append(queried, e.Events...)
		checkExecution(t, e)
	}
	require.Equal(t, queried, run.Heard, "listeners hear what anyone can ask for, in the same order")
}

func checkExecution(t *testing.T, e testsuite.Execution) {
	t.Helper()
	require.NotEmpty(t, e.Events)
	require.Equal(t, domain.EventExecutionStarted, e.Events[0].Type())
	counts := map[domain.EventType]int{}
	open := map[string]int{}
	tools := map[domain.ToolExecutionID]string{}
	for i, event := range e.Events {
		head := event.Head()
		require.Equal(t, int64(i+1), head.Sequence, "sequence numbers have no gaps")
		require.Equal(t, e.Outcome.ExecutionID, head.ExecutionID)
		require.Equal(t, e.Outcome.AgentID, head.AgentID)
		require.False(t, head.Time.IsZero())
		if i > 0 {
			require.False(t, head.Time.Before(e.Events[i-1].Head().Time), "time does not go back")
		}
		checkRoundTrip(t, event)
		counts[event.Type()]++
		within := open["step"] > 0
		if within {
			require.Equal(t, counts[domain.EventStepStarted], head.Step, "what happens in a step says so")
			require.False(t, head.StepID.IsZero())
		}
		switch event := event.(type) {
		case domain.AgentStepStarted:
			require.False(t, within)
			open["step"]++
			require.Equal(t, counts[event.Type()], head.Step)
		case domain.AgentStepCompleted:
			require.True(t, within)
			open["step"]--
			require.Zero(t, open["inference"], "an inference is closed in its step")
		case domain.InferenceRequestStarted:
			require.True(t, within)
			open["inference"]++
		case domain.InferenceResponseReceived:
			open["inference"]--
			require.Zero(t, open["inference"])
		case domain.ToolCallStarted:
			require.True(t, within)
			require.Empty(t, tools[event.ToolExecutionID])
			tools[event.ToolExecutionID] = "started"
		case domain.ToolCallCompleted:
			require.Equal(t, "started", tools[event.ToolExecutionID])
			tools[event.ToolExecutionID] = "completed"
		case domain.ToolCallBlocked:
			require.Empty(t, tools[event.ToolExecutionID])
			tools[event.ToolExecutionID] = "blocked"
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
		require.Equal(t, domain.EventExecutionFailed, closing.Type())
	} else {
		require.Equal(t, domain.EventExecutionCompleted, closing.Type())
	}
}

func checkRoundTrip(t *testing.T, event domain.Event) {
	t.Helper()
	encoded, err := json.Marshal(domain.RecordedEvent{Event: event})
	require.NoError(t, err)
	var back domain.RecordedEvent
	require.NoError(t, json.Unmarshal(encoded, &back))
	require.Equal(t, event, back.Event)
}

// eventLines writes events as a person reads them, those within a step indented.
func eventLines(events []domain.Event) []string {
	lines := make([]string, len(events))
	within := false
	for i, event := range events {
		line := strings.TrimRight(strings.Join(strings.Fields(string(event.Type())+" "+eventWords(event)), " "), " ,")
		if event.Type() == domain.EventStepCompleted {
			within = false
		}
		if within {
			line = "  " + line
		}
		if event.Type() == domain.EventStepStarted {
			within = true
		}
		lines[i] = line
	}
	return lines
}

// eventWords is what an event says beside its type.
func eventWords(event domain.Event) string {
	by := func(source string) string {
		if source == "" {
			return ""
		}
		return "by " + source
	}
	switch e := event.(type) {
	case domain.AgentExecutionStarted:
		if !e.Origin.IsZero() {
			return fmt.Sprintf("%d, going on", e.Number)
		}
		return fmt.Sprint(e.Number)
	case domain.AgentStepStarted:
		return fmt.Sprint(e.Step)
	case domain.InferenceRequestStarted:
		words := ""
		if e.Attempts > 0 {
			words = fmt.Sprint("after ", e.Attempts)
		}
		if e.Summary {
			words += " for a summary"
		}
		return words
	case domain.InferenceResponseReceived:
		words := fmt.Sprintf("%s %s %s", e.FinishReason, e.Kind, e.Code)
		if e.ToolCalls > 0 {
			words += fmt.Sprintf(" calls: %d", e.ToolCalls)
		}
		return words
	case domain.ToolCallStarted:
		return e.Tool
	case domain.ToolCallCompleted:
		return fmt.Sprintf("%s %s %s", e.Tool, e.Kind, e.Code)
	case domain.ToolCallBlocked:
		return fmt.Sprintf("%s %s %s", e.Tool, e.Code, by(e.Source))
	case domain.AgentStepCompleted:
		return fmt.Sprintf("%d %s, finish: %s, calls: %d, errors: %d", e.Step, e.StepType, e.FinishReason, e.ToolCalls, e.Errors)
	case domain.TokenUsageReported:
		return spentWords(e.Usage, e.CostNanoUSD)
	case domain.ContinuationEvaluated:
		words := "goes on"
		if e.Stops {
			words = fmt.Sprint("stops ", e.Reason)
		}
		if e.Overridden > 0 {
			words += fmt.Sprintf(", overridden: %d", e.Overridden)
		}
		return words
	case domain.StopSignalReceived:
		return fmt.Sprintf("%s %s", e.Reason, by(e.Source))
	case domain.AgentExecutionStopped:
		return fmt.Sprintf("%s %s", e.Reason, by(e.Source))
	case domain.AgentExecutionCompleted:
		return fmt.Sprintf("%s %s, steps: %d, %s", e.Status, e.StopReason, e.Steps, spentWords(e.Usage, e.CostNanoUSD))
	case domain.AgentExecutionFailed:
		return fmt.Sprintf("%s: %s %s %s, steps: %d, %s", e.StopReason, e.Kind, e.Code, by(e.Source), e.Steps, spentWords(e.Usage, e.CostNanoUSD))
	}
	return "?"
}

func spentWords(usage domain.Usage, cost int64) string {
	words := fmt.Sprintf("tokens: %d", usage.TotalTokens())
	if usage.Estimated {
		words = fmt.Sprintf("tokens: about %d", usage.TotalTokens())
	}
	if cost > 0 {
		words += ", $" + domain.USD(cost)
	}
	return words
}

// describeRun is what a run came to, as it stands below "expect:".
func describeRun(run testsuite.Run, traced *trace) string {
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
		b.WriteString("      events: |\n" + indented(eventLines(e.Events), "        "))
	}
	if lines := traced.lines(); len(lines) > 0 {
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
