package domain_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// The samples are one agent's life, by the ids that a real one would have.
const firstRun = "0195f0c2-6a5e-7c11-8f0a-2b1c3d4e5f60"

var noon = time.Date(2026, 1, 2, 12, 0, 0, 123456789, time.UTC)

func after(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

func sampleAgent() domain.AgentID {
	return domain.AgentID{UUID: uuid.MustParse("4526f792-a438-5054-b7fb-4fcbcd7db4c0")}
}

func executionID(n int) domain.ExecutionID { return sampleAgent().Execution(firstRun, n) }

func sampleConfig() domain.LLMConfig {
	return domain.LLMConfig{
		Provider: "scripted", Model: "plan.yaml", Temperature: new(0.5),
		Options: domain.Metadata{"seed": json.RawMessage(`7`)}, Price: samplePrice(),
	}
}

func samplePrice() *domain.Price {
	return &domain.Price{
		Input: 3_000_000_000, Output: 15_000_000_000, CacheRead: new(int64(300_000_000)),
		Long: &domain.LongPrice{Above: 200_000, Price: domain.Price{Input: 6_000_000_000, Output: 22_500_000_000, CacheWrite: new(int64(7_500_000_000))}},
	}
}

func sampleBudget() domain.ExecutionBudget {
	return domain.ExecutionBudget{
		MaxSteps: new(int64(10)), MaxTokens: new(int64(5000)), MaxSeconds: new(90.5),
		MaxCostNanoUSD: new(int64(2_000_000_000)), Deadline: new(after(3600)), MaxToolCalls: new(int64(4)),
	}
}

// toolStep is a turn whose calls came to one of everything.
func toolStep(execution domain.ExecutionID, number int) domain.AgentStep {
	id := execution.Step(number)
	calls := []domain.ToolCall{
		{ID: "call_0", Name: "read_file", Arguments: `{"path": "a.txt"}`},
		{ID: "call_0", Name: "edit_file", Arguments: `{not json`},
		{ID: "call_2", Name: "write_file", Arguments: `{}`},
	}
	tag := domain.Tag{AgentID: sampleAgent(), ExecutionID: execution, StepID: id, Trace: true}
	said := domain.Message{
		ID: id.Message(0), CreatedAt: after(number), Role: domain.RoleAssistant, ToolCalls: calls,
		Parts: []domain.Part{
			{Type: domain.PartReasoning, Text: "first look", Signature: "sig", Opaque: json.RawMessage(`{"a":[1,2]}`)},
			{Type: domain.PartText, Text: "Looking at <a.txt> & more…"},
		},
	}
	step := domain.AgentStep{
		ID: id, Number: number, Model: "scripted/plan.yaml",
		Input:       domain.StepInput{Compiler: domain.CurrentTrace, Messages: 3, Digest: domain.DigestOf([]byte("log")), Edits: domain.Edits{Cleared: 2, Hidden: 1, Summary: 3, Buffered: 2}, Sections: []domain.SectionLength{{Name: domain.SectionSummary, Messages: 1}}},
		Output:      []domain.Message{tag.Apply(said)},
		Response:    &domain.Response{ID: "resp-1", Model: "plan", Finish: domain.FinishToolCalls, FinishWord: "tool_calls", Usage: domain.Usage{InputTokens: 100, OutputTokens: 20}},
		Usage:       domain.Usage{InputTokens: 100, OutputTokens: 20, CacheReadTokens: 40, Estimated: true},
		CostNanoUSD: 500, Tries: 2, Lost: domain.Usage{InputTokens: 10}, LostNanoUSD: 30,
	}
	outcomes := []domain.ToolExecution{
		{
			Value: "contents", StartedAt: after(number), CompletedAt: after(number + 1), Attempts: 2,
			Waits: []domain.Wait{{Kind: domain.WaitOutcome, Answer: &domain.Answer{Verdict: domain.VerdictDone, By: domain.VerifyClient, At: after(number + 1), Reason: "journal"}}},
		},
		{Error: &domain.Error{Kind: domain.Denied, Code: domain.CodeBlocked, Message: "not on Fridays", Source: "hook/fridays"}},
		{Error: &domain.Error{Kind: domain.Unavailable, Code: domain.CodeOutcomeUnknown, Message: "nobody knows", Source: "write_file"}, StartedAt: after(number)},
	}
	for i, outcome := range outcomes {
		outcome.ID, outcome.Call = id.Tool(i), calls[i]
		step.ToolExecutions = append(step.ToolExecutions, outcome)
		tag.ToolExecutionID = outcome.ID
		m := domain.ToolMessage(domain.ToolResult{CallID: calls[i].ID, Name: calls[i].Name, Content: outcome.Value, IsError: outcome.Error != nil})
		m.ID, m.CreatedAt = id.Message(i+1), after(number+1)
		step.Output = append(step.Output, tag.Apply(m))
	}
	return step
}

// answerStep is a turn that answers.
func answerStep(execution domain.ExecutionID, number int, text string) domain.AgentStep {
	id := execution.Step(number)
	m := domain.Message{
		ID: id.Message(0), CreatedAt: after(number), Role: domain.RoleAssistant,
		Parts: []domain.Part{{Type: domain.PartText, Text: text}},
	}
	return domain.AgentStep{
		ID: id, Number: number,
		Output:   []domain.Message{domain.Tag{AgentID: sampleAgent(), ExecutionID: execution, StepID: id}.Apply(m)},
		Response: &domain.Response{Finish: domain.FinishStop, Usage: domain.Usage{InputTokens: 10, OutputTokens: 5}},
		Usage:    domain.Usage{InputTokens: 10, OutputTokens: 5},
	}
}

// must takes what has to succeed.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func idleState() domain.AgentState {
	s := domain.NewAgentState(sampleAgent(), domain.AgentID{}, noon, sampleConfig())
	s = s.WithSystemPrompt("Be brief.", noon)
	s = must(s.WithMetadata("team", json.RawMessage(`{"name": "blue"}`), noon))
	s = must(s.WithResponseFormat(domain.ResponseFormat{
		Type: domain.FormatSchema, Name: "report", Schema: json.RawMessage(`{"type": "object"}`),
	}, noon))
	return s.WithUserMessage(executionID(1).Prompt(), "What is in a.txt?", noon)
}

