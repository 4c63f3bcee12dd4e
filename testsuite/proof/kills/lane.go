package kills

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"everstep/starter/process"
)

// A lane is a task queue and its one worker process, replaced when it is killed. What runs on it, and where it is killed,
// is said by the proof: chaosLane, toolLane, treeLane.
type lane struct {
	name string
	fail func(error) // told why the lane can do no more

	plan     []byte
	log      *os.File
	listener net.Listener

	mu     sync.Mutex
	worker *process.Process
}

// open starts the worker of a plan, whose socket, seat and log, in a folder, are the lane's. decide answers its
// questions. Where that fails, close takes away what was begun.
func (l *lane) open(sockets, dir string, p plan, decide func(hit) (answer, bool)) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("lane %s: %w", l.name, err)
		}
	}()
	p.Socket, p.Seat = filepath.Join(sockets, l.name), filepath.Join(dir, l.name+".seat")
	if l.listener, err = net.Listen("unix", p.Socket); err != nil {
		return err
	}
	if l.log, err = os.OpenFile(filepath.Join(dir, l.name+".log"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600); err != nil {
		return err
	}
	if l.plan, err = json.Marshal(p); err != nil {
		return err
	}
	go func() {
		if err := listen(l.listener, decide); err != nil {
			l.fail(err)
		}
	}()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.start()
}

// start starts a worker that dies with this process. That it runs says nothing of whether it serves. The lock is the
// caller's.
func (l *lane) start() error {
	worker, err := startWorker(l.plan, l.log)
	if err != nil {
		return err
	}
	l.worker = worker
	go func() {
		<-worker.Done()
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.worker == worker {
			l.fail(fmt.Errorf("lane %s: the worker ended by itself (%s); see %s", l.name, worker.State(), l.log.Name()))
		}
	}()
	return nil
}

func startWorker(plan []byte, log *os.File) (*process.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program to run workers: %w", err)
	}
	cmd := exec.Command(self, WorkerCommand, string(plan))
	cmd.Stdout, cmd.Stderr = log, log
	worker, err := process.Start(cmd)
	if err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	return worker, nil
}

// dead reports whether a hit is of a worker that is being killed. The lock is the caller's.
func (l *lane) dead(h hit) bool { return l.worker == nil || h.PID != l.worker.PID() }

// kill kills the worker, starts another at once, and says which process it was. The lock is the caller's.
func (l *lane) kill() int {
	worker := l.worker
	l.worker = nil
	worker.Kill()
	if err := l.start(); err != nil {
		l.fail(err)
	}
	return worker.PID()
}

func (l *lane) close() {
	l.mu.Lock()
	worker := l.worker
	l.worker = nil
	l.mu.Unlock()
	if l.listener != nil {
		_ = l.listener.Close()
	}
	if worker != nil {
		worker.Kill()
	}
	if l.log != nil {
		_ = l.log.Close()
	}
}
