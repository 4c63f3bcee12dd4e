package domain_test

import (
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
