package host

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"
)

// TestMeter holds a rate of 600 tokens a second, of which 6,000 may come at once.
func TestMeter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMeter(36_000)
		began := func(taken float64) {
			got, wait := m.begin()
			require.Zero(t, wait)
			require.InDelta(t, taken, got, 0.01)
		}
		waits := func(want time.Duration) {
			_, wait := m.begin()
			require.InDelta(t, want, wait, float64(10*time.Millisecond))
		}
		began(firstGuess)
		began(firstGuess) // 6,000 - 2 × 4,000
		waits(3333 * time.Millisecond)
		m.Used(800)
		m.giveBack(firstGuess) // level 1,200
		began(3600)            // -2,400
		waits(4 * time.Second)
		time.Sleep(2 * time.Second)
		waits(2 * time.Second)
		m.Used(2000)
		m.giveBack(firstGuess)
		m.Used(9000)
		m.giveBack(3600)
		waits(7666 * time.Millisecond) // -1,200 + 2,000 - 5,400
		time.Sleep(time.Hour)
		m.Used(12_000)
		waits(10 * time.Second) // time without work saves up no more than may come at once

		m.Pause(30 * time.Second)
		m.Pause(5 * time.Second)
		waits(30 * time.Second) // the longest of what the provider asked for
	})
}

// TestMeterWithoutTokens pauses only.
func TestMeterWithoutTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMeter(0)
		m.Used(1 << 40)
		_, wait := m.begin()
		require.Zero(t, wait)
		m.Pause(time.Second)
		_, wait = m.begin()
		require.Equal(t, time.Second, wait)
	})
}

// TestMeteredSlots hands no slot out while the meter holds, none where the
// worker stops meanwhile, and one as soon as less was used than expected.
func TestMeteredSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMeter(3600)
		slots := meteredSlots{SlotSupplier: free{}, meter: m}
		first, err := slots.ReserveSlot(t.Context(), nil)
		require.NoError(t, err)
		m.Used(60 * 3600) // an hour's

		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err = slots.ReserveSlot(ctx, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		go func() {
			time.Sleep(5 * time.Second)
			m.Used(-60 * 3600)
			slots.ReleaseSlot(released{permit: first})
		}()
		permit, err := slots.ReserveSlot(t.Context(), nil)
		require.NoError(t, err)
		require.NotNil(t, permit)
		require.InDelta(t, 10*time.Second, time.Since(began), float64(lookAgain))
		require.Nil(t, slots.TryReserveSlot(nil))
	})
}

// free has a slot for everybody.
type free struct{ worker.SlotSupplier }

func (free) ReserveSlot(context.Context, worker.SlotReservationInfo) (*worker.SlotPermit, error) {
	return &worker.SlotPermit{}, nil
}

func (free) ReleaseSlot(worker.SlotReleaseInfo) {}

type released struct {
	worker.SlotReleaseInfo
	permit *worker.SlotPermit
}

func (r released) Permit() *worker.SlotPermit { return r.permit }
