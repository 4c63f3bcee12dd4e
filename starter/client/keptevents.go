package client

import (
	"context"
	"fmt"
	"iter"

	"everstep/activities/record"
	"everstep/domain"
)

// orKeptEvents has the records show an execution of which the server has nothing, or where no server is.
func (c *Client) orKeptEvents(ctx context.Context, id string, number int, live iter.Seq2[Event, error]) iter.Seq2[Event, error] {
	if c.cfg.Records == nil {
		return live
	}
	return func(yield func(Event, error) bool) {
		shown := false
		for event, err := range live {
			if err == nil || shown || !lostToServer(err) {
				if shown = true; !yield(event, err) {
					return
				}
				continue
			}
			a, r, ok, failed := c.kept(ctx, id, number)
			switch {
			case failed != nil:
				yield(event, fail(ctx, id, "reading the records of "+id, failed))
			case !ok:
				yield(event, err)
			default:
				if len(r.Missing) > 0 {
					c.cfg.Progress(fmt.Sprintf("of execution %d was not recorded: %s", r.Number, r.Lacks()))
				}
				yieldRecorded(a, r, yield)
			}
			return
		}
	}
}

// yieldRecorded yields what a record tells of what happened: its steps, and neither attempts nor waits.
func yieldRecorded(a agent, r record.Record, yield func(Event, error) bool) {
	x := a.recorded(r)
	show := func(e Event) bool {
		e.Number = r.Number
		return yield(e, nil)
	}
	if !show(Event{Type: EventBegan, Time: r.StartedAt, ExecutionID: x.ExecutionID, RunID: x.RunID}) {
		return
	}
	for _, step := range r.Steps {
		for _, e := range eventsOfStep(step) {
			if !show(e) {
				return
			}
		}
	}
	show(Event{Type: EventEnded, Time: r.CompletedAt, ExecutionID: x.ExecutionID, Ended: &r.Outcome})
}

func eventsOfStep(s domain.StepExecution) []Event {
	n := s.Step.Number
	all := []Event{{Type: EventStep, Time: s.StartedAt, Step: n}}
	if response := s.Step.Response; response != nil {
		answered := Event{Type: EventAnswered, Time: s.StartedAt, Step: n, Finish: response.Finish, Usage: response.Usage}
		if s.Step.Interrupted {
			answered.Type = EventCut
		}
		for _, m := range s.Step.Output {
			if m.Role == domain.RoleAssistant {
				answered.Text, answered.Calls = m.Text(), m.ToolCalls
			}
		}
		all = append(all, answered)
	}
	for i, call := range s.Step.ToolExecutions {
		e := Event{Step: n, Position: i, Tool: call.Name(), Time: call.StartedAt}
		if e.Type, e.Arguments = EventNotRun, call.Args(); call.StartedAt.IsZero() {
			e.Time, e.Error = s.CompletedAt, call.Error
			all = append(all, e)
			continue
		}
		done := e
		e.Type = EventTool
		done.Type, done.Arguments, done.Time, done.Error = EventToolDone, "", call.CompletedAt, call.Error
		all = append(all, e, done)
	}
	return all
}
