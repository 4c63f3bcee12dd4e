package warden

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// wards says that there are wardens here.
const wards = true

// itself is this program, also after its file was replaced.
const itself = "/proc/self/exe"

// alone keeps Ctrl-C away, and kills when the thread that started it ends.
func alone() *syscall.SysProcAttr {
	attributes := ownGroup()
	attributes.Pdeathsig = syscall.SIGKILL
	return attributes
}

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
	_ = Adopt() // old kernels cannot
	Withhold(lifelineFD)
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
	over := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.NewFile(lifelineFD, "lifeline")) // ends with the worker
		close(over)
	}()
	family := Raise(program.Pid)
	family.Wait(over)
	family.End()
	status := family.Status()
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}
