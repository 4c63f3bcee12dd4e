package host

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/log"

	"everstep/domain"
)

// step is an event with a number.
func step(n int) domain.Event {
	return domain.Event{Type: domain.EventStepStarted, EventHeader: domain.EventHeader{Sequence: int64(n)}}
}

func toolCall(n int) domain.Event {
	return domain.Event{Type: domain.EventToolCallStarted, EventHeader: domain.EventHeader{Sequence: int64(n)}, Data: domain.EventCall{Tool: "t"}}
}

// lines is a log that tests may read while it is written.
type lines struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.out.String(), text)
}

func (l *lines) logger() log.Logger { return newLogger(Log{Writer: l, JSON: true}, &secrets{}) }

func dispatch(t *testing.T, logs *lines, listeners ...Listener) *dispatcher {
	t.Helper()
	d, err := newDispatcher(listeners, logs.logger())
	require.NoError(t, err)
	return d
}

func TestListenersHearWhatTheyAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var steps []int64
		var all []domain.EventType
		logs := &lines{}
		d := dispatch(t, logs,
			On(domain.EventStepStarted, func(e domain.Event) { steps = append(steps, e.Sequence) }),
			OnAll(func(e domain.Event) { all = append(all, e.Type) }),
		)
		for n := range 300 {
			d.Emit(step(n))
			d.Emit(toolCall(n))
			if n%100 == 0 {
				synctest.Wait()
			}
		}
		d.Close()
		require.Len(t, steps, 300)
		require.IsIncreasing(t, steps)
		require.Len(t, all, 600)
		require.Equal(t, []domain.EventType{domain.EventStepStarted, domain.EventToolCallStarted}, all[:2])
		require.Zero(t, logs.count("\n"), "nothing to tell of")

		d.Emit(step(1))
		d.Close()
		require.Len(t, steps, 300, "after Close nobody hears anything, and nothing breaks")
	})
}

func TestAListenerThatBlocksHarmsNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logs := &lines{}
		release := make(chan struct{})
		stuck := 0
		var heard []int64
		d := dispatch(t, logs,
			OnAll(func(domain.Event) { stuck++; <-release }),
			On(domain.EventStepStarted, func(e domain.Event) { heard = append(heard, e.Sequence) }),
		)
		const events = 5000
		for n := range events {
			d.Emit(step(n)) // returns, though one listener never does
			synctest.Wait()
		}
		require.Len(t, heard, events)
		require.IsIncreasing(t, heard)
		// One is being heard, and the queue holds 1024: 3975 are lost.
		require.EqualValues(t, events-1-listenerQueue, d.queues[0].lost.Load())
		require.Zero(t, d.queues[1].lost.Load())
		require.Equal(t, 4, logs.count("does not keep up"), "at the 1st, 1001st, 2001st and 3001st")

		before := time.Now()
		d.Close()
		require.Equal(t, drainTime, time.Since(before))
		require.Equal(t, 1, logs.count("left to itself"))
		require.Equal(t, 1, logs.count(`"lost":3975`))
		close(release)
		synctest.Wait()
		require.Equal(t, 1, stuck, "what waited for it is not heard any more")
	})
}

func TestAListenerThatPanicsHearsTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logs := &lines{}
		heard := 0
		d := dispatch(t, logs, OnAll(func(e domain.Event) {
			heard++
			if e.Sequence != 2500 {
				panic("wild")
			}
		}))
		for n := range 2501 {
			d.Emit(step(n))
			synctest.Wait()
		}
		d.Close()
		require.Equal(t, 2501, heard)
		require.EqualValues(t, 2500, d.queues[0].panicked.Load())
		require.Equal(t, 3, logs.count("a listener panicked"), "at the 1st, 1001st and 2001st")
		require.Positive(t, logs.count("listener_test.go"), "with the stack")
	})
}

func TestCloseLetsListenersHearWhatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		heard := 0
		d := dispatch(t, &lines{}, OnAll(func(domain.Event) { time.Sleep(time.Millisecond); heard++ }))
		for n := range 500 {
			d.Emit(step(n))
		}
		d.Close()
		require.Equal(t, 500, heard)
	})
}

// TestEmitWhileClosing is for the race detector.
func TestEmitWhileClosing(t *testing.T) {
	t.Parallel()
	d := dispatch(t, &lines{}, OnAll(func(domain.Event) {}), OnAll(func(domain.Event) { panic("wild") }))
	var emitting sync.WaitGroup
	for range 8 {
		emitting.Go(func() {
			for n := range 2000 {
				d.Emit(step(n))
			}
		})
	}
	d.Close()
	emitting.Wait()
	d.Close()
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	d := dispatch(t, &lines{})
	require.Nil(t, d.emit())
	d.Close()
	require.NotNil(t, dispatch(t, &lines{}, OnAll(func(domain.Event) {})).emit())
}

func TestListenersWithoutAFunction(t *testing.T) {
	t.Parallel()
	for name, listener := range map[string]Listener{"zero": {}, "On": On(domain.EventStepStarted, nil), "OnAll": OnAll(nil)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newDispatcher([]Listener{OnAll(func(domain.Event) {}), listener}, log.NewStructuredLogger(nil))
			require.ErrorContains(t, err, "listeners[1]: has no function; make it with On or OnAll")
		})
	}
}
