package domain_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// A fork changes one value in two ways.
type fork struct {
	from domain.AgentState
	with func(s domain.AgentState, n int) domain.AgentState
}

// forks has a row for every change of an AgentState.
func forks(t *testing.T) map[string]fork {
	t.Helper()
	raw := func(n int) json.RawMessage { return json.RawMessage([]string{`"zero"`, `"one"`}[n]) }
	inStep := must(withStep(begunState(), toolStep(executionID(1), 1)).WithStepStarted(executionID(1).Step(2), after(3)))
	type state = domain.AgentState
	untouched := func(s state, before string) state {
		if encoded(t, s) != before {
			panic("it shares what it was given")
		}
		return s
	}
	// Three of a kind leave room behind them for a fourth, which two forks must
	// not share.
	roomy := begunState()
	for n := range 3 {
		roomy = withStep(roomy, toolStep(executionID(1), n+1))
		roomy = must(roomy.WithStopSignal(domain.StopSignal{Reason: domain.Unknown}, after(n)))
	}
	roomy = must(roomy.WithStepStarted(executionID(1).Step(4), after(6)))
	return map[string]fork{
		"WithLLMConfig": {idleState(), func(s state, n int) state {
			c := s.Clone().LLMConfig
			c.Options["seed"], *c.Temperature, c.Price.Input, *c.Price.CacheRead, *c.Price.Long.CacheWrite = raw(n), float64(n), int64(n), int64(n), int64(n)
			s = s.WithLLMConfig(c, after(20+n))
			before := encoded(t, s)
			c.Price.Output, *c.Price.CacheRead, *c.Price.Long.CacheWrite = 99, 99, 99
			return untouched(s, before)
		}},
		"WithSystemPrompt": {idleState(), func(s state, n int) state { return s.WithSystemPrompt(string(raw(n)), after(20+n)) }},
		"WithUserMessage": {busyState(), func(s state, n int) state {
			return s.WithUserMessage(executionID(n).Prompt(), string(raw(n)), after(20+n))
		}},
		"WithMessages": {busyState(), func(s state, n int) state {
			return must(s.WithMessages("", []domain.Message{domain.UserMessage(string(raw(n)))}, after(20+n)))
		}},
		"WithMetadata": {busyState(), func(s state, n int) state {
			return must(s.WithMetadata("team", raw(n), after(20+n)))
		}},
		"WithNotesOf": {busyState(), func(s state, n int) state {
			return must(s.WithNotesOf(&domain.StartOptions{Metadata: domain.Metadata{"team": raw(n)}}, after(20+n)))
		}},
		"WithTrusted": {trustingState(), func(s state, n int) state {
			values := domain.Trusted{"ticket": raw(n), "customer": json.RawMessage(`4711`)}
			s = must(s.WithTrusted(values, after(20+n)))
			before := encoded(t, s)
			values["ticket"][0], s.Trusted()["customer"][0] = 'x', 'x'
			return untouched(s, before)
		}},
		"WithResponseFormat": {busyState(), func(s state, n int) state {
			return must(s.WithResponseFormat(domain.ResponseFormat{Type: domain.FormatSchema, Name: "x", Schema: raw(n)}, after(20+n)))
		}},
		"BeginExecution": {endedState(), func(s state, n int) state {
			return must(s.BeginExecution(executionID(5+n), domain.Unlimited(), after(20+n)))
		}},
		"Forked": {endedState(), func(s state, n int) state {
			return s.Forked(sampleAgent(), domain.Origin{ExecutionID: executionID(1), Step: n, AgentID: sampleAgent()}, after(20+n))
		}},
		"ForNextExecution": {endedState(), func(s state, n int) state { return must(s.ForNextExecution(after(20 + n))) }},
		"WithBudget": {busyState(), func(s state, n int) state {
			budget, _ := s.Clone().Budget()
			*budget.MaxSteps, *budget.Deadline = int64(n), after(n)
			return must(s.WithBudget(budget, after(20+n)))
		}},
		"WithSessionBudget": {accountState(), func(s state, n int) state {
			account, _ := s.Session()
			account.Budget.MaxSteps = new(int64(n))
			return must(s.WithSessionBudget(account.Budget, after(20+n)))
		}},
		"WithBuild": {begunState(), func(s state, n int) state { return s.WithBuild(string(raw(n))) }},
		"WithExecutionError": {busyState(), func(s state, n int) state {
			return must(s.WithExecutionError(domain.Errorf(domain.Internal, "%s", raw(n)), after(20+n)))
		}},
		"WithExecutionCompleted": {inStep, func(s state, n int) state { return must(s.WithExecutionCompleted(after(20 + n))) }},
		"WithStepStarted": {begunState(), func(s state, n int) state {
			return must(s.WithStepStarted(executionID(1).Step(7+n), after(20+n)))
		}},
		"WithCurrentStep": {inStep, func(s state, n int) state {
			step := toolStep(executionID(1), 2)
			step.ToolExecutions[0].Value = string(raw(n))
			s = must(s.WithCurrentStep(step, after(20+n)))
			before := encoded(t, s)
			step.ToolExecutions[0].Value = "changed behind its back"
			step.Output[0].Role, *step.Response, step.ToolExecutions[1].Error.Message = "", domain.Response{}, ""
			step.Input.Sections[0].Name = "changed behind its back"
			return untouched(s, before)
		}},
		"WithCurrentStepIn": {inStep, func(s state, n int) state {
			step := toolStep(executionID(1), 2)
			step.ToolExecutions[0].Value = string(raw(n))
			return must(s.WithCurrentStepIn(domain.Log{}.Append("", step.Output[0], domain.Digest{}), step, after(20+n)))
		}},
		"WithCurrentStepCompleted": {roomy, func(s state, n int) state {
			return must(s.WithCurrentStepCompleted(after(20 + n)))
		}},
		"WithStopSignal": {roomy, func(s state, n int) state {
			return must(s.WithStopSignal(domain.StopSignal{Reason: domain.Unknown, Message: string(raw(n))}, after(20+n)))
		}},
		"WithLateSignals": {roomy, func(s state, n int) state { return s.WithLateSignals(n, after(20+n)) }},
		"WithErrorOf": {roomy, func(s state, n int) state {
			return s.WithErrorOf(domain.StopSignal{Reason: domain.ErrorForbade, Message: string(raw(n))}, after(20+n))
		}},
		"WithOriginHere": {endedState(), func(s state, n int) state { return must(s.WithOriginHere(after(20 + n))) }},
		"WithOrigin": {endedState(), func(s state, n int) state {
			return must(s.WithOrigin(&domain.Origin{ExecutionID: executionID(1), Step: n, AgentID: s.AgentID}, after(20+n)))
		}},
		"WithMessageStore": {roomy, func(s state, n int) state {
			log := domain.Log{}.Append("", domain.UserMessage("first"), domain.Digest{})
			return s.WithMessageStore(domain.StoreOf(log.Append("notes", domain.UserMessage(string(raw(n))), domain.Digest{}).Entries()))
		}},
		"AtStep": {roomy, func(s state, n int) state { return must(s.AtStep(n+1, after(20+n))) }},
		"WithContinuationRequested": {begunState(), func(s state, n int) state {
			return must(s.WithContinuationRequested(after(20 + n)))
		}},
		"WithCounts": {waitingState(), func(s state, n int) state {
			return s.WithCounts(domain.ExecutionCounts{ToolCalls: int64(n)}, after(20+n))
		}},
		"WithToolCalls":      {busyState(), func(s state, n int) state { return s.WithToolCalls(int64(n+1), after(20+n)) }},
		"WithWaiting":        {waitingState(), func(s state, n int) state { return s.WithWaiting(n == 0, after(20+n)) }},
		"WithLastStepWithin": {withStep(begunState(), answerStep(executionID(1), 1, strings.Repeat("x", 100_000))), func(s state, n int) state { return s.WithLastStepWithin(70_000 + 1000*n) }},
		"WithoutSteps": {withStep(begunState(), answerStep(executionID(1), 1, "x")), func(s state, n int) state {
			return s.WithSystemPrompt(strings.Repeat("x", n), after(n)).WithoutSteps()
		}},
		"WithStepsFolded": {endedState(), func(s state, n int) state { return s.WithStepsFolded(n) }},
		"WithStepsUnfolded": {endedState().WithStepsFolded(1), func(s state, n int) state {
			return s.WithStepsUnfolded([]domain.StepExecution{{Step: toolStep(executionID(1+n), 1)}})
		}},
		"WithUnknownOutcome": {unresolvedState(), func(s state, n int) state {
			return s.WithUnknownOutcome(unknownCall(7+n), after(20+n))
		}},
		"WithOutcomeResolved": {unresolvedState(), func(s state, n int) state {
			return must(s.WithOutcomeResolved(unknownCall(1).ToolExecutionID, resolution(n), after(20+n)))
		}},
		"WithResolutionIn": {unresolvedState(), func(s state, n int) state {
			return s.WithResolutionIn(unknownCall(0).ToolExecutionID, executionID(n), true, after(20+n))
		}},
		"WithStandingApproval": {standingState(), func(s state, n int) state {
			return must(s.WithStandingApproval(standing(7+n), after(20+n)))
		}},
		"WithRevocation": {standingState(), func(s state, n int) state {
			return must(s.WithRevocation(standing(1+n).ID, domain.Revocation{By: "ann"}, after(20+n)))
		}},
		"Evaluate": {busyState(), func(s state, n int) state {
			s, _ = s.Evaluate(after(20 + n))
			return s
		}},
		"EvaluateBetween": {busyState(), func(s state, n int) state {
			s, _ = s.EvaluateBetween(after(20 + n))
			return s
		}},
	}
}

