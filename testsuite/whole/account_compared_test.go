package whole_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	agentaccount "everstep/domain/account"
	"everstep/testsuite/internal/accountcheck"
	"everstep/worker/host"
	"everstep/worker/host/codec"
	"everstep/workflows/replay"
)

// TestAnAccountThatDiffersIsFound alters what the worker noted after one workflow task, which nothing but a comparison with
// the replay of that task can tell.
func TestAnAccountThatDiffersIsFound(t *testing.T) {
	t.Parallel()
	s := startCompared(t, host.Config{Tools: []tool.Tool{echo()}})
	begun := s.begin(t, "turns: [{text: looking, tool_calls: [{name: echo, arguments: {text: a}}]}, {text: done}]", "echo")
	s.ended(t, begun)
	all, err := s.accounts.Notes()
	require.NoError(t, err)
	notes := all[begun.RunID]
	events := s.history(t, begun.WorkflowID, begun.RunID).GetEvents()
	compare := func() (int, []string) {
		compared, differ, err := accountcheck.Compare(context.Background(), events, notes, 0, replay.Options{DataConverter: codec.New().DataConverter()})
		require.NoError(t, err)
		return compared, differ
	}
	compared, differ := compare()
	require.Empty(t, differ)
	require.Equal(t, len(notes), compared, "no workflow task failed")
	for _, note := range notes {
		head := note.Parts[agentaccount.HeadOf]
		note.Parts[agentaccount.HeadOf] = strings.Replace(head, `"doing":"`, `"doing":"nearly `, 1)
		_, differ = compare()
		require.Len(t, differ, 1)
		require.Contains(t, differ[0], "head: the worker has")
		require.Contains(t, differ[0], "nearly")
		note.Parts[agentaccount.HeadOf] = head
	}
}
