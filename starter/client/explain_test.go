package client

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"pgregory.net/rapid"

	"everstep/domain"
	"everstep/domain/contract"
)

// knows is a worker that answers what is asked of nora's newest execution.
type knows struct {
	steps  []domain.StepExecution
	status contract.StatusView
	state  domain.AgentState
	page   contract.StepsPage
}

func (k knows) answer(_ context.Context, _, query string, in any) (any, error) {
	if query != string(contract.QuerySteps) {
		return k.status, nil
	}
	request, page := in.(contract.StepsRequest), k.page
	page.First = 1
	if request.From <= 1 {
		page.Steps = domain.WireSteps(k.steps...)
	}
	if request.State {
		page.Status, page.State = &k.status, must(json.Marshal(k.state.WithStepsFolded(0)))
	}
	return page, nil
}

// told makes a worker that knows an execution which ended with these signals.
func told(t *testing.T, budget domain.ExecutionBudget, steps []domain.StepExecution, signals []domain.StopSignal, late int) knows {
	t.Helper()
	now := at(1).AsTime()
	s := domain.NewAgentState(nora.id, domain.AgentID{}, now, domain.LLMConfig{Provider: "scripted", Model: "x"})
	s = must(s.BeginExecution(nth(1), budget, now))
	for _, step := range steps {
		s = must(s.WithStepStarted(step.Step.ID, step.StartedAt))
		s = must(s.WithCurrentStep(step.Step, step.CompletedAt))
		s = must(s.WithCurrentStepCompleted(step.CompletedAt))
	}
	for _, signal := range signals {
		s = must(s.WithStopSignal(signal, now))
	}
	s = s.WithLateSignals(len(signals)-late, now)
	s = must(s.WithExecutionCompleted(at(50).AsTime()))
	k := knows{steps: steps, state: s, page: contract.StepsPage{ExecutionID: nth(1), Number: 1}}
	k.status = contract.StatusView{ExecutionID: nth(1), Number: 1, Status: s.Status(), Model: "scripted/x", Budget: budget, Source: contract.FromWorkflow}
	return k
}

// stepOf is a completed step of nora's first execution, 2 seconds long.
func stepOf(n int, step domain.AgentStep) domain.StepExecution {
	step.ID, step.Number = nth(1).Step(n), n
	return domain.StepExecution{Step: step, StartedAt: at(2 * n).AsTime(), CompletedAt: at(2*n + 2).AsTime()}
}

func usage(in, out int64) domain.Usage { return domain.Usage{InputTokens: in, OutputTokens: out} }

// read is a call of read_file that gave a result.
func readCall(n, position int, path, result string) domain.ToolExecution {
	return domain.ToolExecution{
		ID: nth(1).Step(n).Tool(position), Call: domain.ToolCall{ID: "c", Name: "read_file", Arguments: path}, Value: result,
		StartedAt: at(2 * n).AsTime(), CompletedAt: at(2*n + 1).AsTime(),
	}
}

func failedCall(call domain.ToolExecution, err *domain.Error) domain.ToolExecution {
	call.Value, call.Error = "", err
	if err.Code == domain.CodeBlocked {
		call.StartedAt = time.Time{} // it was not begun
	}
	return call
}

// ended ends the fake's run with an outcome of these steps.
func endedRun(k knows, price *domain.Price) *fakeRun {
	run := newRun("run-1", nil)
	run.completes(run.schedule(string(contract.ListTools), contract.CatalogRequest{}), contract.Catalog{Price: price, ContextWindow: 1000})
	o := outcomeOf(1, k.state.StepCount())
	o.Status, o.Usage, o.CostNanoUSD = k.state.Status(), k.state.Usage(), k.state.CostNanoUSD()
	o.StopReason, _ = k.state.StopReason()
	run.ends(o)
	return run
}

func explained(t *testing.T, run *fakeRun, k *knows) (view ExplainView) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { // where nobody answers it is waited for in vain
		f := newFake(run)
		if k != nil {
			f.query = k.answer
		}
		var err error
		view, err = f.client().Explain(t.Context(), "nora", 0)
		require.NoError(t, err)
	})
	return view
}

