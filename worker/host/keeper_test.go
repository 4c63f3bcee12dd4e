package host

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/log"

	"everstep/activities/transcript"
)

// TestWorkflowsAreLetGoOf when they take more than their share, and are left alone for a while then: for
// long where it helped little.
func TestWorkflowsAreLetGoOf(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		idle, busy, other int64 // held by sessions, by agents at work, and by what else there is
		more              int64 // by new sessions, each look
		want              int   // how often they are let go of in an hour
	}{
		"little is held":          {idle: 50, busy: 20, other: 30, want: 0},
		"idle sessions":           {idle: 100, busy: 20, want: 1},
		"more and more of them":   {busy: 20, more: 10, want: 60},
		"agents at work alone":    {busy: 200, want: 5}, // after 0, 2, 6, 14 and 30 minutes
		"something else takes it": {other: 200, want: 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				idle, looks, gone := test.idle, uint64(0), 0
				k := &keeper{
					share: 100, log: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
					letGo: func() { idle, gone = 0, gone+1 },
					held: func() (int64, uint64) {
						looks++
						idle += test.more
						return idle + test.busy + test.other, looks
					},
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour-time.Second)
				defer cancel()
				k.keep(ctx)
				require.Equal(t, test.want, gone)
			})
		})
	}
}

// TestWhatIsHeld is some of the process's memory, without the transcripts that are bounded by themselves.
func TestWhatIsHeld(t *testing.T) {
	t.Parallel()
	bytes, _ := newKeeper(1, transcript.NewCache(0), nil).held()
	require.Positive(t, bytes)
}
