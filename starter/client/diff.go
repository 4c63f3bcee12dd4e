package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// A Difference says where two executions part. A step that one has from its origin counts before its own, but where they are of
// one agent and have no step of an origin in common.
type Difference struct {
	A DiffSide `json:"a"`
	B DiffSide `json:"b"`
	// Shared counts the steps that both have from one origin: the very same.
	Shared int `json:"shared_steps"`
	// Equal counts the steps from the first on that do not differ, those that are shared included.
	Equal int `json:"equal_steps"`
	// Steps are those that differ, in order; the first is where they part. Empty: none does.
	Steps []StepDifference `json:"steps"`
	// Definitions are the changes of the definition between two executions of one agent, the oldest first, as far as they
	// are kept. Nil: there was none, or the executions are of two agents.
	Definitions []contract.Change `json:"definition_changes,omitempty"`
}

// A DiffSide is one of two executions that are compared.
type DiffSide struct {
	Execution
	// Steps counts its own, as far as they are complete, and Before those that it has from its origins, where these are compared.
	Steps  int `json:"step_count"`
	Before int `json:"steps_before"`
}

// A StepDifference says what is different in a step.
type StepDifference struct {
	// Step counts from 1, over the origins too.
	Step int `json:"step"`
	// A and B are where the step stands: absent where that side has none.
	A *StepPlace `json:"a"`
	B *StepPlace `json:"b"`
	// Differences are what is not the same, in the order in which it came to be. Empty: one side has no such step, or it
	// is one of an origin, which can no longer be read.
	Differences []FieldDifference `json:"differences"`
}

// A StepPlace is a step by its execution and its number there.
type StepPlace struct {
	ExecutionID domain.ExecutionID `json:"execution_id"`
	Number      int                `json:"number"`
}

