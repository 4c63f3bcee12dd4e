package domain_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
)

// did is a call of a tool of an effect that began and came to an error of a code, or to a result.
func did(tool string, effect domain.Effect, code domain.Code) domain.ToolExecution {
	e := domain.ToolExecution{Call: domain.ToolCall{Name: tool}, Effect: effect, StartedAt: noon, CompletedAt: after(1)}
	if code != "" {
		e.Error = domain.CodedErrorf(domain.Unavailable, code, "it failed")
	}
	return e
}

// TestEffectsAreCounted per tool: what began and returned is done, what was cut off nobody knows, and what did not begin or
// only reads is none.
func TestEffectsAreCounted(t *testing.T) {
	t.Parallel()
	failed := did("pay", domain.AtMostOnce, "")
	failed.Error = domain.Invalidf("no such account")
	running := did("pay", domain.AtMostOnce, "")
	running = domain.ToolExecution{Call: running.Call, Effect: running.Effect, StartedAt: noon}
	notStarted := did("pay", domain.AtMostOnce, "")
	notStarted.NotStarted, notStarted.Error = true, domain.Errorf(domain.Unavailable, "full")
	blocked := domain.ToolExecution{Call: domain.ToolCall{Name: "pay"}, Error: domain.CodedErrorf(domain.Denied, domain.CodeBlocked, "no")}
	for name, c := range map[string]struct {
		call domain.ToolExecution
		want []domain.EffectCount
	}{
		"a result":             {did("pay", domain.AtMostOnce, ""), []domain.EffectCount{{Tool: "pay", Done: 1}}},
		"idempotent":           {did("set", domain.Idempotent, ""), []domain.EffectCount{{Tool: "set", Done: 1}}},
		"an error of its own":  {failed, []domain.EffectCount{{Tool: "pay", Done: 1}}},
		"of unknown outcome":   {did("pay", domain.AtMostOnce, domain.CodeOutcomeUnknown), []domain.EffectCount{{Tool: "pay", Unknown: 1}}},
		"cut off":              {did("set", domain.Idempotent, domain.CodeInterrupted), []domain.EffectCount{{Tool: "set", Unknown: 1}}},
		"out of time":          {did("set", domain.Idempotent, domain.CodeTimeout), []domain.EffectCount{{Tool: "set", Unknown: 1}}},
		"under way":            {running, []domain.EffectCount{{Tool: "pay", Unknown: 1}}},
		"read only":            {did("look", domain.ReadOnly, ""), nil},
		"not run":              {did("pay", domain.AtMostOnce, domain.CodeNotRun), nil},
		"surely did not begin": {notStarted, nil},
		"blocked":              {blocked, nil},
	} {
		require.Equal(t, domain.EffectCounts{Calls: c.want}, domain.AgentStep{ToolExecutions: []domain.ToolExecution{c.call}}.Effects(), name)
	}
	below := domain.EffectCounts{Calls: []domain.EffectCount{{Tool: "mail", Done: 2}, {Tool: "pay", Unknown: 1}}, Unknown: true}
	step := domain.AgentStep{ToolExecutions: []domain.ToolExecution{did("pay", domain.AtMostOnce, "")}, ChildEffects: below}
	require.Equal(t, domain.EffectCounts{Calls: []domain.EffectCount{{Tool: "mail", Done: 2}, {Tool: "pay", Done: 1, Unknown: 1}}, Unknown: true}, step.Effects())
	require.Equal(t, 1, below.Calls[1].Unknown, "what is merged stays as it was")
}

// TestEffectsAreBounded: of very many tools the later ones are told together.
func TestEffectsAreBounded(t *testing.T) {
	t.Parallel()
	var all domain.EffectCounts
	for i := range 3 * domain.MaxEffects {
		all = all.Merged(domain.EffectCounts{Calls: []domain.EffectCount{{Tool: fmt.Sprintf("tool%03d", i%(2*domain.MaxEffects)), Done: 1}}})
	}
	require.Len(t, all.Calls, domain.MaxEffects+1)
	sum := 0
	for _, call := range all.Calls {
		sum += call.Done
	}
	require.Equal(t, 3*domain.MaxEffects, sum)
	require.Equal(t, domain.OtherTools, all.Calls[0].Tool)
	require.Equal(t, domain.MaxEffects, all.Calls[0].Done)
}

