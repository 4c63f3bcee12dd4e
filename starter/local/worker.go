package local

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"everstep/starter/client"
	"everstep/starter/devserver"
	"everstep/starter/process"
	"everstep/worker/host"
	"everstep/worker/host/statefile"
)

// A workerKeeper sees to it that a task queue has a worker while a command lasts.
//
// One process of ours serves a queue at a time, since the root of the file
// tools is the worker's: that process holds the queue's lock. The others wait
// for it, and take over when it ends.
type workerKeeper struct {
	// failed delivers why no worker can be kept. There is at most one.
	failed chan error

	spec    WorkerSpec
	folder  string       // that of the worker that served the queue at first
	pid     atomic.Int64 // the newest worker of this process
	serving atomic.Bool  // the worker of the queue is this process's
	say     func(string, ...any)
	cancel  context.CancelFunc
	ended   sync.WaitGroup
}

const (
	// shortLife is how soon a worker ends that cannot serve.
	shortLife = 5 * time.Second
	// shortLives is how many in a row are too many.
	shortLives = 3
)

// keepWorker starts to keep a worker. Where the queue is already served from
// another folder it says so, and refuses where the folder was asked for.
func (m *Machine) keepWorker(ctx context.Context, spec WorkerSpec, folderAsked bool) (*workerKeeper, error) {
	k := &workerKeeper{failed: make(chan error, 1), spec: spec, folder: spec.Dir, say: m.Say, cancel: func() {}}
	if !queueServed(spec.state, spec.TaskQueue) && k.useless(ctx) {
		return k, nil
	}
	lock, err := takeQueue(spec)
	if err != nil && !errors.Is(err, statefile.ErrLocked) {
		return nil, err
	}
	if lock == nil {
		holder, _ := queueHolder(spec.state, spec.TaskQueue)
		k.folder = cmp.Or(holder.Dir, spec.Dir)
		switch {
		case holder.Dir == spec.Dir:
			m.Say("process %d already runs a worker for task queue %s", holder.PID, spec.TaskQueue)
		case folderAsked:
			return nil, &client.Error{Class: client.Refused, Message: fmt.Sprintf(
				"dir: process %d already runs a worker for task queue %s, in %s; leave --dir out to use it, or end it first",
				holder.PID, spec.TaskQueue, holder.Dir)}
		default:
			m.Say("process %d already runs a worker for task queue %s: file tools work in %s", holder.PID, spec.TaskQueue, holder.Dir)
		}
	}
	background, cancel := context.WithCancel(context.Background())
	k.cancel = cancel
	k.ended.Go(func() { k.keep(background, lock) })
	return k, nil
}

// useless reports whether a worker of this command would lack what the agent needs, for which it is brought up, and says so.
func (k *workerKeeper) useless(ctx context.Context) bool {
	if k.spec.lacks == nil {
		return false
	}
	lacks := k.spec.lacks(ctx)
	if lacks != nil {
		k.say("no worker is brought up: %s", lacks)
	}
	return lacks != nil
}

// Close stops the worker gracefully, and returns when it has ended.
func (k *workerKeeper) Close() {
	k.cancel()
	k.ended.Wait()
}

func (k *workerKeeper) keep(ctx context.Context, lock *os.File) {
	for lock == nil {
		if process.Pause(ctx, restartDelay) != nil {
			return
		}
		if queueServed(k.spec.state, k.spec.TaskQueue) {
			continue
		}
		if k.useless(ctx) {
			return
		}
		var err error
		switch lock, err = takeQueue(k.spec); {
		case err == nil:
			k.say("the other worker is gone; this command runs one now, in %s", k.spec.Dir)
		case !errors.Is(err, statefile.ErrLocked):
			k.failed <- err
			return
		}
	}
	defer lock.Close()
	k.serving.Store(true)
	if err := k.serve(ctx); err != nil {
		k.failed <- err
	}
}

// serve runs one worker after another until ctx ends.
func (k *workerKeeper) serve(ctx context.Context) error {
	for short := 0; ; {
		began := time.Now()
		w, err := StartWorker(k.spec)
		if err != nil {
			return fmt.Errorf("worker: cannot be started: %w", err)
		}
		k.pid.Store(int64(w.PID))
		select {
		case <-ctx.Done():
			w.Stop()
			return nil
		case <-w.Done:
		}
		if time.Since(began) > shortLife {
			short = 0
		}
		if short++; short >= shortLives || w.State().ExitCode() == refusedCode {
			return fmt.Errorf("worker: does not stay up: %s%s", w.State(), w.Tail())
		}
		k.say("the worker has ended (%s); starting another", w.State())
		if process.Pause(ctx, restartDelay) != nil {
			return nil
		}
	}
}

const (
	// WorkerCommand is the hidden command that is a worker.
	WorkerCommand = "worker"
	// FlagUntilStdinEnds is its flag that has it stop when whoever started it is gone.
	FlagUntilStdinEnds = "until-stdin-ends"
	// refusedCode is its exit code where its configuration is wrong.
	refusedCode = 2
)

