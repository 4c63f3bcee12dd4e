package client

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
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
	ParentID string                 `json:"parent_id,omitzero"`
	Status   domain.ExecutionStatus `json:"status"`
	// Steps is nil until the execution has ended, and where the server ended it:
	// Status.StepCount knows more.
	Steps      *int              `json:"step_count"`
	StopReason domain.StopReason `json:"stop_reason,omitzero"`
	Code       domain.Code       `json:"code,omitzero"`
	// SessionLimit says that it was a limit of the session's budget which ended it.
	SessionLimit bool `json:"session_limit,omitzero"`
	// Paused says that nothing new starts in it, Stopping that it was asked to stop.
	Paused   bool `json:"paused,omitzero"`
	Stopping bool `json:"stopping,omitzero"`
	// Suspended says that the session takes no message until it is unsuspended.
	Suspended bool `json:"suspended,omitzero"`
	// Waiting counts the tool calls that wait for a person's word or answer, Questions those of them that ask.
	Waiting   int `json:"waiting,omitzero"`
	Questions int `json:"questions,omitzero"`
	// Unknown counts its calls of which nobody knows whether they took effect.
	Unknown int `json:"outcome_unknown,omitzero"`
	// TotalTokens and CostNanoUSD are what the execution took, as Steps nil until it has ended; CostNanoUSD also where nobody
	// knows what the model costs.
	TotalTokens *int64 `json:"total_tokens"`
	CostNanoUSD *int64 `json:"cost_nano_usd"`
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

const (
	listPage = 100
	// lookedAtOnce bounds how many agents are looked at side by side, and
	// lookTimeout for how long in all.
	lookedAtOnce = 8
	lookTimeout  = 10 * time.Second
	// slowListTimeout is how long a server that was late has for a page of its list.
	slowListTimeout = 30 * time.Second
)

// List yields the agents that the server knows, the open ones first, then the
// newest. It needs no worker. What was started a moment ago may be missing.
// Agents in progress are looked at one by one: where that takes above 10 s in
// all, the rest is what the server's list says of it, and Config.Progress is told,
// as of a list for which a busy server takes longer than 8 s: it has 30 s more.
func (c *Client) List(ctx context.Context, o ListOptions) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		var looking sync.WaitGroup
		defer looking.Wait()
		look, cancel := context.WithCancel(ctx)
		defer cancel()
		begin := sync.OnceFunc(func() { time.AfterFunc(lookTimeout, cancel) })
		late := sync.OnceFunc(func() {
			c.cfg.Progress("the server is slow to say how agents stand; of some there is only what its list says, which may be a moment old")
		})
		if err := o.check(); err != nil {
			yield(Listed{}, invalid(err))
			return
		}
		var ahead []chan Listed // in the list's order
		shown := 0
		next := func() bool {
			l := <-ahead[0]
			if ahead = ahead[1:]; !o.keeps(l) {
				return true
			}
			shown++
			return yield(l, nil) && shown != o.Limit
		}
		var failed error
		for l, info := range c.listable(ctx, o, &failed) {
			begin()
			told := make(chan Listed, 1)
			looking.Go(func() {
				l, err := c.listed(look, l, info)
				if err != nil && look.Err() != nil && ctx.Err() == nil {
					late()
				}
				told <- l
			})
			if ahead = append(ahead, told); len(ahead) == lookedAtOnce && !next() {
				return
			}
		}
		for len(ahead) > 0 {
			if !next() {
				return
			}
		}
		if failed != nil {
			yield(Listed{}, fail(ctx, "", "listing agents", failed))
		}
	}
}

// listable yields each agent once, as far as the options go, and why there are no more.
func (c *Client) listable(ctx context.Context, o ListOptions, failed *error) iter.Seq2[Listed, *workflowpb.WorkflowExecutionInfo] {
	return func(yield func(Listed, *workflowpb.WorkflowExecutionInfo) bool) {
		count, shown := 0, map[string]bool{}
		for info, err := range c.visible(ctx, o) {
			if err != nil {
				*failed = err
				return
			}
			unknown := c.unknown(info)
			workflowID := info.GetExecution().GetWorkflowId()
			a, err := agentOf(strings.TrimPrefix(workflowID, domain.WorkflowIDPrefix))
			foreign := err != nil || a.workflowID() != workflowID
			if !foreign && shown[workflowID] {
				if !o.All || a.name == "" { // without a name there is one, of which each execution can be named
					continue
				}
				a.session = info.GetExecution().GetRunId()
			}
			shown[workflowID] = true
			if o.Unknown && unknown == 0 || !foreign && !o.named(a.name) || foreign && o.Agent != "" {
				continue
			}
			x := a.begun(1, domain.ExecutionID{}, info.GetExecution().GetRunId())
			parent, sub := strings.CutPrefix(info.GetParentExecution().GetWorkflowId(), domain.WorkflowIDPrefix)
			if !sub { // a run of a schedule has begun it
				parent = ""
			}
			if foreign {
				x = Execution{ID: workflowID, Number: 1, WorkflowID: workflowID, RunID: x.RunID}
			}
			builds := c.buildsOf(info)
			if count++; !yield(Listed{Execution: x, Foreign: foreign, ParentID: parent, Unknown: unknown, Schedule: scheduleOf(info), Build: builds.Begun, CarriedBy: builds.Last}, info) || count == o.Limit && !o.looks() {
				return
			}
		}
	}
}

// scheduleOf names the schedule that has begun an agent, by the server's word; empty: none.
func scheduleOf(info *workflowpb.WorkflowExecutionInfo) (name string) {
	_ = converter.GetDefaultDataConverter().FromPayload(info.GetSearchAttributes().GetIndexedFields()["TemporalScheduledById"], &name)
	return name
}

