package domain_test

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// TestNamesOfTheSpecification lists what SPEC section 9 promises.
func TestNamesOfTheSpecification(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		on    reflect.Type
		names string
	}{
		{reflect.TypeFor[domain.AgentState](), `AgentID ParentAgentID CreatedAt UpdatedAt ExecutionCount LLMConfig WithLLMConfig
			Context Messages Metadata SystemPrompt ResponseFormat WithSystemPrompt WithUserMessage WithMessages WithMetadata WithResponseFormat
			Execution HasActiveExecution Status Budget BudgetLeft ExecutionStartedAt ExecutionDuration CurrentStepStartedAt StepCount
			TransientStepCount Usage Errors HasErrors BeginExecution WithExecutionCompleted ForNextExecution WithBudget
			Steps StepExecutions CurrentStep LastStep CurrentStepOrLast LastStepExecution LastStepType LastStepUsage LastStepDuration
			LastStepErrors LastStepToolExecutions LastToolExecution WithStepStarted WithCurrentStep WithCurrentStepCompleted
			ShouldStop StopReason StopSignal StopSignals Continuation WithStopSignal WithContinuationRequested
			HasFinalResponse FinalResponse CurrentResponse Debug`},
		{reflect.TypeFor[domain.StepExecution](), "Step StartedAt CompletedAt Duration Continuation Usage"},
		{reflect.TypeFor[domain.ToolExecution](), "Name Args Value Err HasError WasBlocked StartedAt CompletedAt Duration"},
		{reflect.TypeFor[domain.AgentStep](), `ID Number Type Input Output Response ToolExecutions RequestedToolCalls ExecutedToolCalls
			Errors Usage Interrupted`},
	} {
		for _, name := range strings.Fields(c.names) {
			_, field := c.on.FieldByName(name)
			_, method := c.on.MethodByName(name)
			require.True(t, field || method, "%s has no %s", c.on, name)
		}
	}
}

func TestStateBetweenExecutions(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]domain.AgentState{
		"before the first": idleState(), "after one": must(endedState().ForNextExecution(after(9))),
	} {
		require.True(t, s.Execution.IsZero(), name)
		require.Equal(t, domain.StatusPending, s.Status(), name)
		require.Zero(t, s.StepCount(), name)
		require.Zero(t, s.TransientStepCount(), name)
		require.Zero(t, s.Usage(), name)
		require.Zero(t, s.ExecutionDuration(after(99)), name)
		require.True(t, s.ShouldStop(), name)
		require.False(t, s.HasActiveExecution() || s.HasErrors(), name)
		require.Empty(t, s.Chain(), name)
		_, ok := s.Budget()
		require.False(t, ok, name)
		_, ok = s.StopReason()
		require.False(t, ok, name)
		_, ok = s.LastToolExecution()
		require.False(t, ok, name)
	}
}

func TestLifeOfAnExecution(t *testing.T) {
	t.Parallel()
	s := begunState()
	require.Equal(t, 1, s.ExecutionCount)
	require.Equal(t, domain.StatusInProgress, s.Status())
	started, ok := s.ExecutionStartedAt()
	require.True(t, ok)
	require.Equal(t, after(1), started)
	require.Equal(t, executionID(1), domain.TagOf(s.Messages()[0]).ExecutionID, "the message that waited is taken")
	s = must(s.WithStepStarted(executionID(1).Step(1), after(2)))
	require.Equal(t, []int{0, 1}, []int{s.StepCount(), s.TransientStepCount()})
	since, ok := s.CurrentStepStartedAt()
	require.True(t, ok)
	require.Equal(t, after(2), since)
	s = must(s.WithCurrentStep(toolStep(executionID(1), 1), after(3)))
	require.Equal(t, int64(120), s.Usage().TotalTokens(), "the step in progress counts")
	require.Equal(t, domain.Spent{Steps: 1, Tokens: 120, Seconds: 4, CostNanoUSD: 500, ToolCalls: 2}, s.WithToolCalls(2, after(3)).Spent(after(5)))
	s = must(s.WithCurrentStepCompleted(after(4))).WithToolCalls(3, after(4))
	require.Equal(t, []int{1, 1}, []int{s.StepCount(), s.TransientStepCount()})
	require.Len(t, s.Messages(), 1, "joining is an act of its own")
	last, ok := s.LastStepExecution()
	require.True(t, ok)
	require.Equal(t, 2*time.Second, last.Duration())
	left, ok := s.BudgetLeft(after(11))
	require.True(t, ok)
	require.Equal(t, domain.ExecutionBudget{
		MaxSteps: new(int64(9)), MaxTokens: new(int64(4880)), MaxSeconds: new(80.5), MaxCostNanoUSD: new(int64(1_999_999_500)),
		Deadline: new(after(3600)), MaxToolCalls: new(int64(1)),
	}, left)
	s = must(s.WithExecutionCompleted(after(8)))
	require.Equal(t, domain.StatusCompleted, s.Status(), "a tool that failed is data for the model")
	require.True(t, s.HasErrors())
	require.Equal(t, 7*time.Second, s.ExecutionDuration(after(99)))
	require.Equal(t, after(8), s.UpdatedAt)
	require.Equal(t, noon, s.CreatedAt)
	next := must(s.BeginExecution(executionID(2), domain.Unlimited(), after(20)))
	require.Equal(t, 2, next.ExecutionCount)
	require.Zero(t, next.StepCount())
	require.Equal(t, s.Messages(), next.Messages(), "an earlier execution's messages keep their tags")
}

