package warden_test

import (
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"everstep/activities/warden"
)

// TestAPassingThreadIsNeverTheFirst: with all threads but the first one busy, the first one is what a goroutine would get.
func TestAPassingThreadIsNeverTheFirst(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	threads := make(chan int, 1000)
	for range cap(threads) {
		all.Go(func() {
			warden.OnThrowawayThread(func() { threads <- unix.Gettid() })
			runtime.Gosched()
		})
	}
	all.Wait()
	close(threads)
	for thread := range threads {
		require.NotEqual(t, os.Getpid(), thread)
	}
}
