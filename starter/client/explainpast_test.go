package client

import (
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	updatepb "go.temporal.io/api/update/v1"

	"everstep/domain"
	"everstep/domain/contract"
)

// price makes an input token cost one nano-dollar, an output token ten.
var price = domain.Price{Input: 1_000_000, Output: 10_000_000}

// used gives a reply its usage.
func used(r contract.ModelReply, response, spent domain.Usage, tries int) contract.ModelReply {
	r.Response = domain.Response{Finish: domain.FinishStop, Usage: response}
	r.Spent, r.Tries = spent, tries
	return r
}

// pricedRun is a run whose worker knows the price.
func pricedRun() *fakeRun {
	run := newRun("run-1", nil)
	run.completes(run.schedule(string(contract.ListTools), contract.CatalogRequest{}), contract.Catalog{Price: &price, ContextWindow: 1000})
	return run
}

func TestExplainFromHistoryAlone(t *testing.T) {
	t.Parallel()
	run := pricedRun()
	first := run.infers(1, 1)
	run.startsAttempt(first, 3, "too many requests")
	run.completes(first, used(reply("", domain.ToolCall{ID: "1", Name: "ls", Arguments: "{}"}, domain.ToolCall{ID: "2", Name: "rm", Arguments: "{}"}), usage(100, 10), domain.Usage{}, 3))
	ls := run.calls(1, 1, 0, "ls")
	run.startsAttempt(ls, 2, "lost")
	run.completes(ls, contract.ToolReply{Content: "a.txt", Attempts: 2})

	cut := run.infers(1, 2)
	run.completes(cut, contract.ModelReply{
		Outcome: contract.BilledFailure, Spent: usage(50, 5), Tries: 1, Error: domain.CodedErrorf(domain.Unavailable, domain.CodeMalformed, "the stream ended early"),
	})
	run.completes(run.infers(1, 2), used(reply("done"), usage(200, 20), domain.Usage{}, 1))
	run.ends(outcomeOf(1, 2))
	v := explained(t, run, nil)

	require.Equal(t, contract.FromHistory, v.Source)
	require.Contains(t, v.Missing[0], "no worker answers")
	require.Contains(t, v.Ending.Summary, "the agent was done")
	require.Len(t, v.Steps, 2)
	one, two := v.Steps[0], v.Steps[1]

	require.Equal(t, []domain.ToolOutcome{domain.ToolOK, domain.ToolNotRun}, outcomes(one.Tools))
	require.Equal(t, 2, one.Tools[0].Attempts)
	require.Contains(t, one.Tools[1].Error.Message, "only a worker can say why")
	require.Equal(t, domain.StepError, *one.Type)
	require.Equal(t, int64(200), *one.CostNanoUSD, "100 in, 10 out")
	require.Equal(t, []ExplainRetry{{Attempts: 2, Reason: "too many requests", CostNanoUSD: new(int64(0))}}, one.Retries)

	require.Equal(t, domain.StepFinalResponse, *two.Type)
	require.Equal(t, int64(275), two.Usage.TotalTokens)
	require.Equal(t, int64(500), *two.CostNanoUSD)
	require.Equal(t, 1, two.FailedAttempts)
	require.Equal(t, int64(55), two.Lost.TotalTokens)
	require.Equal(t, int64(100), *two.LostNanoUSD)
	require.Equal(t, domain.CodeMalformed, *two.Retries[0].Code)
	require.Equal(t, int64(100), *two.Retries[0].CostNanoUSD)

	require.Equal(t, 3, v.Waste.FailedAttempts)
	require.Equal(t, int64(385), v.Totals.Usage.TotalTokens)
	require.Equal(t, defaultLimit(2), v.Budget, "it is known that there is no other limit")
	require.Equal(t, &ExplainContext{Tokens: 220, Window: new(int64(1000)), Share: new(0.22)}, v.Context)
	require.Equal(t, 2, v.History.Steps)
	require.Equal(t, int64(len(run.events)), v.History.Events)
}

// TestEachLimitIsExplained: history alone tells what was used of each limit, before this execution too, and what is left.
func TestEachLimitIsExplained(t *testing.T) {
	t.Parallel()
	var budget domain.ExecutionBudget
	for _, rule := range domain.LimitRules() {
		if !rule.Unit.OfTime() {
			budget = rule.With(budget, domain.Count(rule.Unit, 1000))
		}
	}
	run := pricedRun()
	for n := range 2 {
		run.completes(run.infers(n+1, 1), used(reply("", domain.ToolCall{ID: "1", Name: "ls"}, domain.ToolCall{ID: "2", Name: "rm"}), usage(100, 10), domain.Usage{}, 1))
		run.completes(run.calls(n+1, 1, 0, "ls"), contract.ToolReply{Content: "a.txt"})
		run.completes(run.calls(n+1, 1, 1, "rm"), contract.ToolReply{Error: domain.Errorf(domain.Invalid, "no such file")})
		if n == 0 {
			o := failedOf(domain.Errorf(domain.Invalid, "x"), 1)
			o.Usage, o.CostNanoUSD = usage(100, 10), 200
			run.ends(o)
			run.extends(2, budget)
		}
	}
	limits := explained(t, run, nil).Budget
	require.Len(t, limits, len(domain.LimitRules())-2)
	status := alone(t, run, (*Client).Status)
	for i, rule := range domain.LimitRules()[:len(limits)] {
		require.Positive(t, *limits[i].Used, "nobody counts for %s", limits[i].Limit)
		require.Equal(t, 1000-*limits[i].Prior, *limits[i].Left+*limits[i].Used, limits[i].Limit)
		require.Positive(t, *limits[i].Prior, limits[i].Limit)
		left, _ := rule.Total(status.BudgetLeft)
		require.Equal(t, *limits[i].Left, left.Int(), rule.Limit)
	}
}

