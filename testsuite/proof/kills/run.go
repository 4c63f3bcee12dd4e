package kills

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/kill"
	"everstep/testsuite/proof/report"
)

// A run is one agent at work, with its sub-agents, as the runner sees it. The runner's lock guards it.
type run struct {
	agent   Agent
	id      string
	agentID domain.AgentID
	// agents are the agent's own, first, and its sub-agents', by workflow id.
	agents map[string]*seen
	kills  []*killed
	down   *killed  // the newest kill, until the agent has gone on
	aside  chan hit // delivers the hit at which somebody is to see aside when to kill
	// seatless says that the workers have no seat: the next one waits until the server misses the one that was killed.
	seatless bool
	// noted are promises that were broken before the run was over.
	noted []report.Broken
	// answers are those of askStatus, which alone knows them until the run is over.
	answers []statusAnswer
}

// A killed is one kill of the worker that had the run.
type killed struct {
	*kill.Kill
	point    Point
	inFlight []domain.ToolExecutionID // the tool calls that were surely under way
	hooks    []string                 // those whose effect was perhaps made and not reported
	extra    map[string]int           // counts the model requests that were made again because of it, by workflow id
}

func newRun(agent Agent) *run {
	id := uuid.NewString()
	if agent.session() {
		id = agent.Name + "-" + id[:8]
	}
	agentID, _ := domain.AgentIDOf(id) // an id that is none fails where it is started
	return &run{agent: agent, id: id, agentID: agentID, agents: map[string]*seen{domain.WorkflowID(id): newSeen(0)}, aside: make(chan hit, 1)}
}

func (r *run) broken(promise report.Promise, format string, args ...any) report.Broken {
	return report.Broken{Promise: promise, Agent: r.agent.Name, ID: r.id, Detail: fmt.Sprintf(format, args...)}
}

// root is what was seen of the agent itself.
func (r *run) root() *seen { return r.agents[domain.WorkflowID(r.id)] }

// of is what was seen of the agent that a hit is of; nil: it is none of the run's.
func (r *run) of(h hit) *seen {
	if !h.AgentID.IsZero() {
		if h.AgentID != r.agentID {
			return nil
		}
		h.WorkflowID = domain.WorkflowID(r.id)
	}
	s := r.agents[h.WorkflowID]
	if s != nil && !h.ExecutionID.IsZero() && s.number(h.ExecutionID) == 1 && len(r.agent.Subagents) > 0 {
		for i := range mostSubagents { // those that it may start
			id := domain.WorkflowID(h.ExecutionID.Step(1).Tool(i).Subagent().String())
			if r.agents[id] == nil {
				r.agents[id] = newSeen(s.depth + 1)
			}
		}
	}
	return s
}

// goesOn notes, and reports, whether the run goes on after a kill with this hit: a request, an effect, a hook or a check.
func (r *run) goesOn(h hit) bool {
	works := []contract.Boundary{contract.BeforeRequest, contract.BeforeEffect, contract.BeforeHook, contract.Checking}
	if r.down == nil || !slices.Contains(works, h.Boundary) {
		return false
	}
	r.down.GoesOn()
	r.down = nil
	return true
}

// released notes what the worker does once it has its answer. A request that was made before is the newest kill's; it reports
// false where there was none to account for it.
func (r *run) released(s *seen, h hit) bool {
	if !s.released(h) {
		if len(r.kills) == 0 {
			return false
		}
		r.kills[len(r.kills)-1].extra[h.WorkflowID]++
	}
	return true
}

// killed notes a kill at a hit.
func (r *run) killed(made *kill.Kill, point Point, s *seen, h hit) {
	k := &killed{Kill: made, point: point, extra: make(map[string]int)}
	if !h.Call.IsZero() {
		s.begun[h.Call] = true
	}
	if h.Boundary == contract.BeforeHook {
		s.hook = "" // another one begins when it has reported
	}
	for _, s := range r.agents {
		k.inFlight = slices.AppendSeq(k.inFlight, maps.Keys(s.begun))
		if s.hook != "" {
			k.hooks = append(k.hooks, s.hook)
		}
		clear(s.begun)
		s.hook = ""
	}
	r.kills, r.down = append(r.kills, k), k
}

// A seen is what the runner saw of one agent.
type seen struct {
	depth      int                  // zero: no other agent has started it
	executions []domain.ExecutionID // in the order in which they came up
	steps      map[stepKey]*stepSeen
	// begun are the tool calls that were let at their work and not yet past it.
	begun map[domain.ToolExecutionID]bool
	// hook is the newest one that was let at its effect, until the workflow is seen past it. An agent's hooks run one after
	// the other.
	hook string
}

// A stepKey names a step's own inference, or the summaries that are made in it.
type stepKey struct {
	execution domain.ExecutionID
	step      int
	summary   bool
}

// A stepSeen is what was seen of one step.
type stepSeen struct {
	requests int   // counts the model requests that were let go
	answers  int   // counts the whole answers that were let be reported
	ended    []int // the positions of calls that were let past their work
}

func newSeen(depth int) *seen {
	return &seen{depth: depth, steps: make(map[stepKey]*stepSeen), begun: make(map[domain.ToolExecutionID]bool)}
}

// number is the execution's, counted from 1 in the order in which they came up.
func (s *seen) number(id domain.ExecutionID) int {
	at := slices.Index(s.executions, id)
	if at < 0 {
		s.executions = append(s.executions, id)
		at = len(s.executions) - 1
	}
	return at + 1
}

func (s *seen) step(h hit) *stepSeen {
	key := stepKey{h.ExecutionID, h.Step, h.Summary}
	if s.steps[key] == nil {
		s.steps[key] = &stepSeen{}
	}
	return s.steps[key]
}

// boundary is where the hit really is: in a summary, or among calls of a step.
func (s *seen) boundary(h hit) contract.Boundary {
	another := func(position int) bool { return position != h.Position }
	switch {
	case h.Boundary == contract.InStream && h.Summary:
		return contract.InSummary
	case h.Boundary == contract.AfterEffect && slices.ContainsFunc(s.step(h).ended, another):
		return contract.AmongCalls
	}
	return h.Boundary
}

// released notes what the worker does next. It reports false where that is a request that was made before.
func (s *seen) released(h hit) bool {
	switch h.Boundary {
	case contract.BeforeRequest:
		s.hook = ""
		s.step(h).requests++
		return s.step(h).requests == 1
	case contract.AfterRequest:
		s.step(h).answers++
	case contract.BeforeEffect:
		s.begun[h.Call] = true
	case contract.AfterEffect:
		delete(s.begun, h.Call)
		s.step(h).ended = append(s.step(h).ended, h.Position)
	case contract.BeforeHook:
		s.hook = h.Hook
	case contract.BetweenSteps:
		s.hook = ""
	default:
	}
	return true
}

// A standing is how far an agent was seen to be.
type standing struct {
	execution, requested int // the newest one's number, and its newest step with an inference
}

func (s *seen) standing() standing {
	at := standing{execution: len(s.executions)}
	if at.execution == 0 {
		return at
	}
	newest := s.executions[at.execution-1]
	for key, step := range s.steps {
		if key.execution == newest && step.requests > 0 {
			at.requested = max(at.requested, key.step)
		}
	}
	return at
}
