package warden

import "runtime"

// OnThrowawayThread calls a function on a thread that is thrown away afterwards, so that what the function
// changes of its thread (its namespaces, its user) stays there. It is never the first thread: that one cannot end,
// and what it is in is taken for what the process is in.
func OnThrowawayThread(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if onFirstThread() {
			OnThrowawayThread(do) // by another goroutine, while this one keeps the first thread
			runtime.UnlockOSThread()
			return
		}
		do()
	}()
	<-done
}
