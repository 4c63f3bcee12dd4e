package workflows

import (
	"cmp"
	"errors"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// A scheduledRun is one run of a schedule. It lives as long as the execution that it begins, so that the schedule's
// overlap policy is about that, and fails where that fails, so that the schedule can pause.
type scheduledRun struct {
	// ctx is cancelled where the server asks for it, uncancelled never.
	ctx, uncancelled workflow.Context
	in               *contract.ScheduledInput
	report           contract.ScheduledRun
}

// scheduled is the workflow that a schedule starts.
func scheduled(ctx workflow.Context, in *contract.ScheduledInput) (*contract.ScheduledRun, error) {
	if in == nil { // none was given
		in = new(contract.ScheduledInput)
	}
	uncancelled, _ := workflow.NewDisconnectedContext(ctx)
	r := &scheduledRun{ctx: ctx, uncancelled: uncancelled, in: in, report: contract.ScheduledRun{
		Schedule: in.Schedule, AgentID: in.Start.AgentID, Name: in.Start.Name, Status: domain.StatusPending,
	}}
	begin := r.beginInSession
	if in.Start.Name == "" {
		begin = r.beginAgent
	}
	err := begin()
	if err != nil && r.report.Status != domain.StatusFailed {
		r.report.Status, r.report.StopReason, r.report.Kind, r.report.Code = domain.StatusFailed, domain.ErrorForbade, err.Kind, err.Code
		r.report.EndedAt = workflow.Now(ctx)
	}
	r.tell()
	if r.report.Status != domain.StatusFailed {
		return &r.report, nil
	}
	if err == nil { // the execution failed; the schedule notes it where it pauses, so it holds no user text
		err = domain.CodedErrorf(cmp.Or(r.report.Kind, domain.Internal), r.report.Code, "execution %d of agent %s failed (%s)",
			r.report.Number, cmp.Or(r.report.Name, r.report.AgentID.String()), cmp.Or(string(r.report.Code), string(r.report.Kind), "no code"))
	}
	return nil, refusal(err)
}

// tell writes down what is known of the run, for whoever has no worker to ask.
func (r *scheduledRun) tell() {
	builds := contract.Builds{Begun: workflow.GetInfo(r.uncancelled).GetCurrentBuildID()}
	upsertMemo(r.uncancelled, map[string]any{contract.MemoScheduled: r.report, contract.MemoBuild: builds})
}

// began tells which execution the run has begun.
func (r *scheduledRun) began(id domain.ExecutionID, number int, run string) {
	r.report.ExecutionID, r.report.Number, r.report.RunID, r.report.Status = id, number, run, domain.StatusInProgress
	r.tell()
}

// unbegun ends a run that was cancelled before it had begun anything.
func (r *scheduledRun) unbegun() {
	r.report.Status, r.report.StopReason, r.report.EndedAt = domain.StatusStopped, domain.UserRequested, workflow.Now(r.uncancelled)
}

// beginAgent has an agent of the run's own do it, which a cancellation stops, and which never outlives the run.
func (r *scheduledRun) beginAgent() *domain.Error {
	in := r.in.Start
	in.AgentID = domain.ScheduledAgent(workflow.GetInfo(r.ctx).FirstRunID)
	r.report.AgentID = in.AgentID
	if r.ctx.Err() != nil {
		r.unbegun()
		return nil
	}
	var out contract.Outcome
	child, err := r.start(r.ctx, in, enumspb.PARENT_CLOSE_POLICY_TERMINATE)
	if err == nil {
		err = child.Get(r.uncancelled, &out)
	}
	switch {
	case err == nil:
		r.report = r.report.With(out, workflow.Now(r.uncancelled))
	case temporal.IsCanceledError(err) && r.report.Number == 0:
		r.unbegun()
	default:
		return lostWorkflow("agent", err)
	}
	return nil
}

// start starts the agent's workflow as a client would, whose first execution the run has begun then. The schedule's own mark goes
// along, by which the server finds what a schedule has started.
func (r *scheduledRun) start(ctx workflow.Context, in contract.SessionInput, closes enumspb.ParentClosePolicy) (workflow.ChildWorkflowFuture, error) {
	var attributes []temporal.SearchAttributeUpdate
	if in.Name != "" && slices.Contains(in.Attributes, contract.AttributeAgentName) {
		attributes = append(attributes, temporal.NewSearchAttributeKeyKeyword(contract.AttributeAgentName).ValueSet(in.Name))
	}
	if len(r.in.Indexed) > 0 {
		attributes = append(attributes, temporal.NewSearchAttributeKeyKeywordList(contract.AttributeTrusted).ValueSet(r.in.Indexed))
	}
	if schedule, ok := workflow.GetTypedSearchAttributes(r.ctx).GetKeyword(scheduledBy); ok {
		attributes = append(attributes, scheduledBy.ValueSet(schedule))
	}
	options := agentOptions(ctx, &in, closes, cmp.Or(in.Name, "schedule "+r.in.Schedule), attributes...)
	options.WaitForCancellation = true
	child := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, options), string(contract.Execute), in)
	var of workflow.Execution
	err := child.GetChildWorkflowExecution().Get(r.uncancelled, &of)
	if err == nil {
		r.began(in.AgentID.Execution(of.RunID, 1), 1, of.RunID)
	}
	return child, err
}

