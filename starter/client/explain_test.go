package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/domain/enum"
)

// told is the account of an execution of nora's that ended with these signals.
func told(budget domain.ExecutionBudget, steps []domain.StepExecution, signals []domain.StopSignal, late int) account.Account {
	now := at(1).AsTime()
	s := domain.NewAgentState(nora.id, domain.AgentID{}, now, domain.LLMConfig{Provider: "scripted", Model: "x"})
	s = must(s.BeginExecution(nth(1), budget, now))
	for _, step := range steps {
		s = must(s.WithStepStarted(step.Step.ID, step.StartedAt))
		s = must(s.WithCurrentStep(step.Step, step.CompletedAt))
		s = must(s.WithCurrentStepCompleted(step.CompletedAt)).WithToolCalls(step.Step.Spent().ToolCalls, step.CompletedAt)
	}
	for _, signal := range signals {
		s = must(s.WithStopSignal(signal, now))
	}
	s = s.WithLateSignals(len(signals)-late, now)
	s = must(s.WithExecutionCompleted(at(50).AsTime()))
	return accountOf(s, steps)
}

// accountOf is the account of the execution with which a state stands.
func accountOf(s domain.AgentState, steps []domain.StepExecution) account.Account {
	execution := s.Execution
	e := account.Execution{StartedAt: execution.StartedAt, Prior: execution.ExecutionCounts.Prior, State: must(json.Marshal(s.WithStepsFolded(0)))}
	e.Outcome = contract.Outcome{
		AgentID: nora.id, ExecutionID: execution.ID, Number: 1, Status: s.Status(), Steps: s.StepCount(), Usage: s.Usage(), CostNanoUSD: s.CostNanoUSD(), Priced: true,
	}
	e.StopReason, _ = s.StopReason()
	e.CompletedAt = execution.CompletedAt
	if s.Status().Terminal() {
		e.Ended = &contract.End{}
	}
	a := account.Account{
		Head:       &account.Head{AgentID: nora.id, Name: nora.name, State: e.State, Newest: &e},
		Executions: []account.Execution{e}, Server: &account.Server{Source: contract.FromWorkflow},
	}
	for _, step := range steps {
		a.Steps = append(a.Steps, account.Step{Execution: 1, StepExecution: step})
	}
	return a
}

// underWay is the account of an execution of nora's that is in progress.
func underWay() account.Account {
	s := domain.NewAgentState(nora.id, domain.AgentID{}, at(1).AsTime(), domain.LLMConfig{Provider: "scripted", Model: "x"})
	a := accountOf(must(s.BeginExecution(nth(1), domain.ExecutionBudget{}, at(1).AsTime())), nil)
	a.Head.Doing = "as the workflow says"
	return a
}

// answersAccount is a worker that answers with an account, and to nothing else.
func answersAccount(a account.Account) func(context.Context, string, string, any) (any, error) {
	return func(_ context.Context, _, query string, _ any) (any, error) {
		if query != string(account.Query) {
			return nil, serviceerror.NewInvalidArgument("unknown queryType")
		}
		held := account.Held{Run: a.Head.Run, Executions: []account.HeldExecution{{Number: a.Executions[0].Number, ID: a.Executions[0].ExecutionID, Step: 1, Event: 1}}}
		return account.Page{Account: a, PageEnd: account.PageEnd{Held: held}}, nil
	}
}