func begunState() domain.AgentState {
	return must(idleState().BeginExecution(executionID(1), sampleBudget(), after(1)))
}

// withStep runs one step to its end, its messages included.
func withStep(s domain.AgentState, step domain.AgentStep) domain.AgentState {
	s = must(s.WithStepStarted(step.ID, after(step.Number)))
	s = must(s.WithCurrentStep(step, after(step.Number)))
	s = must(s.WithCurrentStepCompleted(after(step.Number + 1)))
	return must(s.WithMessages("", step.Output, after(step.Number+1)))
}

// busyState is in the middle of its second step, with signals of all kinds.
func busyState() domain.AgentState {
	s := withStep(begunState(), toolStep(executionID(1), 1))
	s = must(s.WithStopSignal(domain.StopSignal{
		Reason: domain.StopRequested, Message: "enough", Source: "hook/nudge", Context: domain.Metadata{"n": json.RawMessage(`[1, "<"]`)},
	}, after(3)))
	s = must(s.WithContinuationRequested(after(3)))
	s, _ = s.Evaluate(after(3))
	s = must(s.WithStepStarted(executionID(1).Step(2), after(4)))
	s = must(s.WithStopSignal(domain.StopSignal{Reason: domain.UserRequested, Message: "lunch", Source: "cli"}, after(5)))
	return must(s.WithContinuationRequested(after(5)))
}

// endedState has completed its execution with an answer.
func endedState() domain.AgentState {
	s := withStep(begunState(), toolStep(executionID(1), 1))
	s = withStep(s, answerStep(executionID(1), 2, "It holds contents."))
	return must(s.WithExecutionCompleted(after(5)))
}

// failedState failed by an error of its own while a step was in progress, and
// has folded all but its last step.
func failedState() domain.AgentState {
	s := withStep(begunState(), toolStep(executionID(1), 1))
	s = withStep(s, toolStep(executionID(1), 2))
	s = must(s.WithStepStarted(executionID(1).Step(3), after(4)))
	s = must(s.WithExecutionError(domain.CodedErrorf(domain.Internal, domain.CodeHookFailed, "the hook broke").From("hook/x"), after(5)))
	s = must(s.WithExecutionCompleted(after(5)))
	return s.WithStepsFolded(1)
}

