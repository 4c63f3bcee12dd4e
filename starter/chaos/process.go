package chaos

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
)

// A process is a worker in a process of its own.
type process struct {
	cmd  *exec.Cmd
	life io.Closer // the worker ends when this is closed
	done chan struct{}
}

// startProcess starts a worker that dies with this process. That it runs says
// nothing of whether it serves.
func startProcess(command []string, log *os.File) (*process, error) {
	p := &process{cmd: exec.Command(command[0], command[1:]...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = boundToParent()
	var err error
	if p.life, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	started := make(chan error, 1)
	go func() {
		// Bound to the parent means bound to its thread: this one is kept until
		// the worker is gone, and then ends with the goroutine.
		runtime.LockOSThread()
		defer close(p.done)
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // how it ended is in ProcessState
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill ends the process with SIGKILL, and returns when it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.done
}