// explained is the explanation of nora's execution by its account alone, while her session is open.
func explained(t *testing.T, a account.Account) ExplainView {
	t.Helper()
	s := must(newFake(newRun("run-1", nil)).client().describe(t.Context(), "nora"))
	e, err := newExplanation(s, a, 1)
	require.NoError(t, err)
	return e.view()
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

// TestACallThatAPersonDeniedIsNoError of the agent: it wastes nothing. That a rule forbade a call is one.
func TestACallThatAPersonDeniedIsNoError(t *testing.T) {
	t.Parallel()
	blocked := func(step int, waits ...domain.Wait) domain.StepExecution {
		call := failedCall(readCall(step, 0, "c", ""), domain.CodedErrorf(domain.Denied, domain.CodeBlocked, "not this one"))
		call.Waits = waits
		return stepOf(step, domain.AgentStep{Usage: usage(1, 1), Response: &domain.Response{Finish: domain.FinishToolCalls}, ToolExecutions: []domain.ToolExecution{call}})
	}
	denied := domain.Wait{Kind: domain.WaitApproval, Tool: "read_file", Answer: &domain.Answer{Verdict: domain.WasDenied, By: "ann", At: at(3).AsTime()}}
	v := explained(t, told(domain.ExecutionBudget{}, []domain.StepExecution{blocked(1, denied), blocked(2)}, nil, 0))
	require.Equal(t, []int{2}, v.Waste.ErrorSteps)
	require.NotNil(t, v.Steps[0].Tools[0].Error, "the call itself says what became of it")
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
				failedCall(readCall(2, 2, "d", ""), domain.Invalidf("no such file")),
				failedCall(readCall(2, 3, "e", ""), domain.CodedErrorf(domain.Unavailable, domain.CodeOutcomeUnknown, "lost")),
			},
		}),
	}
	a := told(budget, steps, []domain.StopSignal{
		{Reason: domain.UserRequested, Message: "enough", Source: "user"},
		{Reason: domain.StepsLimitReached, Message: "max_steps is 3 and 3 are done", Source: "budget"},
		{Reason: domain.StopRequested, Message: "too late", Source: "a hook"},
	}, 1)
	a.Executions[0].Prior = domain.Spent{Steps: 1, Tokens: 300, Seconds: 2}
	a.Head.Configuration.Changes = []contract.Change{{Number: 1}, {Number: 2}}
	v := explained(t, a)
	require.Equal(t, []contract.Change{{Number: 1}}, v.Changes)

	require.Equal(t, contract.FromWorkflow, v.Source)
	require.Empty(t, v.Missing)
	require.Equal(t, domain.StatusStopped, v.Status)
	require.Equal(t, "it reached its limit of steps: max_steps is 3 and 3 are done", v.Ending.Summary)
	require.Equal(t, &domain.StopSignal{Reason: domain.StepsLimitReached, Source: "budget", Message: "max_steps is 3 and 3 are done"}, v.Ending.Signal)
	require.Equal(t, []ExplainSignal{
		{domain.StopSignal{Reason: domain.UserRequested, Source: "user", Message: "enough"}, SignalOutranked},
		{domain.StopSignal{Reason: domain.StopRequested, Source: "a hook", Message: "too late"}, SignalLate},
	}, v.Signals)

	require.Equal(t, []domain.ToolOutcome{domain.ToolOK, domain.ToolBlocked, domain.ToolFailed, domain.ToolUnknown}, outcomes(v.Steps[1].Tools))
	require.Equal(t, []int{1, 0, 1, 1}, []int{v.Steps[1].Tools[0].Attempts, v.Steps[1].Tools[1].Attempts, v.Steps[1].Tools[2].Attempts, v.Steps[1].Tools[3].Attempts})
	require.Equal(t, int64(2000), *v.Steps[0].Milliseconds)
	require.Equal(t, 2, v.Steps[0].FailedAttempts)

	require.Equal(t, int64(500), v.Totals.Usage.TotalTokens())
	require.Equal(t, int64(2000), *v.Totals.CostNanoUSD)
	require.Equal(t, int64(5), v.Totals.ToolCalls, "one was blocked")
	require.Equal(t, v.Reported.Usage, v.Totals.Usage)
	require.Equal(t, *v.Reported.CostNanoUSD, *v.Totals.CostNanoUSD)

	require.Equal(t, 2, v.Waste.FailedAttempts)
	require.Equal(t, int64(50), v.Waste.Usage.TotalTokens())
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
	end := domain.Origin{AgentID: nora.id, ExecutionID: nth(1), Step: 2}
	a.Executions[0].MessagesTo, a.Head.Position = 6, account.Position{Length: 6, From: &end}
	require.Equal(t, v.Advice, explained(t, a).Advice, "it was rewound to its own end")
	for what, position := range map[string]account.Position{
		"rewound": {Length: 6, From: &domain.Origin{AgentID: nora.id, ExecutionID: nth(1), Step: 1}, Edits: domain.Edits{TakenBack: []domain.Span{{From: 4, To: 6, By: 2, AfterStep: 1}}}},
		"cleared": {Length: 6, Edits: domain.Edits{TakenBack: []domain.Span{{To: 6, By: 2, Cleared: true}}}},
	} {
		a.Head.Position = position
		require.NotContains(t, fmt.Sprint(explained(t, a).Advice), "extend", what)
		require.Contains(t, fmt.Sprint(explained(t, a).Advice), "send nora", what)
	}
}

func outcomes(tools []ExplainTool) []domain.ToolOutcome {
	var all []domain.ToolOutcome
	for _, tool := range tools {
		all = append(all, tool.Outcome)
	}
	return all
}

