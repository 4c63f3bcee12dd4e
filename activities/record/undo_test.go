package record_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/record"
	"everstep/testsuite/stores"
)

// TestWhoReadsDuringAnUndoneImport finds no newest execution without where the session was moved to since.
func TestWhoReadsDuringAnUndoneImport(t *testing.T) {
	t.Parallel()
	all := stores.Sample(t, "ann", 2)
	all[1].Moved = new(positionAfter(t, all[1], 1))
	file := written(t, all...)
	store, _ := inDirectory(t)
	ctx, leave := context.WithCancel(t.Context())
	breaker := record.Breaking(store, false)
	writes, wrong := 0, 0
	breaker.During = func() {
		if writes++; writes == 3 {
			leave()
		}
	}
	record.Undoing(store, func() {
		_, err := store.Get(t.Context(), all[1].Ref())
		if err != nil {
			return
		}
		if _, err = store.Position(t.Context(), all[1].Ref()); errors.Is(err, record.ErrNone) {
			wrong++
		}
	})
	_, err := record.Import(ctx, store, record.All(strings.NewReader(file)), time.Unix(1, 0))
	require.Equal(t, context.Canceled, err)
	require.Zero(t, wrong, "a cleared session was shown as if it had not been")
}
