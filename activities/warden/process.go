package warden

import (
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"time"
)

// wardenName is the name under which this program is called to be a warden.
const wardenName = "everstep-warden"

// served says that this program becomes a warden where it is called as one.
var served atomic.Bool

// Serve makes a warden of this process where it was started as one, and then does
// not return. Otherwise it notes that it may be, and returns at once. Whoever runs
// workers calls it first thing in main; host.Main does.
func Serve() {
	if len(os.Args) > 1 && os.Args[0] == wardenName {
		os.Exit(ward(os.Args[1], os.Args[2:]))
	}
	served.Store(true)
}

// Whole reports whether a program is taken with all that it starts, however the
// worker ends.
func Whole() bool { return served.Load() && wards }

// A Process is a program that runs. Its methods are safe for concurrent use.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	// lifeline is open as long as the worker is there; nil without a warden. It may be closed more than once.
	lifeline *os.File
}

// Start starts a program, whose standard files are files. Its environment is that of the command alone, none where that is nil.
// That it runs says nothing more.
func Start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, done: make(chan struct{})}
	cmd.SysProcAttr = alone()
	if cmd.Env == nil {
		cmd.Env = []string{} // nil would be the worker's own
	}
	if Whole() {
		theirs, ours, err := os.Pipe()
		if err != nil {
			return nil, fmt.Errorf("start a warden: %w", err)
		}
		defer theirs.Close()
		p.lifeline = ours
		cmd.Path, cmd.Args = itself, append([]string{wardenName, cmd.Path}, cmd.Args[1:]...)
		cmd.ExtraFiles = []*os.File{theirs}
	}
	started := make(chan error, 1)
	// A program is bound to the thread that starts it: this one is kept until it is gone.
	go OnThrowawayThread(func() {
		defer close(p.done)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in ProcessState
		}
	})
	if err := <-started; err != nil {
		_ = p.lifeline.Close()
		return nil, err
	}
	return p, nil
}

// PID is the number of the process that was started: the warden's where there is one.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the program has ended, and under a warden all that it started.
func (p *Process) Done() <-chan struct{} { return p.done }

// State says how the program ended. Call it after Done.
func (p *Process) State() string { return p.cmd.ProcessState.String() }

// wardenPatience is how long one waits for a warden that ends everything.
const wardenPatience = 5 * time.Second

// Kill ends the program with all that it started, and returns when it is gone. A warden
// whose program makes processes as fast as it ends them is not waited for longer than some
// seconds: nobody could take its place, so it goes on.
func (p *Process) Kill() {
	if p.lifeline == nil {
		killGroup(p.cmd.Process)
		<-p.done
		return
	}
	_ = p.lifeline.Close()
	select {
	case <-p.done:
	case <-time.After(wardenPatience):
	}
}

// Stop asks the program to end, kills it after so long, and returns when it is gone.
func (p *Process) Stop(patience time.Duration) {
	select {
	case <-p.done: // its number may be another's by now
	default:
		endGroup(p.cmd.Process)
	}
	select {
	case <-p.done:
		_ = p.lifeline.Close()
	case <-time.After(patience):
		p.Kill()
	}
}
