package kills

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"everstep/domain"
	"everstep/domain/contract"
)

// A ChaosConfig says what is to be killed, and where.
type ChaosConfig struct {
	// Address is a server that answers, host and port. It must suggest to
	// continue as new after few events, or contract.Continuing is not reached.
	Address string
	// Namespace is the one to run in. Empty: default.
	Namespace string
	// Dir keeps the ledger, the workers' logs and what they store; it must exist.
	Dir string

	Kills int // how many SIGKILLs are made, evenly over Boundaries
	// Boundaries are where. Empty: all that one of the agents reaches.
	Boundaries []contract.Boundary
	// Lanes is how many agents run at a time, each with a worker of its own.
	// Zero: DefaultLanes.
	Lanes int
	Seed  uint64 // chooses which passes of a boundary are hit
	// Agents are those that run, again and again until all kills are made.
	// Empty: Scripted().
	Agents []Agent

	// Progress gets one line at a time. Nil is silent.
	Progress func(line string)
}

// DefaultLanes is how many agents run at a time.
const DefaultLanes = 2

func (c ChaosConfig) checked() (ChaosConfig, error) {
	if c.Kills < 1 {
		return c, domain.Errorf(domain.Invalid, "kills: is %d; give a number from 1 on", c.Kills)
	}
	if c.Lanes < 0 || c.Lanes > 64 {
		return c, domain.Errorf(domain.Invalid, "lanes: is %d; give a number from 1 to 64", c.Lanes)
	}
	c.Lanes, c.Namespace = cmp.Or(c.Lanes, DefaultLanes), cmp.Or(c.Namespace, "default")
	if len(c.Agents) == 0 {
		c.Agents = Scripted()
	}
	for _, a := range c.Agents {
		if err := a.check(); err != nil {
			return c, err
		}
	}
	if err := c.aimed(); err != nil {
		return c, err
	}
	if len(c.Boundaries) == 0 {
		c.Boundaries = Reached(c.Agents)
	}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	return c, nil
}

// Reached are the boundaries that one of several agents reaches.
func Reached(agents []Agent) []contract.Boundary {
	return slices.DeleteFunc(contract.Boundaries(), func(b contract.Boundary) bool {
		return !slices.ContainsFunc(agents, func(a Agent) bool { return a.reaches(b) })
	})
}

// aimed says which boundary there is none of, or that no agent reaches.
func (c ChaosConfig) aimed() error {
	reached := Reached(c.Agents)
	for _, b := range c.Boundaries {
		switch {
		case !slices.Contains(contract.Boundaries(), b):
			return domain.Errorf(domain.Invalid, "boundary: %q is none of %v", string(b), contract.Boundaries())
		case !slices.Contains(reached, b):
			return domain.Errorf(domain.Invalid, "boundary: none of the agents reaches %s; they reach %v", b, reached)
		}
	}
	return nil
}

// Chaos makes the kills and reports what they did. A broken promise is in the
// report; an error means that the proof itself could not be carried out, and
// what had been found until then is in the report all the same.
func Chaos(ctx context.Context, config ChaosConfig) (ChaosReport, error) {
	config, err := config.checked()
	if err != nil {
		return ChaosReport{}, err
	}
	began := time.Now()
	p, err := begin(ctx, config)
	if err != nil {
		return ChaosReport{}, err
	}
	defer p.close()
	err = p.run(ctx)
	return p.report(time.Since(began)), err
}

type chaos struct {
	stage
	config ChaosConfig
	pool   *pool
	tools  []Tool
	ledger string
	calm   *chaosLane // where agents run undisturbed
	uncalm chan error // why that lane can do no more

	mu        sync.Mutex
	turn      int
	baselines map[string]func() (played, error)
	trials    []verdict
	broken    []Broken
	status    StatusReport
}

// begin connects and makes the places that workers share.
func begin(ctx context.Context, config ChaosConfig) (*chaos, error) {
	p := &chaos{
		config: config, ledger: filepath.Join(config.Dir, "ledger.jsonl"), baselines: make(map[string]func() (played, error)), uncalm: make(chan error, 1),
		stage: newStage("chaos", config.Address, config.Namespace), pool: newPool(config.Kills, config.Boundaries, config.Seed),
	}
	err := p.prepare(ctx)
	if err != nil {
		p.close()
	}
	return p, err
}

