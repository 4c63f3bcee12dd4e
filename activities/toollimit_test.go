package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// TestACallIsMadeWhereItsLimitHolds: one that comes by another queue is sent there before it has begun, unless it was
// begun when there was no limit.
func TestACallIsMadeWhereItsLimitHolds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		queue   string
		attempt int32
		effect  domain.Effect
		sent    bool
		content string
	}{
		"by another queue":           {"q/tool/fake", 1, domain.AtMostOnce, true, "not run: fake has a limit, and its turn did not come"},
		"by its own":                 {ownQueue, 1, domain.AtMostOnce, false, "done"},
		"begun before, repeatable":   {"q/tool/fake", 2, domain.ReadOnly, false, "done"},
		"begun before, at most once": {"q/tool/fake", 2, domain.AtMostOnce, false, "outcome unknown: an earlier attempt may have begun; the call of fake may or may not have taken effect, and was not repeated"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := benchOf(fake(test.effect, answering("done")))
			b.attempt = test.attempt
			b.config.ToolLimits = map[string]contract.ToolLimit{"fake": {TaskQueue: test.queue, ToolLimit: domain.ToolLimit{AtOnce: 1}}}
			reply := b.run(t)
			require.Equal(t, test.content, reply.Content)
			require.Equal(t, test.sent, reply.NotStarted)
			if test.sent {
				require.Equal(t, test.queue, reply.TaskQueue)
				require.Equal(t, domain.CodeNotRun, reply.Error.Code)
			}
		})
	}
}

// TestListToolsTellsLimits of the definition's tools alone, and they are not of the definition's digest.
func TestListToolsTellsLimits(t *testing.T) {
	t.Parallel()
	config, definition := providing(named("a"), named("b")), agentWith("a")
	without := listed(t, config, definition)
	require.Nil(t, without.ToolLimits)
	limit := contract.ToolLimit{TaskQueue: "q/tool/a", ToolLimit: domain.ToolLimit{Calls: 5, Per: time.Minute}}
	config.ToolLimits = map[string]contract.ToolLimit{"a": limit, "b": limit}
	with := listed(t, config, definition)
	require.Equal(t, map[string]contract.ToolLimit{"a": limit}, with.ToolLimits)
	require.Equal(t, without.Digest, with.Digest)
}
