package domain_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// unknownCall is the n-th call of one step of which nobody knows.
func unknownCall(n int) domain.Wait {
	return domain.Wait{
		Kind: domain.WaitOutcome, ToolExecutionID: executionID(1).Step(1).Tool(n), ExecutionID: executionID(1), Execution: 1, Step: 1, Tool: "refund",
		Arguments: fmt.Sprintf(`{"order":%d}`, n), Why: "its worker was lost", Effect: domain.DigestOf([]byte{byte(n)}), Since: after(2),
	}
}

func resolution(n int) domain.Answer {
	return domain.Answer{
		Verdict: domain.VerdictDone, Content: fmt.Sprint(n), Reason: "the bank says so", At: after(10 + n), By: "1@machine",
	}
}

// unresolvedState has three calls of unknown outcome, of which the first is resolved.
func unresolvedState() domain.AgentState {
	s := busyState()
	for n := range 3 {
		s = s.WithUnknownOutcome(unknownCall(n), after(9))
	}
	return must(s.WithOutcomeResolved(unknownCall(0).ToolExecutionID, resolution(0), after(10)))
}

func TestResolutions(t *testing.T) {
	t.Parallel()
	s := unresolvedState()
	require.Len(t, s.UnknownOutcomes, 3)
	require.Equal(t, []domain.Wait{unknownCall(1), unknownCall(2)}, s.UnresolvedOutcomes())

	_, err := s.WithOutcomeResolved(unknownCall(0).ToolExecutionID, resolution(1), after(11))
	require.ErrorContains(t, err, "was resolved as done")
	_, err = s.WithOutcomeResolved(unknownCall(9).ToolExecutionID, resolution(1), after(11))
	require.ErrorContains(t, err, "no call of unknown outcome")
}

func TestWhatTheModelReadsOfAnUnknownCall(t *testing.T) {
	t.Parallel()
	call := unknownCall(1)
	require.Contains(t, call.Advice(), "Do not call refund again")
	require.Empty(t, call.Say())
	require.Equal(t, domain.CodeOutcomeUnresolved, call.Blocks().Code)
	require.Contains(t, call.Blocks().Message, call.ToolExecutionID.String())

	call.Answer = new(resolution(1))
	require.Equal(t, "What became of the call of refund in step 1 of execution 1, of which nobody knew, is resolved: "+
		"it was done (the bank says so). Do not call it again for the same. Its result:\n1", call.Say())
	require.Equal(t, domain.CodeBlocked, call.Blocks().Code)
	require.Equal(t, domain.SourceResolution, call.Blocks().Source)

	call.Answer.Verdict = domain.VerdictNotDone
	require.Contains(t, call.Say(), "It may be called again.")
	require.Nil(t, call.Blocks())
}

func TestResolutionsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*domain.Answer){
		"verdict":                   func(s *domain.Answer) { s.Verdict = "perhaps" },
		"reason: is missing":        func(s *domain.Answer) { s.Reason = "" },
		"reason: has":               func(s *domain.Answer) { s.Reason = strings.Repeat("x", domain.MaxReason+1) },
		"result: has":               func(s *domain.Answer) { s.Content = strings.Repeat("x", domain.MaxOutcomeResult+1) },
		"result: is not valid":      func(s *domain.Answer) { s.Content = "\xff" },
		"result: what was not done": func(s *domain.Answer) { s.Verdict = domain.VerdictNotDone },
	} {
		given := resolution(1)
		change(&given)
		require.ErrorContains(t, given.CheckOutcome(), want)
	}
}

// TestWhatTheModelWasToldIsForgotten: a resolution stays until the model has read of it, and to the end of the
// execution in which it has.
func TestWhatTheModelWasToldIsForgotten(t *testing.T) {
	t.Parallel()
	begin := func(s domain.AgentState, n int) domain.AgentState {
		if s.HasActiveExecution() {
			s = must(s.WithExecutionCompleted(after(30)))
		}
		return must(s.BeginExecution(executionID(n), domain.Unlimited(), after(30+n)))
	}
	s := begin(unresolvedState(), 2)
	require.Len(t, s.UnknownOutcomes, 3)
	s = s.WithResolutionIn(unknownCall(0).ToolExecutionID, executionID(2), true, after(40))
	require.True(t, s.UnknownOutcomes[0].Answer.Told)
	s = s.WithResolutionIn(unknownCall(1).ToolExecutionID, executionID(2), true, after(40))
	require.Nil(t, s.UnknownOutcomes[1].Answer, "what is unresolved cannot be told")
	require.Equal(t, []domain.Wait{unknownCall(1), unknownCall(2)}, begin(s, 3).UnknownOutcomes)
}

func TestUnknownCallsAreBounded(t *testing.T) {
	t.Parallel()
	long := unknownCall(1)
	long.Arguments, long.Why = strings.Repeat("x", 5000), strings.Repeat("y", 5000)
	kept := busyState().WithUnknownOutcome(long, after(9)).UnknownOutcomes[0]
	require.Less(t, len(kept.Arguments)+len(kept.Why), 1000)
}

func TestEffectKeys(t *testing.T) {
	t.Parallel()
	all := domain.ToolSpec{Name: "refund"}
	named := domain.ToolSpec{Name: "refund", EffectKey: []string{"order"}}
	key := func(tool domain.ToolSpec, arguments string) domain.Digest {
		return tool.EffectKeyOf(sampleAgent(), arguments)
	}
	whole := `{"order":7,"why":"late","lines":[1,{"a":null}]}`
	for _, same := range []string{
		"{ \"why\" : \"l\\u0061te\", \"lines\":[1, {\"a\":null}],\n\"order\":7.0 }",
		`{"why":"late","lines":[10e-1,{"a":null}],"order":0.07e2}`,
	} {
		require.Equal(t, key(all, whole), key(all, same), same)
		require.Equal(t, key(named, whole), key(named, same), same)
	}
	for _, other := range []string{
		`{"order":7,"why":"Late","lines":[1,{"a":null}]}`, `{"order":7,"why":"late","lines":[{"a":null},1]}`,
		`{"order":7,"why":"late","lines":[1,{}]}`, `{"order":7}`, `{"order":7,"why":"late","lines":[1,{"a":null}]} {}`,
	} {
		require.NotEqual(t, key(all, whole), key(all, other), other)
	}
	for _, other := range []string{`{"order":70}`, `{"order":"7"}`, `{"order":-7}`, `{"order":0.7}`, `{"order":null}`, `{}`, `{"Order":7}`, ``} {
		require.NotEqual(t, key(named, whole), key(named, other), other)
	}
	require.Equal(t, key(named, whole), key(named, `{"order":7,"why":"another"}`))
	require.NotEqual(t, key(named, `{}`), key(named, `{"order":null}`))
	require.Equal(t, key(all, `{}`), key(all, ``))
	require.NotEqual(t, key(all, `{"n":9007199254740993}`), key(all, `{"n":9007199254740992}`), "numbers are exact")
	require.NotEqual(t, key(all, `{"n":1e999999999}`), key(all, `{"n":1e999999998}`))
	require.NotEqual(t, key(all, `{}`), domain.ToolSpec{Name: "pay"}.EffectKeyOf(sampleAgent(), `{}`))
	require.NotEqual(t, key(all, `{}`), all.EffectKeyOf(domain.AgentID{}, `{}`))
	require.Equal(t, "tGPnzZ2XsEmLunDYPVh9Lg", key(all, "{\"b\":[1,1.0,true,null,\"<\u2028\"],\"a\":{\"c\":\"é\"}}").String(), "saved states hold such keys")
}
