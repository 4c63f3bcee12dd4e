package kept

import (
	"encoding/json"
	"fmt"
	"strings"

	"everstep/domain"
)

// EventLines writes events as a person reads them, those within a step indented.
func EventLines(events []domain.Event) []string {
	lines := make([]string, len(events))
	within := false
	for i, event := range events {
		line := strings.TrimRight(strings.Join(strings.Fields(string(event.Type)+" "+eventWords(event)), " "), " ,")
		if event.Type == domain.EventStepCompleted {
			within = false
		}
		if within {
			line = "  " + line
		}
		if event.Type == domain.EventStepStarted {
			within = true
		}
		lines[i] = line
	}
	return lines
}

// eventWords is what an event says beside its type.
func eventWords(event domain.Event) string {
	where := func(is bool, format string, args ...any) string {
		if !is {
			return ""
		}
		return fmt.Sprintf(format, args...)
	}
	by := func(source string) string { return where(source != "", "by %s", source) }
	switch e := event.Data.(type) {
	case nil:
		return where(event.Type == domain.EventStepStarted, "%d", event.Step)
	case domain.AgentExecutionStarted:
		return fmt.Sprint(e.Number) + where(!e.Origin.IsZero(), ", going on")
	case domain.MessageWaiting:
		return fmt.Sprintf("bytes: %d", e.Bytes) + where(e.Queued, ", for an execution of its own")
	case domain.HookEvent:
		return fmt.Sprintf("%s at %s %s", e.Hook, e.Trigger, e.Kind)
	case domain.MessageReceived:
		return fmt.Sprintf("bytes: %d", e.Bytes) + where(e.Began, ", begins it")
	case domain.InferenceRequestStarted:
		return where(e.Attempts > 0, "after %d", e.Attempts) + where(e.Summary, " for a summary")
	case domain.InferenceResponseReceived:
		return fmt.Sprintf("%s %s %s", e.FinishReason, e.Kind, e.Code) + where(e.ToolCalls > 0, " calls: %d", e.ToolCalls)
	case domain.EventCall:
		return e.Tool
	case domain.WaitOpened:
		return string(e.Kind) + " " + e.Tool + where(!e.ExpiresAt.IsZero(), " until it expires")
	case domain.ToolCallWaiting:
		return e.Tool + where(!e.Until.IsZero(), " until a time") + where(e.Status != "", " %s", e.Status)
	case domain.ToolCallRetried:
		return fmt.Sprintf("%s attempt: %d %s %s", e.Tool, e.Attempt, e.Kind, e.Code)
	case domain.ToolCallCompleted:
		return fmt.Sprintf("%s %s %s", e.Tool, e.Kind, e.Code)
	case domain.WaitClosed:
		return fmt.Sprintf("%s %s %s %s", e.Kind, e.Tool, e.Verdict, by(e.By))
	case domain.ToolCallBlocked:
		return fmt.Sprintf("%s %s %s", e.Tool, e.Code, by(e.Source))
	case domain.AgentStepCompleted:
		return fmt.Sprintf("%d %s, finish: %s, calls: %d, errors: %d", event.Step, e.StepType, e.FinishReason, e.ToolCalls, e.Errors)
	case domain.TokenUsageReported:
		return spentWords(e.Usage, e.CostNanoUSD)
	case domain.ContinuationEvaluated:
		return where(!e.Stops, "goes on") + where(e.Stops, "stops %s", e.Reason) + where(e.Overridden > 0, ", overridden: %d", e.Overridden)
	case domain.StopEvent:
		return fmt.Sprintf("%s %s", e.Reason, by(e.Source))
	case domain.ExecutionEnded:
		if e.Status == "" {
			return fmt.Sprintf("%s: %s %s %s, steps: %d, %s", e.StopReason, e.Kind, e.Code, by(e.Source), e.Steps, spentWords(e.Usage, e.CostNanoUSD))
		}
		return fmt.Sprintf("%s %s, steps: %d, %s", e.Status, e.StopReason, e.Steps, spentWords(e.Usage, e.CostNanoUSD))
	}
	fields, _ := json.Marshal(event.Data) // of a type that has no words of its own
	return string(fields)
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
