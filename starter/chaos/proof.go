package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/google/uuid"
	sdk "go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"everstep/domain"
	"everstep/worker/host"
)

// A proof is one call of Run.
type proof struct {
	config   Config
	temporal sdk.Client
	pool     *pool
	tools    []Tool
	patience int
	// prefix makes task queues and agents of this proof unlike those of others.
	prefix  string
	dir     string
	sockets string
	ledger  string

	baselines *baselines

	mu     sync.Mutex
	turn   int
	trials []verdict
	broken []Broken
	polls  polls
}

// begin connects and makes the places that workers share.
func begin(ctx context.Context, config Config) (*proof, error) {
	p := &proof{
		config: config, dir: config.Dir, ledger: filepath.Join(config.Dir, "ledger.jsonl"), patience: config.Patience,
		prefix: "chaos-" + uuid.NewString()[:8], pool: newPool(config.Kills, config.Boundaries, config.Seed),
	}
	p.baselines = &baselines{proof: p, known: make(map[string]*baseline)}
	var err error
	if p.tools, err = tools(config.Agents); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(p.dir, "storage"), 0o700); err != nil {
		return nil, fmt.Errorf("make the workers' storage: %w", err)
	}
	for _, a := range config.Agents {
		if err := os.WriteFile(p.script(a), a.Script, 0o600); err != nil {
			return nil, fmt.Errorf("write the script of %s: %w", a.Name, err)
		}
	}
	// A socket's path must be short.
	if p.sockets, err = os.MkdirTemp("", "chaos-"); err != nil {
		return nil, fmt.Errorf("make a folder for sockets: %w", err)
	}
	if p.temporal, err = host.Dial(ctx, host.Connection{Address: config.Address, Namespace: config.Namespace}); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// script is the file that a model plays.
func (p *proof) script(a Agent) string { return filepath.Join(p.dir, a.Name+".script.json") }

func (p *proof) close() {
	p.baselines.close()
	if p.temporal != nil {
		p.temporal.Close()
	}
	_ = os.RemoveAll(p.sockets) // nobody listens there any more
}

// run has all lanes work until every kill is made, or one of them fails.
func (p *proof) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for i := range p.config.Lanes {
		group.Go(func() error {
			l, err := p.openLane(fmt.Sprintf("lane%d", i+1))
			if err != nil {
				return err
			}
			defer l.close()
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			go func() {
				select {
				case err := <-l.broken:
					cancel(err)
				case <-ctx.Done():
				}
			}()
			err = p.work(ctx, l)
			if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(cause, context.Canceled) {
				return cause
			}
			return err
		})
	}
	return group.Wait()
}

// work runs one agent after another on a lane while there are kills to make.
func (p *proof) work(ctx context.Context, l *lane) error {
	for l.take() {
		agent := p.next(l.wants())
		base, err := p.baselines.of(ctx, agent)
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
func (p *proof) next(b domain.Boundary) Agent {
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

// newID is the id for another run of an agent.
func (p *proof) newID(a Agent) string {
	if a.session() {
		return a.Name + "-" + uuid.NewString()[:8]
	}
	return uuid.NewString()
}

// try runs an agent under kills and judges it.
func (p *proof) try(ctx context.Context, l *lane, agent Agent, base *baseline) error {
	t := newTrial(agent, p.newID(agent))
	l.begin(t)
	watch, pauses := p.watchStatus(ctx, l, t, base), l.pauses(ctx, t)
	got, err := p.play(ctx, l.agents, t.agent, t.id, watch.begin, func() {
		pauses.stop()
		watch.stop()
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

// broke notes that a promise was broken.
func (p *proof) broke(promise Promise, t *trial, format string, args ...any) {
	b := Broken{Promise: promise, Agent: t.agent.Name, ID: t.id, Detail: fmt.Sprintf(format, args...)}
	p.mu.Lock()
	p.broken = append(p.broken, b)
	p.mu.Unlock()
	p.config.Progress("BROKEN " + b.String())
}

// A killed is a kill as it is told.
type killed struct {
	done, total     int
	boundary        domain.Boundary
	pid             int
	agent           string
	execution, step int
}

func (p *proof) tell(k killed) {
	at := "between steps"
	switch {
	case k.step > 0:
		at = fmt.Sprintf("at step %d", k.step)
	case k.boundary == domain.Continuing:
		at = "while it continued as new"
	}
	p.config.Progress(fmt.Sprintf("kill %d of %d: %s, worker process %d, %s %s", k.done, k.total, k.boundary, k.pid, k.agent, at))
}
