package client

import (
	"context"
	"errors"
	"fmt"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/domain/account"
)

// Histories are the executions of one agent that have ended, as the server itself keeps them: as far as its retention
// reaches, read-only.
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
	s, err := h.client.describe(ctx, h.id)
	if errors.Is(err, &Error{Class: NotFound}) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	told, _, err := accountReader{client: h.client, request: account.Request{Want: []account.Part{account.HeadOf, account.Executions}}}.runs(ctx, s.newest())
	if err != nil {
		return nil, fail(ctx, h.id, "reading the executions of "+h.id, err)
	}
	var refs []record.Ref
	for _, e := range told.Executions {
		if e.Status.Terminal() {
			refs = append(refs, record.Ref{AgentID: id, ExecutionID: e.ExecutionID, Number: e.Number})
		}
	}
	return refs, nil
}

// Get asks for an execution, and says in the record what of it the server has no more. One that the server itself has
// ended is told by nobody.
func (h Histories) Get(ctx context.Context, ref record.Ref) (record.Record, error) {
	none := fmt.Errorf("execution %d of %s: %w", ref.Number, h.id, record.ErrNone)
	s, err := h.client.describe(ctx, h.id)
	if lostToServer(err) || err == nil && s.id != ref.AgentID {
		return record.Record{}, none
	}
	if err != nil {
		return record.Record{}, err
	}
	want := []account.Part{account.HeadOf, account.Executions, account.Steps, account.Events, account.Messages, account.State}
	reader := accountReader{client: h.client, request: account.Request{Want: want, Execution: ref.Number}}
	told, err := reader.read(ctx, s.newest())
	if err == nil && len(told.Executions) == 1 && told.Executions[0].RunID != told.Head.Run.ID {
		var ended snapshot
		if ended, err = h.client.described(ctx, s.agent, told.Executions[0].RunID); err == nil {
			told, err = reader.read(ctx, ended) // it knows of which session it is
		}
	}
	if err != nil {
		return record.Record{}, fail(ctx, h.id, "reading execution "+fmt.Sprint(ref.Number)+" of "+h.id, h.client.unanswered(s, err))
	}
	if len(told.Executions) != 1 || told.Executions[0].ExecutionID != ref.ExecutionID || told.Executions[0].Ended == nil {
		return record.Record{}, none
	}
	r, err := record.Of(told)
	store, ok := h.client.cfg.Records.(PartRecords)
	if err != nil || !ok || len(r.Missing) == 0 {
		return r, err
	}
	parts, err := store.Parts(ctx, r.Ref())
	if err != nil {
		return record.Record{}, fail(ctx, h.id, "reading the records of "+h.id, err)
	}
	return r.WithParts(parts)
}
