package domain_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/enum"
)

func TestGuardsDefaults(t *testing.T) {
	t.Parallel()
	all := domain.Guards{}.WithDefaults()
	require.Equal(t, domain.Guards{Repetition: &domain.Repetition{Nudge: 5, Stop: 10}, OutputRetries: new(2)}, all)
	require.NoError(t, all.Check())
	require.Equal(t, all, all.WithDefaults())
	never := domain.Guards{Repetition: &domain.Repetition{}, OutputRetries: new(0), FinalAnswer: true}
	require.Equal(t, never, never.WithDefaults(), "what is set stays, zero too")
}

func TestGuardsCheck(t *testing.T) {
	t.Parallel()
	repeats := func(nudge, stop int) domain.Guards {
		return domain.Guards{Repetition: &domain.Repetition{Nudge: nudge, Stop: stop}}
	}
	for _, g := range []domain.Guards{
		{}, repeats(0, 0), repeats(2, 0), repeats(0, 2), repeats(2, 3), {OutputRetries: new(domain.MaxOutputRetries)}, {OutputRetries: new(0)},
		{FinishReasons: enum.Known[domain.FinishReason]()},
	} {
		require.NoError(t, g.Check(), "%+v", g)
	}
	for fault, g := range map[string]domain.Guards{
		"guards.finish_reasons[1]: finish_reason: \"x\" is none of stop": {FinishReasons: []domain.FinishReason{domain.FinishStop, "x"}},
		"nudge_after: is -1": repeats(-1, 0), "nudge_after: is 1; give 2 or more": repeats(1, 5),
		"stop_after: is -1": repeats(0, -1), "stop_after: is 1; give 2 or more": repeats(0, 1),
		"nudge_after is 5 and stop_after 5":         repeats(5, 5),
		"guards.output_retries: is -1; give 0 to 1": {OutputRetries: new(-1)},
		"guards.output_retries: is 101":             {OutputRetries: new(domain.MaxOutputRetries + 1)},
	} {
		require.ErrorContains(t, g.Check(), fault)
	}
}

func TestCompaction(t *testing.T) {
	t.Parallel()
	require.Equal(t, domain.Compaction{TriggerPercent: 80, TargetPercent: 40}, domain.Compaction{}.WithDefaults())
	require.Equal(t, domain.Compaction{TriggerPercent: 30, TargetPercent: 15}, domain.Compaction{TriggerPercent: 30}.WithDefaults(), "always below")
	require.NoError(t, domain.Compaction{TargetPercent: 1}.Check())
	set := domain.Compaction{Off: true, TriggerPercent: 90, TargetPercent: 89}
	require.Equal(t, set, set.WithDefaults())
	for trigger := 10; trigger <= 95; trigger++ {
		require.NoError(t, domain.Compaction{TriggerPercent: trigger}.Check(), trigger)
	}
	for fault, c := range map[string]domain.Compaction{
		"trigger_percent: is 9; give 10 to 95": {TriggerPercent: 9}, "trigger_percent: is 96": {TriggerPercent: 96},
		"trigger_percent: is -1": {TriggerPercent: -1}, "target_percent: is -1": {TargetPercent: -1},
		"target_percent: is 80; give 1 or more, below trigger_percent, which is 80": {TargetPercent: 80},
		"target_percent: is 50": {TriggerPercent: 50, TargetPercent: 50},
	} {
		require.ErrorContains(t, c.Check(), fault)
	}
}

// TestGuardTable: whatever a definition can set of a guard has a row, and whatever judges says as what it stops.
func TestGuardTable(t *testing.T) {
	t.Parallel()
	var guards domain.Guards
	fields := map[any]bool{}
	for i := range reflect.TypeOf(guards).NumField() {
		fields[reflect.ValueOf(&guards).Elem().Field(i).Addr().Interface()] = true
	}
	sources := map[string]bool{}
	for _, rule := range domain.GuardRules() {
		require.Equal(t, rule.Key != "", rule.Value != nil && rule.Help != "")
		require.Equal(t, rule.Source != "", rule.Reason != "", rule.Key)
		require.True(t, rule.Source == "" || !sources[rule.Source], rule.Source)
		sources[rule.Source] = true
		if rule.Value != nil {
			value := rule.Value(&guards)
			require.True(t, fields[value], rule.Key)
			delete(fields, value)
		}
	}
	require.Empty(t, fields, "each field has a row")
}

