package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/domain/account"
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

// OfRecords returns a client for while no server can be reached: it reads what Config.Records tell. Whatever takes the
// server fails as Unreachable, with the text of why.
func OfRecords(cfg Config, why error) *Client {
	err := errorf(Unreachable, fmt.Errorf("%w: %w", ErrUnreached, why), "%s", why)
	if known, ok := errors.AsType[*Error](why); ok {
		err.Next = known.Next
	}
	c := New(unreached{err: err}, cfg)
	c.unreached, c.impatient = err, true
	return c
}

// ErrUnreached is in the errors of what a client of OfRecords cannot tell, since no server was there to be asked.
var ErrUnreached = errors.New("no server can be reached")

// An unreached is in the place of a server. What this package does not use of one it panics on.
type unreached struct {
	sdk.Client
	err error
}

func (u unreached) ListWorkflow(context.Context, *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	return nil, u.err
}

func (u unreached) ExecuteWorkflow(context.Context, sdk.StartWorkflowOptions, any, ...any) (sdk.WorkflowRun, error) {
	return nil, u.err
}

func (u unreached) WorkflowService() workflowservice.WorkflowServiceClient {
	return workflowservice.NewWorkflowServiceClient(noConnection(u))
}

func (u unreached) OperatorService() operatorservice.OperatorServiceClient {
	return operatorservice.NewOperatorServiceClient(noConnection(u))
}

// A noConnection fails each call.
type noConnection unreached

func (n noConnection) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	return n.err
}

func (n noConnection) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, n.err
}
