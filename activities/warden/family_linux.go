package warden

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Family is a program and all that it has started, below the process that keeps it:
// whoever is orphaned there becomes that process's child, whatever session it is in.
type Family struct {
	program      int
	programEnded chan struct{} // closed when the program has ended
	nobodyLeft   chan struct{} // closed when there is nobody left
	status       syscall.WaitStatus
	killed       atomic.Int64
}

// Adopt has this process become the parent of what is orphaned below it. It comes
// before the program is started.
func Adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// Withhold keeps files from what this process starts, from a number on.
func Withhold(from uint) {
	if unix.CloseRange(from, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) != nil { // an old kernel
		for fd := int(from); fd < 1<<16; fd++ {
			unix.CloseOnExec(fd)
		}
	}
}

// Raise takes in the program that this process has started. From then on it buries all
// of its children, and nobody else may.
func Raise(program int) *Family {
	f := &Family{program: program, programEnded: make(chan struct{}), nobodyLeft: make(chan struct{})}
	go f.bury()
	return f
}

// bury waits for children, those that became it too, until there are none. It waits for nothing else: who waits to be
// buried is looked at again and again by whoever runs after the others, and one who flees leaves thousands behind.
func (f *Family) bury() {
	defer close(f.nobodyLeft)
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return
		case status.Signal() == unix.SIGKILL:
			f.killed.Add(1)
		}
		if pid == f.program {
			f.status, f.program = status, 0 // its number may be another's from now on
			close(f.programEnded)
		}
	}
}

// Wait returns when the program has ended, when nobody of the family is left, or when over is closed, since whoever had the
// program started is gone. It ends nothing: others of the family may still run. End is next.
func (f *Family) Wait(over <-chan struct{}) {
	select {
	case <-f.programEnded:
	case <-f.nobodyLeft:
	case <-over:
	}
}

// End ends all that is left, and returns when there is nothing, with how many it has
// ended. Where this process is the first of a namespace nothing can flee. Elsewhere it runs
// after them, for as long as they make others.
func (f *Family) End() (ended int64) {
	before := f.killed.Load()
	for pause := time.Duration(0); ; pause = 5 * time.Millisecond {
		select {
		case <-f.nobodyLeft:
			return f.killed.Load() - before
		case <-time.After(pause):
		}
		if os.Getpid() == 1 {
			_ = unix.Kill(-1, unix.SIGKILL) // all in the namespace but this process
		} else {
			chase()
		}
	}
}

// Status is how the program ended. Call it after End.
func (f *Family) Status() syscall.WaitStatus { return f.status }

// chase ends what is below this process as /proc shows it.
func chase() {
	for range 20 { // those who flee by a child of theirs become ours at once
		end(children())
	}
	end(Descendants(os.Getpid()))
}

// end kills those of them that have not ended yet.
func end(all []Descendant) {
	for _, d := range all {
		if !d.over {
			d.kill()
		}
	}
}
