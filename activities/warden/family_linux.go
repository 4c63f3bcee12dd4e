package warden

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Family is a program and all that it has started, below the process that keeps it:
// whoever is orphaned there becomes that process's child, whatever session it is in.
type Family struct {
	program int
	status  syscall.WaitStatus
	dead    chan dead // closed when there are no more
}

type dead struct {
	pid    int
	status syscall.WaitStatus
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
	f := &Family{program: program, dead: make(chan dead)}
	go f.bury()
	return f
}

// bury waits for children, those that became it too, until there are none.
func (f *Family) bury() {
	defer close(f.dead)
	for {
		var d dead
		var err error
		d.pid, err = syscall.Wait4(-1, &d.status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return
		default:
			f.dead <- d
		}
	}
}

// Wait returns when the program has ended, or all is to end.
func (f *Family) Wait(over <-chan struct{}) {
	for {
		select {
		case d, ok := <-f.dead:
			if !ok {
				return
			}
			if d.pid == f.program {
				f.status = d.status
				return
			}
		case <-over:
			return
		}
	}
}

// End ends all that is left, and returns when there is nothing, with how many it has
// ended. Where this process is the first of a namespace nothing can flee. Elsewhere it runs
// after them, for as long as they make others.
func (f *Family) End() (ended int) {
	const pause = 5 * time.Millisecond
	next := time.NewTimer(0)
	for {
		select {
		case d, ok := <-f.dead:
			if !ok {
				return ended
			}
			if d.status.Signal() == unix.SIGKILL {
				ended++
			}
			if d.pid == f.program {
				f.status = d.status
			}
		case <-next.C:
			if os.Getpid() == 1 {
				_ = unix.Kill(-1, unix.SIGKILL) // all in the namespace but this process
			} else {
				chase()
			}
			next.Reset(pause)
		}
	}
}

// Status is how the program ended. Call it after End.
func (f *Family) Status() syscall.WaitStatus { return f.status }

// chase ends what is below this process as /proc shows it.
func chase() {
	for range 20 { // those who flee by a child of theirs become ours at once
		for _, d := range children() {
			d.kill()
		}
	}
	for _, d := range Descendants(os.Getpid()) {
		d.kill()
	}
}
