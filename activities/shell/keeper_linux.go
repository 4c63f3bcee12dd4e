package shell

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"everstep/activities/warden"
	"everstep/domain"
)

// What a keeper inherits.
const (
	controlFD = 3 + iota
	reportFD
	outputFD
	folderFD
	rootFD
	tempsFD // the folder in which its temporary one is
)

// keeperName is the name under which this program is called to keep a command.
const keeperName = "everstep-keeper"

// Serve makes a keeper of this process where it was started as one, and then does not
// return. Otherwise it notes that it may be, and returns at once. Whoever runs workers calls
// it first thing in main; host.Begin does.
func Serve() {
	if os.Args[0] == keeperName {
		os.Exit(keepOne())
	}
	served.Store(true)
}

// keepOne keeps one command: it runs it, ends all that it has started when it ends, when it
// is told to, or when whoever started the keeper is gone, and says how it ended. It returns
// the exit code of the process. It works only as Shell starts it.
func keepOne() int {
	for fd := controlFD; fd <= tempsFD; fd++ {
		want, info := uint32(unix.S_IFIFO), unix.Stat_t{}
		if fd >= folderFD {
			want = unix.S_IFDIR
		}
		if err := unix.Fstat(fd, &info); err != nil || info.Mode&unix.S_IFMT != want {
			return 2 // started by hand
		}
		unix.CloseOnExec(fd)
	}
	warden.Withhold(tempsFD + 1)
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // what it keeps does not look into it
	// They are heard, so that commands do not inherit that they are ignored, and are not heeded.
	signal.Reset()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	if err := keep(os.NewFile(controlFD, "control"), json.NewEncoder(os.NewFile(reportFD, "reports"))); err != nil {
		return 1
	}
	return 0
}

func keep(control *os.File, reports *json.Encoder) error {
	if err := warden.Adopt(); err != nil {
		return err
	}
	if err := reports.Encode(report{Ready: true}); err != nil {
		return err
	}
	var o order
	if err := json.NewDecoder(control).Decode(&o); err != nil {
		return err
	}
	over := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, control) // nothing more is sent: it returns when the other side is gone
		close(over)
	}()
	temps, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", tempsFD))
	if err != nil {
		return reports.Encode(report{NotBegun: err.Error()})
	}
	// It is removed where the worker has it: in the view of the command another folder may stand in it.
	name := filepath.Base(o.Temp)
	defer func() { _ = temps.RemoveAll(name) }() // the worker removes what is left
	pid, err := begin(o)
	if err != nil {
		return reports.Encode(report{NotBegun: err.Error()})
	}
	_ = unix.Close(outputFD)
	family := warden.Raise(pid)
	family.Wait(over)
	ended := report{Left: family.End()}
	status := family.Status()
	ended.Exit = status.ExitStatus() // -1 after a signal
	if status.Signaled() {
		ended.Signal = cmp.Or(unix.SignalName(status.Signal()), status.Signal().String())
	}
	if o.Namespace != none {
		_ = unix.Unmount("/tmp", unix.MNT_DETACH) // what stands in it would keep it from being removed
	}
	return errors.Join(temps.RemoveAll(name), reports.Encode(ended))
}

// begin starts the command, confined, in a session of its own.
func begin(o order) (pid int, err error) {
	if o.Namespace != none {
		if o.Temp, err = enclose(o); err != nil {
			return 0, err
		}
		o.Hidden = slices.DeleteFunc(o.Hidden, func(path string) bool {
			info, err := os.Lstat(path)
			return err == nil && info.IsDir() // it is empty; files have Landlock beside, since one may get another's place
		})
	}
	if err := withoutCores(); err != nil {
		return 0, err
	}
	if err := unix.Fchdir(folderFD); err != nil {
		return 0, errors.New("its folder is gone")
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, errors.New("it has no input to begin with")
	}
	defer null.Close()
	_ = os.Setenv("TMPDIR", o.Temp) // a path can be set
	if os.Getenv("HOME") == "" {
		_ = os.Setenv("HOME", o.Temp)
	}
	path, err := exec.LookPath(o.Command[0])
	if err != nil {
		return 0, fmt.Errorf("there is no program %q", domain.Shorten(o.Command[0], 100))
	}
	gate, opener, err := os.Pipe()
	if err != nil {
		return 0, errors.New("it has no gate to wait at")
	}
	defer gate.Close()
	defer opener.Close()
	passed := onPassingThread(func() {
		if err = confine(o); err == nil {
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

// withoutCores has what this process starts leave no memory image where it fails. One byte is less than any has, and, other
// than none, starts no program of the system's that would take one.
func withoutCores() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil || limit.Max == 0 {
		return err
	}
	return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1})
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
	var id int
	warden.OnThrowawayThread(func() {
		id = unix.Gettid()
		do()
	})
	for began := time.Now(); time.Since(began) < 10*time.Second; time.Sleep(50 * time.Microsecond) {
		if errors.Is(unix.Tgkill(os.Getpid(), id, 0), unix.ESRCH) {
			return true
		}
	}
	return false
}