// unknown counts the unsettled calls of an agent, by its memo.
func (c *Client) unknown(info *workflowpb.WorkflowExecutionInfo) int {
	return len(c.waitsListed(info).Of(domain.WaitOutcome))
}

// visible yields what the server's list says, without runs that went on in another one.
func (c *Client) visible(ctx context.Context, o ListOptions) iter.Seq2[*workflowpb.WorkflowExecutionInfo, error] {
	query := o.query(o.Open || o.Waiting)
	return func(yield func(*workflowpb.WorkflowExecutionInfo, error) bool) {
		with, err := c.having(ctx, o.Trusted)
		if err != nil {
			yield(nil, err)
			return
		}
		query += with
		request := &workflowservice.ListWorkflowExecutionsRequest{Namespace: c.cfg.Namespace, Query: query, PageSize: listPage}
		for more := true; more; more = len(request.NextPageToken) > 0 {
			response, err := c.page(ctx, request)
			if err != nil {
				yield(nil, o.refused(err))
				return
			}
			for _, info := range response.GetExecutions() {
				if o.Waiting && c.waitsListed(info).InStep() == 0 || !ours(info) {
					continue
				}
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
	return in(slowListTimeout)
}

// listed adds what the memo and the server say; the error is why the latter does not.
func (c *Client) listed(ctx context.Context, l Listed, info *workflowpb.WorkflowExecutionInfo) (Listed, error) {
	l.Status = domain.StatusInProgress
	l.Open = info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	l.ServerStatus, l.StartedAt = strings.ToLower(info.GetStatus().String()), info.GetStartTime().AsTime()
	if l.Open {
		l.Waiting, l.Questions = c.waitsListed(info).InStep(), len(c.waitsListed(info).Of(domain.WaitQuestion))
	}
	if closed := info.GetCloseTime(); closed != nil {
		l.ClosedAt = closed.AsTime()
	}
	outcome, err := history.Outcome(c.cfg.Converter, info.GetMemo())
	if err != nil {
		if cut, byServer := history.ServerEnd(info.GetStatus()); byServer {
			cut.Number = 1
			l = l.with(cut)
		}
	} else {
		l = l.with(outcome)
	}
	if l.Foreign || err != nil && !l.Open || (l.Name == "" || !l.Open) && info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		return l, nil
	}
	// What the list cannot tell is what was asked of an execution, and whether a session whose memo says how an
	// execution ended is, or was, in the next one by now. Where the server does
	// not tell either, the list's word stays.
	s, err := c.describe(ctx, l.ID)
	if err != nil || s.runID() != l.RunID {
		return l, err
	}
	held := suspensionScan{}
	p, err := c.positionWith(ctx, s, held.take)
	if err != nil {
		return l, err
	}
	l.Suspended = held.suspended && p.open()
	if p.ended != nil {
		return l.with(*p.ended), nil
	}
	l = l.with(contract.Outcome{Status: domain.StatusInProgress, Number: p.number})
	l.Paused, l.Stopping, err = c.steered(ctx, p)
	return l, err
}

// A suspensionScan looks for whether a session is suspended, through what its newest run has recorded, the newest first.
type suspensionScan struct {
	suspended bool
	looked    int
}

// mostLooked bounds how far back a list looks for a suspension: what is longer ago in one execution is not told.
const mostLooked = 1000

func (s *suspensionScan) take(fact history.Fact) (enough bool) {
	s.looked++
	switch f := fact.(type) {
	case history.Suspended:
		s.suspended = f.Suspension != nil
		return true
	case history.Sent: // it was taken, so it was not refused; read backwards any update's answer looks like one
		return !f.Reply.ExecutionID.IsZero()
	case history.RunBegan:
		s.suspended = f.Readable() && f.Input.Carry != nil && f.Input.Carry.Mail.Suspended != nil
		return true
	}
	return s.looked > mostLooked
}

// steered reports what was asked of the execution in progress, as far as its newest step in
// this run tells: before that it would have ended, or begun nothing.
func (c *Client) steered(ctx context.Context, p position) (paused, stopping bool, _ error) {
	told, want := false, p.executionID(p.number)
	for recorded, err := range c.reader(p.agent).Backwards(ctx, p.runID()) {
		if _, stops := stopIn(recorded.Fact, want); stops {
			stopping = true
		}
		switch f := recorded.Fact.(type) {
		case history.Paused:
			paused, told = !told && f.On || paused, true
		case history.RunBegan:
			paused = paused || !told && f.Input.Carry != nil && f.Input.Carry.Mail.Paused
		}
		if err != nil {
			return paused, stopping, err
		}
		asked, ok := recorded.Fact.(history.Asked)
		if ok && asked.Step > 0 && (asked.Step < p.step || asked.Execution != want) {
			break
		}
	}
	return paused, stopping, nil
}

func (l Listed) with(o contract.Outcome) Listed {
	l.Status, l.Number, l.StopReason, l.Code, l.Steps, l.SessionLimit = o.Status, o.Number, o.StopReason, o.Code, nil, o.SessionLimit
	byServer := o.Code == domain.CodeTerminated || o.Code == domain.CodeTimedOut
	if l.TotalTokens, l.CostNanoUSD = nil, nil; o.Status.Terminal() && !byServer {
		l.Steps, l.TotalTokens, l.CostNanoUSD = &o.Steps, new(o.Usage.TotalTokens()), o.Cost()
	}
	return l
}
