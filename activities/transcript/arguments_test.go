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
	ref := func(message int, arguments string) contract.ArgumentsRef {
		return contract.ArgumentsRef{Message: message, Digest: domain.DigestOf([]byte(arguments))}
	}
	second := ref(3, `not JSON`)
	for name, test := range map[string]struct {
		ref        contract.ArgumentsRef
		position   int
		want, says string
	}{
		"of the first call":                       {ref(3, `{"a":1}`), 0, `{"a":1}`, ""},
		"of the second call":                      {second, 1, `not JSON`, ""},
		"the other call":                          {second, 0, "", "message 3 is not the one"},
		"no such call":                            {second, 2, "", "message 3 is not the one"},
		"a negative call":                         {second, -1, "", "message 3 is not the one"},
		"no call, and the digest of no arguments": {ref(0, ""), 0, "", "message 0 is not the one"},
		"no such message":                         {ref(9, ""), 0, "", "there is no message 9; the workflow holds 5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeWorkflow{log: log}
			got, err := sourceOf(f, nil).arguments(t.Context(), testRun, test.ref, test.position)
			require.Equal(t, []contract.MessagesRequest{{From: test.ref.Message, Limit: 1}}, f.asked)
			if test.says != "" {
				requireError(t, err, domain.Invalid, domain.CodeContextLost, test.says)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
	for name, test := range map[string]struct {
		cached domain.Log
		asked  int
	}{"what is cached is not asked for": {log, 0}, "something else is cached": {calling(`{"a":2}`, `other`), 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeWorkflow{log: log}
			s := sourceOf(f, nil)
			s.Cache.Feed(testRun.ID, test.cached, contract.Resolved{})
			got, err := s.arguments(t.Context(), testRun, second, 1)
			require.NoError(t, err)
			require.Equal(t, `not JSON`, got)
			require.Len(t, f.asked, test.asked)
		})
	}
	t.Run("in a segment", func(t *testing.T) {
		t.Parallel()
		storage := memory(t)
		f := &fakeWorkflow{log: log}
		f.leave(t, storage, 2)
		f.leave(t, storage, 4)
		s := sourceOf(f, storage)
		got, err := s.arguments(t.Context(), testRun, second, 1)
		require.NoError(t, err)
		require.Equal(t, `not JSON`, got)
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
}
