package kills

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/google/uuid"

	"everstep/activities/scripted"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/process"
)

// playPatience bounds one run of an agent, kills included.
const playPatience = 15 * time.Minute

// A played is what came of one run of an agent.
type played struct {
	begun   client.Execution
	results []client.Result
	// runs are the first runs of its workflows: one, unless it went on in another.
	runs     []string
	messages []domain.Entry
	steps    [][]domain.StepExecution // as events: of the executions, in order
	events   [][]domain.Event
	// told are the differences of what history tells from what executions have kept.
	told  []string
	hooks map[string]int // counts the effects of hooks that are activities, by key
}

// play runs an agent to its end and reads what it left. began and over are told.
func (p *chaos) play(ctx context.Context, agents *client.Client, t *trial, began, over func()) (played, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, playPatience, fmt.Errorf("it is not over after %s", playPatience))
	defer cancel()
	got, err := p.drive(ctx, agents, t, began)
	over()
	if err == nil {
		err = p.collect(ctx, agents, t, &got)
	}
	if err != nil && context.Cause(ctx) != nil {
		err = fmt.Errorf("%w (%w)", err, context.Cause(ctx))
	}
	return got, err
}

func (p *chaos) drive(ctx context.Context, agents *client.Client, t *trial, began func()) (played, error) {
	var got played
	for i := range t.agent.Executions {
		if err := p.begin(ctx, agents, t, i, &got); err != nil {
			return got, err
		}
		if i == 0 {
			began()
		}
		result, err := patiently(ctx, func() (client.Result, error) { return agents.Wait(ctx, t.id, i+1) })
		if err != nil {
			return got, err
		}
		got.results = append(got.results, result)
	}
	return got, nil
}

func (p *chaos) begin(ctx context.Context, agents *client.Client, t *trial, i int, got *played) (err error) {
	x := t.agent.Executions[i]
	budget := domain.Unlimited()
	if x.MaxSteps > 0 {
		budget = domain.ExecutionBudget{MaxSteps: &x.MaxSteps}
	}
	switch {
	case i == 0:
		got.begun, err = agents.Start(ctx, client.Start{ID: t.id, Prompt: x.Prompt, Definition: p.definition(t.agent), Budget: budget})
		got.runs = append(got.runs, got.begun.RunID)
	case x.GoesOn:
		var extended client.Extended
		options := client.ExtendOptions{Lift: []domain.Limit{domain.LimitSteps}, RequestID: uuid.NewString()}
		extended, err = patiently(ctx, func() (client.Extended, error) { return agents.Extend(ctx, t.id, options) })
		if err == nil && !extended.Began {
			err = fmt.Errorf("execution %d was extended and did not begin", i+1)
		}
		if !t.agent.session() {
			got.runs = append(got.runs, extended.RunID)
		}
	default:
		_, err = agents.Send(ctx, t.id, client.SendOptions{Prompt: x.Prompt, Budget: budget})
	}
	return err
}

// askAgain is between two questions that no worker answered.
const askAgain = 200 * time.Millisecond

// patiently asks again while no worker answers: one has just been killed.
func patiently[T any](ctx context.Context, ask func() (T, error)) (T, error) {
	for {
		got, err := ask()
		if !errors.Is(err, &client.Error{Class: client.Unreachable}) || process.Pause(ctx, askAgain) != nil {
			return got, err
		}
	}
}

// read reads a sequence to its end, anew where no worker answered.
func read[T any](ctx context.Context, from func() iter.Seq2[T, error]) ([]T, error) {
	return patiently(ctx, func() (all []T, err error) {
		for value, err := range from() {
			if err != nil {
				return nil, err
			}
			all = append(all, value)
		}
		return all, nil
	})
}

func (p *chaos) definition(a Agent) domain.Definition {
	d := a.Definition
	d.Approvals = domain.ApprovalsOf("allow")
	d.Model.Provider, d.Model.Model = scripted.Name, p.script(a)
	d.SystemPrompt, d.Tools = a.System, a.toolNames()
	return d
}

// collect reads transcript, steps, events and effects, and closes the session.
func (p *chaos) collect(ctx context.Context, agents *client.Client, t *trial, got *played) (err error) {
	id := t.id
	if got.messages, err = read(ctx, func() iter.Seq2[domain.Entry, error] { return agents.Messages(ctx, id) }); err != nil {
		return err
	}
	for i := range t.agent.Executions {
		steps, err := read(ctx, func() iter.Seq2[domain.StepExecution, error] { return agents.Steps(ctx, id, i+1) })
		if err != nil {
			return err
		}
		got.steps = append(got.steps, steps)
		events, err := read(ctx, func() iter.Seq2[domain.Event, error] {
			return agents.Events(ctx, id, client.EventsOptions{Number: i + 1})
		})
		if err != nil {
			return err
		}
		got.events = append(got.events, events)
		told, err := patiently(ctx, func() ([]string, error) { return agents.Audit(ctx, id, i+1) })
		if err != nil {
			return err
		}
		got.told = append(got.told, told...)
	}
	entered, err := effects(p.ledger, domain.WorkflowID(id))
	if got.hooks = entered.hooks; err != nil || !t.agent.session() {
		return err
	}
	_, err = agents.Close(ctx, id)
	return err
}