func TestExplainAStopAtALimit(t *testing.T) {
	t.Parallel()
	budget := domain.ExecutionBudget{MaxSteps: new(int64(3)), MaxTokens: new(int64(1000)), MaxSeconds: new(60.0)}
	blocked := failedCall(readCall(2, 1, "c", ""), domain.CodedErrorf(domain.Denied, domain.CodeBlocked, "not this one"))
	blocked.StartedAt = time.Time{}
	steps := []domain.StepExecution{
		stepOf(1, domain.AgentStep{
			Usage: usage(150, 50), CostNanoUSD: 900, Tries: 3, Lost: usage(40, 10), LostNanoUSD: 200,
			Response:       &domain.Response{Finish: domain.FinishToolCalls},
			ToolExecutions: []domain.ToolExecution{readCall(1, 0, "a", "12345678"), readCall(1, 1, "b", "other")},
		}),
		stepOf(2, domain.AgentStep{
			Usage: domain.Usage{InputTokens: 250, OutputTokens: 50, CacheReadTokens: 100, ReasoningTokens: 20}, CostNanoUSD: 1100,
			Response: &domain.Response{Finish: domain.FinishToolCalls},
			ToolExecutions: []domain.ToolExecution{
				readCall(2, 0, "a", "12345678"),
				blocked,
				failedCall(readCall(2, 2, "d", ""), domain.Errorf(domain.Invalid, "no such file")),
				failedCall(readCall(2, 3, "e", ""), domain.CodedErrorf(domain.Unavailable, domain.CodeOutcomeUnknown, "lost")),
			},
		}),
	}
	k := told(t, budget, steps, []domain.StopSignal{
		{Reason: domain.UserRequested, Message: "enough", Source: "user"},
		{Reason: domain.StepsLimitReached, Message: "max_steps is 3 and 3 are done", Source: "budget"},
		{Reason: domain.StopRequested, Message: "too late", Source: "a hook"},
	}, 1)
	k.status.Prior = domain.Spent{Steps: 1, Tokens: 300, Seconds: 2}
	v := explained(t, endedRun(k, &domain.Price{Input: 1}), &k)

	require.Equal(t, contract.FromWorkflow, v.Source)
	require.Empty(t, v.Missing)
	require.Equal(t, domain.StatusStopped, v.Status)
	require.Equal(t, "it reached its limit of steps: max_steps is 3 and 3 are done", v.Ending.Summary)
	require.Equal(t, &ExplainSignal{domain.StepsLimitReached, "budget", "max_steps is 3 and 3 are done", SignalCounted}, v.Ending.Signal)
	require.Equal(t, []ExplainSignal{
		{domain.UserRequested, "user", "enough", SignalOutranked}, {domain.StopRequested, "a hook", "too late", SignalLate},
	}, v.Ending.Others)

	require.Equal(t, []domain.ToolOutcome{domain.ToolOK, domain.ToolBlocked, domain.ToolFailed, domain.ToolUnknown}, outcomes(v.Steps[1].Tools))
	require.Equal(t, []int{1, 0, 1, 1}, []int{v.Steps[1].Tools[0].Attempts, v.Steps[1].Tools[1].Attempts, v.Steps[1].Tools[2].Attempts, v.Steps[1].Tools[3].Attempts})
	require.Equal(t, int64(2000), *v.Steps[0].Milliseconds)
	require.Equal(t, 2, v.Steps[0].FailedAttempts)

	require.Equal(t, int64(500), v.Totals.Usage.TotalTokens)
	require.Equal(t, int64(2000), *v.Totals.CostNanoUSD)
	require.Equal(t, int64(5), v.Totals.ToolCalls, "one was blocked")
	require.Equal(t, v.Reported.Usage, v.Totals.Usage)
	require.Equal(t, *v.Reported.CostNanoUSD, *v.Totals.CostNanoUSD)

	require.Equal(t, 2, v.Waste.FailedAttempts)
	require.Equal(t, int64(50), v.Waste.Usage.TotalTokens)
	require.Equal(t, int64(200), *v.Waste.CostNanoUSD)
	require.InDelta(t, 0.1, *v.Waste.Share, 1e-9)
	require.Equal(t, []ExplainRepeat{{"read_file", "a", 2, []int{1, 2}, 2}}, v.Waste.Repeated)
	require.Equal(t, []int{2}, v.Waste.ErrorSteps)

	require.Equal(t, []ExplainLimit{
		{domain.LimitSteps, domain.UnitSteps, new(int64(3)), new(int64(2)), new(int64(1)), new(int64(0)), nil, true, false},
		{domain.LimitTokens, domain.UnitTokens, new(int64(1000)), new(int64(500)), new(int64(300)), new(int64(200)), nil, false, false},
		{domain.LimitSeconds, domain.UnitMilliseconds, new(int64(60_000)), new(int64(49_000)), new(int64(2000)), new(int64(9000)), nil, false, false},
	}, v.Budget)
	require.Equal(t, "extend nora --max-steps 6", v.Advice[0].Command)
}

