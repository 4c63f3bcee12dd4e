package warden

import "runtime"

// OnPassingThread calls a function on a thread that runs nothing else and ends with it, so that what the function
// changes of its thread (its namespaces, its user) stays there. It is never the first thread: that one cannot end,
// and what it is in is taken for what the process is in.
func OnPassingThread(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if onFirstThread() {
			OnPassingThread(do) // by another goroutine, while this one keeps the first thread
			runtime.UnlockOSThread()
			return
		}
		do()
	}()
	<-done
}
