package domain_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
	"everstep/domain/enum"
)

// TestStopReasonTable has what each reason means for the loop.
func TestStopReasonTable(t *testing.T) {
	t.Parallel()
	table := []struct {
		reason      domain.StopReason
		priority    int
		forced      bool
		overridable bool
	}{
		{domain.ErrorForbade, 0, true, false},
		{domain.StopRequested, 1, true, true},
		{domain.StepsLimitReached, 2, true, false},
		{domain.TokenLimitReached, 3, true, false},
		{domain.CostLimitReached, 3, true, false},
		{domain.ToolCallLimitReached, 3, true, false},
		{domain.TimeLimitReached, 6, true, false},
		{domain.RetryLimitReached, 7, true, false},
		{domain.FinishReasonReceived, 8, false, true},
		{domain.UserRequested, 9, true, false},
		{domain.Completed, 10, false, true},
		{domain.Unknown, 11, true, true},
	}
	require.Len(t, table, len(enum.Known[domain.StopReason]()))
	for i, row := range table {
		require.Equal(t, row.reason, enum.Known[domain.StopReason]()[i])
		require.Equal(t, row.priority, row.reason.Priority(), row.reason)
		require.Equal(t, row.forced, row.reason.WasForceStopped(), row.reason)
		require.Equal(t, row.overridable, row.reason.Overridable(), row.reason)
	}
}

// TestTerminalStatus ends an execution under each reason.
func TestTerminalStatus(t *testing.T) {
	t.Parallel()
	for _, reason := range enum.Known[domain.StopReason]() {
		want := domain.StatusStopped
		switch {
		case reason == domain.ErrorForbade:
			want = domain.StatusFailed
		case !reason.WasForceStopped():
			want = domain.StatusCompleted
		}
		s := must(begunState().WithStopSignal(domain.StopSignal{Reason: reason}, after(2)))
		s = must(s.WithExecutionCompleted(after(3)))
		require.Equal(t, want, s.Status(), reason)
		got, ok := s.StopReason()
		require.True(t, ok)
		require.Equal(t, reason, got)
		require.Len(t, s.StopSignals(), 1)
	}
	s := must(begunState().WithExecutionCompleted(after(3)))
	require.Equal(t, domain.StatusCompleted, s.Status())
	require.Equal(t, []domain.StopSignal{domain.Done()}, s.StopSignals(), "a normal end")
}

// TestShouldStop has a row for each case of the rule, the first that fits.
func TestShouldStop(t *testing.T) {
	t.Parallel()
	tools, answer := toolStep(executionID(1), 1), answerStep(executionID(1), 1, "done")
	signal := func(reasons ...domain.StopReason) (signals []domain.StopSignal) {
		for _, reason := range reasons {
			signals = append(signals, domain.StopSignal{Reason: reason})
		}
		return signals
	}
	type row struct {
		step       *domain.AgentStep
		signals    []domain.StopSignal
		requested  bool
		stop       bool
		between    bool
		overridden int
	}
	rows := map[string]row{
		"a signal":                            {&tools, signal(domain.UserRequested), false, true, true, 0},
		"a signal that does not force":        {&tools, signal(domain.FinishReasonReceived), false, true, true, 0},
		"a request beside two, one a promise": {&tools, signal(domain.StopRequested, domain.UserRequested), true, true, true, 0},
		"a request beside two that give way":  {&answer, signal(domain.StopRequested, domain.Completed), true, false, false, 2},
		"a request alone":                     {&answer, nil, true, false, false, 0},
		"a step that asked for tools":         {&tools, nil, false, false, false, 0},
		"a step that answered":                {&answer, nil, false, true, false, 0},
		"no step":                             {nil, nil, false, true, false, 0},
		"no step, and a request":              {nil, nil, true, false, false, 0},
	}
	for _, reason := range enum.Known[domain.StopReason]() {
		c := row{&tools, signal(reason), true, true, true, 0}
		if reason.Overridable() {
			c = row{&answer, signal(reason), true, false, false, 1}
		}
		rows["a request beside "+string(reason)] = c
	}
	for name, c := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := begunState()
			if c.step != nil {
				s = withStep(s, *c.step)
			}
			for _, signal := range c.signals {
				s = must(s.WithStopSignal(signal, after(3)))
			}
			if c.requested {
				s = must(s.WithContinuationRequested(after(3)))
			}
			require.Equal(t, c.stop, s.ShouldStop())
			evaluated, stop := s.Evaluate(after(4))
			require.Equal(t, c.stop, stop)
			between, stopsBetween := s.EvaluateBetween(after(4))
			require.Equal(t, c.between, stopsBetween)
			require.Equal(t, evaluated, between, "both use up the request in the same way")
			continuation := evaluated.Continuation()
			require.False(t, continuation.Requested, "one evaluation uses it up")
			require.Len(t, continuation.Overridden, c.overridden)
			require.Len(t, continuation.StopSignals, len(c.signals)-c.overridden)
			require.Equal(t, c.requested, s.Continuation().Requested, "the receiver stays")
		})
	}
}

// TestStepKeepsItsSnapshot adds a signal after a step: the step does not see it.
func TestStepKeepsItsSnapshot(t *testing.T) {
	t.Parallel()
	s := withStep(begunState(), toolStep(executionID(1), 1))
	s = must(s.WithStopSignal(domain.StopSignal{Reason: domain.UserRequested}, after(3)))
	s = withStep(s, toolStep(executionID(1), 2))
	steps := s.StepExecutions()
	require.Empty(t, steps[0].Continuation.StopSignals)
	require.Len(t, steps[1].Continuation.StopSignals, 1)
}

func TestWithStopSignalRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state  domain.AgentState
		signal domain.StopSignal
		fault  string
	}{
		"no execution":    {idleState(), domain.StopSignal{Reason: domain.Unknown}, "no execution is in progress (status pending)"},
		"ended":           {endedState(), domain.StopSignal{Reason: domain.Unknown}, "no execution is in progress (status completed)"},
		"no reason":       {begunState(), domain.StopSignal{}, `stop reason: "" is none of`},
		"unknown reason":  {begunState(), domain.StopSignal{Reason: "bored"}, `"bored" is none of`},
		"context no JSON": {begunState(), domain.StopSignal{Reason: domain.Unknown, Context: domain.Metadata{"k": json.RawMessage("{")}}, "context.k: is not valid JSON"},
	} {
		got, err := c.state.WithStopSignal(c.signal, after(9))
		require.ErrorContains(t, err, c.fault, name)
		require.Equal(t, c.state, got, name)
	}
}

// TestCountingSignalLaws: the one that counts is no worse than any other, is the
// first of its priority, and does not depend on worse ones.
func TestCountingSignalLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		reasons := rapid.SliceOf(rapid.SampledFrom(enum.Known[domain.StopReason]())).Draw(t, "reasons")
		signals := make([]domain.StopSignal, len(reasons))
		for i, reason := range reasons {
			signals[i] = domain.StopSignal{Reason: reason, Message: string(rune('a' + i))}
		}
		counts, ok := domain.CountingSignal(signals)
		require.Equal(t, len(signals) > 0, ok)
		if !ok {
			return
		}
		at := slices.IndexFunc(signals, func(s domain.StopSignal) bool { return s.Message == counts.Message })
		rank := func(s domain.StopSignal) int {
			if s.Reason.WasForceStopped() {
				return s.Reason.Priority()
			}
			return 100 + s.Reason.Priority()
		}
		for i, s := range signals {
			require.GreaterOrEqual(t, rank(s), rank(counts))
			require.True(t, i >= at || rank(s) > rank(counts), "the earliest among equals")
		}
		worse := slices.DeleteFunc(slices.Clone(signals), func(s domain.StopSignal) bool { return rank(s) > rank(counts) })
		again, _ := domain.CountingSignal(worse)
		require.Equal(t, counts, again)
	})
}

// TestLateSignals: they are seen, never count, and change no status; but an
// error fails an execution at any time.
func TestLateSignals(t *testing.T) {
	t.Parallel()
	signal := func(reason domain.StopReason, source string) domain.StopSignal {
		return domain.StopSignal{Reason: reason, Source: source}
	}
	with := func(s domain.AgentState, signals ...domain.StopSignal) domain.AgentState {
		for _, sig := range signals {
			s = must(s.WithStopSignal(sig, after(2)))
		}
		return s
	}
	early, late, broke := signal(domain.FinishReasonReceived, "early"), signal(domain.StopRequested, "late"), signal(domain.ErrorForbade, "broke")
	for name, c := range map[string]struct {
		signals []domain.StopSignal
		from    int
		counts  []domain.StopSignal
		late    []domain.StopSignal
		status  domain.ExecutionStatus
	}{
		"after one that counts": {[]domain.StopSignal{early, late}, 1, []domain.StopSignal{early}, []domain.StopSignal{late}, domain.StatusCompleted},
		"without any":           {[]domain.StopSignal{late, late}, 0, []domain.StopSignal{domain.Done()}, []domain.StopSignal{late, late}, domain.StatusCompleted},
		"an error among them":   {[]domain.StopSignal{early, late, broke, late}, 1, []domain.StopSignal{early, broke}, []domain.StopSignal{late, late}, domain.StatusFailed},
		"none came":             {[]domain.StopSignal{late}, 1, []domain.StopSignal{late}, nil, domain.StatusStopped},
		"an index beyond them":  {[]domain.StopSignal{late}, 7, []domain.StopSignal{late}, nil, domain.StatusStopped},
		"an index that is none": {[]domain.StopSignal{late}, -1, []domain.StopSignal{late}, nil, domain.StatusStopped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := with(begunState(), c.signals...).WithLateSignals(c.from, after(3))
			s = must(s.WithExecutionCompleted(after(4)))
			require.Equal(t, c.counts, s.StopSignals())
			require.Equal(t, c.late, s.Continuation().Late)
			require.Equal(t, c.status, s.Status())
			again, err := domain.DecodeAgentState([]byte(encoded(t, s)))
			require.NoError(t, err)
			require.Equal(t, s, again)
		})
	}
	require.Equal(t, idleState(), idleState().WithLateSignals(0, after(3)))
	_, err := domain.Decode[domain.Continuation]([]byte(`{"late":[{"message":"no reason"}]}`))
	require.NoError(t, err, "on its own it is a plain struct")
	_, err = domain.DecodeAgentState([]byte(`{"schema_version":1,"context":{"message_store":{"sections":[]}},"execution":{"execution_id":"` +
		executionID(1).String() + `","status":"in_progress","continuation":{"late":[{"message":"no reason"}]}}}`))
	require.ErrorContains(t, err, `execution.continuation.late[0].reason: stop reason: "" is none of error`)
}
