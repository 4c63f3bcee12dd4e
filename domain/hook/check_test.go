package hook_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/hook"
)

// inStep is in the first step of its first execution, which a signal asks to stop.
func inStep(t *testing.T) domain.AgentState {
	t.Helper()
	id := domain.AgentID{UUID: uuid.NewSHA1(uuid.NameSpaceOID, []byte("checked"))}
	execution := id.Execution("run", 1)
	s := domain.NewAgentState(id, domain.AgentID{}, time.Time{}, domain.LLMConfig{Provider: "scripted", Model: "x"}).
		WithUserMessage(execution.Prompt(), "hello", time.Time{})
	s = made(t)(s.BeginExecution(execution, domain.Unlimited(), time.Time{}))
	s = made(t)(s.WithStopSignal(domain.StopSignal{Reason: domain.StopRequested}, time.Time{}))
	return made(t)(s.WithStepStarted(execution.Step(1), time.Time{}))
}

func made(t *testing.T) func(domain.AgentState, error) domain.AgentState {
	return func(s domain.AgentState, err error) domain.AgentState {
		t.Helper()
		require.NoError(t, err)
		return s
	}
}

func encoded(t *testing.T, s domain.AgentState) string {
	t.Helper()
	data, err := s.EncodeFull()
	require.NoError(t, err)
	return string(data)
}

func decoded(t *testing.T, text string) domain.AgentState {
	t.Helper()
	return made(t)(domain.DecodeAgentState([]byte(text)))
}

func TestCheckChange(t *testing.T) {
	t.Parallel()
	given := inStep(t)
	var at time.Time
	require.NoError(t, hook.CheckChange(given, given))
	require.NoError(t, hook.CheckChange(given, given.WithUserMessage(domain.MessageID{}, "more", at).WithSystemPrompt("other", at)))
	ended := made(t)(given.WithExecutionCompleted(at))
	for name, c := range map[string]struct {
		made domain.AgentState
		want string
	}{
		"another agent":              {domain.NewAgentState(domain.AgentID{}, domain.AgentID{}, at, domain.LLMConfig{}), "another agent or execution"},
		"the execution ended":        {ended, "began or ended the execution"},
		"another execution":          {made(t)(ended.BeginExecution(given.AgentID().Execution("run", 2), domain.Unlimited(), at)), "another agent or execution"},
		"messages taken away":        {given.WithMessageStore(domain.MessageStore{}), "took messages away"},
		"a signal taken away":        {given.WithLateSignals(0, at), "took a stop signal away"},
		"a step completed":           {made(t)(given.WithCurrentStepCompleted(at)), "began or completed a step"},
		"a trusted value given":      {made(t)(given.WithTrusted(domain.Trusted{"customer": json.RawMessage(`1`)}, at)), "it changed trusted values"},
		"a trusted value moved":      {decoded(t, strings.Replace(encoded(t, given), `"context":`, `"trusted":{"a":1},"context":`, 1)), "it changed trusted values"},
		"a call allowed always":      {made(t)(given.WithStandingApproval(domain.StandingApproval{Tool: "pay"}, at)), "it changed standing approvals"},
		"a call counted":             {given.WithToolCalls(1, at), "what the execution has used"},
		"what was spent is forgiven": {given.WithCounts(domain.ExecutionCounts{Prior: domain.Spent{Tokens: -9}}, at), "what the execution has used"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ErrorContains(t, hook.CheckChange(given, c.made), c.want)
		})
	}
}

