package client

import (
	"context"
	"errors"
	"slices"

	"everstep/activities/record"
	"everstep/domain"
)

// Records are the executions that have ended, as they were recorded, and where sessions stand since. record.Store is one.
type Records interface {
	// Agents are those of which there may be records, in no order.
	Agents(ctx context.Context) ([]domain.AgentID, error)
	// List names those of an agent, by number; none is no error.
	List(ctx context.Context, agent domain.AgentID) ([]record.Ref, error)
	// Get reads one. Where there is no such the error is record.ErrNone.
	Get(ctx context.Context, ref record.Ref) (record.Record, error)
	// Position is where the session stands since the newest rewind or clear that came after an execution. Where there was none
	// the error is record.ErrNone.
	Position(ctx context.Context, after record.Ref) (record.Position, error)
	// Parts are what runs have recorded of an execution in progress before they continued as new, in no order; none is no error.
	Parts(ctx context.Context, ref record.Ref) ([]record.Part, error)
}

// lostToServer reports whether the server has not, or no more, what was asked for, or is not there.
func lostToServer(err error) bool {
	return Is(err, Gone) || Is(err, NotFound) || errors.Is(err, ErrUnreached)
}

// keptSession reads the records of an agent: of its session that the server knows, else of the one that ended last. Where a record
// after them is damaged, of another build or missing, its error comes with them, as an execution that is named may be among them.
func (c *Client) keptSession(ctx context.Context, id string) ([]record.Record, error) {
	a, err := agentOf(id)
	if err != nil || c.cfg.Records == nil {
		return nil, err
	}
	refs, err := c.cfg.Records.List(ctx, a.id)
	if err != nil || len(refs) == 0 {
		return nil, err
	}
	var all []record.Record
	unread := map[record.Ref]error{}
	for _, ref := range refs {
		switch r, err := c.cfg.Records.Get(ctx, ref); {
		case err == nil:
			all = append(all, r)
		case errors.Is(err, record.ErrNone), damagedRecord(err):
			unread[ref] = err
		default:
			return nil, err
		}
	}
	switch {
	case a.name == "": // an agent without a name has one session, over several workflows
		all = eachOnce(all)
	case len(all) > 0:
		first := a.session
		if s, err := c.described(ctx, a, ""); err == nil && first == "" {
			first = s.firstRunID()
		}
		meant := first != ""
		if first = sessionOf(all, first); first == "" && !meant {
			first = slices.MaxFunc(all, lastRecorded).Head.Run.First
		}
		all = slices.DeleteFunc(all, func(r record.Record) bool { return r.Head.Run.First != first })
	}
	return all, c.unreadAfter(a, all, refs, unread)
}

// unreadAfter is the error of the newest record that cannot be read, where it comes after those that can. One that comes before
// them is only reported.
func (c *Client) unreadAfter(a agent, all []record.Record, refs []record.Ref, unread map[record.Ref]error) (last error) {
	newest := 0
	if len(all) > 0 {
		newest = all[len(all)-1].Number
	}
	for _, ref := range refs {
		err := unread[ref]
		missing := errors.Is(err, record.ErrNone)
		switch {
		case err == nil:
		case missing && (newest == 0 || ref.ExecutionID != a.id.Execution(all[0].Head.Run.First, ref.Number)): // all are being deleted, or it is of another session
		case ref.Number > newest && missing:
			last = gone("execution %d of %s is not among the records", ref.Number, a.called())
		case ref.Number > newest:
			last = err
		case !missing:
			c.cfg.Progress(err.Error())
		}
	}
	return last
}

// sessionOf is the session that a run names, its first or the one in which an execution ended; empty: none of the records.
// What came out of a file may name any run as its last, and names none of those that were recorded.
func sessionOf(all []record.Record, run string) string {
	if slices.ContainsFunc(all, func(r record.Record) bool { return r.Head.Run.First == run }) {
		return run
	}
	ended := slices.DeleteFunc(slices.Clone(all), func(r record.Record) bool { return r.RunID != run })
	if len(ended) == 0 {
		return ""
	}
	return slices.MaxFunc(ended, lastRecorded).Head.Run.First
}

// eachOnce are the records, by number, of which each number comes once: the one that was recorded last. An agent without a
// name that was begun anew, or imported, may have two of one number.
func eachOnce(all []record.Record) (once []record.Record) {
	for _, r := range all {
		switch last := len(once) - 1; {
		case last < 0 || once[last].Number != r.Number:
			once = append(once, r)
		case lastRecorded(r, once[last]) > 0:
			once[last] = r
		}
	}
	return once
}

// lastRecorded orders records by when they ended. Those that came out of files come first, whatever time they tell: whoever
// wrote one is not to choose what is shown in place of what was recorded.
func lastRecorded(x, y record.Record) int {
	switch imported := !x.Imported.IsZero(); {
	case imported == !y.Imported.IsZero():
		return x.CompletedAt.Compare(y.CompletedAt)
	case imported:
		return -1
	}
	return 1
}