// TestForks makes two changes of one value: neither sees the other, and the
// value stays as it was.
func TestForks(t *testing.T) {
	t.Parallel()
	for name, f := range forks(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := encoded(t, f.from)
			zero := f.with(f.from, 0)
			wasZero := encoded(t, zero)
			one := f.with(f.from, 1)
			wasOne := encoded(t, one)
			require.NotEqual(t, before, wasZero)
			require.NotEqual(t, wasZero, wasOne)
			again := f.with(f.from, 0)
			require.Equal(t, before, encoded(t, f.from))
			require.Equal(t, wasZero, encoded(t, zero))
			require.Equal(t, wasOne, encoded(t, one))
			require.Equal(t, zero, again, "the same change of the same value gives the same")
			read, err := domain.DecodeAgentState([]byte(wasZero))
			require.NoError(t, err)
			require.Equal(t, read.Usage(), zero.Usage(), "what is kept of the steps is what they come to")
			require.Equal(t, read.Spent(after(30)), zero.Spent(after(30)))
		})
	}
}

// TestForksMissNone reads the source: every method of AgentState that returns a changed one is a row above.
func TestForksMissNone(t *testing.T) {
	t.Parallel()
	rows := forks(t)
	for i := range reflect.TypeFor[domain.AgentState]().NumMethod() {
		method := reflect.TypeFor[domain.AgentState]().Method(i)
		if method.Name != "Clone" && method.Type.NumOut() > 0 && method.Type.Out(0) == reflect.TypeFor[domain.AgentState]() {
			_, ok := rows[method.Name]
			require.True(t, ok, "%s has no row in forks", method.Name)
			delete(rows, method.Name)
		}
	}
	require.Empty(t, slices.Collect(maps.Keys(rows)), "rows without a method")
}
