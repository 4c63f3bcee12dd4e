package client

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strconv"
	"strings"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/domain/conversation"
)

// A Point is the end of a step of an agent's execution. The zero one, but for the agent, is the newest step that is
// complete.
type Point struct {
	// ID names the agent.
	ID string
	// Execution is the execution's number or its id, or how that begins; empty: the newest.
	Execution string
	// Step counts from 1; 0 is before the first, without the prompt. Nil: the last that is complete.
	Step *int
}

// A past point is what an agent had come to after a step.
type pastPoint struct {
	target
	// origin is the point, with where its execution goes on from itself.
	origin domain.Origin
	// log has the messages until then, edits as the model was shown them.
	log   domain.Log
	edits domain.Edits
	// compiler is that of its agent's inferences.
	compiler domain.Compiler
	// inferences counts those that were completed by then, by the answers that the transcript has.
	inferences int
	// copied says that records told of it: no run holds all of its messages.
	copied bool
}

// find locates the execution of a point.
func (c *Client) find(ctx context.Context, at Point) (target, error) {
	number, err := strconv.Atoi(at.Execution)
	switch {
	case at.Execution == "":
		return c.target(ctx, at.ID, 0)
	case err == nil && number > 0 && len(at.Execution) < 8:
		return c.target(ctx, at.ID, number)
	case len(at.Execution) < leastBeginning:
		return target{}, errorf(Invalid, nil, "execution: %q is neither a number nor enough of an id; give at least %d characters of it", at.Execution, leastBeginning)
	}
	var found []int
	var lost error
	for x, err := range c.Executions(ctx, at.ID) {
		switch {
		case errors.Is(err, &Error{Class: Gone}):
			lost = err
		case err != nil:
			return target{}, err
		case strings.HasPrefix(x.ExecutionID.String(), at.Execution):
			found = append(found, x.Number)
		}
	}
	switch {
	case len(found) == 1:
		return c.target(ctx, at.ID, found[0])
	case len(found) > 1:
		return target{}, errorf(Invalid, nil, "execution: the ids of %d executions of %s begin with %q; write more of it, or give its number", len(found), at.ID, at.Execution)
	case lost != nil:
		return target{}, errorf(Gone, lost, "execution: nothing tells of execution %s of %s any more; %s", domain.Shorten(at.Execution, 60), at.ID, lost)
	}
	return target{}, errorf(NotFound, nil, "execution: %s has no execution %q", at.ID, domain.Shorten(at.Execution, 60)).next("`history %s` lists those that it has", at.ID)
}

// pastPoint reads what an agent had come to at a point. It needs a worker.
func (c *Client) pastPoint(ctx context.Context, at Point) (pastPoint, error) {
	t, err := c.find(ctx, at)
	if err != nil {
		return pastPoint{}, err
	}
	p, err := c.pointOf(ctx, t, at.Step)
	return p, fail(ctx, at.ID, "reading the past of "+at.ID, err)
}

func (c *Client) pointOf(ctx context.Context, t target, wanted *int) (pastPoint, error) {
	p := pastPoint{target: t}
	execution, steps, err := c.stepsUntil(ctx, t, wanted)
	if err != nil {
		return p, err
	}
	p.origin = domain.Origin{ExecutionID: execution.ExecutionID, Step: len(steps), AgentID: t.id, Origin: execution.Origin}
	if len(steps) == 0 {
		return p, c.loadStart(ctx, &p, execution.EditsBefore)
	}
	last := steps[len(steps)-1].Step
	p.edits, p.compiler = last.Input.Edits, last.Input.Compiler
	return p, c.load(ctx, &p, func(e domain.Entry) bool {
		return e.Index < last.Input.Messages || domain.TagOf(e.Message).StepID == last.ID
	})
}

// stepsUntil reads an execution up to a step; the steps before it that can no longer be read are zero.
func (c *Client) stepsUntil(ctx context.Context, t target, wanted *int) (execution account.Execution, steps []domain.StepExecution, err error) {
	if wanted != nil && *wanted < 0 {
		return execution, nil, errorf(Invalid, nil, "step: is %d; steps are counted from 1, and 0 is before the first", *wanted)
	}
	all, err := c.execution(ctx, t.called(), t.asked, account.Steps)
	if err == nil && len(all.Executions) > 0 {
		execution = all.Executions[0]
	}
	var lost error
	if err == nil {
		var read []domain.StepExecution
		read, err = all.KeptSteps()
		yieldAll(account.Steps, read, numberOfStep, all.Missing, func(step domain.StepExecution, err error) bool {
			if lost = cmp.Or(err, lost); err == nil {
				steps = append(append(steps, make([]domain.StepExecution, max(step.Step.Number-1-len(steps), 0))...), step)
			}
			return true
		})
	}
	switch {
	case err != nil:
		return execution, nil, err
	case wanted == nil:
	case *wanted > len(steps):
		so := "has"
		if t.running() {
			so = "has completed"
		}
		return execution, nil, errorf(NotFound, nil, "step: execution %d of %s %s %s, and no step %d", t.asked, t.called(), so, stepsIn(len(steps)), *wanted)
	default:
		steps = steps[:*wanted]
	}
	if n := len(steps); n > 0 && steps[n-1].Step.Number == 0 {
		return execution, nil, errorf(Gone, lost, "step: step %d of execution %d of %s is no longer kept: %s", n, t.asked, t.called(), lost)
	}
	return execution, steps, nil
}