// TestGuardsJudge: what each guard says of a step, after what it remembers. What the steps of an execution come to is told by
// the workflow's own tests.
func TestGuardsJudge(t *testing.T) {
	t.Parallel()
	call := func(code domain.Code) domain.ToolExecution {
		e := domain.ToolExecution{Call: domain.ToolCall{Name: "look", Arguments: "{}"}}
		if code != "" {
			e.Error = domain.CodedErrorf(domain.Invalid, code, "no")
		}
		return e
	}
	step := func(executions ...domain.ToolExecution) domain.GuardedStep {
		return domain.GuardedStep{AgentStep: domain.AgentStep{ToolExecutions: executions}}
	}
	refused := domain.GuardedStep{AgentStep: domain.AgentStep{Response: &domain.Response{Finish: domain.FinishRefusal}}}
	misfit := step()
	misfit.Misfit = true
	unread := step()
	unread.Unread = true
	ran := step(call(""))
	again := domain.Cycles{}.With(ran.CallsDigest())
	for name, test := range map[string]struct {
		guards domain.Guards
		seen   domain.Guarded
		step   domain.GuardedStep
		after  domain.Guarded
		source string
		nudged bool
	}{
		"nothing":                 {step: step()},
		"another finish reason":   {guards: domain.Guards{FinishReasons: []domain.FinishReason{domain.FinishLength}}, step: refused},
		"a finish reason":         {guards: domain.Guards{FinishReasons: []domain.FinishReason{domain.FinishRefusal}}, step: refused, source: "finish_reasons"},
		"unknown tools, twice":    {seen: domain.Guarded{Misguided: 1}, step: step(call(domain.CodeUnknownTool)), after: domain.Guarded{Misguided: 2}},
		"unknown tools, thrice":   {seen: domain.Guarded{Misguided: 2}, step: step(call(domain.CodeMalformed)), after: domain.Guarded{Misguided: 3}, source: "misguided_calls"},
		"one of two is known":     {seen: domain.Guarded{Misguided: 2}, step: step(call(domain.CodeMalformed), call("")), after: domain.Guarded{}},
		"calls nobody could read": {seen: domain.Guarded{Misguided: 2}, step: unread, after: domain.Guarded{Misguided: 3}, source: "misguided_calls"},
		"a nudge":                 {guards: domain.Guards{Repetition: &domain.Repetition{Nudge: 2}}, seen: domain.Guarded{Cycles: again}, step: ran, after: domain.Guarded{Cycles: again.With(ran.CallsDigest())}, nudged: true},
		"a stop":                  {guards: domain.Guards{Repetition: &domain.Repetition{Stop: 2}}, seen: domain.Guarded{Cycles: again}, step: ran, after: domain.Guarded{Cycles: again.With(ran.CallsDigest())}, source: "repeated_calls"},
		"the last retry":          {seen: domain.Guarded{Invalid: domain.DefaultOutputRetries}, step: misfit, after: domain.Guarded{Invalid: domain.DefaultOutputRetries}},
		"no retry left":           {guards: domain.Guards{OutputRetries: new(0)}, seen: domain.Guarded{Invalid: 1}, step: misfit, after: domain.Guarded{Invalid: 1}, source: domain.SourceOutput},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after, stops, nudges := test.guards.Judge(test.seen, test.step)
			require.Equal(t, test.after, after)
			source := ""
			for _, stop := range stops {
				source += stop.Source
			}
			require.Equal(t, test.source, source)
			require.Equal(t, test.nudged, len(nudges) > 0)
		})
	}
}