// A WorkerSpec says which worker is to run.
type WorkerSpec struct {
	holder
	executable  string
	address     string
	namespace   string
	TaskQueue   string
	Storage     string
	state       string
	environment []string
	// log gets what the worker logs; nil keeps its end for when it fails.
	log io.Writer
	// lacks says what a worker would lack that it is brought up for; nil: nothing.
	lacks func(context.Context) error
}

// WorkerSpec is the worker of a task queue of a dev server of ours.
func (m *Machine) WorkerSpec(server devserver.Server, queue, dir string) (WorkerSpec, error) {
	if err := host.Apart(dir, host.Kept{Storage: m.storage(server.StateFile), Records: m.Env.Value(host.RecordsVariable), State: server.StateFile}); err != nil {
		return WorkerSpec{}, err
	}
	executable, err := m.Executable()
	return WorkerSpec{
		holder:     holder{PID: os.Getpid(), Dir: dir, Tools: m.Env.list(variableBuiltinTools), WorkerTools: m.ownTools(dir)},
		executable: executable, address: server.Address, namespace: server.Namespace, TaskQueue: queue,
		Storage: m.storage(server.StateFile), state: server.StateFile, environment: m.Env.forWorker(),
	}, err
}

// A WorkerProcess is this program again, as a worker that dies with this process.
type WorkerProcess struct {
	*process.Process
	tail *logTail
}

// StartWorker starts a worker. That it runs says nothing of whether it serves.
func StartWorker(spec WorkerSpec) (*WorkerProcess, error) {
	cmd := exec.Command(spec.executable, WorkerCommand,
		"--address", spec.address, "--namespace", spec.namespace, "--task-queue", spec.TaskQueue,
		"--dir", spec.Dir, "--storage", spec.Storage,
		"--"+FlagUntilStdinEnds)
	cmd.Env = append(slices.Clip(spec.environment), VariableState+"="+spec.state) // which its agents do not see
	w := &WorkerProcess{tail: &logTail{}}
	cmd.Stderr = w.tail
	if spec.log != nil {
		cmd.Stderr = io.MultiWriter(spec.log, w.tail)
	}
	var err error
	w.Process, err = process.Start(cmd)
	return w, err
}

// Stop lets the worker finish or hand back what it is at, and returns when it is gone. One that
// takes longer than it may is killed.
func (w *WorkerProcess) Stop() { w.Process.Stop(os.Interrupt, host.StopsWithin(0)+3*time.Second) }

// Tail is the last that the worker said, for an error message.
func (w *WorkerProcess) Tail() string {
	if text := w.tail.String(); text != "" {
		return "; it said:\n" + text
	}
	return ""
}

// A logTail keeps the end of what is written to it.
type logTail struct {
	mu   sync.Mutex
	text []byte
}

const (
	tailBytes = 4 << 10
	tailLines = 8
)

// Write keeps the end of the text.
func (t *logTail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, text...)
	if excess := len(t.text) - tailBytes; excess > 0 {
		t.text = bytes.Clone(t.text[excess:])
	}
	return len(text), nil
}

// String is the last whole lines.
func (t *logTail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(string(bytes.TrimSpace(t.text)), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

// A holder is the process that runs the worker of a task queue, and what its worker is.
type holder struct {
	PID int `json:"pid"`
	// Dir is the folder of its file tools.
	Dir string `json:"dir"`
	// Tools are those that its worker has turned on beside the ones for files; nil: it does not say.
	Tools []string `json:"builtin_tools"`
	WorkerTools
}

// WorkerTools are the tools of a worker.
type WorkerTools struct {
	// All are its own, and those of its MCP servers; nil: it does not say.
	All []string `json:"tools"`
	// Unstarted are those of MCP servers that its file disables, or that cannot be started as it is.
	Unstarted []string `json:"unstarted,omitempty"`
}

// takeQueue takes the lock of a task queue, which ends with this process however it ends. Where another process has it the error
// is statefile.ErrLocked, and queueHolder says which.
func takeQueue(spec WorkerSpec) (*os.File, error) {
	file, err := statefile.LockFile(statefile.WorkerFile(spec.state, ".lock", spec.TaskQueue))
	if err == nil {
		if err = errors.Join(file.Truncate(0), json.NewEncoder(file).Encode(spec.holder)); err == nil {
			return file, nil
		}
		_ = file.Close() // it only holds the lock
	}
	return nil, fmt.Errorf("lock task queue %s: %w", spec.TaskQueue, err)
}

// queueServed reports whether a process of ours runs a worker for a task queue.
func queueServed(stateFile, taskQueue string) bool {
	_, served := queueHolder(stateFile, taskQueue)
	return served
}

// queueHolder is the process of ours that runs a worker for a task queue, if one does. Of one that cannot be read it knows
// nothing: it is only told to users.
func queueHolder(stateFile, taskQueue string) (by holder, served bool) {
	file, err := os.Open(statefile.WorkerFile(stateFile, ".lock", taskQueue))
	if err != nil {
		return by, false
	}
	defer file.Close()
	_ = json.NewDecoder(io.LimitReader(file, 64<<10)).Decode(&by)
	return by, errors.Is(statefile.Lock(file), statefile.ErrLocked)
}
