package host

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/worker"
)

// A meter counts the tokens that a worker uses, and says when it may take more
// work: a bucket that fills by itself. Each inference begins with what the ones
// before took on average; the bucket may go below empty by the difference.
type meter struct {
	// rate is tokens a second; zero: they are not limited.
	rate float64

	mu     sync.Mutex
	level  float64
	filled time.Time
	// average is what an inference uses.
	average float64
	// paused is until when the provider takes nothing.
	paused time.Time
}

const (
	// bucketShare is how much of a minute's tokens may be used at once, as a
	// divisor. Providers hold the rate over shorter times than a minute too.
	bucketShare = 6
	// firstGuess is what the first inference is taken to use.
	firstGuess = 4000
	// averaged is over about how many inferences the average goes.
	averaged = 8
)

func newMeter(perMinute int64) *meter {
	most := float64(perMinute) / bucketShare
	return &meter{rate: float64(perMinute) / 60, level: most, average: min(most, firstGuess), filled: time.Now()}
}

// Used is told of the tokens of an inference that has ended.
func (m *meter) Used(tokens int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fill(time.Now())
	m.level -= float64(tokens)
	m.average += (float64(tokens) - m.average) / averaged
}

// Pause is told for how long the provider takes no request.
func (m *meter) Pause(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if until := time.Now().Add(d); until.After(m.paused) {
		m.paused = until
	}
}

// begin takes what an inference will use, or says how long nothing may begin.
func (m *meter) begin() (taken float64, wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	wait = max(m.paused.Sub(now), 0)
	if m.rate == 0 {
		return 0, wait
	}
	m.fill(now)
	if m.level <= 0 {
		wait = max(wait, time.Duration((1-m.level)/m.rate*float64(time.Second)))
	}
	if wait > 0 {
		return 0, wait
	}
	m.level -= m.average
	return m.average, 0
}

// fill adds what time has brought since it was last looked at.
func (m *meter) fill(now time.Time) {
	m.level = min(m.level+m.rate*now.Sub(m.filled).Seconds(), m.rate*60/bucketShare)
	m.filled = now
}

// giveBack returns what begin took, once what was used is counted.
func (m *meter) giveBack(taken float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.level += taken
}

// meteredSlots hand out the right to take an inference from its queue while the
// meter lets one begin. What must wait so stays in the queue, where it is no
// attempt and any worker may take it.
type meteredSlots struct {
	worker.SlotSupplier
	meter *meter
}

// lookAgain bounds how long a wait is believed: answers may use less than was
// expected of them.
const lookAgain = time.Second

// ReserveSlot waits for the meter, then for a slot.
func (s meteredSlots) ReserveSlot(ctx context.Context, info worker.SlotReservationInfo) (*worker.SlotPermit, error) {
	for {
		taken, wait := s.meter.begin()
		if wait <= 0 {
			permit, err := s.SlotSupplier.ReserveSlot(ctx, info)
			if err != nil {
				s.meter.giveBack(taken)
				return nil, err
			}
			permit.UserData = taken
			return permit, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(min(wait, lookAgain)):
		}
	}
}

// ReleaseSlot gives the slot back.
func (s meteredSlots) ReleaseSlot(info worker.SlotReleaseInfo) {
	if taken, ok := info.Permit().UserData.(float64); ok {
		s.meter.giveBack(taken)
	}
	s.SlotSupplier.ReleaseSlot(info)
}

// TryReserveSlot has none: whatever comes here waits in the queue first.
func (s meteredSlots) TryReserveSlot(worker.SlotReservationInfo) *worker.SlotPermit { return nil }
