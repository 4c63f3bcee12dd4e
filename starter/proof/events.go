package proof

import (
	"encoding/json"
	"fmt"
	"slices"

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
	calls   map[domain.ToolExecutionID]place
	unknown map[place]bool // the places of calls of which it does not tell how they ended
}

// of tells of the events in their order, and then of calls as they ended in
// call order: which of several ends first is nobody's promise.
func (s story) of(events []domain.Event) []string {
	var lines, ends []string
	for _, event := range events {
		switch e := event.(type) {
		case domain.ToolCallStarted:
			lines = append(lines, told(e)+fmt.Sprint(s.calls[e.ToolExecutionID]))
		case domain.ToolCallBlocked:
			lines = append(lines, told(e)+fmt.Sprint(s.calls[e.ToolExecutionID]))
		case domain.ToolCallCompleted:
			at := s.calls[e.ToolExecutionID]
			if s.unknown[at] {
				e.Kind, e.Code = "", ""
			}
			ends = append(ends, fmt.Sprintf("%05d/%03d %s", at.step, at.position, told(e)))
		case domain.AgentStepCompleted:
			for at := range s.unknown {
				if at.step == e.Step { // it makes it another type of step
					e.StepType, e.Errors = "", 0
				}
			}
			lines = append(lines, told(e))
		default:
			lines = append(lines, told(e))
		}
	}
	slices.Sort(ends)
	return append(lines, ends...)
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

// told is an event without what differs from run to run.
func told(event domain.Event) string {
	fields := make(map[string]any)
	text, err := json.Marshal(domain.RecordedEvent{Event: event})
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		return err.Error()
	}
	for _, key := range []string{
		"sequence", "time", "agent_id", "parent_agent_id", "execution_id", "step_id", "tool_execution_id", "child_agent_id",
		"attempts", "usage", "cost_nano_usd", "duration_ms",
	} {
		delete(fields, key)
	}
	if fields["origin"] != nil {
		fields["origin"] = "another"
	}
	return fmt.Sprint(fields)
}
