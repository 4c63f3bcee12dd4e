package whole_test

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/domain"
	"everstep/domain/hook"
)

// TestRecordedRunsNameWhatTheModelSaw: each step's input makes the request's messages
// again, byte for byte, as play checks of every recorded run: here also where the
// conversation was made shorter, where hooks say something before an inference, and
// where the last step is told that it is the last.
func TestRecordedRunsNameWhatTheModelSaw(t *testing.T) {
	t.Parallel()
	said := hook.BeforeInference("said", func(c hook.Inference) (hook.Inference, error) {
		return c.Say(domain.RoleUser, "Be brief."), nil
	})
	said.Always = true
	var shorter, runs atomic.Int64
	eachRecorded(t, func(t *testing.T, run wholeRun, draw *rand.Rand) {
		run.play(t, domain.Definition{}, said)
		run.play(t, domain.Definition{
			Budget: domain.ExecutionBudget{MaxSteps: new(1 + draw.Int64N(int64(len(run.steps))))}, Guards: domain.Guards{FinalAnswer: true},
		})
		conversation := int64(0)
		for _, s := range run.steps {
			conversation += s.guess()
		}
		window := run.fixed() + 500 + conversation*3/4
		got := run.play(t, domain.Definition{Model: domain.LLMConfig{ContextWindow: window}}, said)
		runs.Add(1)
		if slices.ContainsFunc(got.Asked, func(c inference.Call) bool { return c.Summary }) ||
			slices.ContainsFunc(got.Steps, func(s domain.StepExecution) bool { return !s.Step.Input.Edits.IsZero() }) {
			shorter.Add(1)
		}
	})
	require.Greater(t, shorter.Load(), runs.Load()/2, "conversations are made shorter")
}