// TestStepsInProgressAreNotCounted among those that have ended, as in a status.
func TestStepsInProgressAreNotCounted(t *testing.T) {
	t.Parallel()
	over, open := new(explanation).step(stepOf(1, domain.AgentStep{Usage: usage(1, 2)})), ExplainStep{Number: 2, InProgress: true, Usage: usage(3, 4)}
	total, _ := sumsOf([]ExplainStep{over, open})
	require.Equal(t, 1, total.Steps)
	require.Equal(t, int64(10), total.Usage.TotalTokens(), "what it has used counts")
}

func TestExplainWhatToDo(t *testing.T) {
	t.Parallel()
	for _, code := range append(enum.Known[domain.Code](), "") {
		require.Contains(t, remedies, code, "say what to do about it, or leave it to its kind")
		for _, kind := range enum.Known[domain.Kind]() {
			require.NotEmpty(t, remedy(domain.Error{Kind: kind, Code: code}), "%s %s", kind, code)
		}
	}
	e := explanation{Account: account.Account{Head: &account.Head{}}}
	for _, reason := range enum.Known[domain.StopReason]() {
		require.NotContains(t, e.summary(&ExplainEnding{StopReason: reason}), "nobody can tell why", reason)
	}
	require.Equal(t, "extend x --max-tokens 700 --max-cost 0.5 --max-tool-calls 10 --max-seconds 3 --deadline 1h", e.raise("x", []ExplainLimit{
		{Limit: domain.LimitSteps, Unit: domain.UnitSteps, Total: new(int64(1))},
		{Limit: domain.LimitTokens, Unit: domain.UnitTokens, Total: new(int64(300)), Used: new(int64(350)), Prior: new(int64(50)), Reached: true},
		{Limit: domain.LimitCost, Unit: domain.UnitNanoUSD, Total: new(int64(250_000_000)), Reached: true},
		{Limit: domain.LimitToolCalls, Unit: domain.UnitCalls, Total: new(int64(0)), Reached: true},
		{Limit: domain.LimitSeconds, Unit: domain.UnitMilliseconds, Total: new(int64(1500)), Reached: true},
		{Limit: domain.LimitDeadline, Unit: domain.UnitTime, Deadline: new(time.Now()), Reached: true},
	}))
	require.Equal(t, "extend x --max-steps 2", e.raise("x", []ExplainLimit{
		{Limit: domain.LimitSteps, Unit: domain.UnitSteps, Total: new(int64(1)), Left: new(int64(0))},
		{Limit: domain.LimitTokens, Unit: domain.UnitTokens, Total: new(int64(300)), Left: new(int64(1))},
		{Limit: domain.LimitToolCalls, Unit: domain.UnitCalls, Total: new(int64(1)), Left: new(int64(0))},
	}), "what is used up has to be raised too, for what it advises not to be refused")
	e.Head.Context, e.Head.Configuration.Resolved = 2788, &contract.Resolved{Price: &domain.Price{Input: 250_000_000, Output: 2_000_000_000}}
	require.Equal(t, "extend x --max-tokens 2938 --max-cost 0.0008445", e.raise("x", []ExplainLimit{
		{Limit: domain.LimitTokens, Unit: domain.UnitTokens, Total: new(int64(100)), Used: new(int64(50)), Prior: new(int64(0)), Reached: true},
		{Limit: domain.LimitCost, Unit: domain.UnitNanoUSD, Total: new(int64(100_000)), Used: new(int64(47_500)), Prior: new(int64(0)), Reached: true},
	}), "the next inference has to fit")
}

