package proof

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/process"
)

// A lane is a task queue, its one worker process, and the agents that run on it:
// one where workers are killed, any number where they are not.
type lane struct {
	run      *chaos
	name     string
	queue    string
	agents   *client.Client
	plan     []byte
	log      *os.File
	listener net.Listener
	fail     func(error) // told why the lane can do no more

	mu     sync.Mutex
	worker *process.Process
	// trials are the runs under way, by workflow id: one where the lane kills.
	trials map[string]*trial
	// aim is the kill to come; nil: the lane kills nothing.
	aim *aim
}

func (p *chaos) openLane(name string, fail func(error)) (*lane, error) {
	l := &lane{run: p, name: name, queue: p.prefix + "-" + name, fail: fail, trials: make(map[string]*trial)}
	l.agents = local.Client(p.temporal, p.config.Address, client.Config{Namespace: p.config.Namespace, TaskQueue: l.queue})
	socket := filepath.Join(p.sockets, name)
	var err error
	if l.listener, err = net.Listen("unix", socket); err != nil {
		return nil, fmt.Errorf("lane %s: %w", name, err)
	}
	l.log, err = os.OpenFile(filepath.Join(p.config.Dir, name+".log"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		l.plan, err = json.Marshal(plan{
			Address: p.config.Address, Namespace: p.config.Namespace, TaskQueue: l.queue,
			Storage: filepath.Join(p.config.Dir, "storage"), Socket: socket, Ledger: p.ledger, Tools: p.tools,
			Seat: filepath.Join(p.config.Dir, name+".seat"),
		})
	}
	if err != nil {
		l.close()
		return nil, fmt.Errorf("lane %s: %w", name, err)
	}
	go func() {
		if err := listen(l.listener, l.decide); err != nil {
			l.fail(err)
		}
	}()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l, l.start()
}

// start starts a worker that dies with this process. That it runs says nothing of
// whether it serves. The lock is the caller's.
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
	cmd := exec.Command(self, ChaosWorker, string(plan))
	cmd.Stdout, cmd.Stderr = log, log
	worker, err := process.Start(cmd)
	if err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	return worker, nil
}

func (l *lane) begin(t *trial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trials[t.workflowID] = t
}

// end takes the agent away. An aim that it did not reach stays, within reason.
func (l *lane) end(t *trial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.trials, t.workflowID)
	if l.aim == nil {
		return
	}
	if l.aim.missed++; l.aim.missed >= max(10, 2*len(l.run.config.Agents)) {
		l.run.pool.unreachable(l.aim.boundary)
		l.aim = nil
	}
}

// take has the lane aim at its next kill. It is empty where there is none.
func (l *lane) take() contract.Boundary {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.aim == nil {
		l.aim = l.run.pool.next(func(contract.Boundary) bool { return true })
	}
	if l.aim == nil {
		return ""
	}
	return l.aim.boundary
}

// decide answers a worker, or kills it.
func (l *lane) decide(h hit) (answer, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.trial(h)
	switch {
	case l.worker == nil || h.PID != l.worker.PID():
		return answer{}, false // it is being killed
	case t == nil:
		return answer{}, true
	case h.Boundary == "":
		result, known := t.agent.result(t.number(h.ExecutionID), h.Step, h.Position)
		return answer{Result: result, Known: known}, true
	}
	now := time.Now()
	if t.reached(h, now) && l.aim == nil {
		l.aim = l.run.pool.next(t.agent.reaches)
	}
	if t.down == nil && l.aim != nil && l.aim.at(t.boundary(h)) {
		switch {
		case l.aim.skip > 0:
			l.aim.skip--
		case l.aim.boundary == contract.Paused:
			select {
			case t.toPause <- h:
			default: // it is under way
			}
		default:
			l.kill(t, h, now)
			return answer{}, false
		}
	}
	if !t.released(h) {
		l.run.broke(PromiseRequests, t, "step %d of execution %d was asked of the model again without a kill", h.Step, t.number(h.ExecutionID))
	}
	return answer{}, true
}

// trial is the run that a hit is of, or nil.
func (l *lane) trial(h hit) *trial {
	if h.AgentID.IsZero() {
		return l.trials[h.WorkflowID]
	}
	for _, t := range l.trials {
		if t.agentID == h.AgentID {
			return t
		}
	}
	return nil
}

// kill kills the worker where it is and starts another at once.
func (l *lane) kill(t *trial, h hit, now time.Time) {
	worker, aim := l.worker, l.aim
	l.worker, l.aim = nil, nil
	t.killed(h, aim.boundary, now)
	worker.Kill()
	if err := l.start(); err != nil {
		l.fail(err)
	}
	at := "between steps"
	switch {
	case h.Step > 0:
		at = fmt.Sprintf("at step %d", h.Step)
	case aim.boundary == contract.Continuing:
		at = "while it continued as new"
	}
	done, total := l.run.pool.made()
	l.run.config.Progress(fmt.Sprintf("kill %d of %d: %s, worker process %d, %s %s", done, total, aim.boundary, worker.PID(), t.agent.Name, at))
}

func (l *lane) seen(t *trial) standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return t.standing()
}

func (l *lane) close() {
	l.mu.Lock()
	worker := l.worker
	l.worker = nil
	l.mu.Unlock()
	_ = l.listener.Close()
	if worker != nil {
		worker.Kill()
	}
	if l.log != nil {
		_ = l.log.Close()
	}
}