func outcomes(tools []ExplainTool) []domain.ToolOutcome {
	var all []domain.ToolOutcome
	for _, tool := range tools {
		all = append(all, tool.Outcome)
	}
	return all
}

// Whatever the steps are, each total is the sum over them, and JSON says the same.
func TestExplainSumsAreThoseOfItsSteps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		count := func(name string) int64 { return rapid.Int64Range(0, 1<<40).Draw(t, name) }
		var steps []ExplainStep
		var tokens, cost, lost, lostCost, calls int64
		var failed int
		for n := range rapid.IntRange(0, 12).Draw(t, "steps") {
			s := domain.AgentStep{
				Usage: usage(count("in"), count("out")), CostNanoUSD: count("cost"),
				Lost: usage(count("lost in"), count("lost out")), LostNanoUSD: count("lost cost"), Tries: int(count("tries") % 9),
			}
			for i := range rapid.IntRange(0, 3).Draw(t, "calls") {
				s.ToolExecutions = append(s.ToolExecutions, readCall(n+1, i, "a", "same"))
				calls++
			}
			steps = append(steps, explainStep(stepOf(n+1, s), true))
			tokens, cost = tokens+s.Usage.TotalTokens(), cost+s.CostNanoUSD
			lost, lostCost, failed = lost+s.Lost.TotalTokens(), lostCost+s.LostNanoUSD, failed+s.Tries
		}
		total := totalsOf(steps)
		waste := wasteOf(steps, total)
		if total.Steps != len(steps) || total.Usage.TotalTokens != tokens || *total.CostNanoUSD != cost || total.ToolCalls != calls {
			t.Fatal("todo", "totals", total)
		}
		if waste.Usage.TotalTokens != lost || *waste.CostNanoUSD != lostCost || waste.FailedAttempts != failed {
			t.Fatal("waste", waste)
		}
		times := 0
		for _, r := range waste.Repeated {
			times += r.Times
		}
		if calls > 1 && int64(times) != calls || calls <= 1 && times > 0 {
			t.Fatal("repeated", waste.Repeated)
		}
	})
}

func TestExplainKeysAreStable(t *testing.T) {
	t.Parallel()
	keys := func(value any) []string {
		var object map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(must(json.Marshal(value)), &object))
		return slices.Sorted(maps.Keys(object))
	}
	run := newRun("run-1", nil)
	v := explained(t, run, nil)
	require.Equal(t, []string{
		"advice", "agent_id", "branched_from", "budget", "context", "definition_change", "doing", "duration_ms", "ended_at", "ending", "execution_id",
		"execution_number", "given", "handoffs", "history", "id", "mcp_sessions", "messages_received", "missing", "model", "name", "origin", "reported", "run_id", "source",
		"started_at", "status", "steps", "todo", "totals", "trusted", "waste", "workflow_id",
	}, keys(v))
	require.Equal(t, []string{
		"agent", "compactions", "cost_nano_usd", "duration_ms", "errors", "failed_attempts", "finish_reason", "in_progress",
		"interrupted", "lost_nano_usd", "lost_usage", "number", "queued_ms", "retries", "started_at", "step_id", "tools", "type", "usage",
	}, keys(ExplainStep{}))
	require.NotContains(t, string(must(json.Marshal(v.Waste))), "null,\"error_steps\"", "lists are never null")
}

