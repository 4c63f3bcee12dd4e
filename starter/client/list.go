package client

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
)

// A Listed is one agent of a list.
type Listed struct {
	// Execution is the newest, without its id.
	Execution
	// Foreign is no agent of a client: somebody started agent.Execute under an id of their own,
	// which workers refuse. ID is that id, AgentID is zero, and nothing else takes either.
	Foreign bool `json:"foreign,omitzero"`
	// ParentID is the agent whose sub-agent it is, as others take it; empty: nobody's.
	ParentID string `json:"parent_id,omitzero"`
	Ending
	// Paused says that nothing new starts in it, Stopping that it was asked to stop.
	Paused   bool `json:"paused,omitzero"`
	Stopping bool `json:"stopping,omitzero"`
	// Suspended says that the session takes no message until it is unsuspended.
	Suspended bool `json:"suspended,omitzero"`
	// Waiting counts the tool calls that wait for a person's word or answer, Questions those of them that ask.
	Waiting   int `json:"waiting,omitzero"`
	Questions int `json:"questions,omitzero"`
	// WaitsFor says what they wait for, in words.
	WaitsFor string `json:"-"`
	// Unknown counts its calls of which nobody knows whether they took effect.
	Unknown int `json:"outcome_unknown,omitzero"`
	// Build of Everstep has begun its newest run; empty: no worker has yet.
	Build string `json:"build"`
	// CarriedBy is the build that has carried it on last, where that is another.
	CarriedBy string `json:"carried_by,omitzero"`
	// Schedule has begun the agent, where a schedule has.
	Schedule string `json:"schedule,omitzero"`
	// Recorded says that only the records tell of it, and ImportedAt when they came out of a file; zero: they did not.
	Recorded   bool      `json:"recorded,omitzero"`
	ImportedAt time.Time `json:"imported_at,omitzero"`
	// Open says that an execution is in progress, or the session takes messages.
	Open bool `json:"open"`
	// ServerStatus is Temporal's own word for the workflow.
	ServerStatus string    `json:"server_status"`
	StartedAt    time.Time `json:"started_at"`
	ClosedAt     time.Time `json:"closed_at,omitzero"`
}

// ListOptions choose what is listed. The zero value lists every agent.
type ListOptions struct {
	// Open leaves out agents that have ended.
	Open bool
	// Waiting leaves out agents of which nothing waits for people.
	Waiting bool
	// All lists the earlier sessions of a name too. The ID of each, NAME@RUN, is what reads it.
	All bool
	// Trusted lists only agents that were given these trusted values when they began, each of a name in
	// Config.IndexTrusted; agents that began without that setting are not found.
	Trusted domain.Trusted
	// Unknown leaves out agents that have no call of which nobody knows whether it took effect.
	Unknown bool
	ListFilter
	// Limit bounds the number of agents. Zero: no bound.
	Limit int
}

const listPage = 100

// List yields the agents that the server knows, the open ones first, then the
// newest. It needs no worker. What happened a moment ago may be missing. Where a busy server takes longer than 8 s for
// its list, Config.Progress is told, and it has 30 s more.
func (c *Client) List(ctx context.Context, o ListOptions) iter.Seq2[Listed, error] {
	return sequence(ctx, "", "listing agents", func(yield func(Listed, error) bool) error {
		return c.list(ctx, o, func(l Listed, _ *workflowpb.WorkflowExecutionInfo) bool { return yield(l, nil) })
	})
}

// list yields each agent once, with what the server's list says of it.
func (c *Client) list(ctx context.Context, o ListOptions, yield func(Listed, *workflowpb.WorkflowExecutionInfo) bool) error {
	if err := o.check(); err != nil {
		return invalid(err)
	}
	count, shown := 0, map[string]bool{}
	for info, err := range c.visible(ctx, o) {
		if err != nil {
			return err
		}
		workflowID := info.GetExecution().GetWorkflowId()
		a, is := agentOfWorkflow(workflowID)
		foreign := !is
		if is && shown[workflowID] {
			if !o.All || a.name == "" || c.wasReset(ctx, a, info) { // without a name there is one, of which each execution can be named
				continue
			}
			a.session = info.GetExecution().GetRunId()
		}
		shown[workflowID] = true
		l := c.listed(a, foreign, info)
		if o.Unknown && l.Unknown == 0 || !foreign && !o.named(a.name) || foreign && o.Agent != "" || !o.keeps(l) {
			continue
		}
		if count++; !yield(l, info) || count == o.Limit {
			return nil
		}
	}
	return nil
}

