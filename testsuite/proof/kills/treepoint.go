package kills

import (
	"everstep/domain"
	"everstep/domain/contract"
)

// A TreePoint is where in the life of a tree of agents its worker is killed.
type TreePoint string

// The points, in the order of a tree's life.
const (
	PointChildStarts   TreePoint = "child_starts"   // the workflow of a sub-agent is at its first step
	PointAmongChildren TreePoint = "among_children" // several sub-agents of the parent's step are at work
	PointChildInfers   TreePoint = "child_infers"   // a part of a sub-agent's answer has arrived
	PointChildTool     TreePoint = "child_tool"     // a tool of a sub-agent has done its work and not yet reported
	PointBelowChild    TreePoint = "below_child"    // the same of a sub-agent of a sub-agent
	PointChildEnded    TreePoint = "child_ended"    // the server has just been told of a sub-agent's end
	PointParentGoesOn  TreePoint = "parent_goes_on" // all have ended, and the parent is at its next step
)

// TreePoints lists every point.
func TreePoints() []TreePoint {
	return []TreePoint{PointChildStarts, PointAmongChildren, PointChildInfers, PointChildTool, PointBelowChild, PointChildEnded, PointParentGoesOn}
}

// A kin is one agent of a tree, as its hits tell.
type kin struct {
	depth int
	// asked is its newest step with an inference.
	asked int
	// last says that its last answer is whole.
	last bool
}

// kinOf is the agent that a hit is of; nil: none of the tree.
func (t *treeTrial) kinOf(h hit) *kin {
	k := t.kin[h.WorkflowID]
	if k == nil || h.ExecutionID.IsZero() {
		return k
	}
	if k.depth < 2 && k.asked == 0 {
		for i := range 3 { // those that it may start
			id := domain.WorkflowID(h.ExecutionID.Step(1).Tool(i).Subagent().String())
			if t.kin[id] == nil {
				t.kin[id] = &kin{depth: k.depth + 1}
			}
		}
	}
	switch h.Boundary {
	case contract.BeforeRequest:
		k.asked = max(k.asked, h.Step)
	case contract.AfterRequest:
		k.last = h.Step == 2
	default:
	}
	return k
}

// at reports whether the tree is at the point with a hit. That a sub-agent has ended is told by the server.
func (t *treeTrial) at(h hit, k *kin) bool {
	switch t.point {
	case PointChildStarts:
		return k.depth == 1 && h.Boundary == contract.BetweenSteps && h.Step == 1
	case PointAmongChildren:
		working := 0
		for _, other := range t.kin {
			if other.depth == 1 && other.asked > 0 && !other.last {
				working++
			}
		}
		return k.depth == 1 && h.Boundary == contract.BeforeRequest && working > 1
	case PointChildInfers:
		return k.depth == 1 && h.Boundary == contract.InStream
	case PointChildTool:
		return k.depth == 1 && h.Boundary == contract.AfterEffect
	case PointBelowChild:
		return k.depth == 2 && h.Boundary == contract.AfterEffect
	case PointParentGoesOn:
		return k.depth == 0 && h.Boundary == contract.BetweenSteps && h.Step == 2
	case PointChildEnded:
	}
	return false
}

// The scripts of a tree: a root with two leaves and a branch, which has two leaves in turn. A leaf takes a note, which may
// be repeated, and pays, which may not.
func treeScripts() map[string][]byte {
	spawn := func(name, prompt string) scriptCall {
		return scriptCall{domain.SpawnSubagent, map[string]any{"subagent": name, "prompt": prompt}}
	}
	return map[string][]byte{
		"root": encodeTurns([]scriptTurn{
			turnOf("Three at once.", spawn("leaf", "one"), spawn("leaf", "two"), spawn("branch", "three")), turnOf("All is done."),
		}),
		"branch": encodeTurns([]scriptTurn{turnOf("Two more.", spawn("leaf", "four"), spawn("leaf", "five")), turnOf("Both have found it.")}),
		"leaf": encodeTurns([]scriptTurn{
			turnOf("Noting and paying.", noteOf("what was asked for", 60), scriptCall{payTool, map[string]any{"text": "bill", "millis": 90}}),
			turnOf("Found it."),
		}),
	}
}

// treeBudget is more than the tree needs: each agent of it is granted a share, and none may spend more.
func treeBudget() domain.ExecutionBudget {
	return domain.ExecutionBudget{
		MaxSteps: new(int64(200)), MaxTokens: new(int64(200_000)), MaxCostNanoUSD: new(int64(1_000_000_000)), MaxToolCalls: new(int64(200)),
	}
}
