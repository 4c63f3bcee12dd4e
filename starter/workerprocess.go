package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"everstep/worker/host"
)

// workerCommand is the hidden command that is a worker.
const workerCommand = "worker"

// A workerSpec says which worker is to run.
type workerSpec struct {
	executable  string
	address     string
	namespace   string
	taskQueue   string
	dir         string
	storage     string
	state       string
	environment []string
	log         io.Writer
}

// A workerProcess is a worker in a process of its own: this program again. It
// dies with this process, however this process ends.
type workerProcess struct {
	cmd  *exec.Cmd
	life io.Closer // the worker stops when this is closed
	tail *tail
	done chan struct{}
}

// stopPatience is how long a worker may take to stop before it is killed.
const stopPatience = host.DefaultStopTimeout + 3*time.Second

// startWorker starts a worker. That it runs says nothing of whether it serves.
func startWorker(spec workerSpec) (*workerProcess, error) {
	cmd := exec.Command(spec.executable, workerCommand,
		"--address", spec.address, "--namespace", spec.namespace, "--task-queue", spec.taskQueue,
		"--dir", spec.dir, "--storage", spec.storage, "--"+flagUntilStdinEnds)
	cmd.Env = spec.environment
	cmd.SysProcAttr = withParent()
	w := &workerProcess{cmd: cmd, tail: &tail{}, done: make(chan struct{})}
	cmd.Stderr = w.tail
	if spec.log != nil {
		cmd.Stderr = io.MultiWriter(spec.log, w.tail)
	}
	var err error
	if w.life, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	started := make(chan error)
	go func() {
		// On Linux the child dies with the thread that started it, so this one
		// is kept for as long as the child lives.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in ProcessState
			close(w.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return w, nil
}

// PID is the process's.
func (w *workerProcess) PID() int { return w.cmd.Process.Pid }

// Done is closed when the process has ended.
func (w *workerProcess) Done() <-chan struct{} { return w.done }

// Kill ends the process without warning.
func (w *workerProcess) Kill() {
	_ = w.cmd.Process.Kill() // it may have ended already
	<-w.done
}

// Stop lets the worker finish or hand back what it is at, and returns when the
// process has ended.
func (w *workerProcess) Stop() {
	_ = w.life.Close()
	_ = w.cmd.Process.Signal(os.Interrupt)
	timer := time.NewTimer(stopPatience)
	defer timer.Stop()
	select {
	case <-w.done:
	case <-timer.C:
		w.Kill()
	}
}

// Refused reports whether the worker has ended because its configuration is
// wrong, so that another one would end the same way. Call it after Done.
func (w *workerProcess) Refused() bool { return w.cmd.ProcessState.ExitCode() == exitUsage }

// End says how the process ended. Call it after Done.
func (w *workerProcess) End() string { return w.cmd.ProcessState.String() }

// Tail is the last that the worker said, for an error message.
func (w *workerProcess) Tail() string {
	text := w.tail.String()
	if text == "" {
		return ""
	}
	return fmt.Sprintf("; it said:\n%s", text)
}

// A tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const (
	tailBytes = 4 << 10
	tailLines = 8
)

// Write keeps the end of the text.
func (t *tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, text...)
	if excess := len(t.text) - tailBytes; excess > 0 {
		t.text = append([]byte(nil), t.text[excess:]...)
	}
	return len(text), nil
}

// String is the last whole lines.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(string(bytes.TrimSpace(t.text)), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
