package kills

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/starter/kill"
	"everstep/starter/process"
	"everstep/testsuite/proof/report"
	"everstep/worker/host"
)

// A runner is a task queue with one worker process at a time, and the agents that run on it: one where the worker is killed,
// any number where it is not.
type runner struct {
	proof  *proof
	name   string
	agents *client.Client
	// seatless says that its workers have no seat.
	seatless bool

	log        *os.File
	listener   net.Listener
	controller *kill.Controller

	mu   sync.Mutex
	runs []*run     // those under way
	next *killPoint // the kill to come; nil: none is
}

// openRunner starts the worker of a runner, whose socket, log and, unless it is seatless, seat are its own.
func (p *proof) openRunner(name string, seatless bool) (l *runner, err error) {
	queue := p.prefix + "-" + name
	l = &runner{proof: p, name: name, agents: p.client(queue), seatless: seatless}
	defer func() {
		if err != nil {
			l.close()
			l, err = nil, fmt.Errorf("%s: %w", name, err)
		}
	}()
	plan := WorkerPlan{
		Address: p.config.Address, Namespace: p.config.Namespace, TaskQueue: queue, Tools: p.tools,
		Storage: filepath.Join(p.config.Dir, "storage"), Ledgers: filepath.Join(p.config.Dir, ledgers),
		Accounts: filepath.Join(p.config.Dir, accounts),
		Socket:   filepath.Join(p.sockets, name),
	}
	if plan.Seat = host.NoSeat; !seatless {
		plan.Seat = filepath.Join(p.config.Dir, name+".seat")
	}
	if l.listener, err = net.Listen("unix", plan.Socket); err != nil {
		return l, err
	}
	if l.log, err = os.OpenFile(filepath.Join(p.config.Dir, name+".log"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600); err != nil {
		return l, err
	}
	l.controller, err = kill.Start(
		func() (*process.Process, error) { return StartWorker(plan, l.log) },
		func(state *os.ProcessState) {
			p.fail(fmt.Errorf("%s: the worker ended by itself (%s); see %s", name, state, l.log.Name()))
		})
	if err == nil {
		go l.listen()
	}
	return l, err
}

func (l *runner) close() {
	if l.listener != nil {
		_ = l.listener.Close()
	}
	if l.controller != nil {
		l.controller.Close()
	}
	if l.log != nil {
		_ = l.log.Close()
	}
}

// listen answers the hits of workers until the listener is closed. A worker that is killed gets no answer.
func (l *runner) listen() {
	for {
		conn, err := l.listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				l.proof.fail(fmt.Errorf("listen to workers: %w", err))
			}
			return
		}
		go func() {
			defer conn.Close()
			var h hit
			if json.NewDecoder(conn).Decode(&h) != nil {
				return // it was killed while it spoke
			}
			if a, goOn := l.decide(h); goOn {
				_ = json.NewEncoder(conn).Encode(a) // it may be gone
			}
		}()
	}
}

func (l *runner) begin(r *run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs = append(l.runs, r)
}

// end takes a run away. A kill that it did not come to is tried in other runs, within reason.
func (l *runner) end(ended *run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var others []*run
	for _, r := range l.runs {
		if r != ended {
			others = append(others, r)
		}
	}
	l.runs = others
	if l.next == nil {
		return
	}
	most := max(10, 2*len(l.proof.config.Agents))
	if l.next.missed++; l.next.missed >= most || ended.agent.once() {
		l.proof.plan.unreachable(l.next.Point)
		l.next = nil
	}
}

// planned takes the next kill of the plan, unless there is one to come. It is false where all are made.
func (l *runner) planned() (Point, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == nil {
		l.next = l.proof.plan.next(func(Point) bool { return true })
	}
	if l.next == nil {
		return "", false
	}
	return l.next.Point, true
}

// decide answers a worker, or kills it.
func (l *runner) decide(h hit) (a answer, goOn bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.PID != l.controller.PID() {
		return a, false // it is being killed
	}
	r, s := l.find(h)
	if r == nil {
		return a, true
	}
	if r.goesOn(h) && l.next == nil && !r.agent.once() {
		l.next = l.proof.plan.next(r.agent.reaches)
	}
	if l.next != nil && r.down == nil && l.next.at(r, s, h) {
		switch {
		case l.next.skip > 0:
			l.next.skip--
		case l.next.aside():
			select {
			case r.aside <- h:
			default: // somebody sees to it
			}
		default:
			l.kill(r, s, h)
			return a, false
		}
	}
	if h.Boundary == "" {
		a.Result, a.Known = r.agent.result(s.number(h.ExecutionID), h.Step, h.Position)
	}
	if !r.released(s, h) {
		r.noted = append(r.noted, r.broken(PromiseRequests, "step %d of execution %d was asked of the model again without a kill", h.Step, s.number(h.ExecutionID)))
	}
	return a, true
}

// find returns the run that a hit is of, and what was seen of its agent; nil: there is none.
func (l *runner) find(h hit) (*run, *seen) {
	for _, r := range l.runs {
		if s := r.of(h); s != nil {
			return r, s
		}
	}
	return nil, nil
}

// kill kills the worker at a hit of a run, and has another one take over. The lock is the caller's.
func (l *runner) kill(r *run, s *seen, h hit) {
	point := l.next.Point
	l.next = nil
	made, err := l.controller.Kill()
	if err != nil {
		l.proof.fail(err)
	}
	r.killed(made, point, s, h)
	at := "between steps"
	switch {
	case h.Step > 0:
		at = fmt.Sprintf("at step %d", h.Step)
	case point == Point(contract.Continuing):
		at = "while it continued as new"
	}
	done, total := l.proof.plan.made()
	l.proof.config.Progress(fmt.Sprintf("kill %d of %d: %s, worker process %d, %s %s", done, total, point, made.PID, r.agent.Name, at))
}

// note notes that a promise was broken while a run was under way.
func (l *runner) note(r *run, promise report.Promise, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.noted = append(r.noted, r.broken(promise, format, args...))
}

func (l *runner) standing(r *run) standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return r.root().standing()
}
