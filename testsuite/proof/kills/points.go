package kills

import (
	"math/rand/v2"
	"slices"
	"sync"

	"everstep/domain/contract"
	"everstep/domain/enum"
)

// A Point is where in the work of an agent its worker is killed: a contract.Boundary, or a point of an agent of [Calls] or
// [Trees].
type Point string

// An ownPoint is one at which the worker of an agent is killed once a run. at reports whether the agent is there with a hit
// of its own, or of a sub-agent that has been seen so far.
type ownPoint struct {
	Point
	at func(r *run, s *seen, h hit) bool
}

// once reports whether the worker of an agent is killed once a run.
func (a Agent) once() bool { return len(a.points) > 0 }

// reaches reports whether an agent comes to a point.
func (a Agent) reaches(p Point) bool {
	if a.once() {
		return slices.ContainsFunc(a.points, func(own ownPoint) bool { return own.Point == p })
	}
	switch contract.Boundary(p) {
	case contract.InSummary:
		return a.Definition.Model.ContextWindow > 0
	case contract.BeforeHook, contract.AfterHook:
		return a.watched()
	case contract.Checking:
		return a.formatted() && a.uses(SteerHook)
	case contract.GoingOn:
		return a.goesOn() && a.uses(SteerHook)
	case contract.Paused:
		return len(a.Definition.Hooks) > 0
	default:
		return slices.Contains(enum.Known[contract.Boundary](), contract.Boundary(p))
	}
}

// A killPoint is a kill to come.
type killPoint struct {
	Point
	skip   int // how many times the agents may still pass the point
	missed int // counts the agents that ended without reaching it
}

// at reports whether a run is at the point with a hit of one of its agents.
func (k *killPoint) at(r *run, s *seen, h hit) bool {
	for _, own := range r.agent.points {
		if own.Point == k.Point {
			return own.at(r, s, h)
		}
	}
	boundary := s.boundary(h)
	if k.Point == Point(contract.Paused) {
		return boundary == contract.BeforeRequest // an agent is paused while it asks its model
	}
	return h.Boundary != "" && k.Point == Point(boundary)
}

// aside reports whether more than a hit tells when to kill; see killAside.
func (k *killPoint) aside() bool {
	return k.Point == Point(contract.Paused) || k.Point == pointChildEnded
}

// A killPlan hands out the kills that are to be made.
type killPlan struct {
	mu    sync.Mutex
	rand  *rand.Rand
	order []Point
	left  map[Point]int
	total int
	done  int
	lost  map[Point]int // kills at points that no agent reached
}

// newPlan spreads kills evenly over points.
func newPlan(kills int, points []Point, seed uint64) *killPlan {
	p := &killPlan{
		rand: rand.New(rand.NewPCG(seed, 0)), order: points, total: kills, //nolint:gosec // a seed is to give the same kills
		left: make(map[Point]int), lost: make(map[Point]int),
	}
	for i := range kills {
		p.left[points[i%len(points)]]++
	}
	return p
}

// next takes a kill at a point that can be reached, or nil where none is left.
func (p *killPlan) next(reaches func(Point) bool) *killPoint {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []Point
	for _, point := range p.order {
		if reaches(point) {
			all = append(all, slices.Repeat([]Point{point}, p.left[point])...)
		}
	}
	if len(all) == 0 {
		return nil
	}
	point := all[p.rand.IntN(len(all))]
	p.left[point]--
	return &killPoint{Point: point, skip: p.skip(contract.Boundary(point))}
}

// skip is how many passes of a boundary to let by: at least one in every step, so that the call that was just killed gets to its
// end. No other point is passed twice in a run.
func (p *killPlan) skip(b contract.Boundary) int {
	switch b {
	case contract.Continuing, contract.AmongCalls, contract.InSummary, contract.Checking:
		return p.rand.IntN(2)
	case contract.BeforeHook, contract.AfterHook:
		return 1 + p.rand.IntN(12)
	case contract.BeforeRequest, contract.InStream, contract.AfterRequest, contract.BeforeEffect, contract.AfterEffect,
		contract.BetweenSteps, contract.Paused:
		return 1 + p.rand.IntN(4)
	case contract.GoingOn:
	}
	return 0
}

// made counts a kill, and says how many there are and will be.
func (p *killPlan) made() (done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	return p.done, p.total
}

// unreachable gives up on a point, a kill that was taken for it included.
func (p *killPlan) unreachable(point Point) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost[point] += p.left[point] + 1
	p.total -= p.left[point] + 1
	p.left[point] = 0
}
