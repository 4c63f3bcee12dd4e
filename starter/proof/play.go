package proof

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"sync"
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
	// steps and events are the executions', in order.
	steps  [][]domain.StepExecution
	events [][]domain.Event
	// told are the differences between what history alone tells of the executions
	// and what they have kept.
	told []string
	// hooks counts the effects of hooks that are activities, by key.
	hooks map[string]int
}

// play runs an agent to its end and reads all that it left. It tells when the
// agent has begun, and when it is over and only read.
func (p *chaos) play(ctx context.Context, agents *client.Client, a Agent, id string, began, over func()) (played, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, playPatience, fmt.Errorf("it is not over after %s", playPatience))
	defer cancel()
	got, err := p.drive(ctx, agents, a, id, began)
	over()
	if err == nil {
		err = p.collect(ctx, agents, a, id, &got)
	}
	if err != nil && context.Cause(ctx) != nil {
		err = fmt.Errorf("%w (%w)", err, context.Cause(ctx))
	}
	return got, err
}

func (p *chaos) drive(ctx context.Context, agents *client.Client, a Agent, id string, began func()) (played, error) {
	var got played
	for i := range a.Executions {
		if err := p.begin(ctx, agents, a, id, i, &got); err != nil {
			return got, err
		}
		if i == 0 {
			began()
		}
		var result client.Result
		err := patiently(ctx, func() (err error) {
			result, err = agents.Wait(ctx, id, i+1)
			return err
		})
		if err != nil {
			return got, err
		}
		got.results = append(got.results, result)
	}
	return got, nil
}

// begin begins one of the agent's executions.
func (p *chaos) begin(ctx context.Context, agents *client.Client, a Agent, id string, i int, got *played) error {
	x := a.Executions[i]
	var budget domain.ExecutionBudget
	if x.MaxSteps > 0 {
		budget.MaxSteps = &x.MaxSteps
	}
	var err error
	switch {
	case i == 0:
		got.begun, err = agents.Start(ctx, client.Start{ID: id, Prompt: x.Prompt, Definition: p.definition(a), Budget: budget})
		got.runs = append(got.runs, got.begun.RunID)
	case x.GoesOn:
		var extended client.Extended
		options := client.ExtendOptions{Lift: []domain.Limit{domain.LimitSteps}, RequestID: uuid.NewString()}
		err = patiently(ctx, func() (err error) {
			extended, err = agents.Extend(ctx, id, options)
			return err
		})
		if err == nil && !extended.Began {
			err = fmt.Errorf("execution %d was extended and did not begin", i+1)
		}
		if !a.session() {
			got.runs = append(got.runs, extended.RunID)
		}
	default:
		_, err = agents.Send(ctx, id, client.SendOptions{Prompt: x.Prompt, Budget: budget})
	}
	return err
}

// patiently asks again for as long as no worker answers: one has just been
// killed, and on a busy machine the next takes its time.
func patiently(ctx context.Context, ask func() error) error {
	for {
		err := ask()
		if err == nil || !errors.Is(err, &client.Error{Class: client.Unreachable}) {
			return err
		}
		if process.Pause(ctx, askAgain) != nil {
			return err
		}
	}
}

// askAgain is between two questions that no worker answered.
const askAgain = 200 * time.Millisecond

// read reads a sequence to its end, anew where no worker answered.
func read[T any](ctx context.Context, from func() iter.Seq2[T, error]) (all []T, err error) {
	err = patiently(ctx, func() error {
		all = nil
		for value, err := range from() {
			if err != nil {
				return err
			}
			all = append(all, value)
		}
		return nil
	})
	return all, err
}

func (p *chaos) definition(a Agent) domain.Definition {
	d := a.Definition
	d.Model.Provider, d.Model.Model = scripted.Name, p.script(a)
	d.SystemPrompt, d.Tools = a.System, a.toolNames()
	return d
}

// collect reads transcript, steps, events and effects, and closes the session.
func (p *chaos) collect(ctx context.Context, agents *client.Client, a Agent, id string, got *played) error {
	var err error
	if got.messages, err = read(ctx, func() iter.Seq2[domain.Entry, error] { return agents.Messages(ctx, id) }); err != nil {
		return err
	}
	for i := range a.Executions {
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
		var told []string
		if err := patiently(ctx, func() (err error) {
			told, err = agents.Audit(ctx, id, i+1)
			return err
		}); err != nil {
			return err
		}
		got.told = append(got.told, told...)
	}
	entered, err := effects(p.ledger, domain.WorkflowID(id))
	if got.hooks = entered.hooks; err != nil || !a.session() {
		return err
	}
	_, err = agents.Close(ctx, id)
	return err
}

// A baseline is what an agent does when nobody disturbs it.
type baseline struct {
	once sync.Once
	played
	err error
}

// baselines runs each agent undisturbed, once, when it is first asked for.
type baselines struct {
	run *chaos

	mu    sync.Mutex
	lane  *lane
	known map[string]*baseline
}

func (b *baselines) of(ctx context.Context, a Agent) (*baseline, error) {
	b.mu.Lock()
	if b.known[a.Name] == nil {
		b.known[a.Name] = &baseline{}
	}
	base := b.known[a.Name]
	var err error
	if b.lane == nil {
		b.lane, err = b.run.openLane("undisturbed")
	}
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	base.once.Do(func() {
		t := newTrial(a, b.run.newID(a))
		b.lane.begin(t)
		base.played, base.err = b.run.play(ctx, b.lane.agents, a, t.id, func() {}, func() { b.lane.end(t) })
	})
	return base, base.err
}

func (b *baselines) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lane != nil {
		b.lane.close()
	}
}

// newID is the id for another run of an agent.
func (p *chaos) newID(a Agent) string {
	if a.session() {
		return a.Name + "-" + uuid.NewString()[:8]
	}
	return uuid.NewString()
}

// script is the file that a model plays.
func (p *chaos) script(a Agent) string { return filepath.Join(p.dir, a.Name+".script.json") }
