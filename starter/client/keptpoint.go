package client

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"everstep/activities/record"
	"everstep/domain"
)

// A keptPoint is a point of an execution that was recorded.
type keptPoint struct {
	agent
	record.Record
	// until are its steps until then, each in its place.
	until []domain.StepExecution
	// session has the records of all its executions, of which newest is the last.
	session []record.Record
	newest  record.Record
}

// keptPoint finds a point among the records. It reports false where they have no such execution.
func (c *Client) keptPoint(ctx context.Context, at Point) (p keptPoint, found bool, _ error) {
	a, all, err := c.keptSession(ctx, at.ID)
	unread := fail(ctx, at.ID, "reading the records of "+at.ID, err)
	if unread != nil && at.Execution == "" || len(all) == 0 {
		return p, false, unread
	}
	p = keptPoint{agent: a, Record: all[len(all)-1], session: all, newest: all[len(all)-1]}
	if at.Execution == "" {
		if _, _, ok, err := c.kept(ctx, at.ID, 0); err != nil || !ok {
			return p, false, err
		}
	} else {
		number, err := strconv.Atoi(at.Execution)
		byNumber := err == nil && number > 0 && len(at.Execution) < 8
		meant := slices.DeleteFunc(slices.Clone(all), func(r record.Record) bool {
			return byNumber && r.Number != number || !byNumber && !strings.HasPrefix(r.ExecutionID.String(), at.Execution)
		})
		if len(meant) != 1 {
			return p, false, unread
		}
		p.Record = meant[0]
	}
	p.until, err = stepsOfRecord(p.Record, at)
	return p, true, err
}

// stepsOfRecord are the steps of a record until a point, of which none may be missing.
func stepsOfRecord(r record.Record, at Point) ([]domain.StepExecution, error) {
	last := 0
	if n := len(r.Steps); n > 0 {
		last = r.Steps[n-1].Step.Number
	}
	if at.Step != nil {
		switch wanted := *at.Step; {
		case wanted < 0:
			return nil, errorf(Invalid, nil, "step: is %d; steps are counted from 1, and 0 is before the first", wanted)
		case wanted > last:
			return nil, errorf(NotFound, nil, "step: the record of execution %d of %s has %s, and no step %d", r.Number, at.ID, stepsIn(last), wanted)
		default:
			last = wanted
		}
	}
	if last > len(r.Steps) || last > 0 && r.Steps[last-1].Step.Number != last {
		return nil, gone("step: of execution %d of %s was not recorded: %s", r.Number, at.ID, r.Lacks())
	}
	return r.Steps[:last], nil
}

// line is what a comparison takes of it.
func (p keptPoint) line() ([]lineStep, DiffSide, error) {
	before, err := originSteps(p.Origin)
	line := before
	for i := range p.until {
		line = append(line, lineStep{StepPlace{p.ExecutionID, i + 1}, &p.until[i].Step})
	}
	return line, DiffSide{Execution: p.recorded(p.Record), Steps: len(p.until), Before: len(before)}, err
}

// pastOf is what the agent had come to at the point, by its messages that the server and the records have.
func (c *Client) pastOf(ctx context.Context, kept keptPoint) (pastPoint, error) {
	p := pastPoint{copied: true, target: target{position: position{snapshot: snapshot{agent: kept.agent}, number: kept.newest.Number, left: true}, asked: kept.Number}}
	p.origin = domain.Origin{ExecutionID: kept.ExecutionID, Step: len(kept.until), AgentID: kept.id, Origin: kept.Origin}
	id := kept.ExecutionID
	belongs := func(e domain.Entry) bool {
		return e.Message.ID != id.Prompt() && domain.TagOf(e.Message).ExecutionID != id
	}
	if n := len(kept.until); n > 0 {
		last := kept.until[n-1].Step
		p.edits, p.compiler = last.Input.Edits, last.Input.Compiler
		belongs = func(e domain.Entry) bool {
			return e.Index < last.Input.Messages || domain.TagOf(e.Message).StepID == last.ID
		}
	} else if len(kept.Steps) > 0 { // its first step was shown what the executions before it had come to
		p.edits, p.compiler = kept.Steps[0].Step.Input.Edits, kept.Steps[0].Step.Input.Compiler
	}
	last := -1 // the place of the last message, as far as the record tells
	for _, e := range kept.Messages {
		if belongs(e) {
			last = e.Index
		}
	}
	var said []domain.Entry
messages:
	for entry, err := range c.Messages(ctx, kept.called()) {
		switch {
		case err != nil && len(kept.Missing) == 0 && len(said) > 0 && said[len(said)-1].Index == last:
			break messages // what follows is not needed
		case errors.Is(err, &Error{Class: Gone}):
			return p, errorf(Gone, err, "a part of what %s had said by then is not among the records: %s; export the whole agent, with all its executions", kept.called(), err)
		case err != nil:
			return p, err
		}
		if !belongs(entry) {
			break
		}
		if said = append(said, entry); entry.Message.Role == domain.RoleAssistant && !p.edits.TookBack(entry.Index) && !domain.TagOf(entry.Message).StepID.IsZero() {
			p.inferences++
		}
	}
	if len(said) > 0 && said[0].Index > 0 {
		return p, gone("the first %d messages of %s are not among the records; export the whole agent, with all its executions", said[0].Index, kept.called())
	}
	if !kept.Imported.IsZero() { // whoever wrote the file has chosen the digests
		given, err := domain.NewGiven(nil, said, nil)
		if err != nil {
			return p, invalid(err)
		}
		if given != nil {
			for i := range said {
				said[i].Message, said[i].Digest = given.Messages[i].Message, given.Messages[i].Digest
			}
		}
	}
	var err error
	if p.log, err = p.log.Join(said...); err != nil {
		return p, err
	}
	return p, checkEdits(p.edits, p.log.Len(), kept)
}

// checkEdits refuses edits of messages that are not there: a file can say anything, and the first step of an execution may
// have summed up its prompt.
func checkEdits(e domain.Edits, n int, kept keptPoint) error {
	if e.Check(n) == nil {
		return nil
	}
	return errorf(Failed, nil, "step: what the model was shown after step %d of execution %d of %s names messages that had not been said by then; name another step", len(kept.until), kept.Number, kept.called())
}