// scheduledBeat is the longest that a look at a session is silent, and followFor how long the first one waits for the
// end of an execution.
const (
	scheduledBeat = 30 * time.Second
	followFor     = time.Minute
	sendTimeout   = time.Minute
	// waitLeast and waitMost bound the time between two looks, a tenth of what was waited: a wait of days takes some
	// hundred of them.
	waitLeast, waitMost = time.Second, time.Hour
)

// beginInSession sends the session the prompt, or opens one with it, which outlives the run, and waits for the execution's end.
// Of the definition an open session is sent the model alone, where that was asked for.
func (r *scheduledRun) beginInSession() *domain.Error {
	in := r.in.Start
	message := contract.SessionMessage{
		Name: in.Name, UpdateID: "scheduled/" + workflow.GetInfo(r.ctx).FirstRunID,
		Request: contract.SendRequest{Prompt: in.Prompt, Options: in.Options, Budget: in.Budget, Model: r.in.Model, By: in.By, IfIdle: true},
	}
	for since := workflow.Now(r.uncancelled); r.ctx.Err() == nil; r.pause(r.ctx, since) {
		reply, err := ask(r, r.uncancelled, sendTimeout, contract.Send, message)
		switch {
		case err != nil:
			return err
		case reply.State == contract.SessionBegan:
			r.began(reply.Reply.ExecutionID, reply.Reply.Number, reply.Reply.RunID)
			return r.follow()
		case reply.State == contract.SessionBusy:
			continue
		}
		_, failed := r.start(r.uncancelled, in, enumspb.PARENT_CLOSE_POLICY_ABANDON)
		if failed == nil {
			return r.follow()
		}
		if _, taken := errors.AsType[*temporal.ChildWorkflowExecutionAlreadyStartedError](failed); !taken { // by somebody else, just before
			return lostWorkflow("agent", failed)
		}
	}
	r.unbegun()
	return nil
}

// follow waits for the end of the execution. A cancellation of the run stops it, and the run waits for that.
func (r *scheduledRun) follow() *domain.Error {
	request := contract.FollowRequest{
		Name: r.in.Start.Name, ExecutionID: r.report.ExecutionID, Number: r.report.Number, RunID: r.report.RunID, For: followFor,
	}
	waits := r.ctx
	for since := workflow.Now(r.uncancelled); ; {
		reply, err := ask(r, waits, request.For+sendTimeout, contract.Follow, request)
		switch {
		case r.ctx.Err() != nil && waits == r.ctx && reply.Outcome == nil:
			r.stopInSession()
			waits, since, request.For = r.uncancelled, workflow.Now(r.uncancelled), followFor
			continue
		case err != nil:
			return err
		case reply.Outcome != nil:
			r.report = r.report.With(*reply.Outcome, workflow.Now(r.uncancelled))
			return nil
		}
		request.For = 0
		r.pause(waits, since)
	}
}

// stopInSession asks the session to stop, at once, the execution that the run has begun in it, and nothing else: the session is
// not the run's. The run's own context is cancelled by now, so that the other one asks. An execution that has just ended does not
// hear it.
func (r *scheduledRun) stopInSession() {
	request := contract.StopRequest{Mode: contract.StopNow, ExecutionID: r.report.ExecutionID, Reason: "the run of its schedule was cancelled", Source: "schedule"}
	err := workflow.SignalExternalWorkflow(r.uncancelled, r.in.Start.WorkflowID(), "", string(contract.SignalStop), request).Get(r.uncancelled, nil)
	if err != nil {
		workflow.GetLogger(r.uncancelled).Info("nothing to stop", "error", err)
	}
}

// pause waits for the next look at a session, a tenth of the time since it was waited for. The caller sees what cancels it.
func (r *scheduledRun) pause(ctx workflow.Context, since time.Time) {
	_ = workflow.Sleep(ctx, min(max(workflow.Now(r.uncancelled).Sub(since)/10, waitLeast), waitMost))
}

// ask has a worker speak to the session, for as long as it takes to come by an answer.
func ask[In, Out any](r *scheduledRun, ctx workflow.Context, timeout time.Duration, activity contract.Activity[In, Out], in In) (out Out, _ *domain.Error) {
	timing := r.in.Start.Timing
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: timeout, HeartbeatTimeout: cmp.Or(timing.Heartbeat, scheduledBeat), Summary: "session " + domain.Shorten(r.in.Start.Name, maxSummary),
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: cmp.Or(timing.FirstRetry, time.Second), BackoffCoefficient: 2, MaximumInterval: time.Minute,
			NonRetryableErrorTypes: []string{payloadSizeError},
		},
	})
	if err := workflow.ExecuteActivity(ctx, string(activity), in).Get(r.uncancelled, &out); err != nil {
		loss := lossOf(err)
		return out, cmp.Or(loss.Reported, loss.Err())
	}
	return out, nil
}
