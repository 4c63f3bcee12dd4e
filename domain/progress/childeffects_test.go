package progress_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
)

// TestWhatALostSubagentHasDoneIsUnknown: of one that has no outcome nobody says that it has done nothing, but of one that never
// began.
func TestWhatALostSubagentHasDoneIsUnknown(t *testing.T) {
	t.Parallel()
	done := domain.EffectCounts{Calls: []domain.EffectCount{{Tool: "pay", Done: 1, Unknown: 1}}}
	work := progress.Work{Child: &contract.Parent{}, Tool: &contract.ToolRequest{}}
	for name, test := range map[string]struct {
		ended  progress.ChildEnded
		says   string
		failed bool
		below  domain.EffectCounts
	}{
		"terminated": {progress.ChildEnded{Work: work, Why: progress.ChildLost(progress.Terminated, nil)}, `"effects_unknown":true`, true, domain.EffectCounts{Unknown: true}},
		"timed out":  {progress.ChildEnded{Work: work, Why: progress.ChildLost(progress.RanOut, nil)}, `"effects_unknown":true`, true, domain.EffectCounts{Unknown: true}},
		"cancelled":  {progress.ChildEnded{Work: work, Why: progress.ChildLost(progress.CancelledByServer, nil)}, `"effects_unknown":true`, true, domain.EffectCounts{Unknown: true}},
		"not begun":  {progress.ChildEnded{Work: work, Why: progress.ChildLost(progress.Unstarted, nil), Unstarted: true}, `"effects":[]`, true, domain.EffectCounts{}},
		"failed": {progress.ChildEnded{Work: work, Outcome: &contract.Outcome{Status: domain.StatusFailed, EffectCounts: done, Report: &contract.Report{SaidLast: "found"}}},
			`"answer":"","said_last":"found","effects":[{"tool":"pay","done":1,"unknown":1}]`, true, done},
		"stopped": {progress.ChildEnded{Work: work, Outcome: &contract.Outcome{Status: domain.StatusStopped, EffectCounts: domain.EffectCounts{Unknown: true}}},
			`"effects_unknown":true`, false, domain.EffectCounts{Unknown: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply := test.ended.Reply()
			require.Contains(t, reply.Content, test.says)
			require.Equal(t, test.failed, reply.Error != nil)
			if test.below.Unknown && test.ended.Outcome == nil {
				require.NotContains(t, reply.Content, `"effects":`)
			}
			step := progress.Begin(domain.StepID{}, 1).With(progress.Wanted{Calls: []domain.ToolCall{{}}}, progress.At{}).With(test.ended, progress.At{})
			require.Equal(t, test.below, step.ChildEffects)
		})
	}
}