func (p *chaos) prepare(ctx context.Context) (err error) {
	if p.tools, err = tools(p.config.Agents); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(p.config.Dir, "storage"), 0o700); err != nil {
		return fmt.Errorf("make the workers' storage: %w", err)
	}
	for _, a := range p.config.Agents {
		if err := os.WriteFile(p.script(a), a.Script, 0o600); err != nil {
			return fmt.Errorf("write the script of %s: %w", a.Name, err)
		}
	}
	if err := p.open(ctx); err != nil {
		return err
	}
	p.calm, err = p.openLane("undisturbed", func(err error) {
		select {
		case p.uncalm <- err:
		default: // one is enough
		}
	})
	return err
}

func (p *chaos) close() {
	if p.calm != nil {
		p.calm.close()
	}
	p.stage.close()
}

// run has all lanes work until every kill is made, or one of them fails, the undisturbed one too.
func (p *chaos) run(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	group, ctx := errgroup.WithContext(ctx)
	go func() {
		select {
		case err := <-p.uncalm:
			end(err)
		case <-ctx.Done():
		}
	}()
	for i := range p.config.Lanes {
		group.Go(func() error {
			ctx, fail := context.WithCancelCause(ctx)
			defer fail(nil)
			l, err := p.openLane(laneName(i), fail)
			if err != nil {
				return err
			}
			defer l.close()
			err = p.work(ctx, l)
			if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(cause, context.Canceled) {
				return cause
			}
			return err
		})
	}
	return group.Wait()
}

func (p *chaos) work(ctx context.Context, l *chaosLane) error {
	for b := l.take(); b != ""; b = l.take() {
		agent := p.next(b)
		base, err := p.baseline(ctx, agent)
		if err != nil {
			return fmt.Errorf("run %s undisturbed: %w", agent.Name, err)
		}
		if err := p.try(ctx, l, agent, base); err != nil {
			return fmt.Errorf("run %s: %w", agent.Name, err)
		}
	}
	return nil
}

// next is the agent whose turn it is, of those that reach a boundary.
func (p *chaos) next(b contract.Boundary) Agent {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		agent := p.config.Agents[p.turn%len(p.config.Agents)]
		p.turn++
		if agent.reaches(b) { // one does, or the boundary had been refused
			return agent
		}
	}
}

// baseline is what an agent does undisturbed. It is run when it is first asked for.
func (p *chaos) baseline(ctx context.Context, a Agent) (played, error) {
	p.mu.Lock()
	once := p.baselines[a.Name]
	if once == nil {
		once = sync.OnceValues(func() (played, error) {
			t := newTrial(a, p.newID(a))
			p.calm.begin(t)
			return p.play(ctx, p.calm.agents, t, func() {}, func() { p.calm.end(t) })
		})
		p.baselines[a.Name] = once
	}
	p.mu.Unlock()
	return once()
}

// try runs an agent under kills and judges it.
func (p *chaos) try(ctx context.Context, l *chaosLane, agent Agent, base played) error {
	t := newTrial(agent, p.newID(agent))
	l.begin(t)
	beside, cancel := context.WithCancel(ctx)
	defer cancel()
	var helpers sync.WaitGroup
	begun := make(chan struct{})
	helpers.Go(func() { (&statusWatch{run: p, lane: l, trial: t, base: base}).follow(beside, begun) })
	helpers.Go(func() { l.pauseWhenAsked(beside, t) })
	got, err := p.play(ctx, l.agents, t, func() { close(begun) }, func() {
		cancel()
		helpers.Wait()
		l.end(t)
	})
	if err != nil && ctx.Err() == nil {
		p.broke(PromiseGoesOn, t, "%s", err)
	}
	if err != nil {
		return err
	}
	v, err := p.judge(ctx, l, t, got, base)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trials = append(p.trials, v)
	return nil
}

func (p *chaos) newID(a Agent) string {
	if a.session() {
		return a.Name + "-" + uuid.NewString()[:8]
	}
	return uuid.NewString()
}

func (p *chaos) script(a Agent) string { return filepath.Join(p.config.Dir, a.Name+".script.json") }