// TestChangesThatAreRefused: and nothing is half done.
func TestChangesThatAreRefused(t *testing.T) {
	t.Parallel()
	idle, begun, ended := idleState(), begunState(), endedState()
	inStep := must(begun.WithStepStarted(executionID(1).Step(1), after(2)))
	no := domain.ExecutionBudget{MaxSteps: new(int64(-1))}
	unreadable := domain.AgentStep{Output: []domain.Message{{Role: domain.RoleUser, Parts: []domain.Part{{Type: domain.PartReasoning, Opaque: json.RawMessage("{")}}}}}
	refused := func(from domain.AgentState, change, fault string) func(domain.AgentState, error) {
		return func(got domain.AgentState, err error) {
			t.Helper()
			require.ErrorContains(t, err, fault, change)
			require.Equal(t, from, got, change)
		}
	}
	refused(begun, "begin in progress", "is in progress")(begun.BeginExecution(executionID(2), domain.Unlimited(), noon))
	refused(idle, "begin without id", "execution_id: is missing")(idle.BeginExecution(domain.ExecutionID{}, domain.Unlimited(), noon))
	refused(idle, "begin with nonsense", "max_steps: is -1")(idle.BeginExecution(executionID(2), no, noon))
	refused(begun, "next in progress", "is in progress")(begun.ForNextExecution(noon))
	refused(idle, "complete none", "no execution is in progress")(idle.WithExecutionCompleted(noon))
	refused(ended, "complete twice", "(status completed)")(ended.WithExecutionCompleted(noon))
	refused(ended, "budget of none", "no execution is in progress")(ended.WithBudget(domain.Unlimited(), noon))
	refused(begun, "budget of nonsense", "max_steps: is -1")(begun.WithBudget(no, noon))
	refused(idle, "error of none", "no execution is in progress")(idle.WithExecutionError(&domain.Error{}, noon))
	refused(idle, "continue none", "no execution is in progress")(idle.WithContinuationRequested(noon))
	refused(idle, "step of none", "no execution is in progress")(idle.WithStepStarted(executionID(1).Step(1), noon))
	refused(inStep, "step in a step", "step 1 is in progress")(inStep.WithStepStarted(executionID(1).Step(2), noon))
	refused(begun, "step without id", "step_id: is missing")(begun.WithStepStarted(domain.StepID{}, noon))
	refused(begun, "content of no step", "no step is in progress")(begun.WithCurrentStep(domain.AgentStep{}, noon))
	refused(inStep, "content of another step", "the step in progress is "+executionID(1).Step(1).String())(inStep.WithCurrentStep(toolStep(executionID(2), 1), noon))
	refused(inStep, "content of another number", "number: is 2; the step in progress is 1")(inStep.WithCurrentStep(domain.AgentStep{Number: 2}, noon))
	refused(inStep, "content that is not JSON", "output.messages[0].parts[0].opaque: is not valid JSON")(inStep.WithCurrentStep(unreadable, noon))
	refused(begun, "complete no step", "no step is in progress")(begun.WithCurrentStepCompleted(noon))
	refused(idle, "metadata not JSON", "metadata.k: is not valid JSON")(idle.WithMetadata("k", json.RawMessage("x"), noon))
	refused(idle, "message without a role", "messages[0].role: is missing")(idle.WithMessages("", make([]domain.Message, 1), noon))
	refused(idle, "schema not JSON", "response_format.schema: is not valid JSON")(idle.WithResponseFormat(domain.ResponseFormat{Type: domain.FormatSchema, Name: "n", Schema: json.RawMessage("{")}, noon))
	refused(idle, "format unknown", `"xml" is none of`)(idle.WithResponseFormat(domain.ResponseFormat{Type: "xml"}, noon))
}