// TestExplainAStepThatWasCutOff by the server, or is under way: the state has it, beside those that have ended.
func TestExplainAStepThatWasCutOff(t *testing.T) {
	t.Parallel()
	now := at(1).AsTime()
	s := domain.NewAgentState(nora.id, domain.AgentID{}, now, domain.LLMConfig{Provider: "scripted", Model: "x"})
	s = must(s.BeginExecution(nth(1), domain.ExecutionBudget{}, now))
	s = must(s.WithStepStarted(nth(1).Step(1), now))
	step, _ := s.CurrentStep()
	step.Output = []domain.Message{{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: "found it"}}}}
	step.Usage, step.ToolExecutions = usage(10, 1), []domain.ToolExecution{
		readCall(1, 0, "a", "b"), {ID: nth(1).Step(1).Tool(1), Call: domain.ToolCall{Name: "later"}},
		domain.ToolExecution{ID: nth(1).Step(1).Tool(2), Call: domain.ToolCall{Name: "waits"}}.WithWait(domain.Wait{Kind: domain.WaitApproval, Tool: "waits", Since: now}),
		{ID: nth(1).Step(1).Tool(3), Call: domain.ToolCall{Name: "runs"}, StartedAt: now},
	}
	s = must(s.WithCurrentStep(step, now))
	v := explained(t, accountOf(s, nil))
	require.True(t, v.Steps[0].InProgress)
	require.Nil(t, v.Steps[0].Type)
	require.Len(t, v.Steps[0].Tools, 3, "the second call has not begun, and nobody was asked about it")
	require.Equal(t, domain.WaitApproval, v.Steps[0].Tools[1].Waits[0].Kind)
	require.Equal(t, domain.ToolRunning, v.Steps[0].Tools[2].Outcome)
	require.Equal(t, int64(11), v.Totals.Usage.TotalTokens())

	run := newRun("run-1", nil)
	run.closes(enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED)
	cut := must(newFake(run).client().describe(t.Context(), "nora"))
	e := must(newExplanation(cut, cut.endedByServer(accountOf(s, nil)), 0))
	v = e.view()
	require.Equal(t, domain.StatusFailed, v.Status)
	require.Equal(t, domain.CodeTerminated, v.Ending.Error.Code)
	require.Contains(t, v.Ending.Summary, "an operator terminated the workflow")
	require.Equal(t, []bool{true, false}, []bool{v.Steps[0].Interrupted, v.Steps[0].InProgress})
	require.Equal(t, domain.ToolUnknown, v.Steps[0].Tools[3].Outcome, "nothing runs any more")
	require.Equal(t, v.Reported.Steps, v.Totals.Steps, "a step that was cut off is counted by nobody")
	for _, advice := range v.Advice {
		require.Empty(t, advice.Command, "nothing can go on from it")
	}
	e.Head.Children = []contract.SubagentView{{Subagent: "leaf"}}
	r := Result{Outcome: e.asked.Outcome}.explained(e)
	require.Contains(t, r.Answer+r.SaidLast, "found it")
	require.Equal(t, domain.CodeTerminated, r.Error.Code)
	require.Equal(t, int64(11), r.Outcome.Usage.TotalTokens())
	require.True(t, r.Outcome.Unknown, "nobody knows what the sub-agent has done")
}

// TestTagsInATextAreExplained: of a model of chat completions, whose option reads them.
func TestTagsInATextAreExplained(t *testing.T) {
	t.Parallel()
	now := at(1).AsTime()
	for provider, says := range map[string]string{"openai-chat": "the text of step 1 has tags of calls or thinking; the model's option dialect reads them: think_tags", "scripted": ""} {
		s := domain.NewAgentState(nora.id, domain.AgentID{}, now, domain.LLMConfig{Provider: provider, Model: "x"})
		s = must(s.BeginExecution(nth(1), domain.ExecutionBudget{}, now))
		step := domain.AgentStep{Output: []domain.Message{{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: "<think>hm</think>Yes."}}}}}
		told := ""
		for _, advice := range explained(t, accountOf(s, []domain.StepExecution{stepOf(1, step)})).Advice {
			told += advice.Text
		}
		require.Equal(t, says, told)
	}
}