// What is not known is null, never zero.
func TestExplainWithoutAPrice(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	run.completes(run.infers(1, 1), used(reply("done"), usage(100, 10), domain.Usage{}, 1))
	run.ends(outcomeOf(1, 1))
	v := explained(t, run, nil)
	require.Nil(t, v.Steps[0].CostNanoUSD)
	require.Nil(t, v.Totals.CostNanoUSD)
	require.Nil(t, v.Waste.CostNanoUSD)
	require.Nil(t, v.Model)
	require.Nil(t, v.Context.Window)

	nothing := newRun("run-1", nil)
	nothing.completes(nothing.infers(1, 1), used(reply("done"), domain.Usage{}, domain.Usage{}, 1))
	nothing.ends(outcomeOf(1, 1))
	v = explained(t, nothing, nil)
	require.Equal(t, []int64{0, 0}, []int64{*v.Steps[0].CostNanoUSD, *v.Totals.CostNanoUSD}, "what used nothing cost nothing, as in history and the tree")
}

func TestExplainARunningOne(t *testing.T) {
	t.Parallel()
	run := pricedRun()
	run.completes(run.infers(1, 1), used(reply("", domain.ToolCall{Name: "ls"}, domain.ToolCall{Name: "rm"}), usage(100, 10), domain.Usage{}, 1))
	run.calls(1, 1, 0, "ls")
	run.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
		Attributes: &historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes{
			WorkflowExecutionSignaledEventAttributes: &historypb.WorkflowExecutionSignaledEventAttributes{
				SignalName: string(contract.SignalStop), Input: payloads(contract.StopRequest{Reason: "enough"}),
			},
		},
	})
	v := explained(t, run, nil)
	require.Equal(t, domain.StatusInProgress, v.Status)
	require.Nil(t, v.Ending)
	require.Nil(t, v.EndedAt)
	require.Nil(t, v.Milliseconds)
	require.Equal(t, []ExplainSignal{{domain.UserRequested, "user", "enough", SignalPending}}, v.Doing.Signals)
	require.Len(t, v.Steps, 1)
	require.True(t, v.Steps[0].InProgress)
	require.Nil(t, v.Steps[0].Type)
	require.Equal(t, []domain.ToolOutcome{domain.ToolRunning}, outcomes(v.Steps[0].Tools), "the other call has not begun, which means nothing yet")
}

// TestExplainKeepsExecutionsApart: steps, budgets and times are of the one that
// is asked for, over the runs of the chain.
func TestExplainKeepsExecutionsApart(t *testing.T) {
	t.Parallel()
	one := pricedRun()
	one.completes(one.infers(1, 1), used(reply("first"), usage(1, 1), domain.Usage{}, 1))
	one.ends(outcomeOf(1, 1))
	accepted := one.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED,
		Attributes: &historypb.HistoryEvent_WorkflowExecutionUpdateAcceptedEventAttributes{
			WorkflowExecutionUpdateAcceptedEventAttributes: &historypb.WorkflowExecutionUpdateAcceptedEventAttributes{
				AcceptedRequest: &updatepb.Request{Input: &updatepb.Input{Name: string(contract.UpdateSend), Args: payloads(contract.SendRequest{
					Prompt: "again", Budget: domain.ExecutionBudget{MaxSteps: new(int64(2))},
				})}},
			},
		},
	})
	one.sent(2)
	one.events[len(one.events)-1].GetWorkflowExecutionUpdateCompletedEventAttributes().AcceptedEventId = accepted
	one.completes(one.infers(2, 1), used(reply("", domain.ToolCall{Name: "ls"}), usage(10, 10), domain.Usage{}, 1))
	one.handsOn("run-2")
	two := newRun("run-2", inMidst(2, 1)).continues("run-1")
	two.completes(two.infers(2, 2), used(reply("second"), usage(100, 100), domain.Usage{}, 1))
	o := outcomeOf(2, 2)
	o.Status, o.StopReason = domain.StatusStopped, domain.StepsLimitReached
	two.ends(o)
	f := newFake(one, two)

	v, err := f.client().Explain(t.Context(), "nora", 1)
	require.NoError(t, err)
	require.Equal(t, int64(2), v.Totals.Usage.TotalTokens)
	require.Equal(t, defaultLimit(1), v.Budget)

	v, err = f.client().Explain(t.Context(), "nora", 2)
	require.NoError(t, err)
	require.Len(t, v.Steps, 2)
	require.False(t, v.Steps[0].Interrupted)
	require.Equal(t, int64(220), v.Totals.Usage.TotalTokens)
	require.Equal(t, "it reached its limit of steps: max_steps is 2 and 2 are done; extend it with a higher max_steps to go on", v.Ending.Summary)
	require.Equal(t, "extend nora --max-steps 4", v.Advice[0].Command)
	require.Equal(t, 1, v.History.Steps, "of the newest run")

	f.deleted["run-1"] = true
	v, err = f.client().Explain(t.Context(), "nora", 2)
	require.NoError(t, err)
	require.Len(t, v.Steps, 1)
	require.Contains(t, v.Missing, "earlier runs of the workflow have been deleted, and steps with them")
	require.Contains(t, v.Missing, "1 of 2 steps cannot be read; the totals are without them")
}