// TestFoldedStepsKeepWhatWasSaidAndDone wherever they are folded, and written down and read back.
func TestFoldedStepsKeepWhatWasSaidAndDone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		state := domain.NewAgentState(sampleAgent(), domain.AgentID{}, noon, domain.LLMConfig{})
		state, err := state.BeginExecution(executionID(1), domain.Unlimited(), noon)
		require.NoError(t, err)
		said, done := "", domain.EffectCounts{}
		for k := range rapid.IntRange(1, 6).Draw(t, "steps") {
			state, err = state.WithStepStarted(executionID(1).Step(k+1), noon)
			require.NoError(t, err)
			step, _ := state.CurrentStep()
			for range rapid.IntRange(0, 2).Draw(t, "calls") {
				step.ToolExecutions = append(step.ToolExecutions, did(rapid.SampledFrom([]string{"pay", "mail"}).Draw(t, "tool"), domain.AtMostOnce,
					rapid.SampledFrom([]domain.Code{"", domain.CodeOutcomeUnknown, domain.CodeNotRun}).Draw(t, "code")))
			}
			if rapid.Bool().Draw(t, "has a sub-agent") {
				step.ChildEffects = domain.EffectCounts{Calls: []domain.EffectCount{{Tool: "dig", Done: 1}}, Unknown: rapid.Bool().Draw(t, "lost")}
			}
			text := rapid.SampledFrom([]string{"", " ", fmt.Sprint("found ", k)}).Draw(t, "text")
			step.Output = []domain.Message{{ID: step.ID.Message(0), CreatedAt: noon, Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: text}}}}
			if done = done.Merged(step.Effects()); strings.TrimSpace(text) != "" {
				said = text
			}
			state, err = state.WithCurrentStep(step, noon)
			require.NoError(t, err)
			state, err = state.WithCurrentStepCompleted(noon)
			require.NoError(t, err)
		}
		require.Equal(t, []any{said, done}, []any{state.SaidLast(), state.Effects()})
		for keep := range state.StepCount() + 1 {
			encoded, err := state.WithStepsFolded(keep).EncodeFull()
			require.NoError(t, err)
			folded, err := domain.DecodeAgentState(encoded)
			require.NoError(t, err)
			require.Equal(t, []any{said, done}, []any{folded.SaidLast(), folded.Effects()}, "with %d steps kept", keep)
		}
	})
}

// TestResolvedCallsCountAsTheyWereSaidToBe where that was before the end.
func TestResolvedCallsCountAsTheyWereSaidToBe(t *testing.T) {
	t.Parallel()
	state := must(domain.NewAgentState(sampleAgent(), domain.AgentID{}, noon, domain.LLMConfig{}).BeginExecution(executionID(1), domain.Unlimited(), noon))
	state = must(state.WithStepStarted(executionID(1).Step(1), noon))
	step, _ := state.CurrentStep()
	for i := range 3 {
		call := did("pay", domain.AtMostOnce, domain.CodeOutcomeUnknown)
		call.ID = step.ID.Tool(i)
		step.ToolExecutions = append(step.ToolExecutions, call)
		state = state.WithUnknownOutcome(domain.Wait{Kind: domain.WaitOutcome, ToolExecutionID: call.ID, ExecutionID: executionID(1), Execution: 1, Step: 1, Tool: "pay", Since: noon}, noon)
	}
	state = must(must(state.WithCurrentStep(step, noon)).WithCurrentStepCompleted(noon))
	resolve := func(s domain.AgentState, i int, verdict domain.Verdict, at int) domain.AgentState {
		s, err := s.WithOutcomeResolved(step.ID.Tool(i), domain.Answer{Verdict: verdict, At: after(at), Reason: "looked"}, after(at))
		require.NoError(t, err)
		return s
	}
	state = resolve(resolve(state, 0, domain.VerdictDone, 1), 1, domain.VerdictNotDone, 2)
	want := domain.EffectCounts{Calls: []domain.EffectCount{{Tool: "pay", Done: 1, Unknown: 1}}}
	require.Equal(t, want, state.Effects())
	ended := must(state.WithExecutionCompleted(after(3)))
	require.Equal(t, want, resolve(ended, 2, domain.VerdictDone, 4).Effects(), "an execution that has ended stays what it was")
}
