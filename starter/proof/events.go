package proof

import (
	"fmt"
	"slices"
	"strings"

	"everstep/domain"
)

// judgeEvents compares the events by type, step and reason, and counts them.
func (p *chaos) judgeEvents(v *verdict, got played, base played, unknown map[domain.ToolExecutionID]bool) {
	v.told = true
	for i := range base.events {
		wrong := wrongCount(got.events[i])
		if wrong == "" {
			mine := story{calls: positions(got.steps[i]), unknown: make(map[place]bool)}
			for id := range unknown {
				if at, here := mine.calls[id]; here {
					mine.unknown[at] = true
				}
			}
			theirs := story{calls: positions(base.steps[i]), unknown: mine.unknown}
			wrong = firstDifference(mine.of(got.events[i]), theirs.of(base.events[i]))
		}
		if wrong != "" {
			v.told = false
			p.broke(PromiseEvents, v.trial, "execution %d: %s", i+1, wrong)
		}
	}
}

// wrongCount says where the numbers of events do not follow one another from 1.
func wrongCount(events []domain.Event) string {
	for i, event := range events {
		if n := event.Head().Sequence; n != int64(i+1) {
			return fmt.Sprintf("event %d has number %d", i+1, n)
		}
	}
	return ""
}

// A place is where a tool call stands in its execution.
type place struct{ step, position int }

func positions(steps []domain.StepExecution) map[domain.ToolExecutionID]place {
	calls := make(map[domain.ToolExecutionID]place)
	for _, step := range steps {
		for position, call := range step.Step.ToolExecutions {
			calls[call.ID] = place{step.Step.Number, position}
		}
	}
	return calls
}

// A story is an execution's events in words, ids, times and usage aside.
type story struct {
	calls map[domain.ToolExecutionID]place
	// unknown are the places of calls of which it does not tell how they ended.
	unknown map[place]bool
}

// of tells of the events in their order, and then of calls as they ended in
// call order: which of several ends first is nobody's promise.
func (s story) of(events []domain.Event) []string {
	var lines, ends []string
	for _, event := range events {
		line := fmt.Sprintf("%s step %d %s", event.Type(), event.Head().Step, s.reason(event))
		if completed, ok := event.(domain.ToolCallCompleted); ok {
			at := s.calls[completed.ToolExecutionID]
			ends = append(ends, fmt.Sprintf("%05d/%03d %s", at.step, at.position, line))
			continue
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	slices.Sort(ends)
	return append(lines, ends...)
}

func (s story) reason(event domain.Event) string {
	switch e := event.(type) {
	case domain.AgentExecutionStarted:
		return fmt.Sprintf("number %d, goes on: %t", e.Number, !e.Origin.IsZero())
	case domain.InferenceRequestStarted:
		return fmt.Sprintf("summary: %t", e.Summary)
	case domain.InferenceResponseReceived:
		return fmt.Sprintf("%s, %d calls %s", e.FinishReason, e.ToolCalls, e.Code)
	case domain.ToolCallStarted:
		return fmt.Sprintf("%s %v", e.Tool, s.calls[e.ToolExecutionID])
	case domain.ToolCallCompleted:
		if s.unknown[s.calls[e.ToolExecutionID]] {
			return e.Tool
		}
		return fmt.Sprintf("%s %s", e.Tool, e.Code)
	case domain.ToolCallBlocked:
		return fmt.Sprintf("%s %v %s by %s", e.Tool, s.calls[e.ToolExecutionID], e.Code, e.Source)
	case domain.AgentStepCompleted:
		if s.unsure(e.Step) {
			return fmt.Sprintf("%s, %d calls", e.FinishReason, e.ToolCalls)
		}
		return fmt.Sprintf("%s %s, %d calls, %d errors", e.StepType, e.FinishReason, e.ToolCalls, e.Errors)
	case domain.ContinuationEvaluated:
		return fmt.Sprintf("stops: %t %s, %d overridden", e.Stops, e.Reason, e.Overridden)
	case domain.StopSignalReceived:
		return fmt.Sprintf("%s by %s", e.Reason, e.Source)
	case domain.AgentExecutionStopped:
		return fmt.Sprintf("%s by %s", e.Reason, e.Source)
	case domain.AgentExecutionCompleted:
		return fmt.Sprintf("%s %s, %d steps", e.Status, e.StopReason, e.Steps)
	case domain.AgentExecutionFailed:
		return fmt.Sprintf("%s %s by %s, %d steps", e.StopReason, e.Code, e.Source, e.Steps)
	case domain.SubagentSpawning:
		return e.Subagent
	case domain.SubagentCompleted:
		return fmt.Sprintf("%s %s", e.Subagent, e.Status)
	}
	return ""
}

// unsure reports whether a call of the step is unknown, which makes it another
// type of step.
func (s story) unsure(step int) bool {
	for at := range s.unknown {
		if at.step == step {
			return true
		}
	}
	return false
}

func firstDifference(mine, theirs []string) string {
	for i := range max(len(mine), len(theirs)) {
		switch {
		case i >= len(mine):
			return fmt.Sprintf("the events end where undisturbed there is %q", theirs[i])
		case i >= len(theirs):
			return fmt.Sprintf("there is %q more than undisturbed", mine[i])
		case mine[i] != theirs[i]:
			return fmt.Sprintf("there is %q where undisturbed there is %q", mine[i], theirs[i])
		}
	}
	return ""
}