func TestCheckState(t *testing.T) {
	t.Parallel()
	given := inStep(t)
	var at time.Time
	long := func(n int) string { return strings.Repeat("x", n) }
	say := func(m domain.Message) domain.AgentState {
		return made(t)(given.WithMessages("", []domain.Message{m}, at))
	}
	signal := func(s domain.StopSignal) domain.AgentState { return made(t)(given.WithStopSignal(s, at)) }
	require.NoError(t, hook.CheckState(given, given))
	for name, c := range map[string]struct {
		made domain.AgentState
		want string
	}{
		"a message":                 {say(domain.UserMessage("more")), ""},
		"a tool's":                  {say(domain.ToolMessage(domain.ToolResult{CallID: "a"})), "only the model does"},
		"one that asks for tools":   {say(domain.Message{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{{}}}), "only the model does"},
		"a long one":                {say(domain.UserMessage(long(domain.MaxMessage))), "its message takes"},
		"a signal":                  {signal(domain.StopSignal{Reason: domain.StopRequested, Message: "enough"}), ""},
		"a long signal":             {signal(domain.StopSignal{Reason: domain.StopRequested, Message: long(16 << 10)}), "its stop signal takes"},
		"an error":                  {made(t)(given.WithExecutionError(domain.Errorf(domain.Invalid, "no"), at)), ""},
		"a long error":              {given.WithErrorOf(domain.StopSignal{Reason: domain.ErrorForbade, Message: long(16 << 10)}, at), "its error takes"},
		"notes":                     {made(t)(given.WithMetadata("a", json.RawMessage(`1`), at)), ""},
		"long notes":                {made(t)(given.WithMetadata("a", json.RawMessage(`"`+long(64<<10)+`"`), at)), "its metadata takes"},
		"a system prompt":           {given.WithSystemPrompt("other", at), ""},
		"a long system prompt":      {given.WithSystemPrompt(long(domain.MaxSystemPrompt), at), "its system prompt takes"},
		"a model":                   {given.WithLLMConfig(domain.LLMConfig{Provider: "scripted", Model: "y"}, at), ""},
		"no model":                  {given.WithLLMConfig(domain.LLMConfig{}, at), "model"},
		"a model with many options": {given.WithLLMConfig(domain.LLMConfig{Provider: "scripted", Model: "y", Options: domain.Metadata{"a": json.RawMessage(`"` + long(64<<10) + `"`)}}, at), "its model takes"},
		"a format":                  {made(t)(given.WithResponseFormat(domain.ResponseFormat{Type: domain.FormatJSON}, at)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.want == "" {
				require.NoError(t, hook.CheckState(given, c.made))
				return
			}
			require.ErrorContains(t, hook.CheckState(given, c.made), c.want)
			if len(c.made.Metadata()) == 0 {
				require.NoError(t, hook.CheckState(c.made, c.made), "what was there before is not the hook's")
			}
		})
	}
}

func TestCheckAt(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", domain.MaxMessage)
	answer := hook.Answer{Message: domain.Message{Role: domain.RoleAssistant}, Response: domain.Response{Finish: domain.FinishStop}}
	call, result := hook.Call{Call: domain.ToolCall{Name: "a"}}, hook.Result{Execution: domain.ToolExecution{Value: "a"}}
	longAnswer, longWord, longCall, longResult, failed := answer, answer, call, result, result
	longAnswer.Message = domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: long}}}
	longWord.Response.FinishWord = long
	longCall.Call.Arguments = long
	longResult.Execution.Value = long
	failed.Execution.Error = domain.Errorf(domain.Invalid, "%s", long)
	for name, c := range map[string]struct {
		given, made any
		want        string
	}{
		"an answer":         {answer, answer, ""},
		"a long answer":     {answer, longAnswer, "its answer takes"},
		"the model's own":   {longAnswer, longAnswer, ""},
		"a long word":       {answer, longWord, "its response takes"},
		"a call":            {call, hook.Call{Call: domain.ToolCall{Name: "b"}}, ""},
		"a long call":       {call, longCall, "its call takes"},
		"the model's call":  {longCall, longCall, ""},
		"a result":          {result, hook.Result{Execution: domain.ToolExecution{Value: "b"}}, ""},
		"a long result":     {result, longResult, "its result takes"},
		"a long error":      {result, failed, "its result takes"},
		"the tool's result": {longResult, longResult, ""},
		"nothing":           {hook.Nothing{}, hook.Nothing{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := hook.CheckAt(c.given, c.made)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}
