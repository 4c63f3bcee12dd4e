package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain/contract"
	"everstep/domain/progress"
)

// TestAnExecutionIsTheNewestOnceItsUpdateIsAnswered, also while the one before is recorded and nothing of it has begun.
func TestAnExecutionIsTheNewestOnceItsUpdateIsAnswered(t *testing.T) {
	t.Parallel()
	for name, fact := range map[string]progress.Fact{
		"send":   progress.Sent{Reply: contract.SendReply{Number: 3, Began: true}},
		"rewind": progress.Rewound{Request: contract.RewindRequest{Newest: 2, Prompt: "again"}},
		"extend": progress.Extended{Reply: contract.ExtendReply{Number: 3, Began: true}},
	} {
		scan := newestScan{ended: 2}
		require.True(t, scan.take(fact), name)
		require.Equal(t, 1, scan.step, name)
	}
	scan := newestScan{ended: 2}
	require.False(t, scan.take(progress.Rewound{Request: contract.RewindRequest{Newest: 2}}), "the next message begins it")
	require.Zero(t, scan.step)
}