// TestLowEstimatesAreExplained: once, and not where the conversation has grown by what was said meanwhile.
func TestLowEstimatesAreExplained(t *testing.T) {
	t.Parallel()
	answered := func(u domain.Usage, text string) domain.AgentStep {
		return domain.AgentStep{Response: &domain.Response{Usage: u}, Output: []domain.Message{domain.UserMessage(text)}}
	}
	guess, reported := domain.Usage{InputTokens: 100, OutputTokens: 9, Estimated: true}, usage(1900, 9)
	retried := answered(reported, "")
	retried.Lost = guess
	fourth := answered(usage(200, 9), "")
	fourth.Tries, fourth.Lost = 4, usage(600, 9)
	for name, test := range map[string]struct {
		steps    []domain.AgentStep
		joined   int
		from, at int
	}{
		"four tries of 200":   {steps: []domain.AgentStep{answered(guess, ""), fourth}},
		"a later step":        {steps: []domain.AgentStep{answered(domain.Usage{Estimated: true, InputTokens: 7000}, strings.Repeat("word", 900)), answered(guess, "hm"), {}, answered(reported, ""), answered(guess, ""), answered(reported, "")}, from: 2, at: 4},
		"a failed attempt":    {steps: []domain.AgentStep{retried}, from: 1, at: 1},
		"an earlier step":     {steps: []domain.AgentStep{answered(reported, ""), answered(guess, "")}},
		"not far":             {steps: []domain.AgentStep{answered(guess, ""), answered(usage(200, 9), "")}},
		"a long answer":       {steps: []domain.AgentStep{answered(guess, strings.Repeat("word", 900)), answered(reported, "")}},
		"a message that came": {steps: []domain.AgentStep{answered(guess, ""), answered(reported, "")}, joined: 3600},
	} {
		var steps []domain.StepExecution
		for i, step := range test.steps {
			steps = append(steps, stepOf(i+1, step))
		}
		a := told(domain.ExecutionBudget{}, steps, nil, 0)
		a.Events = []domain.Event{{Type: domain.EventMessageReceived, EventHeader: domain.EventHeader{ExecutionID: nth(1)}, Data: domain.MessageReceived{Bytes: test.joined}}}
		var texts []string
		for _, advice := range explained(t, a).Advice {
			texts = append(texts, advice.Text)
		}
		if test.at == 0 {
			require.Empty(t, texts, name)
			continue
		}
		require.Equal(t, []string{fmt.Sprintf("the model read about 100 tokens in step %d by an estimate, as no usage was reported, and 1900 in step %d by its provider's word: "+
			"what budgets count where no usage is reported is too little", test.from, test.at)}, texts, name)
	}
}

// TestEachLimitIsExplained: what was used of each limit, before this execution too, and what is left.
func TestEachLimitIsExplained(t *testing.T) {
	t.Parallel()
	var budget domain.ExecutionBudget
	for _, rule := range domain.LimitRules() {
		if !rule.Unit.OfTime() {
			budget = rule.With(budget, domain.Count(rule.Unit, 1000))
		}
	}
	step := stepOf(1, domain.AgentStep{Usage: usage(100, 10), CostNanoUSD: 200, ToolExecutions: []domain.ToolExecution{readCall(1, 0, "a", "b")}})
	a := told(budget, []domain.StepExecution{step}, nil, 0)
	a.Executions[0].Prior = domain.Spent{Steps: 1, Tokens: 10, CostNanoUSD: 20, ToolCalls: 1}
	limits := explained(t, a).Budget
	require.Len(t, limits, len(domain.LimitRules())-2)
	for _, l := range limits {
		require.Positive(t, *l.Used, "nobody counts for %s", l.Limit)
		require.Positive(t, *l.Prior, l.Limit)
		require.Equal(t, 1000-*l.Prior, *l.Left+*l.Used, l.Limit)
	}
}

// TestExplainWithoutAPrice: what is not known is null, never zero.
func TestExplainWithoutAPrice(t *testing.T) {
	t.Parallel()
	for cost, use := range map[int64]domain.Usage{-1: usage(100, 10), 0: {}} {
		a := told(domain.ExecutionBudget{}, []domain.StepExecution{stepOf(1, domain.AgentStep{Usage: use})}, nil, 0)
		a.Executions[0].Priced = false
		v := explained(t, a)
		if cost < 0 {
			require.Nil(t, v.Steps[0].CostNanoUSD)
			require.Nil(t, v.Totals.CostNanoUSD)
			require.Nil(t, v.Waste.CostNanoUSD)
			continue
		}
		require.Equal(t, []int64{0, 0}, []int64{*v.Steps[0].CostNanoUSD, *v.Totals.CostNanoUSD}, "what used nothing cost nothing")
	}
}

// TestExplainCompactions tells each once, in order: what a summary hides was not cleared as well.
func TestExplainCompactions(t *testing.T) {
	t.Parallel()
	cleared, hidden := domain.Edits{Cleared: 7}, domain.Edits{Cleared: 9, Hidden: 9, Summary: 12}
	a := told(domain.ExecutionBudget{}, []domain.StepExecution{
		stepOf(1, domain.AgentStep{}), stepOf(2, domain.AgentStep{Input: domain.StepInput{Messages: 9, Edits: cleared}}), stepOf(3, domain.AgentStep{Input: domain.StepInput{Messages: 5, Edits: hidden}}),
	}, nil, 0)
	head := domain.EventHeader{ExecutionID: nth(1), StepID: nth(1).Step(3), Step: 3}
	a.Events = append(
		a.Events,
		domain.Event{Type: domain.EventInferenceRequested, EventHeader: head, Data: domain.InferenceRequestStarted{Summary: true}},
		domain.Event{Type: domain.EventInferenceReceived, EventHeader: head, Data: domain.InferenceResponseReceived{Usage: usage(300, 30)}},
		domain.Event{Type: domain.EventInferenceRequested, EventHeader: head, Data: domain.InferenceRequestStarted{}},
		domain.Event{Type: domain.EventInferenceReceived, EventHeader: head, Data: domain.InferenceResponseReceived{Usage: usage(50, 5)}},
	)
	v := explained(t, a)
	require.Empty(t, v.Steps[0].Compactions)
	require.Equal(t, []ExplainCompaction{{Kind: CompactionCleared, Before: 7}}, v.Steps[1].Compactions)
	require.Equal(t, []ExplainCompaction{{Kind: CompactionSummary, Before: 9, Usage: usage(300, 30)}}, v.Steps[2].Compactions)
	require.Equal(t, 2, v.Totals.Compactions)
}