// TestStepInProgressIsKept ends an execution in the middle of a step.
func TestStepInProgressIsKept(t *testing.T) {
	t.Parallel()
	s := must(begunState().WithStepStarted(executionID(1).Step(1), after(2)))
	s = must(s.WithCurrentStep(answerStep(executionID(1), 1, "half a sen"), after(3)))
	s = must(s.WithStopSignal(domain.StopSignal{Reason: domain.UserRequested}, after(4)))
	s = must(s.WithExecutionCompleted(after(5)))
	require.Equal(t, domain.StatusStopped, s.Status())
	last, ok := s.LastStep()
	require.True(t, ok)
	require.True(t, last.Interrupted)
	require.Equal(t, domain.StepError, last.Type())
	require.Equal(t, domain.CodeInterrupted, last.Errors[0].Code)
	require.Equal(t, "half a sen", s.Answer())
	require.False(t, s.HasFinalResponse())
	require.Equal(t, int64(15), s.Usage().TotalTokens())
	_, ok = s.CurrentStep()
	require.False(t, ok)
}

func TestExecutionErrorFails(t *testing.T) {
	t.Parallel()
	first := domain.CodedErrorf(domain.Internal, domain.CodeHookFailed, "broke").From("hook/a")
	first.Detail, first.RetryAfter, first.Billed = "stack", time.Second, true
	s := must(begunState().WithExecutionError(first, after(2)))
	s = must(s.WithExecutionError(domain.Invalidf("later"), after(3)))
	s = must(s.WithExecutionCompleted(after(4)))
	require.Equal(t, domain.StatusFailed, s.Status(), "even when no step exists")
	require.Equal(t, []domain.StopSignal{
		{Reason: domain.ErrorForbade, Message: "broke", Source: "hook/a"}, {Reason: domain.ErrorForbade, Message: "later"},
	}, s.StopSignals())
	kept := domain.Error{Kind: domain.Internal, Code: domain.CodeHookFailed, Message: "broke", Source: "hook/a"}
	require.Equal(t, []domain.Error{kept}, s.Errors(), "without what is for operators")
	require.Equal(t, &kept, s.Execution.Error)
}

// TestErrorIsListedOnce gives the execution an error that its step has.
func TestErrorIsListedOnce(t *testing.T) {
	t.Parallel()
	err := domain.CodedErrorf(domain.Invalid, domain.CodeAuth, "refused").From("openai-chat")
	step := domain.AgentStep{ID: executionID(1).Step(1), Number: 1, Errors: []domain.Error{*err}}
	s := withStep(begunState(), step)
	s = must(s.WithExecutionError(err, after(3)))
	require.Equal(t, []domain.Error{*err}, s.Errors())
}

// TestSpent: what the origins have spent counts, and time of waiting does not.
func TestSpent(t *testing.T) {
	t.Parallel()
	require.Zero(t, idleState().Spent(after(9)))
	require.Zero(t, idleState().WithToolCalls(3, after(9)).Execution.ExecutionCounts, "there is no execution that could count")
	s := waitingState()
	want := domain.Spent{Steps: 3, Tokens: 150, Seconds: 4.5, CostNanoUSD: 540, ToolCalls: 7}
	require.Equal(t, want, s.Spent(after(6)), "5 s, less 2 of waiting, and 1.5 of the origin")
	require.Equal(t, want, s.Spent(after(60)), "while it waits no time passes")
	again := s.WithWaiting(false, after(60))
	require.Equal(t, 56*time.Second, again.Execution.ExecutionCounts.Waited)
	require.Equal(t, again, again.WithWaiting(false, after(60)), "it does not wait any more")
	require.Equal(t, s.Execution.ExecutionCounts, s.WithWaiting(true, after(70)).Execution.ExecutionCounts, "it waits already")
	want.Seconds += 3
	require.Equal(t, want, again.Spent(after(63)))
	ended := must(again.WithExecutionCompleted(after(63)))
	require.Equal(t, want, ended.Spent(after(99)), "it has ended")
	require.Equal(t, domain.ExecutionCounts{}, must(ended.BeginExecution(executionID(2), domain.Unlimited(), after(99))).Execution.ExecutionCounts)
	require.Zero(t, begunState().WithToolCalls(-1, after(2)).Execution.ExecutionCounts.ToolCalls)
}

