package client

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/domain/account"
)

// onlyRecorded says of an agent that the server does not have what can be done with its records; nil: there are none.
func (c *Client) onlyRecorded(ctx context.Context, id string) error {
	all, _, err := c.fromRecords(ctx, id, account.RequestOf(0, account.HeadOf), domain.MaxCount)
	if err != nil || all.Head == nil || all.Server.Unread != "" {
		return nil // that there is no such agent is said then
	}
	only := notFound("id: the server has nothing left of %s; what its records tell can be read", id)
	if imported := all.Head.Newest.Imported; !imported.IsZero() {
		only = notFound("id: no workflow of %s is here: its executions were imported on %s, and can only be read", id, imported.Format(time.DateOnly))
	}
	return only.next("`fork %s \"…\"` begins an agent that goes on from there", id)
}

// ListRecorded yields the agents of which only the records tell, each with its newest session, in no order. Of options that
// ask for what only a server has, such as what is open, nothing fits. It reads the newest record of each agent, and needs no
// worker, and no server: without one all that is recorded is listed. Where no record of an agent can be read, the others are
// yielded, and then the error.
func (c *Client) ListRecorded(ctx context.Context, o ListOptions) iter.Seq2[Listed, error] {
	return sequence(ctx, "", "listing the records", func(yield func(Listed, error) bool) (unread error) {
		if err := o.check(); err != nil {
			return invalid(err)
		}
		if o.Open || o.Waiting || len(o.Trusted) > 0 || o.Parent+o.Schedule+o.Query != "" {
			return nil
		}
		shown := 0
		for l, err := range c.recordedAgents(ctx) {
			if err != nil {
				unread = cmp.Or(unread, err)
				if !damagedRecord(err) { // which was told
					c.cfg.Progress(err.Error())
				}
				continue
			}
			if !o.keeps(l) || o.Roots && l.ParentID != "" || !o.named(l.Name) || o.Unknown && l.Unknown == 0 || l.StartedAt.Before(o.Since) {
				continue
			}
			_, err := c.described(ctx, agent{id: l.AgentID, name: l.Name}, "")
			if err == nil { // the server lists it
				continue
			}
			if !lostToServer(err) && !deleted(err) {
				return fail(ctx, l.ID, "asking about "+l.ID, err)
			}
			if shown++; !yield(l, nil) || shown == o.Limit {
				return nil
			}
		}
		return unread
	})
}

// damagedRecord reports whether an error says that a record is damaged or of another build, which no later try mends.
func damagedRecord(err error) bool { return err != nil && domain.AsError(err).Kind == domain.Internal }

// recordedAgents yields what the newest record of each agent tells that can be read. Where none of an agent can, its error is yielded,
// and the others follow.
func (c *Client) recordedAgents(ctx context.Context) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		if c.cfg.Records == nil {
			return
		}
		agents, err := c.cfg.Records.Agents(ctx)
		if err != nil {
			yield(Listed{}, err)
			return
		}
		slices.SortFunc(agents, func(a, b domain.AgentID) int { return strings.Compare(a.String(), b.String()) })
		for _, id := range agents {
			r, err := c.newestRecord(ctx, id)
			if errors.Is(err, record.ErrNone) {
				continue
			}
			if !yield(recordedAgent(r), err) || ctx.Err() != nil {
				return
			}
		}
	}
}

// newestRecord is that of the highest number that can be read, of those the one that ended last. Newer ones are told of.
func (c *Client) newestRecord(ctx context.Context, id domain.AgentID) (newest record.Record, _ error) {
	refs, err := c.cfg.Records.List(ctx, id)
	if err != nil {
		return newest, err
	}
	unread := record.ErrNone
	for _, ref := range slices.Backward(refs) {
		if ref.Number < newest.Number {
			break
		}
		switch r, err := c.cfg.Records.Get(ctx, ref); {
		case errors.Is(err, record.ErrNone): // it was deleted meanwhile
		case damagedRecord(err):
			c.cfg.Progress(err.Error())
			unread = err
		case err != nil:
			return newest, err
		case newest.Number == 0 || lastRecorded(r, newest) > 0:
			newest = r
		}
	}
	if newest.Number > 0 {
		return newest, nil
	}
	return newest, unread
}

func recordedAgent(r record.Record) Listed {
	a := agent{id: r.AgentID, name: r.Head.Name}
	l := Listed{
		Ending: endingOf(r.Outcome), Execution: a.begun(r.Number, domain.ExecutionID{}, r.RunID), Recorded: true, Build: r.Build, ImportedAt: r.Imported, Unknown: len(r.FinalState.UnresolvedOutcomes()), StartedAt: r.StartedAt, ClosedAt: r.CompletedAt,
	}
	if parent := r.FinalState.ParentAgentID; !parent.IsZero() {
		l.ParentID = parent.String()
	}
	return l
}

// withRecorded adds to the ids that begin with a text those of agents of the records, each once, one more than are shown at
// most.
func (c *Client) withRecorded(ctx context.Context, text string, found []string) []string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for l, err := range c.recordedAgents(ctx) {
		switch {
		case len(found) > shownMatches:
			return found
		case damagedRecord(err): // it was told of
		case err != nil:
			c.cfg.Progress("not all records could be looked through for " + text + "; write the whole id if it is one of theirs: " + err.Error())
		case strings.HasPrefix(l.ID, text) && !slices.Contains(found, l.ID):
			found = append(found, l.ID)
		}
	}
	return found
}
