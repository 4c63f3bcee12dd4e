package activities

import (
	"cmp"
	"context"
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"everstep/activities/command"
	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// Send gives an open session a message of a schedule's, with which its next execution begins. It may run any number of
// times: the update's id is the same, so the session takes the message once and answers the same.
//
// What the session refuses for good fails for good, such as one that is suspended. A session that does not answer is
// tried again.
func (a *Activities) Send(ctx context.Context, m contract.SessionMessage) (none contract.SessionReply, _ error) {
	defer a.heartbeat(ctx)()
	c, id := activity.GetClient(ctx), domain.WorkflowID(m.Name)
	for again := false; ; again = true {
		reply, err := command.Send(ctx, c, id, m.UpdateID, contract.UpdateSend, m.Request)
		if err == nil {
			return contract.SessionReply{State: contract.SessionBegan, Reply: reply}, nil
		}
		refused, told := command.Refusal(err)
		switch {
		case command.Closed(err):
			return contract.SessionReply{State: contract.SessionClosed}, nil
		case !told:
			return none, unanswered("send", err)
		case refused.Kind != domain.Denied:
			return none, refused
		}
		now, err := ask(ctx, c, id, "", account.RequestOf(0, account.HeadOf))
		switch {
		case err != nil:
			return none, unanswered("send", err)
		case now.Head.Suspended == nil && (now.Head.Newest == nil || !now.Head.Newest.Status.Terminal() || !now.Head.Open):
			return contract.SessionReply{State: contract.SessionBusy}, nil
		case now.Head.Suspended != nil || again: // it is no execution that is in the way
			return none, refused
		}
	}
}

// ask reads a page of the account of what a run of a session holds; empty: its newest run.
func ask(ctx context.Context, c client.Client, id, run string, request account.Request) (page account.Page, err error) {
	value, err := c.QueryWorkflow(ctx, id, run, string(account.Query), request)
	if err == nil {
		err = value.Get(&page)
	}
	if err == nil && request.Wants(account.HeadOf) && page.Head == nil {
		err = errors.New("its account has no head; the worker may be of another version")
	}
	return page, err
}

// unanswered has the server try again.
func unanswered(what string, err error) error {
	return domain.Errorf(domain.Unavailable, "%s: the session does not answer: %v", what, err)
}

// Follow waits for the end of an execution of a named agent, for as long as the request says. It changes nothing.
func (a *Activities) Follow(ctx context.Context, request contract.FollowRequest) (none contract.FollowReply, _ error) {
	defer a.heartbeat(ctx)()
	until := time.Now().Add(request.For)
	for pause := 100 * time.Millisecond; ; pause = min(pause*3/2, 5*time.Second) {
		outcome, err := lookAt(ctx, activity.GetClient(ctx), request)
		if err != nil || outcome != nil || time.Now().Add(pause).After(until) {
			return contract.FollowReply{Outcome: outcome}, err
		}
		select {
		case <-ctx.Done():
			return none, ctx.Err()
		case <-activity.GetWorkerStopChannel(ctx): // another look is asked of another worker
			return none, nil
		case <-time.After(pause):
		}
	}
}

// lookAt is how the execution ended; nil where it goes on.
func lookAt(ctx context.Context, c client.Client, r contract.FollowRequest) (*contract.Outcome, error) {
	described, err := c.DescribeWorkflowExecution(ctx, domain.WorkflowID(r.Name), "")
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return nil, untold(r, "the server has the session no more")
	}
	if err != nil {
		return nil, unanswered("follow", err)
	}
	info := described.GetWorkflowExecutionInfo()
	var newest contract.Outcome
	// A memo that cannot be read says nothing of it.
	_ = converter.GetDefaultDataConverter().FromPayload(info.GetMemo().GetFields()[contract.MemoOutcome], &newest)
	if newest.ExecutionID == r.ExecutionID {
		return &newest, nil
	}
	agent, err := domain.AgentIDOf(r.Name)
	// own: the execution is of the session that was described, as far as the server tells.
	own := err == nil && agent.Execution(cmp.Or(info.GetFirstRunId(), info.GetExecution().GetRunId()), r.Number) == r.ExecutionID
	if own && info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING && newest.Number < r.Number {
		return nil, nil
	}
	for _, run := range []string{"", r.RunID} {
		page, err := ask(ctx, c, domain.WorkflowID(r.Name), run, account.RequestOf(r.Number, account.Executions))
		if err == nil && len(page.Executions) > 0 && page.Executions[0].ExecutionID == r.ExecutionID && page.Executions[0].Status.Terminal() {
			return &page.Executions[0].Outcome, nil
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if outcome, ended := contract.EndedByServer(info.GetStatus().String()); own && ended {
		outcome.ExecutionID, outcome.Number = r.ExecutionID, r.Number
		return &outcome, nil
	}
	return nil, untold(r, "later ones have begun since")
}

// untold is the error of an execution of which nobody can tell any more how it ended.
func untold(r contract.FollowRequest, why string) error {
	return domain.CodedErrorf(domain.Internal, domain.CodeTerminated, "execution %d of %s: nobody can tell how it ended: %s", r.Number, r.Name, why)
}