// A FieldDifference is one thing that is not the same. The texts are of models and tools: clean them for a terminal.
type FieldDifference struct {
	// What it is: prompt, which is what people had said since the step before, model, text, call 1 and so on, result 1 and
	// so on, finish_reason, errors, usage.
	What string `json:"what"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// A lineStep is a step of an execution or of what it goes on from.
type lineStep struct {
	StepPlace
	// agent is whose it is.
	agent domain.AgentID
	// step is nil where it was not read.
	step *domain.AgentStep
	// prompt is what people have said since the step before; nil: not all of it is still there.
	prompt *string
}

// Diff compares two executions step by step, those of one agent or of two, such as a fork and its origin: what people and the
// model said, which calls it asked for, what came of them, and what that took. The points' steps bound what is compared. A
// step that is no longer kept is an error of class Gone.
func (c *Client) Diff(ctx context.Context, a, b Point) (Difference, error) {
	var d Difference
	lineA, sideA, err := c.line(ctx, a)
	if err != nil {
		return d, err
	}
	lineB, sideB, err := c.line(ctx, b)
	if err != nil {
		return d, err
	}
	lineA, lineB = ownAlone(lineA, lineB, &sideA, &sideB)
	d = Difference{A: sideA, B: sideB, Steps: []StepDifference{}}
	origins := originReader{client: c, ids: map[domain.AgentID]string{sideA.AgentID: sideA.ID, sideB.AgentID: sideB.ID}, read: map[domain.ExecutionID][]lineStep{}}
	for i := range max(len(lineA), len(lineB)) {
		one := StepDifference{Step: i + 1, Differences: []FieldDifference{}}
		if i < len(lineA) {
			one.A = &lineA[i].StepPlace
		}
		if i < len(lineB) {
			one.B = &lineB[i].StepPlace
		}
		differs := one.A == nil || one.B == nil
		switch {
		case differs:
		case *one.A == *one.B:
			if d.Shared == i {
				d.Shared++
			}
		default:
			stepA, stepB := origins.whole(ctx, lineA[i]), origins.whole(ctx, lineB[i])
			if differs = stepA.step == nil || stepB.step == nil; !differs {
				one.Differences = stepDifferences(stepA, stepB)
				differs = len(one.Differences) > 0
			}
		}
		if differs {
			d.Steps = append(d.Steps, one)
		} else if d.Equal == i {
			d.Equal++
		}
	}
	if sideA.ID == sideB.ID {
		if status, err := c.Status(ctx, sideA.ID); err == nil { // what is not told is left out: that the steps differ is told all the same
			d.Definitions = status.Configuration.ChangesBetween(min(sideA.Number, sideB.Number), max(sideA.Number, sideB.Number))
		}
	}
	return d, nil
}

// ownAlone leaves the steps of origins out where two executions of one agent share none: in the session each came after those
// of the other's, or was rewound past them.
func ownAlone(lineA, lineB []lineStep, a, b *DiffSide) (ownA, ownB []lineStep) {
	shares := len(lineA) > 0 && len(lineB) > 0 && lineA[0].StepPlace == lineB[0].StepPlace
	if a.AgentID != b.AgentID || shares {
		return lineA, lineB
	}
	lineA, lineB = lineA[a.Before:], lineB[b.Before:]
	a.Before, b.Before = 0, 0
	return lineA, lineB
}

// line reads an execution's steps, after those of its origins, of which only the places are known.
func (c *Client) line(ctx context.Context, at Point) ([]lineStep, DiffSide, error) {
	p, own, err := c.ownLine(ctx, at)
	if err != nil {
		return nil, DiffSide{}, err
	}
	before, err := originSteps(p.id, p.execution.Origin)
	x := p.begun(p.execution.Number, p.execution.ExecutionID, p.execution.RunID)
	return append(before, own...), DiffSide{Execution: x, Steps: p.origin.Step, Before: len(before)}, err
}

// ownLine reads an execution's own steps, each with its prompt.
func (c *Client) ownLine(ctx context.Context, at Point) (p pastPoint, line []lineStep, _ error) {
	p, err := c.stepsUntil(ctx, at, account.Messages)
	if err != nil {
		return p, nil, err
	}
	from := p.execution.MessagesFrom
	for i := range p.until {
		step := &p.until[i].Step
		if step.Number != i+1 {
			break
		}
		line = append(line, lineStep{StepPlace{p.execution.ExecutionID, i + 1}, p.id, step, promptIn(p.Messages, from, step.Input.Messages)})
		from = step.Input.Messages
	}
	if n := len(line); n < p.origin.Step {
		return p, nil, gone("step: step %d of execution %d of %s can no longer be read", n+1, p.execution.Number, at.ID)
	}
	return p, line, nil
}

// promptIn is what people have said in the messages from one up to another; nil where one of these is not there.
func promptIn(messages []domain.Entry, from, to int) *string {
	var said []string
	read := 0
	for _, e := range messages {
		if e.Index < from || e.Index >= to {
			continue
		}
		read++
		if e.Message.Role == domain.RoleUser && !e.Trace() {
			said = append(said, e.Message.Text())
		}
	}
	if read < to-from {
		return nil
	}
	return new(strings.Join(said, "\n"))
}

// An originReader reads the steps of origins, those of each execution once.
type originReader struct {
	client *Client
	// ids are those by which the agents that are compared were asked for: an origin has its agent's UUID alone.
	ids  map[domain.AgentID]string
	read map[domain.ExecutionID][]lineStep
}

// whole is a step with what is in it, where that can be read.
func (r originReader) whole(ctx context.Context, s lineStep) lineStep {
	if s.step != nil {
		return s
	}
	steps, known := r.read[s.ExecutionID]
	if !known {
		_, steps, _ = r.client.ownLine(ctx, Point{ID: cmp.Or(r.ids[s.agent], s.agent.String()), Execution: s.ExecutionID.String()})
		r.read[s.ExecutionID] = steps
	}
	if s.Number <= len(steps) {
		return steps[s.Number-1]
	}
	return s
}

// maxOriginSteps bounds the steps of origins that are compared: a file can say that there are any number.
const maxOriginSteps = 1_000_000

// originSteps are the places of all steps that an execution of an agent has from its origins, the oldest first.
func originSteps(agent domain.AgentID, origin *domain.Origin) (line []lineStep, _ error) {
	var origins []lineStep // the last step of each
	steps := 0
	for ; origin != nil; origin = origin.Origin {
		if err := origin.Check(); err != nil {
			return nil, errorf(Invalid, err, "origin.%s", err)
		}
		if steps += origin.Step; steps > maxOriginSteps {
			return nil, errorf(Failed, nil, "origin: the execution has more than %d steps from its origins, more than are compared; compare others", maxOriginSteps)
		}
		agent = cmp.Or(origin.AgentID, agent) // one that goes on from where another of the same agent has ended names none
		origins = append(origins, lineStep{StepPlace: StepPlace{origin.ExecutionID, origin.Step}, agent: agent})
	}
	for _, last := range slices.Backward(origins) {
		for n := range last.Number {
			line = append(line, lineStep{StepPlace: StepPlace{last.ExecutionID, n + 1}, agent: last.agent})
		}
	}
	return line, nil
}

func stepDifferences(lineA, lineB lineStep) []FieldDifference {
	a, b := lineA.step, lineB.step
	found := []FieldDifference{}
	differ := func(what, a, b string) {
		if a != b {
			found = append(found, FieldDifference{what, a, b})
		}
	}
	if lineA.prompt != nil && lineB.prompt != nil {
		differ("prompt", *lineA.prompt, *lineB.prompt)
	}
	differ("model", a.Model, b.Model)
	differ("text", a.Text(), b.Text())
	each := func(what string, a, b []string) {
		for i := range max(len(a), len(b)) {
			differ(fmt.Sprintf("%s %d", what, i+1), textAt(a, i), textAt(b, i))
		}
	}
	each("call", callTexts(a), callTexts(b))
	each("result", resultTexts(a), resultTexts(b))
	finishA, _ := a.FinishReason()
	finishB, _ := b.FinishReason()
	differ("finish_reason", string(finishA), string(finishB))
	differ("errors", errorText(a.Errors), errorText(b.Errors))
	differ("usage", usageOf(a.Usage), usageOf(b.Usage))
	return found
}

func textAt(texts []string, i int) string {
	if i >= len(texts) {
		return ""
	}
	return texts[i]
}

func callTexts(step *domain.AgentStep) (texts []string) {
	for _, call := range step.RequestedToolCalls() {
		texts = append(texts, call.Name+" "+call.Arguments)
	}
	return texts
}

func resultTexts(step *domain.AgentStep) (texts []string) {
	for _, call := range step.ToolExecutions {
		text := call.Value
		if err := call.Error; err != nil {
			text = fmt.Sprintf("error %s: %s", err.Code, err.Message)
		}
		texts = append(texts, text)
	}
	return texts
}

func errorText(all []domain.Error) string {
	text := ""
	for _, err := range all {
		text += fmt.Sprintf("%s: %s\n", strings.TrimSpace(string(err.Kind)+" "+string(err.Code)), err.Message)
	}
	return text
}

func usageOf(u domain.Usage) string {
	return fmt.Sprintf("%d tokens read, %d written", u.InputTokens, u.OutputTokens)
}
