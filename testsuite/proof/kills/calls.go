package kills

import (
	"fmt"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
)

// An expected is what must become of the calls of an agent of [Calls].
type expected struct {
	left
	// effects is how many there are to be by one key, where that is bounded.
	effects int
	bounded bool
	// unknown says that the first call is one of unknown outcome, so that none after it is run.
	unknown bool
	// voided says that the first call is found not to have taken effect.
	voided bool
}

// outcome is how one of the calls must have ended.
func (x expected) outcome(call int) domain.ToolOutcome {
	switch {
	case x.unknown && call == 0:
		return domain.ToolUnknown
	case x.unknown, x.voided && call == 0:
		return domain.ToolNotRun
	}
	return domain.ToolOK
}

// Calls are agents over whose first call workers are killed: one for each effect that a tool can have, and for a tool that may
// not be repeated and can find out what became of a call, at each of four points. Their models insist: they ask again where they are
// not told that the call was done.
func Calls() []Agent {
	const before = "before_effect"
	points := []struct {
		name string
		at   func(h hit) bool
	}{
		{"before_dispatch", func(h hit) bool { return h.Boundary == contract.AfterRequest }}, // the model has asked for the call, and nobody knows yet
		{before, func(h hit) bool { return h.Boundary == contract.BeforeEffect }},            // the call has come to the worker and done nothing
		{"in_effect", func(h hit) bool { return h.Boundary == "" }},                          // the other side has it, and the tool is at work
		{"after_effect", func(h hit) bool { return h.Boundary == contract.AfterEffect }},     // the tool is done, and the worker has not said so
	}
	var all []Agent
	for _, tool := range []Tool{
		{Name: "read_only", Effect: domain.ReadOnly}, {Name: "idempotent", Effect: domain.Idempotent},
		{Name: "keyed", Effect: domain.Keyed, Key: "order"}, {Name: "at_most_once", Effect: domain.AtMostOnce, Key: "order"},
		{Name: "verified", Effect: domain.AtMostOnce, Key: "order", Verified: true},
	} {
		for i, point := range points {
			x := &expected{
				effects: 1, bounded: tool.Key != "",
				unknown: tool.once() && i > 0, voided: tool.Verified && point.name == before,
			}
			if x.unknown && point.name == before {
				x.effects = 0
			}
			turns := insisting(tool, *x)
			x.agents = map[string]agentLeft{root: {results: []client.Result{{
				Outcome: contract.Outcome{Number: 1, Status: domain.StatusCompleted, StopReason: domain.Completed, Steps: len(turns)}, End: contract.End{Answer: lastWords},
			}}}}
			all = append(all, Agent{
				Name: tool.Name + "-" + point.name, Script: encodeTurns(turns), Tools: []Tool{tool}, expected: x,
				Definition: domain.Definition{Guards: domain.Guards{Repetition: &domain.Repetition{}}},
				Executions: []Execution{{Prompt: "Deal with order 7."}},
				points: []ownPoint{{
					Point(fmt.Sprintf("%s, %s", tool.Name, point.name)),
					func(_ *run, _ *seen, h hit) bool { return h.Step == 1 && point.at(h) },
				}},
			})
		}
	}
	return all
}

const lastWords = "So be it."

// insisting is what a model says that asks again where it is not told that the call was done.
func insisting(t Tool, x expected) []scriptTurn {
	call := func(note string) scriptCall { return scriptCall{t.Name, map[string]any{"order": 7, "note": note}} }
	turns := []scriptTurn{turnOf("Order 7.", call("first"))}
	switch {
	case x.voided: // it is told that it may
		turns = append(turns, turnOf("Again.", call("again")))
	case !x.bounded, t.Effect == domain.Keyed, x.unknown:
		turns = append(turns, turnOf("Again.", call("again")), turnOf("And again.", call("please"), call("now")))
	}
	return append(turns, turnOf(lastWords))
}
