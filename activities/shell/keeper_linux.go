package shell

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// What a keeper inherits.
const (
	controlFD = 3 + iota
	reportFD
	outputFD
	folderFD
	rootFD
)

// Keep is a process that keeps one command: it runs it, ends all that it has started
// when it ends, when it is told to, or when whoever started the keeper is gone, and
// says how it ended. It returns the exit code of the process. It works only as Shell starts it.
func Keep() int {
	for fd := controlFD; fd <= rootFD; fd++ {
		want, info := uint32(unix.S_IFIFO), unix.Stat_t{}
		if fd >= folderFD {
			want = unix.S_IFDIR
		}
		if err := unix.Fstat(fd, &info); err != nil || info.Mode&unix.S_IFMT != want {
			return 2 // started by hand
		}
		unix.CloseOnExec(fd)
	}
	if unix.CloseRange(rootFD+1, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) != nil { // an old kernel
		for fd := rootFD + 1; fd < 1<<16; fd++ {
			unix.CloseOnExec(fd)
		}
	}
	// They are heard, so that commands do not inherit that they are ignored, and are not heeded.
	signal.Reset()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	k := &keep{control: os.NewFile(controlFD, "control"), reports: json.NewEncoder(os.NewFile(reportFD, "reports")), children: make(chan child)}
	if err := k.keep(); err != nil {
		return 1
	}
	return 0
}

type keep struct {
	control  *os.File
	reports  *json.Encoder
	children chan child // those that have ended; closed when there are no more
	// ended is how the command did.
	ended syscall.WaitStatus
}

type child struct {
	pid    int
	status syscall.WaitStatus
}

func (k *keep) keep() error {
	// From now on orphans below this process become its children, whatever session they are in.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := k.reports.Encode(report{Ready: true}); err != nil {
		return err
	}
	var o order
	orders := json.NewDecoder(k.control)
	if err := orders.Decode(&o); err != nil {
		return err
	}
	over := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, k.control) // nothing more is sent: it returns when the other side is gone
		close(over)
	}()
	defer os.RemoveAll(o.Temp)
	pid, err := begin(o)
	if err != nil {
		return k.reports.Encode(report{NotBegun: err.Error()})
	}
	_ = unix.Close(outputFD)
	go k.reap()
	k.wait(pid, over)
	left := k.sweep(pid)
	return errors.Join(os.RemoveAll(o.Temp), k.reports.Encode(reportOf(k.ended, left)))
}

// begin starts the command, confined, in a session of its own.
func begin(o order) (pid int, err error) {
	if err := unix.Fchdir(folderFD); err != nil {
		return 0, errors.New("its folder is gone")
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, errors.New("it has no input to begin with")
	}
	defer null.Close()
	for _, name := range []string{"HOME", "TMPDIR"} {
		if os.Getenv(name) == "" || name == "TMPDIR" {
			if err := os.Setenv(name, o.Temp); err != nil {
				return 0, err
			}
		}
	}
	path, err := exec.LookPath(o.Command[0])
	if err != nil {
		return 0, errors.New("there is no program " + o.Command[0])
	}
	gate, opener, err := os.Pipe()
	if err != nil {
		return 0, errors.New("it has no gate to wait at")
	}
	defer gate.Close()
	defer opener.Close()
	passed := onPassingThread(func() {
		if inNamespace() {
			ownProc()
		}
		if err = confine(o.Temp, o.Hidden); err == nil {
			pid, err = syscall.ForkExec(shellPath, append([]string{"sh", "-c", waitAtGate, "sh", path}, o.Command[1:]...), &syscall.ProcAttr{
				Env: os.Environ(), Files: []uintptr{null.Fd(), outputFD, outputFD, gate.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true},
			})
		}
	})
	if err == nil && !passed {
		_ = unix.Kill(pid, unix.SIGKILL) // it waits at the gate
		return 0, errors.New("a thread of its keeper does not end")
	}
	return pid, err
}

const (
	shellPath = "/bin/sh"
	// waitAtGate becomes the command when the gate is open.
	waitAtGate = `read _ <&3; exec 3<&-; exec "$@"`
)

// onPassingThread calls a function on a thread that then ends, and reports whether it
// has. What confines a thread confines what it starts, but so neither the keeper nor any
// thread by which those could signal to it who are confined.
func onPassingThread(do func()) bool {
	done := make(chan int, 1)
	go func() {
		runtime.LockOSThread()
		id := unix.Gettid()
		if id == os.Getpid() { // the first thread never ends
			if !onPassingThread(do) { // meanwhile nobody else gets it
				id = -1
			}
			runtime.UnlockOSThread()
			done <- id
			return
		}
		do()
		done <- id
	}()
	id := <-done
	if id == os.Getpid() || id < 0 {
		return id > 0
	}
	for began := time.Now(); time.Since(began) < 10*time.Second; time.Sleep(50 * time.Microsecond) {
		if errors.Is(unix.Tgkill(os.Getpid(), id, 0), unix.ESRCH) {
			return true
		}
	}
	return false
}

// reap waits for children, those that became it too, until there are none.
func (k *keep) reap() {
	defer close(k.children)
	for {
		var c child
		var err error
		c.pid, err = syscall.Wait4(-1, &c.status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return
		default:
			k.children <- c
		}
	}
}

// wait returns when the command has ended, or all is to end.
func (k *keep) wait(pid int, over <-chan struct{}) {
	for {
		select {
		case c, ok := <-k.children:
			if !ok {
				return
			}
			if c.pid == pid {
				k.ended = c.status
				return
			}
		case <-over:
			return
		}
	}
}

// sweep ends all processes below this one and returns when there are none, with how many
// it has ended. In a namespace nothing can flee. Elsewhere it runs after them, for as long
// as they make others.
func (k *keep) sweep(pid int) (ended int) {
	const pause = 5 * time.Millisecond
	next := time.NewTimer(0)
	for {
		select {
		case c, ok := <-k.children:
			if !ok {
				return ended
			}
			if c.status.Signal() == unix.SIGKILL {
				ended++
			}
			if c.pid == pid {
				k.ended = c.status
			}
		case <-next.C:
			if inNamespace() {
				_ = unix.Kill(-1, unix.SIGKILL) // all in it but this process
			} else {
				chase()
			}
			next.Reset(pause)
		}
	}
}

// chase ends what is below this process as /proc shows it.
func chase() {
	for range 20 { // those who flee by a child of theirs become ours at once
		for _, p := range children() {
			p.kill()
		}
	}
	for _, p := range below(os.Getpid()) {
		p.kill()
	}
}

func reportOf(status syscall.WaitStatus, left int) report {
	if status.Signaled() {
		return report{Signal: cmp.Or(unix.SignalName(status.Signal()), status.Signal().String()), Exit: -1, Left: left}
	}
	return report{Exit: status.ExitStatus(), Left: left}
}