// recordOf is the record of the execution that has ended on a state, which holds all of its steps.
func recordOf(s domain.AgentState) domain.ExecutionRecord {
	reason, _ := s.StopReason()
	return domain.ExecutionRecord{
		ExecutionID: s.Execution.ID, AgentID: s.AgentID, Number: s.ExecutionCount, Origin: s.Execution.Origin,
		StartedAt: s.Execution.StartedAt, CompletedAt: s.Execution.CompletedAt, Status: s.Status(), StopReason: reason,
		FinalState: s, Steps: s.StepExecutions(), Usage: s.Usage(),
	}
}

// states are samples of every kind of state that can be reached.
func states() map[string]domain.AgentState {
	ended := endedState()
	rewound := must(domain.FromExecutionRecord(recordOf(ended), 1, after(9)))
	next := must(rewound.BeginExecution(executionID(2), domain.Unlimited(), after(10)))
	sections := must(idleState().WithMessages("notes", []domain.Message{domain.UserMessage("n")}, noon))
	sections = must(sections.WithMessages(domain.SectionSummary, nil, noon))
	child := domain.NewAgentState(sampleAgent(), domain.AgentID{UUID: uuid.MustParse(firstRun)}, noon, domain.LLMConfig{})
	stopped := must(begunState().WithStopSignal(domain.StopSignal{Reason: domain.StepsLimitReached}, after(2)))
	stopped = must(stopped.WithExecutionCompleted(after(2)))
	return map[string]domain.AgentState{
		"new": child, "idle": idleState(), "begun": begunState(), "busy": busyState(), "ended": ended,
		"failed": failedState(), "stopped": stopped, "rewound": rewound, "gone_on": next, "sections": sections,
		"folded": busyState().WithStepsFolded(0),
		"late":   begunLate(), "waiting": waitingState(), "trusting": trustingState(), "standing": standingState(),
		"account": accountState(),
	}
}

// waitingState goes on from another execution, has made calls and waits for
// people, as it has before.
func waitingState() domain.AgentState {
	prior := domain.Spent{Steps: 2, Tokens: 30, Seconds: 1.5, CostNanoUSD: 40, ToolCalls: 5}
	s := begunState().WithCounts(domain.ExecutionCounts{Prior: prior}, after(1))
	s = withStep(s, toolStep(executionID(1), 1)).WithToolCalls(3, after(2)).WithToolCalls(-1, after(2))
	return s.WithWaiting(true, after(3)).WithWaiting(false, after(5)).WithWaiting(true, after(6))
}

// accountState is in an execution of a session with a budget, of which an earlier one has used something.
func accountState() domain.AgentState {
	budget := domain.ExecutionBudget{MaxSteps: new(int64(20)), MaxTokens: new(int64(900)), MaxCostNanoUSD: new(int64(3000)), MaxToolCalls: new(int64(8))}
	s := must(idleState().WithSessionBudget(budget, noon))
	s = must(s.BeginExecution(executionID(1), sampleBudget(), after(1)))
	s = must(withStep(s, toolStep(executionID(1), 1)).WithToolCalls(3, after(2)).WithExecutionCompleted(after(3)))
	return must(s.BeginExecution(executionID(2), sampleBudget(), after(4)))
}

// trustingState is in an execution with trusted values of the session and of its own.
func trustingState() domain.AgentState {
	s := must(idleState().WithTrusted(domain.Trusted{"customer": json.RawMessage(` 4711`)}, noon))
	s = must(s.BeginExecution(executionID(1), sampleBudget(), after(1)))
	return must(s.WithTrusted(domain.Trusted{"order": json.RawMessage(`{"n": ["<"]}`)}, after(1)))
}

// begunLate has a signal that came too late to count, and one that counts.
func begunLate() domain.AgentState {
	s := must(begunState().WithStopSignal(domain.StopSignal{Reason: domain.StepsLimitReached}, after(2)))
	s = must(s.WithStopSignal(domain.StopSignal{Reason: domain.StopRequested, Message: "too late", Source: "hook/x"}, after(3)))
	return s.WithLateSignals(1, after(3))
}

func encoded(t testing.TB, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	require.NoError(t, err)
	return string(data)
}
