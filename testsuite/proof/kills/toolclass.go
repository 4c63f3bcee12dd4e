package kills

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
)

// A ToolClass is one of the tools over whose calls workers are killed: what a second run of a call would do, and
// whether the tool can find out what became of one.
type ToolClass string

// The classes are the tools' names.
const (
	ClassReadOnly   ToolClass = "read_only"
	ClassIdempotent ToolClass = "idempotent"
	ClassKeyed      ToolClass = "keyed"
	ClassOnce       ToolClass = "at_most_once"
	ClassVerified   ToolClass = "verified" // at-most-once, with a Verify
)

// ToolClasses lists every class.
func ToolClasses() []ToolClass {
	return []ToolClass{ClassReadOnly, ClassIdempotent, ClassKeyed, ClassOnce, ClassVerified}
}

func (c ToolClass) effect() domain.Effect {
	switch c {
	case ClassReadOnly:
		return domain.ReadOnly
	case ClassIdempotent:
		return domain.Idempotent
	case ClassKeyed:
		return domain.Keyed
	case ClassOnce, ClassVerified:
	}
	return domain.AtMostOnce
}

// bounded reports whether there may be one effect at the most, however often it is asked for.
func (c ToolClass) bounded() bool { return c == ClassKeyed || c == ClassOnce || c == ClassVerified }

// A ToolPoint is where in the life of a call its worker is killed.
type ToolPoint string

// The points, in the order of a call's life.
const (
	PointBeforeDispatch ToolPoint = "before_dispatch" // the model has asked for the call, and nobody knows yet
	PointBeforeEffect   ToolPoint = "before_effect"   // the call has come to the worker and done nothing
	PointInEffect       ToolPoint = "in_effect"       // the other side has it, and the tool is at work
	PointAfterEffect    ToolPoint = "after_effect"    // the tool is done, and the worker has not said so
)

// ToolPoints lists every point.
func ToolPoints() []ToolPoint {
	return []ToolPoint{PointBeforeDispatch, PointBeforeEffect, PointInEffect, PointAfterEffect}
}

// reached reports whether the first call of an agent is at the point with a hit.
func (p ToolPoint) reached(h hit) bool {
	switch p {
	case PointBeforeDispatch:
		return h.Step == 1 && h.Boundary == contract.AfterRequest
	case PointBeforeEffect:
		return h.Step == 1 && h.Boundary == contract.BeforeEffect
	case PointInEffect:
		return h.Step == 1 && h.Working
	case PointAfterEffect:
		return h.Step == 1 && h.Boundary == contract.AfterEffect
	}
	return false
}

// classTools are the tools of the classes. Each agent has a ledger of its own, which stands for the other side.
func (p plan) classTools() []tool.Tool {
	var all []tool.Tool
	for _, c := range ToolClasses() {
		options := []tool.Option{}
		if c.bounded() {
			options = append(options, tool.EffectKey("order"))
		}
		if c == ClassVerified {
			options = append(options, tool.Verify(func(ctx context.Context, _ json.RawMessage) (tool.Finding, error) { return p.verify(ctx) }))
		}
		all = append(all, tool.FromSpec(domain.ToolSpec{
			Name: string(c), Description: "Writes a line into the ledger.", Effect: c.effect(),
			Schema: json.RawMessage(`{"type":"object","properties":{"order":{"type":"integer"},"note":{"type":"string"}}}`),
		}, func(ctx context.Context, _ json.RawMessage) (tool.Result, error) { return p.act(ctx, c) }, options...))
	}
	return all
}

// act makes the effect, unless the call was made void, and says that it is at work.
func (p plan) act(ctx context.Context, c ToolClass) (tool.Result, error) {
	call, ok := tool.ExecutionOf(ctx)
	if !ok {
		return tool.Result{}, errors.New("the call does not know its execution")
	}
	lines, err := readLedger(p.ledgerOf(call.AgentID))
	for _, line := range lines {
		if line.Void && line.Call == call.ID {
			err = errors.New("the call is void")
		}
	}
	if err == nil {
		err = enter(p.ledgerOf(call.AgentID), effect{Tool: string(c), Call: call.ID, Key: call.Key, Step: call.Step, Position: call.Position, Attempt: call.Attempt})
	}
	if err != nil {
		return tool.Result{}, err
	}
	h := placed(ctx)
	h.Working = true
	p.ask(h)
	return tool.Result{Content: receipt}, nil
}

// receipt is what every tool answers.
const receipt = "it is in the ledger"

// verify looks into the ledger, and makes void what is not there.
func (p plan) verify(ctx context.Context) (tool.Finding, error) {
	call, _ := tool.ExecutionOf(ctx)
	lines, err := readLedger(p.ledgerOf(call.AgentID))
	if err != nil {
		return tool.Finding{}, err
	}
	for _, line := range lines {
		if !line.Void && line.Call == call.ID {
			return tool.Happened(receipt, "the ledger has it"), nil
		}
	}
	if err := enter(p.ledgerOf(call.AgentID), effect{Tool: string(ClassVerified), Call: call.ID, Void: true}); err != nil {
		return tool.Finding{}, err
	}
	return tool.Fenced("the ledger takes it no more"), nil
}

func (p plan) ledgerOf(id domain.AgentID) string { return ledgerOf(p.Ledger, id) }

func ledgerOf(dir string, id domain.AgentID) string { return filepath.Join(dir, id.String()+".jsonl") }

// readLedger returns the lines of one; there is none before the first effect.
func readLedger(path string) ([]effect, error) {
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	var all []effect
	for line := range bytes.Lines(data) {
		var e effect
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		all = append(all, e)
	}
	return all, nil
}