func TestExplainEnumsAreStrict(t *testing.T) {
	t.Parallel()
	for _, fate := range SignalFates() {
		require.NoError(t, new(SignalFate).UnmarshalText([]byte(fate)))
	}
	for _, kind := range CompactionKinds() {
		require.NoError(t, new(CompactionKind).UnmarshalText([]byte(kind)))
	}
	for _, unit := range domain.Units() {
		require.NoError(t, new(domain.Unit).UnmarshalText([]byte(unit)))
	}
	require.ErrorContains(t, new(SignalFate).UnmarshalText([]byte("fine")), `fate: "fine"`)
}

func TestExplainWhatToDo(t *testing.T) {
	t.Parallel()
	for _, code := range append(domain.Codes(), "") {
		require.Contains(t, remedies, code, "say what to do about it, or leave it to its kind")
		for _, kind := range domain.Kinds() {
			require.NotEmpty(t, remedy(domain.Error{Kind: kind, Code: code}), "%s %s", kind, code)
		}
	}
	e := explanation{target: target{outcome: &contract.Outcome{}}}
	for _, reason := range domain.StopReasons() {
		require.NotContains(t, e.summary(&ExplainEnding{StopReason: reason}), "nobody can tell why", reason)
	}
	require.Equal(t, "extend x --max-tokens 700 --max-cost 0.5 --max-tool-calls 10 --max-seconds 3 --deadline 1h", raise("x", []ExplainLimit{
		{Limit: domain.LimitSteps, Unit: domain.UnitSteps, Total: new(int64(1))},
		{Limit: domain.LimitTokens, Unit: domain.UnitTokens, Total: new(int64(300)), Used: new(int64(350)), Prior: new(int64(50)), Reached: true},
		{Limit: domain.LimitCost, Unit: domain.UnitNanoUSD, Total: new(int64(250_000_000)), Reached: true},
		{Limit: domain.LimitToolCalls, Unit: domain.UnitCalls, Total: new(int64(0)), Reached: true},
		{Limit: domain.LimitSeconds, Unit: domain.UnitMilliseconds, Total: new(int64(1500)), Reached: true},
		{Limit: domain.LimitDeadline, Unit: domain.UnitTime, Deadline: new(time.Now()), Reached: true},
	}))
	require.Equal(t, "extend x --max-steps 2", raise("x", []ExplainLimit{
		{Limit: domain.LimitSteps, Unit: domain.UnitSteps, Total: new(int64(1)), Left: new(int64(0))},
		{Limit: domain.LimitTokens, Unit: domain.UnitTokens, Total: new(int64(300)), Left: new(int64(1))},
		{Limit: domain.LimitToolCalls, Unit: domain.UnitCalls, Total: new(int64(1)), Left: new(int64(0))},
	}), "what is used up has to be raised too, for what it advises not to be refused")
}

// TestExplainSaysThatItWasReset: calls that an operator has had run again look like any others.
func TestExplainSaysThatItWasReset(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	run.answers(1, 1, "looking", domain.ToolCall{ID: "c", Name: "ls"})
	require.Nil(t, explained(t, run, nil).History.ResetAt)
	run.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED,
		Attributes: &historypb.HistoryEvent_WorkflowTaskFailedEventAttributes{
			WorkflowTaskFailedEventAttributes: &historypb.WorkflowTaskFailedEventAttributes{Cause: enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW},
		},
	})
	run.completes(run.calls(1, 1, 0, "ls"), contract.ToolReply{Content: "a"})
	v := explained(t, run, nil)
	require.NotNil(t, v.History.ResetAt)
	require.True(t, v.History.ResetAt.After(*v.StartedAt))
}

func TestExplainOneThatTheServerEnded(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	run.answers(1, 1, "looking", domain.ToolCall{ID: "c", Name: "ls"})
	run.completes(run.calls(1, 1, 0, "ls"), contract.ToolReply{Content: "a"})
	run.infers(1, 2)
	run.closes(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED)
	v := explained(t, run, nil)
	require.Equal(t, domain.StatusFailed, v.Status)
	require.Equal(t, domain.CodeTerminated, v.Ending.Error.Code)
	require.Contains(t, v.Ending.Summary, "an operator terminated the workflow")
	require.Len(t, v.Steps, 2)
	require.True(t, v.Steps[1].Interrupted)
	require.False(t, v.Steps[1].InProgress)
	for _, advice := range v.Advice {
		require.Empty(t, advice.Command, "nothing can go on from it")
	}
}