// wasReset reports whether a run was reset, so that its session has gone on in another one. The server's list does not tell.
func (c *Client) wasReset(ctx context.Context, a agent, info *workflowpb.WorkflowExecutionInfo) bool {
	if info.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED {
		return false
	}
	s, err := c.described(ctx, a, info.GetExecution().GetRunId())
	return err == nil && s.GetWorkflowExtendedInfo().GetResetRunId() != ""
}

// visible yields what the server's list says, without runs that went on in another one.
func (c *Client) visible(ctx context.Context, o ListOptions) iter.Seq2[*workflowpb.WorkflowExecutionInfo, error] {
	return func(yield func(*workflowpb.WorkflowExecutionInfo, error) bool) {
		with, err := c.having(ctx, o.Trusted)
		if err != nil {
			yield(nil, err)
			return
		}
		for info, err := range c.runs(ctx, o.query(o.Open || o.Waiting)+with) {
			if err != nil {
				if o.Query != "" && isAs[*serviceerror.InvalidArgument](err) {
					err = errorf(Invalid, err, "query: the server refuses it: %s", err)
				}
				yield(nil, err)
				return
			}
			kind := cmp.Or(info.GetType().GetName(), string(contract.Execute)) // a caller's query could ask for others
			left := o.Waiting && len(c.memo(info).Waiting().Of(false)) == 0 || kind != string(contract.Execute)
			if !left && !yield(info, nil) {
				return
			}
		}
	}
}

// runs yields the runs of workflows that fit a query, page by page of the server's list.
func (c *Client) runs(ctx context.Context, query string) iter.Seq2[*workflowpb.WorkflowExecutionInfo, error] {
	return func(yield func(*workflowpb.WorkflowExecutionInfo, error) bool) {
		request := &workflowservice.ListWorkflowExecutionsRequest{Namespace: c.cfg.Namespace, Query: query, PageSize: listPage}
		for more := true; more; more = len(request.NextPageToken) > 0 {
			response, err := c.page(ctx, request)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, info := range response.GetExecutions() {
				if !yield(info, nil) {
					return
				}
			}
			request.NextPageToken = response.GetNextPageToken()
		}
	}
}

// page is a page of the server's list. Reading it can take a server long that has much to write:
// one that is there, and only late, is given more time.
func (c *Client) page(ctx context.Context, request *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	in := func(timeout time.Duration) (*workflowservice.ListWorkflowExecutionsResponse, error) {
		call, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return c.temporal.ListWorkflow(call, request)
	}
	response, err := in(history.CallTimeout)
	if late := errors.Is(err, context.DeadlineExceeded) || isAs[*serviceerror.DeadlineExceeded](err); !late || ctx.Err() != nil {
		return response, err
	}
	c.cfg.Progress("the server is slow to list the agents; waiting for it")
	return in(30 * time.Second)
}

// listed is what the server's list says of an agent, or of a foreign workflow.
func (c *Client) listed(a agent, foreign bool, info *workflowpb.WorkflowExecutionInfo) Listed {
	s := c.snapshotOf(a, &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: info})
	waits := c.memo(info).Waiting()
	l := Listed{
		Execution: a.begun(s.number, domain.ExecutionID{}, s.runID()), Foreign: foreign, Open: s.open(), Unknown: len(waits.Of(true)),
		Build: s.builds.Begun, CarriedBy: s.builds.Last, ServerStatus: strings.ToLower(info.GetStatus().String()), StartedAt: info.GetStartTime().AsTime(),
	}
	// Where no schedule has begun it there is no such attribute.
	_ = converter.GetDefaultDataConverter().FromPayload(info.GetSearchAttributes().GetIndexedFields()["TemporalScheduledById"], &l.Schedule)
	if foreign {
		workflowID := info.GetExecution().GetWorkflowId()
		l.Execution = Execution{ID: workflowID, Number: s.number, WorkflowID: workflowID, RunID: s.runID()}
	}
	if parent, sub := strings.CutPrefix(info.GetParentExecution().GetWorkflowId(), domain.WorkflowIDPrefix); sub { // else a run of a schedule has begun it
		l.ParentID = parent
	}
	if l.Open {
		asked := waits.Of(false)
		l.Waiting, l.WaitsFor, l.Suspended = len(asked)+waits.More, domain.WaitsFor(asked), s.head.Suspended
		for _, one := range asked {
			if one.Kind.Rule().Replies {
				l.Questions++
			}
		}
	}
	if closed := info.GetCloseTime(); closed != nil {
		l.ClosedAt = closed.AsTime()
	}
	if s.ended != nil {
		if l.Ending = endingOf(*s.ended); s.byServer { // what it took is not in the memo
			l.Steps, l.TotalTokens, l.CostNanoUSD = nil, nil, nil
		}
		return l
	}
	l.Status, l.Paused, l.Stopping = domain.StatusInProgress, s.head.Paused, s.head.Stopping
	return l
}
