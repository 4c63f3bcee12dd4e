package client

import (
	"context"
	"errors"
	"fmt"
	"math"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/domain/contract"
)

// Histories are the executions of one agent that have ended, as the server itself keeps them: as far as its retention
// reaches, read-only, and told by a worker.
type Histories struct {
	client *Client
	id     string
}

// Histories returns the store of an agent's executions that Temporal is.
func (c *Client) Histories(id string) Histories { return Histories{c, id} }

// Agents is the one agent.
func (h Histories) Agents(context.Context) ([]domain.AgentID, error) {
	a, err := agentOf(h.id)
	return []domain.AgentID{a.id}, err
}

// List names the executions that have ended, by number; those of another agent are none.
func (h Histories) List(ctx context.Context, id domain.AgentID) ([]record.Ref, error) {
	a, err := agentOf(h.id)
	if err != nil || a.id != id {
		return nil, err
	}
	var refs []record.Ref
	for past, err := range h.client.serverExecutions(ctx, h.id) {
		switch {
		case errors.Is(err, &Error{Class: Gone}):
			continue
		case errors.Is(err, &Error{Class: NotFound}):
			return nil, nil
		case err != nil:
			return nil, err
		}
		if past.Status.Terminal() {
			refs = append(refs, record.Ref{AgentID: id, ExecutionID: past.ExecutionID, Number: past.Number})
		}
	}
	return refs, nil
}

// Get asks for an execution, and says in the record what of it the server has no more. One that the server itself has
// ended is told by nobody.
func (h Histories) Get(ctx context.Context, ref record.Ref) (record.Record, error) {
	none := fmt.Errorf("execution %d of %s: %w", ref.Number, h.id, record.ErrNone)
	a, err := agentOf(h.id)
	if err != nil || a.id != ref.AgentID {
		return record.Record{}, none
	}
	t, err := h.client.targetEnd(ctx, h.id, ref.Number)
	switch {
	case lostToServer(err), err == nil && (t.outcome == nil || t.want() != ref.ExecutionID):
		return record.Record{}, none
	case err != nil:
		return record.Record{}, err
	}
	page, runID, err := h.ended(ctx, t)
	if err != nil {
		return record.Record{}, fail(ctx, h.id, "reading execution "+fmt.Sprint(ref.Number)+" of "+h.id, h.client.unanswered(t.snapshot, err))
	}
	if page.Ended == nil {
		return record.Record{}, none
	}
	steps, err := readable(sequence(ctx, h.id, "reading the steps of ", func(yield func(domain.StepExecution, error) bool) error {
		return h.client.stepsOf(ctx, t, nil, nil, func(contract.StepsPage) {}, yield)
	}), nil)
	if err != nil {
		return record.Record{}, err
	}
	end := page.Ended.Log.Length
	messages, err := readable(h.client.entries(ctx, a, runID, page.Ended.From, h.client.reading(a)), func(e domain.Entry) bool { return e.Index < end })
	if err != nil {
		return record.Record{}, fail(ctx, h.id, "reading the messages of "+h.id, err)
	}
	return record.Of(page, runID, steps, messages)
}

// ended asks the runs, the newest first, for the one in which the execution ended.
func (h Histories) ended(ctx context.Context, t target) (page contract.StepsPage, runID string, err error) {
	for runID = t.runID(); runID != ""; {
		page, err = read(ctx, h.client, t.agent, runID, contract.QuerySteps, contract.StepsRequest{Number: t.asked, From: math.MaxInt32, Ended: true})
		if err == nil && page.ExecutionID == t.want() && page.Ended != nil {
			return page, runID, nil
		}
		if err != nil {
			return page, runID, err
		}
		previous, err := h.client.previous(ctx, t.agent, runID)
		if err != nil && !deleted(err) {
			return page, runID, err
		}
		runID = previous
	}
	page.Ended = nil
	return page, runID, nil
}

// readable are those of some things that can still be read, until one of them is not wanted.
func readable[T any](all func(func(T, error) bool), wanted func(T) bool) (some []T, _ error) {
	for one, err := range all {
		switch {
		case errors.Is(err, &Error{Class: Gone}):
			continue
		case err != nil:
			return nil, err
		case wanted != nil && !wanted(one):
			return some, nil
		}
		some = append(some, one)
	}
	return some, nil
}
