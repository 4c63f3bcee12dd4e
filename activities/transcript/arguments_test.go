package transcript

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// calling is a log whose message 3 asks for two calls with these arguments.
func calling(arguments ...string) domain.Log {
	log := conversation(3, 3, "")
	m := domain.Message{Role: domain.RoleAssistant}
	for i, text := range arguments {
		m.ToolCalls = append(m.ToolCalls, domain.ToolCall{ID: fmt.Sprint(i), Name: "write_file", Arguments: text})
	}
	return say(log.Append("", m, domain.DigestOf([]byte(fmt.Sprint(arguments)))), "and then")
}

func TestArguments(t *testing.T) {
	t.Parallel()
	log := calling(`{"a":1}`, `not JSON`)
	ref := contract.ArgumentsRef{Message: 3, Digest: domain.DigestOf([]byte(`not JSON`))}
	stale := calling(`{"a":2}`, `other`)

	t.Run("cached", func(t *testing.T) {
		t.Parallel()
		f := &fakeWorkflow{log: log}
		s := sourceOf(f, nil)
		s.Cache.Feed(testRun.ID, log, contract.Resolved{})
		got, err := s.arguments(t.Context(), testRun, ref, 1)
		require.NoError(t, err)
		require.Equal(t, `not JSON`, got)
		require.Empty(t, f.asked)
	})
	t.Run("of the first call", func(t *testing.T) {
		t.Parallel()
		first := contract.ArgumentsRef{Message: 3, Digest: domain.DigestOf([]byte(`{"a":1}`))}
		got, err := sourceOf(&fakeWorkflow{log: log}, nil).arguments(t.Context(), testRun, first, 0)
		require.NoError(t, err)
		require.Equal(t, `{"a":1}`, got)
	})
	t.Run("asked for", func(t *testing.T) {
		t.Parallel()
		f := &fakeWorkflow{log: log}
		s := sourceOf(f, nil)
		s.Cache.Feed(testRun.ID, stale, contract.Resolved{})
		got, err := s.arguments(t.Context(), testRun, ref, 1)
		require.NoError(t, err)
		require.Equal(t, `not JSON`, got)
		require.Equal(t, []contract.MessagesRequest{{From: 3, Limit: 1}}, f.asked)
	})
	t.Run("in a segment", func(t *testing.T) {
		t.Parallel()
		storage := memory(t)
		f := &fakeWorkflow{log: log}
		f.leave(t, storage, 2)
		f.leave(t, storage, 4)
		got, err := sourceOf(f, storage).arguments(t.Context(), testRun, ref, 1)
		require.NoError(t, err)
		require.Equal(t, `not JSON`, got)
	})
	for name, position := range map[string]int{"the other call": 0, "no such call": 2, "a negative call": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := sourceOf(&fakeWorkflow{log: log}, nil).arguments(t.Context(), testRun, ref, position)
			requireError(t, err, domain.Invalid, domain.CodeContextLost, "message 3 is not the one")
		})
	}
	t.Run("no call, and the digest of no arguments", func(t *testing.T) {
		t.Parallel()
		none := contract.ArgumentsRef{Message: 0, Digest: domain.DigestOf(nil)}
		_, err := sourceOf(&fakeWorkflow{log: log}, nil).arguments(t.Context(), testRun, none, 0)
		requireError(t, err, domain.Invalid, domain.CodeContextLost, "message 0 is not the one")
	})
	t.Run("at the edges of segments", func(t *testing.T) {
		t.Parallel()
		storage := memory(t)
		f := &fakeWorkflow{log: conversation(6, 6, "")}
		f.leave(t, storage, 2)
		f.leave(t, storage, 4)
		s := sourceOf(f, storage)
		for index := range 4 {
			found, err := s.readAround(t.Context(), testRun.ID, f.segments, index)
			require.NoError(t, err)
			require.Equal(t, index/2*2, found[0].Index, "message %d", index)
		}
		for _, index := range []int{-1, 4} {
			_, err := s.readAround(t.Context(), testRun.ID, f.segments, index)
			requireError(t, err, domain.Invalid, domain.CodeContextLost, "is in no segment")
		}
	})
	t.Run("no such message", func(t *testing.T) {
		t.Parallel()
		_, err := sourceOf(&fakeWorkflow{log: log}, nil).arguments(t.Context(), testRun, contract.ArgumentsRef{Message: 9}, 0)
		requireError(t, err, domain.Invalid, domain.CodeContextLost, "there is no message 9; the workflow holds 5")
	})
}