// loadStart reads what an agent had come to before the first step of an execution, without its prompt, and with the
// edits with which it began, as a worker of ours tells them where there were any.
func (c *Client) loadStart(ctx context.Context, p *pastPoint, edits domain.Edits) error {
	began, err := c.reader(p.agent).First(ctx, p.firstRunID())
	p.compiler = began.Input.Definition.Compiler
	switch in := began.Input; {
	case !edits.IsZero():
		p.edits = edits
	case err != nil && !deleted(err):
		return err
	case err == nil && p.asked == 1 && in.Carry != nil:
		p.edits = in.Carry.Edits
	case p.asked > 1:
		before, err := c.target(ctx, p.called(), p.asked-1)
		if err != nil {
			return err
		}
		_, steps, err := c.stepsUntil(ctx, before, nil)
		if err != nil {
			return err
		}
		if n := len(steps); n > 0 {
			p.edits = steps[n-1].Step.Input.Edits
		}
	}
	id := p.origin.ExecutionID
	return c.load(ctx, p, func(e domain.Entry) bool {
		return e.Message.ID != id.Prompt() && domain.TagOf(e.Message).ExecutionID != id
	})
}

// load reads the messages for as long as they belong to what the point has. What the model was no longer shown may be
// gone.
func (c *Client) load(ctx context.Context, p *pastPoint, belongs func(domain.Entry) bool) error {
	var lost error
	for entry, err := range c.Messages(ctx, p.called()) {
		switch {
		case errors.Is(err, &Error{Class: Gone}):
			lost = err
			continue
		case err != nil:
			return err
		case !belongs(entry):
			return nil
		case entry.Index > p.log.Len() && (p.log.Len() > 0 || entry.Index > p.edits.Hidden):
			return errorf(Gone, lost, "a part of what %s had said by then is no longer kept: %s", p.called(), lost)
		case entry.Index > p.log.Len():
			before, err := c.chainBefore(ctx, p, entry)
			if err != nil {
				return err
			}
			p.log = domain.LogAt(entry.Index, before)
		}
		var err2 error
		if p.log, err2 = p.log.Join(entry); err2 != nil {
			return err2
		}
		if entry.Message.Role == domain.RoleAssistant && !p.edits.TookBack(entry.Index) && !domain.TagOf(entry.Message).StepID.IsZero() {
			p.inferences++
		}
	}
	if lost != nil && p.log.Len() == 0 {
		return errorf(Gone, lost, "what %s had said by then is no longer kept: %s", p.called(), lost)
	}
	return nil
}

// chainBefore is the digest of all messages before one, which are no longer kept.
func (c *Client) chainBefore(ctx context.Context, p *pastPoint, entry domain.Entry) (domain.Digest, error) {
	for runID := p.runID(); runID != ""; {
		page, err := read(ctx, c, p.agent, runID, contract.QueryMessages, contract.MessagesRequest{From: entry.Index, Limit: 1})
		if err != nil {
			return domain.Digest{}, err
		}
		if page.From == entry.Index {
			return page.Before, nil
		}
		if runID, err = c.previous(ctx, p.agent, runID); err != nil {
			return domain.Digest{}, err
		}
	}
	return domain.Digest{}, gone("the messages of %s from %d on are no longer kept", p.called(), entry.Index)
}

// conversation is what the point's agent knew, as the loop reckons with it.
func (p *pastPoint) conversation(compiler domain.Compiler) conversation.Conversation {
	return conversation.At(p.log, p.edits, compiler, p.origin.Chain(), p.inferences)
}

// state is the agent's state now, without messages.
func (c *Client) stateOf(ctx context.Context, t target) (state domain.AgentState, view *contract.StateView, _ error) {
	said, err := read(ctx, c, t.agent, t.teller(), contract.QueryState, contract.StateRequest{From: math.MaxInt32, Definition: true})
	if err != nil {
		return state, nil, c.unanswered(t.snapshot, err)
	}
	if state, err = domain.DecodeAgentState(said.State); err != nil {
		return state, nil, errorf(Failed, err, "reading the state of %s: %s", t.called(), err)
	}
	return state, &said, nil
}

func stepsIn(n int) string {
	if n == 1 {
		return "1 step"
	}
	return strconv.Itoa(n) + " steps"
}