// TestExplainCompactions tells each once, in order: what a summary hides was not
// cleared as well.
func TestExplainCompactions(t *testing.T) {
	t.Parallel()
	run := pricedRun()
	run.completes(run.infers(1, 1), used(reply("", domain.ToolCall{Name: "ls"}), usage(100, 10), domain.Usage{}, 1))
	request := contract.ModelRequest{ExecutionID: nth(1), Step: 2, Edits: domain.Edits{Cleared: 7}, Summary: &domain.SummaryRequest{To: 9}}
	run.completes(run.schedule(string(contract.CallModel), request), used(reply("summed up"), usage(300, 30), domain.Usage{}, 1))
	request.Summary, request.Edits = nil, domain.Edits{Cleared: 9, Hidden: 9, Summary: 12}
	run.completes(run.schedule(string(contract.CallModel), request), used(reply("done"), usage(50, 5), domain.Usage{}, 1))
	run.ends(outcomeOf(1, 2))
	v := explained(t, run, nil)
	require.Equal(t, []ExplainCompaction{
		{Kind: CompactionCleared, Before: 7}, {Kind: CompactionSummary, Before: 9, Usage: usage(300, 30).View()},
	}, v.Steps[1].Compactions)
	require.Equal(t, int64(385), v.Steps[1].Usage.TotalTokens)
	require.Empty(t, v.Steps[0].Compactions)
	require.Equal(t, 2, v.Totals.Compactions)
}

// TestExplainALostWorker: what an attempt may have cost that was never heard of
// again is told, as estimated.
func TestExplainALostWorker(t *testing.T) {
	t.Parallel()
	run := pricedRun()
	id := run.infers(1, 1)
	lost := failure("heartbeat")
	lost.FailureInfo = &failurepb.Failure_TimeoutFailureInfo{TimeoutFailureInfo: &failurepb.TimeoutFailureInfo{
		LastHeartbeatDetails: payloads(contract.Heartbeat{Step: 1, Phase: contract.PhaseRequested, Spent: usage(10, 1), Reserved: usage(20, 2)}),
	}}
	run.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT,
		Attributes: &historypb.HistoryEvent_ActivityTaskTimedOutEventAttributes{
			ActivityTaskTimedOutEventAttributes: &historypb.ActivityTaskTimedOutEventAttributes{ScheduledEventId: id, Failure: lost},
		},
	})
	o := outcomeOf(1, 1)
	o.Status, o.StopReason, o.Code = domain.StatusFailed, domain.ErrorForbade, domain.CodeTimeout
	run.ends(o)
	v := explained(t, run, nil)
	require.Equal(t, int64(33), v.Waste.Usage.TotalTokens)
	require.True(t, v.Waste.Usage.Estimated)
	require.Equal(t, domain.CodeTimeout, v.Ending.Error.Code)
	require.Contains(t, v.Advice[0].Text, "no worker finished the work in time")
	require.Equal(t, "extend nora", v.Advice[0].Command)
}

// TestExplainWithoutABeginning: where a run's beginning cannot be read the rest is told.
func TestExplainWithoutABeginning(t *testing.T) {
	t.Parallel()
	run := pricedRun()
	run.ends(outcomeOf(1, 1))
	run.events[0].GetWorkflowExecutionStartedEventAttributes().Input.Payloads[0].Data = []byte("{")
	v := explained(t, run, nil)
	require.NotEmpty(t, v.Missing)
	require.Contains(t, v.Missing[0], "what the run began with")
}

// defaultLimit is that of steps where nobody has given one, after so many.
func defaultLimit(used int64) []ExplainLimit {
	return []ExplainLimit{{
		Limit: domain.LimitSteps, Unit: domain.UnitSteps, Total: new(domain.DefaultMaxSteps), Used: &used, Prior: new(int64), Left: new(domain.DefaultMaxSteps - used),
		Default: true,
	}}
}
