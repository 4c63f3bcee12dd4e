package kills

import (
	"everstep/domain"
	"everstep/domain/contract"
)

// pointChildEnded is when the server has just been told of a sub-agent's end.
const pointChildEnded Point = "child_ended"

// mostSubagents is how many sub-agents an agent of the tree starts at most.
const mostSubagents = 3

// Trees are trees of agents over which workers are killed: a root with two leaves and a branch, which has two leaves in turn. A
// leaf takes a note, which may be repeated, and pays, which may not.
func Trees() []Agent {
	spawn := func(name, prompt string) scriptCall {
		return scriptCall{domain.SpawnSubagent, map[string]any{"subagent": name, "prompt": prompt}}
	}
	model := domain.LLMConfig{MaxOutputTokens: 500, Price: &domain.Price{Input: 1_000_000_000, Output: 4_000_000_000}}
	leaf := map[string]domain.Subagent{"leaf": {Agent: "leaf"}}
	return []Agent{{
		Name: "tree", Tools: payTools(),
		Script: encodeTurns([]scriptTurn{
			turnOf("Three at once.", spawn("leaf", "one"), spawn("leaf", "two"), spawn("branch", "three")), turnOf("All is done."),
		}),
		Subagents: map[string][]byte{
			"branch": encodeTurns([]scriptTurn{turnOf("Two more.", spawn("leaf", "four"), spawn("leaf", "five")), turnOf("Both have found it.")}),
			"leaf": encodeTurns([]scriptTurn{
				turnOf("Noting and paying.", noteOf("what was asked for", 60), scriptCall{payTool, map[string]any{"text": "bill", "millis": 90}}),
				turnOf("Found it."),
			}),
		},
		Definition: domain.Definition{
			Model: model, Tools: []string{noteTool}, Subagents: map[string]domain.Subagent{"leaf": leaf["leaf"], "branch": {Agent: "branch"}},
			Agents: map[string]domain.Definition{
				"branch": {Model: model, Tools: []string{noteTool}, Subagents: leaf},
				"leaf":   {Model: model, Tools: []string{noteTool, payTool}},
			},
		},
		// More than the tree needs: each agent of it is granted a share, and none may spend more.
		Executions: []Execution{{Prompt: "Have it looked up.", Budget: domain.ExecutionBudget{
			MaxSteps: new(int64(200)), MaxTokens: new(int64(200_000)), MaxCostNanoUSD: new(int64(1_000_000_000)), MaxToolCalls: new(int64(200)),
		}}},
		points: treePoints(),
	}}
}

// treePoints are the points in the order of a tree's life.
func treePoints() []ownPoint {
	in := func(depth int, boundary contract.Boundary) func(*run, *seen, hit) bool {
		return func(_ *run, s *seen, h hit) bool { return s.depth == depth && h.Boundary == boundary }
	}
	before := func(depth, step int) func(*run, *seen, hit) bool {
		return func(_ *run, s *seen, h hit) bool {
			return s.depth == depth && h.Boundary == contract.BetweenSteps && h.Step == step
		}
	}
	return []ownPoint{
		{"child_starts", before(1, 1)},               // the workflow of a sub-agent is at its first step
		{"among_children", amongChildren},            // several sub-agents of the parent's step are at work
		{"child_infers", in(1, contract.InStream)},   // a part of a sub-agent's answer has arrived
		{"child_tool", in(1, contract.AfterEffect)},  // a tool of a sub-agent has done its work and not yet reported
		{"below_child", in(2, contract.AfterEffect)}, // the same of a sub-agent of a sub-agent
		{pointChildEnded, func(r *run, s *seen, h hit) bool {
			return s.depth == 1 && h.Boundary == contract.AfterRequest && h.Step == 2
		}}, // its last answer is whole; see killEnded
		{"parent_goes_on", before(0, 2)}, // all have ended, and the parent is at its next step
	}
}

// amongChildren reports whether a sub-agent is about to ask its model while another one is at work.
func amongChildren(r *run, s *seen, h hit) bool {
	working := func(other *seen) bool {
		for key, step := range other.steps {
			if key.step == 2 && step.answers > 0 {
				return false // its last answer is whole
			}
		}
		return other.standing().requested > 0
	}
	if s.depth != 1 || h.Boundary != contract.BeforeRequest {
		return false
	}
	for _, other := range r.agents {
		if other != s && other.depth == 1 && working(other) {
			return true
		}
	}
	return false
}
