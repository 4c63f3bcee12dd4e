package domain_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// BenchmarkState is what it costs to encode and to decode a state with 200 steps.
func BenchmarkState(b *testing.B) {
	s := begunState()
	for n := range 200 {
		step := toolStep(executionID(1), n+1)
		s = must(s.WithStepStarted(step.ID, after(2)))
		s = must(s.WithCurrentStep(step, after(2)))
		s = must(s.WithCurrentStepCompleted(after(2)))
	}
	data, err := json.Marshal(s)
	require.NoError(b, err)
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = json.Marshal(s)
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = domain.DecodeAgentState(data)
		}
	})
	b.Run("step", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			next, _ := s.WithStepStarted(executionID(1).Step(201), after(3))
			next, _ = next.WithCurrentStep(domain.AgentStep{}, after(3))
			_, _ = next.WithCurrentStepCompleted(after(3))
		}
	})
}