func TestStepsFolded(t *testing.T) {
	t.Parallel()
	whole := begunState()
	for number := 1; number <= 30; number++ {
		whole = withStep(whole, toolStep(executionID(1), number))
	}
	for keep := range 3 {
		folded := whole.WithStepsFolded(keep)
		require.Equal(t, 30, folded.StepCount())
		require.Equal(t, whole.Usage(), folded.Usage())
		require.Equal(t, int64(30*500), folded.CostNanoUSD())
		require.Equal(t, whole.Spent(after(40)), folded.Spent(after(40)))
		require.True(t, folded.HasErrors())
		require.Equal(t, whole.UpdatedAt, folded.UpdatedAt)
		require.Len(t, folded.StepExecutions(), keep)
		require.Len(t, folded.Execution.Folded.Errors, domain.MaxFoldedErrors)
		held := len(folded.StepExecutions())
		require.Equal(t, whole, folded.WithStepsUnfolded(whole.StepExecutions()[:30-held]), "nothing is lost to whoever has the steps")
		require.Equal(t, 60-2*held, folded.Execution.Folded.ErrorCount)
		next := withStep(folded, answerStep(executionID(1), 31, "done"))
		require.Equal(t, 31, next.StepCount())
		last, _ := next.LastStep()
		require.Equal(t, 31, last.Number, "numbers go on")
		require.Equal(t, next.WithStepsFolded(0), next.WithStepsFolded(1).WithStepsFolded(0), "in one go or two")
	}
	require.Equal(t, idleState(), idleState().WithStepsFolded(1))
	require.Equal(t, begunState(), begunState().WithStepsFolded(0))
	require.Equal(t, begunState(), begunState().WithStepsFolded(1))
}

func TestReadingSteps(t *testing.T) {
	t.Parallel()
	s := withStep(begunState(), toolStep(executionID(1), 1))
	s = withStep(s, answerStep(executionID(1), 2, "done"))
	require.Len(t, s.Steps(), 2)
	typ, ok := s.LastStepType()
	require.True(t, ok)
	require.Equal(t, domain.StepFinalResponse, typ)
	usage, _ := s.LastStepUsage()
	require.Equal(t, int64(15), usage.TotalTokens())
	duration, _ := s.LastStepDuration()
	require.Equal(t, time.Second, duration)
	require.Empty(t, s.LastStepErrors())
	require.Empty(t, s.LastStepToolExecutions())
	tool, ok := s.LastToolExecution()
	require.True(t, ok)
	require.Equal(t, "write_file", tool.Name(), "of the last step that has one")
	s = must(s.WithStepStarted(executionID(1).Step(3), after(5)))
	step, _ := s.CurrentStepOrLast()
	require.Equal(t, 3, step.Number)
	s = must(s.WithCurrentStep(domain.AgentStep{ToolExecutions: toolStep(executionID(1), 3).ToolExecutions[:1]}, after(5)))
	tool, _ = s.LastToolExecution()
	require.Equal(t, executionID(1).Step(3).Tool(0), tool.ID)
}

func TestSectionsInInferenceOrder(t *testing.T) {
	t.Parallel()
	var store domain.MessageStore
	for _, name := range []string{"zeta", "", "alpha", domain.SectionBuffer, domain.SectionSummary, "messages"} {
		var err error
		store, err = store.With(name, domain.UserMessage(strconv.Quote(name)))
		require.NoError(t, err)
	}
	require.Equal(t, []string{"zeta", "messages", "alpha", "buffer", "summary"}, store.Sections())
	require.Len(t, store.Section(""), 2)
	require.Nil(t, store.Section("none"))
	var shown []string
	for _, m := range domain.CompileEdited(domain.CurrentTrace, nil, domain.AgentState{}.WithMessageStore(store).AddedSince(domain.AgentState{}), nil, domain.Edits{}) {
		shown = append(shown, m.Text())
	}
	require.Equal(t, []string{`"summary"`, `"buffer"`, `""`, `"messages"`, `"zeta"`, `"alpha"`}, shown)
}

func TestMetadataIsTakenAway(t *testing.T) {
	t.Parallel()
	s := must(idleState().WithMetadata("team", nil, after(1)))
	require.Empty(t, s.Metadata)
	s = must(s.WithMetadata("a", json.RawMessage(` {"b": "<" } `), after(1)))
	require.Equal(t, `{"b":"\u003c"}`, string(s.Metadata["a"]), "as it will be read back")
}