// TestExplainTellsOfMCPSessions: when each was opened, and why it is gone, also of one that an earlier execution has opened.
func TestExplainTellsOfMCPSessions(t *testing.T) {
	t.Parallel()
	a := told(domain.ExecutionBudget{}, nil, nil, 0)
	event := func(second int, kind domain.EventType, session domain.MCPSessionEvent) {
		session.Server = "shop"
		header := domain.EventHeader{ExecutionID: nth(1), Time: at(second).AsTime()}
		a.Events = append(a.Events, domain.Event{Type: kind, EventHeader: header, Data: session})
	}
	event(2, domain.EventMCPSessionLost, domain.MCPSessionEvent{Worker: "one", Since: at(1).AsTime(), Why: "its worker is gone"})
	event(3, domain.EventMCPSessionOpened, domain.MCPSessionEvent{Worker: "two"})
	event(4, domain.EventMCPSessionLost, domain.MCPSessionEvent{Worker: "two", Since: at(3).AsTime(), Why: "its program has ended"})
	event(5, domain.EventMCPSessionOpened, domain.MCPSessionEvent{Worker: "three"})
	require.Equal(t, []ExplainSession{
		{Server: "shop", Worker: "one", Since: at(1).AsTime(), EndedAt: new(at(2).AsTime()), Reason: "its worker is gone"},
		{Server: "shop", Worker: "two", Since: at(3).AsTime(), EndedAt: new(at(4).AsTime()), Reason: "its program has ended"},
		{Server: "shop", Worker: "three", Since: at(5).AsTime()},
	}, explained(t, a).Sessions)
}

// used gives a reply its usage.
func used(r contract.ModelReply, response, spent domain.Usage, tries int) contract.ModelReply {
	r.Response = domain.Response{Finish: domain.FinishStop, Usage: response}
	r.Spent, r.Tries = spent, tries
	return r
}

// TestEachFailedAttemptIsNamed where history keeps why, and how long an inference waited for its turn.
func TestEachFailedAttemptIsNamed(t *testing.T) {
	t.Parallel()
	run := newRun("run-1", nil)
	first := run.infers(1, 1)
	run.startsAttempt(first, 2, "too many requests")
	run.completes(first, contract.ModelReply{
		Outcome: contract.BilledFailure, Spent: usage(50, 5), Tries: 2, Error: domain.CodedErrorf(domain.Unavailable, domain.CodeMalformed, "the stream ended early"),
	})
	run.completes(run.infers(1, 1), used(reply("done"), usage(200, 20), domain.Usage{}, 1))
	run.tasks("this one")
	run.loses(run.infers(1, 2), domain.CodedErrorf(domain.Unavailable, domain.CodeMalformed, "lost since"))
	c := newFake(run).client()
	a := told(domain.ExecutionBudget{}, []domain.StepExecution{stepOf(1, domain.AgentStep{Usage: usage(250, 25), Tries: 3, Lost: usage(50, 5)})}, nil, 0)
	e := must(newExplanation(must(c.describe(t.Context(), "nora")), a, 1))
	e.attempts = must(c.attemptsOf(t.Context(), e))
	v := e.view()
	require.Equal(t, 2, v.Steps[0].FailedAttempts)
	require.Len(t, v.Steps[0].Retries, 2)
	require.Equal(t, []string{"too many requests", "the stream ended early"}, []string{v.Steps[0].Retries[0].Reason, v.Steps[0].Retries[1].Reason})
	require.Empty(t, e.attempts.steps[2].retries, "no worker has taken it, and no account counts what it has cost")
	require.Equal(t, 2, v.History.Steps)
	require.Equal(t, int64(len(run.events)), v.History.Events)
}
