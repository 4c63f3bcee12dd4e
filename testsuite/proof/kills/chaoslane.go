package kills

import (
	"fmt"
	"path/filepath"
	"time"

	"everstep/domain/contract"
	"everstep/starter/client"
)

// A chaosLane is a lane and the agents that run on it: one where workers are killed, any number where they are not.
type chaosLane struct {
	lane
	run    *chaos
	agents *client.Client

	// trials are the runs under way, by workflow id: one where the lane kills.
	trials map[string]*trial
	// aim is the kill to come; nil: the lane kills nothing.
	aim *aim
}

func (p *chaos) openLane(name string, fail func(error)) (*chaosLane, error) {
	l := &chaosLane{lane: lane{name: name, fail: fail}, run: p, agents: p.client(p.queue(name)), trials: make(map[string]*trial)}
	plan := p.plan(name)
	plan.Storage, plan.Ledger, plan.Tools = filepath.Join(p.config.Dir, "storage"), p.ledger, p.tools
	if err := l.open(p.sockets, p.config.Dir, plan, l.decide); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *chaosLane) begin(t *trial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trials[t.workflowID] = t
}

// end takes the agent away. An aim that it did not reach stays, within reason.
func (l *chaosLane) end(t *trial) {
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
func (l *chaosLane) take() contract.Boundary {
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
func (l *chaosLane) decide(h hit) (answer, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.trial(h)
	switch {
	case l.dead(h):
		return answer{}, false
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
			l.killAt(t, h, now)
			return answer{}, false
		}
	}
	if !t.released(h) {
		l.run.broke(PromiseRequests, t, "step %d of execution %d was asked of the model again without a kill", h.Step, t.number(h.ExecutionID))
	}
	return answer{}, true
}

// trial is the run that a hit is of, or nil.
func (l *chaosLane) trial(h hit) *trial {
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

// killAt kills the worker where it is and starts another at once.
func (l *chaosLane) killAt(t *trial, h hit, now time.Time) {
	aim := l.aim
	l.aim = nil
	t.killed(h, aim.boundary, now)
	pid := l.kill()
	at := "between steps"
	switch {
	case h.Step > 0:
		at = fmt.Sprintf("at step %d", h.Step)
	case aim.boundary == contract.Continuing:
		at = "while it continued as new"
	}
	done, total := l.run.pool.made()
	l.run.config.Progress(fmt.Sprintf("kill %d of %d: %s, worker process %d, %s %s", done, total, aim.boundary, pid, t.agent.Name, at))
}

func (l *chaosLane) seen(t *trial) standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return t.standing()
}
