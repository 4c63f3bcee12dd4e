package warden

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// wards says that there are wardens here.
const wards = true

// itself is this program, also after its file was replaced.
const itself = "/proc/self/exe"

// alone keeps Ctrl-C away, and kills when the thread that started it ends.
func alone() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// endGroup asks a program's group, or its warden, to end.
func endGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) } // fails only if it is gone

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

const (
	lifelineFD = 3
	// notRun is the exit code of a warden that could not start its program, as a shell's.
	notRun = 127
)

// ward runs a program until it ends or the worker does, then ends all that is left
// of what it started, and returns the program's exit code.
func ward(path string, args []string) int {
	runtime.LockOSThread() // to which the program is bound
	// A worker that is killed ends this process by the lifeline alone: killed by the
	// system it would leave behind what it is there to take along.
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0)
	// Whose parent has gone becomes a child of this process.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	if unix.CloseRange(lifelineFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) != nil { // an old kernel
		for fd := lifelineFD; fd < 1<<16; fd++ {
			syscall.CloseOnExec(fd)
		}
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	//nolint:gosec // to run what it is told is what a warden is for
	program, err := os.StartProcess(path, append([]string{path}, args...), &os.ProcAttr{
		Env: os.Environ(), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: alone(),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return notRun
	}
	// The program alone holds its ends, so that its own end is seen.
	_, _ = os.Stdin.Close(), os.Stdout.Close()
	go func() {
		for range signals {
			_ = syscall.Kill(-program.Pid, syscall.SIGTERM)
		}
	}()
	go func() {
		_, _ = io.Copy(io.Discard, os.NewFile(lifelineFD, "lifeline")) // ends with the worker
		endAll()
		os.Exit(1)
	}()
	code := reap(program.Pid)
	endAll()
	return code
}

// reap waits for children until one of them has ended, and returns its exit code.
func reap(child int) int {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 1
		case pid == child && status.Signaled():
			return 128 + int(status.Signal())
		case pid == child:
			return status.ExitStatus()
		}
	}
}

// endAll kills all descendants, and those that they start meanwhile, for a while.
func endAll() {
	const again = 2 * time.Millisecond
	for deadline := time.Now().Add(wardenPatience); time.Now().Before(deadline); time.Sleep(again) {
		alive := descendants()
		if len(alive) == 0 {
			return
		}
		for _, pid := range alive {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		for pid := 1; pid > 0; {
			pid, _ = syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		}
	}
}

// descendants are the processes below this one, those too that wait to be buried: one
// whose first thread has ended looks so, and may go on with others.
func descendants() []int {
	folders, _ := os.ReadDir("/proc") // without it the program's group is all there is
	children := map[int][]int{}
	for _, folder := range folders {
		pid, err := strconv.Atoi(folder.Name())
		if err != nil {
			continue
		}
		if parent, ok := parentOf(pid); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	var below []int
	for next := []int{os.Getpid()}; len(next) > 0; next = next[1:] {
		below = append(below, children[next[0]]...)
		next = append(next, children[next[0]]...)
	}
	return below
}

// parentOf reads a process's parent; ok is false for one that is gone.
func parentOf(pid int) (parent int, ok bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	// Its name is in brackets and may hold any; the state and the parent follow.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0, false
	}
	parent, err = strconv.Atoi(string(fields[1]))
	return parent, err == nil
}
