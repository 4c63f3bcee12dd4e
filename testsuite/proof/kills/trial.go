package kills

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// A pool hands out the kills that are to be made.
type pool struct {
	mu    sync.Mutex
	rand  *rand.Rand
	order []contract.Boundary
	left  map[contract.Boundary]int
	total int
	done  int
	lost  map[contract.Boundary]int // kills at boundaries that no agent reached
}

// An aim is a kill to come.
type aim struct {
	boundary contract.Boundary
	skip     int // how many times the agents may still pass the boundary
	missed   int // counts the agents that ended without reaching it
}

// newPool spreads kills evenly over boundaries.
func newPool(kills int, boundaries []contract.Boundary, seed uint64) *pool {
	p := &pool{
		rand: rand.New(rand.NewPCG(seed, 0)), order: boundaries, total: kills, //nolint:gosec // a seed is to give the same kills
		left: make(map[contract.Boundary]int), lost: make(map[contract.Boundary]int),
	}
	for i := range kills {
		p.left[boundaries[i%len(boundaries)]]++
	}
	return p
}

// next takes a kill at a boundary that can be reached, or nil where none is left.
func (p *pool) next(reaches func(contract.Boundary) bool) *aim {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []contract.Boundary
	for _, b := range p.order {
		if reaches(b) {
			all = append(all, slices.Repeat([]contract.Boundary{b}, p.left[b])...)
		}
	}
	if len(all) == 0 {
		return nil
	}
	b := all[p.rand.IntN(len(all))]
	p.left[b]--
	return &aim{boundary: b, skip: p.skip(b)}
}

// skip is how many passes to let by: at least one in every step, so that the call
// that was just killed gets to its end.
func (p *pool) skip(b contract.Boundary) int {
	switch b {
	case contract.GoingOn:
		return 0
	case contract.Continuing, contract.AmongCalls, contract.InSummary, contract.Checking:
		return p.rand.IntN(2)
	case contract.BeforeHook, contract.AfterHook:
		return 1 + p.rand.IntN(12)
	default:
		return 1 + p.rand.IntN(4)
	}
}

// made counts a kill, and says how many there are and will be.
func (p *pool) made() (done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	return p.done, p.total
}

// unreachable gives up on a boundary, a kill that was taken for it included.
func (p *pool) unreachable(b contract.Boundary) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost[b] += p.left[b] + 1
	p.total -= p.left[b] + 1
	p.left[b] = 0
}

// at reports whether it aims here. An agent is paused while it asks its model.
func (a *aim) at(b contract.Boundary) bool {
	if a.boundary == contract.Paused {
		return b == contract.BeforeRequest
	}
	return a.boundary == b
}

// A trial is one run of an agent as the controller saw it. The lane's lock guards it.
type trial struct {
	agent      Agent
	id         string
	agentID    domain.AgentID
	workflowID string

	executions []domain.ExecutionID // the agent's, in the order in which they came up
	steps      map[stepKey]*stepSeen
	// begun are the tool calls that were let at their work and not yet past it.
	begun map[domain.ToolExecutionID]bool
	// hook is the newest one that was let at its effect, until the workflow is
	// seen past it. An agent's hooks run one after the other.
	hook    string
	kills   []*kill
	toPause chan hit // delivers the hit at which the agent is to be paused
	down    *kill    // the newest kill, until the agent has gone on
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
	ended    []int // the positions of calls that were let past their work
}

// A kill is one SIGKILL of the worker that had the agent.
type kill struct {
	boundary contract.Boundary
	pid      int
	at       time.Time
	inFlight []domain.ToolExecutionID // the tool calls that were surely under way
	// hook is the one whose effect was perhaps made and not reported.
	hook string
	// wentOn is the time to the next request, effect or check; zero: none came.
	wentOn time.Duration
	extra  int // counts the model requests that were made again because of it
}

func newTrial(agent Agent, id string) *trial {
	agentID, _ := domain.AgentIDOf(id) // an id that is none fails where it is started
	return &trial{
		agent: agent, id: id, agentID: agentID, workflowID: domain.WorkflowID(id),
		steps: make(map[stepKey]*stepSeen), begun: make(map[domain.ToolExecutionID]bool), toPause: make(chan hit, 1),
	}
}

// number is the execution's, counted from 1 in the order in which they came up.
func (t *trial) number(id domain.ExecutionID) int {
	at := slices.Index(t.executions, id)
	if at < 0 {
		t.executions = append(t.executions, id)
		at = len(t.executions) - 1
	}
	return at + 1
}

func (t *trial) step(h hit) *stepSeen {
	key := stepKey{h.ExecutionID, h.Step, h.Summary}
	if t.steps[key] == nil {
		t.steps[key] = &stepSeen{}
	}
	return t.steps[key]
}

// boundary is where the hit really is: in a summary, or among calls of a step.
func (t *trial) boundary(h hit) contract.Boundary {
	another := func(position int) bool { return position != h.Position }
	switch {
	case h.Boundary == contract.InStream && h.Summary:
		return contract.InSummary
	case h.Boundary == contract.AfterEffect && slices.ContainsFunc(t.step(h).ended, another):
		return contract.AmongCalls
	}
	return h.Boundary
}

// reached notes, and reports, whether the agent goes on with this hit.
func (t *trial) reached(h hit, now time.Time) bool {
	if !h.ExecutionID.IsZero() {
		t.number(h.ExecutionID)
	}
	works := []contract.Boundary{contract.BeforeRequest, contract.BeforeEffect, contract.BeforeHook, contract.Checking}
	if t.down == nil || !slices.Contains(works, h.Boundary) {
		return false
	}
	t.down.wentOn = now.Sub(t.down.at)
	t.down = nil
	return true
}

// released notes what the worker does once it has its answer. A repeated request is
// the newest kill's; it reports false where there was none to account for it.
func (t *trial) released(h hit) bool {
	switch h.Boundary {
	case contract.BeforeRequest:
		t.hook = ""
		seen := t.step(h)
		if seen.requests++; seen.requests > 1 {
			if len(t.kills) == 0 {
				return false
			}
			t.kills[len(t.kills)-1].extra++
		}
	case contract.BeforeEffect:
		t.begun[h.Call] = true
	case contract.AfterEffect:
		delete(t.begun, h.Call)
		t.step(h).ended = append(t.step(h).ended, h.Position)
	case contract.BeforeHook:
		t.hook = h.Hook
	case contract.BetweenSteps:
		t.hook = ""
	default:
	}
	return true
}

func (t *trial) killed(h hit, boundary contract.Boundary, now time.Time) {
	k := &kill{boundary: boundary, pid: h.PID, at: now}
	if !h.Call.IsZero() {
		t.begun[h.Call] = true
	}
	k.inFlight = slices.Collect(maps.Keys(t.begun))
	clear(t.begun)
	if h.Boundary != contract.BeforeHook {
		k.hook = t.hook // another one begins when it has reported
	}
	t.hook = ""
	t.kills, t.down = append(t.kills, k), k
}

// A standing is how far the trial was seen to be.
type standing struct {
	execution, requested int // the newest one's number, and its newest step with an inference
}

func (t *trial) standing() standing {
	p := standing{execution: len(t.executions)}
	if p.execution == 0 {
		return p
	}
	newest := t.executions[p.execution-1]
	for key, seen := range t.steps {
		if key.execution == newest && seen.requests > 0 {
			p.requested = max(p.requested, key.step)
		}
	}
	return p
}
