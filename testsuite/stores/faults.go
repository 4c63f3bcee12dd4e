package stores

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/domain/contract"
)

// A Fault is something that what a store keeps its objects in can meet.
type Fault string

const (
	// Torn: half of what is written is there in the end, and nobody is told.
	Torn Fault = "torn"
	// Lost: nothing of it is, and nobody is told.
	Lost Fault = "lost"
	// Slow: nothing is answered.
	Slow Fault = "slow"
	// Full: nothing more can be written.
	Full Fault = "full"
	// ReadOnly: nothing can be written or deleted.
	ReadOnly Fault = "read-only"
)

// A Faulty is a store that meets a fault from now on; the empty one mends it.
type Faulty struct {
	Keeper
	Meet func(Fault)
}

// Withstands asks of stores, each of which starts empty, that no fault of what they keep their objects in loses what was
// recorded before, or is taken for a record, or passes without a word where there is something to be told.
func Withstands(t *testing.T, open func(t *testing.T) Faulty) {
	t.Helper()
	// with is a store that has the first two records of ann, and the third.
	with := func(t *testing.T) (Faulty, []record.Record) {
		t.Helper()
		store, all := open(t), Sample(t, "ann", 3)
		for _, r := range all[:2] {
			require.NoError(t, store.Record(t.Context(), r))
		}
		return store, all
	}
	t.Run("a torn write is no record", func(t *testing.T) {
		t.Parallel()
		store, all := with(t)
		store.Meet(Torn)
		_ = store.Record(t.Context(), all[2]) // it cannot know
		store.Meet("")
		_, err := store.Get(t.Context(), all[2].Ref())
		require.ErrorContains(t, err, "cannot be read")
		require.NotErrorIs(t, err, record.ErrNone)
		require.ErrorContains(t, err, all[2].ExecutionID.String())
		require.NoError(t, store.Record(t.Context(), all[2]), "it may be written again")
		Reads(t, store, all...)
	})
	t.Run("a lost write is none", func(t *testing.T) {
		t.Parallel()
		store, all := with(t)
		store.Meet(Lost)
		require.NoError(t, store.Record(t.Context(), all[2]), "it cannot know")
		store.Meet("")
		_, err := store.Get(t.Context(), all[2].Ref())
		require.ErrorIs(t, err, record.ErrNone)
		Reads(t, store, all[:2]...)
		require.NoError(t, store.Record(t.Context(), all[2]))
		Reads(t, store, all...)
	})
	t.Run("a full one keeps what it has", func(t *testing.T) {
		t.Parallel()
		store, all := with(t)
		changed := all[0]
		changed.Ended = &contract.End{Answer: "another"}
		store.Meet(Full)
		for _, r := range []record.Record{all[2], changed} {
			requireUnavailable(t, store.Record(t.Context(), r), "cannot write", "no space left on device")
		}
		store.Meet("")
		Reads(t, store, all[:2]...)
	})
	t.Run("a read-only one is read", func(t *testing.T) {
		t.Parallel()
		store, all := with(t)
		store.Meet(ReadOnly)
		requireUnavailable(t, store.Record(t.Context(), all[2]), "cannot write", "read-only file system")
		requireUnavailable(t, store.Forget(t.Context(), all[0].Ref()), "cannot delete", "read-only file system")
		_, err := store.Delete(t.Context(), all[0].AgentID)
		requireUnavailable(t, err, "cannot delete", "read-only file system")
		Reads(t, store, all[:2]...)
	})
	t.Run("a slow one holds nobody up", func(t *testing.T) {
		t.Parallel()
		store, all := with(t)
		store.Meet(Slow)
		over := errors.New("the time is over")
		for what, do := range map[string]func(ctx context.Context) error{
			"record": func(ctx context.Context) error { return store.Record(ctx, all[2]) },
			"get":    func(ctx context.Context) error { _, err := store.Get(ctx, all[0].Ref()); return err },
			"list":   func(ctx context.Context) error { _, err := store.List(ctx, all[0].AgentID); return err },
			"agents": func(ctx context.Context) error { _, err := store.Agents(ctx); return err },
			"forget": func(ctx context.Context) error { return store.Forget(ctx, all[2].Ref()) },
			"delete": func(ctx context.Context) error { _, err := store.Delete(ctx, all[0].AgentID); return err },
		} {
			ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, over)
			err := do(ctx)
			cancel()
			require.ErrorIs(t, err, over, what)
			require.NotErrorIs(t, err, record.ErrNone, what)
		}
		store.Meet("")
		Reads(t, store, all[:2]...)
	})
}

// requireUnavailable requires an error that may be none later, and says what could not be done and why.
func requireUnavailable(t *testing.T, err error, says ...string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, domain.Unavailable, domain.AsError(err).Kind)
	for _, text := range says {
		require.ErrorContains(t, err, text)
	}
}
