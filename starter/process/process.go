package process

import (
	"context"
	"io"
	"os"
	"os/exec"
	"time"

	"everstep/activities/warden"
)

// A Process is a program that this one has started and that ends with it,
// however this one ends: at once on Linux; elsewhere it has to notice by its
// standard input, to which nothing is written and which ends with this process.
type Process struct {
	Input io.Closer
	// PID is the number of the process.
	PID int
	// Done is closed when the process has ended.
	Done <-chan struct{}
	cmd  *exec.Cmd
}

// Start starts a program, out of reach of Ctrl-C. That it runs says nothing more.
func Start(cmd *exec.Cmd) (*Process, error) {
	return StartIn(cmd, func() error { return nil })
}

// StartIn is Start by a thread that has entered what the program is to be in, such as a namespace. The thread runs
// nothing else, and ends with the program.
func StartIn(cmd *exec.Cmd, enter func() error) (*Process, error) {
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	cmd.SysProcAttr = boundToParent()
	started := make(chan error, 1)
	// Bound to the parent means bound to its thread: this one is kept until the program is gone.
	go warden.OnThrowawayThread(func() {
		defer close(done)
		err := enter()
		if err == nil {
			err = cmd.Start()
		}
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in ProcessState
		}
	})
	if err := <-started; err != nil {
		return nil, err
	}
	return &Process{Input: input, PID: cmd.Process.Pid, Done: done, cmd: cmd}, nil
}

// State says how the process ended. Call it after Done.
func (p *Process) State() *os.ProcessState { return p.cmd.ProcessState }

// Kill ends the process without warning, and returns when it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.Done
}

// Stop asks the process to end, also by the end of its input, kills it after so
// long, and returns when it is gone.
func (p *Process) Stop(signal os.Signal, patience time.Duration) {
	_ = p.Input.Close()
	_ = p.cmd.Process.Signal(signal) // fails only if it is gone
	select {
	case <-p.Done:
	case <-time.After(patience):
		p.Kill()
	}
}

// Pause waits before something is tried again, unless ctx ends.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
