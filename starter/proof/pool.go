package proof

import (
	"math/rand/v2"
	"slices"
	"sync"

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
