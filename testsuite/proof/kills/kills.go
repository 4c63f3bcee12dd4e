package kills

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	sdk "go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/testsuite/proof/report"
	"everstep/worker/host"
)

// A Config says what is to be killed, and where.
type Config struct {
	// Address is a server that answers, host and port. It must suggest to continue as new after few events, or
	// contract.Continuing is not reached.
	Address string
	// Namespace is the one to run in. Empty: default.
	Namespace string
	// Dir keeps the ledgers, the workers' logs and what they store; it must exist.
	Dir string

	// Agents are those that run, again and again until all kills are made.
	Agents []Agent
	// Points are where workers are killed. Empty: all that one of the agents reaches.
	Points []Point
	// Kills is how many SIGKILLs are made, evenly over the points.
	Kills int
	// Lanes is how many agents run at a time, each with a worker of its own. Zero: DefaultLanes.
	Lanes int
	// Seed chooses the order of the kills, and which passes of a boundary are hit.
	Seed uint64
	// Progress gets one line at a time. Nil is silent.
	Progress func(line string)
}

// DefaultLanes is how many agents run at a time.
const DefaultLanes = 2

func (c Config) checked() (Config, error) {
	c.Lanes, c.Namespace = cmp.Or(c.Lanes, DefaultLanes), cmp.Or(c.Namespace, sdk.DefaultNamespace)
	switch {
	case c.Kills < 1:
		return c, domain.Invalidf("kills: is %d; give a number from 1 on", c.Kills)
	case c.Lanes < 1 || c.Lanes > 64:
		return c, domain.Invalidf("lanes: is %d; give a number from 1 to 64", c.Lanes)
	case len(c.Agents) == 0:
		return c, domain.Invalidf("agents: there are none; give Scripted()")
	}
	reached := Reached(c.Agents)
	for _, p := range c.Points {
		if !slices.Contains(reached, p) {
			return c, domain.Invalidf("points: none of the agents reaches %s; they reach %v", p, reached)
		}
	}
	if len(c.Points) == 0 {
		c.Points = reached
	}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	return c, nil
}

// Run makes the kills and reports what they did. A broken promise is in the report; an error means that the proof itself could
// not be carried out, and what had been found until then is in the report all the same. Without that the report is zero.
func Run(ctx context.Context, config Config) (report.Report, error) {
	config, err := config.checked()
	if err != nil {
		return report.Report{}, err
	}
	began := time.Now()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	p, err := prepare(ctx, config, fail)
	if err != nil {
		return report.Report{}, err
	}
	defer p.close()
	if err = p.run(ctx); err == nil {
		err = p.checkList(ctx)
	}
	if err != nil && len(p.verdicts) == 0 && len(p.broken) == 0 {
		return report.Report{}, err
	}
	return p.report(time.Since(began)), err
}

// A proof is one series of kills.
type proof struct {
	config      Config
	plan        *killPlan
	tools       []Tool
	temporal    sdk.Client
	prefix      string  // of its task queues, which no other proof on the server has
	sockets     string  // a folder
	undisturbed *runner // where agents run that are not killed
	// fail ends the proof: one of its runners can do no more.
	fail context.CancelCauseFunc

	mu        sync.Mutex
	turn      int // counts the runs that were begun
	baselines map[string]func() (left, error)
	verdicts  []*checker
	broken    []report.Broken
}

// prepare connects, and makes the places that workers share.
func prepare(ctx context.Context, config Config, fail context.CancelCauseFunc) (p *proof, err error) {
	p = &proof{
		config: config, plan: newPlan(config.Kills, config.Points, config.Seed), prefix: "kills-" + uuid.NewString()[:8],
		baselines: make(map[string]func() (left, error)), fail: fail,
	}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.tools, err = tools(config.Agents); err != nil {
		return p, err
	}
	for _, folder := range []string{"storage", ledgers, accounts} {
		if err := os.MkdirAll(filepath.Join(config.Dir, folder), 0o700); err != nil {
			return p, fmt.Errorf("make a folder for the workers: %w", err)
		}
	}
	for _, a := range config.Agents {
		for name, script := range a.scripts() {
			if err := os.WriteFile(p.script(a, name), script, 0o600); err != nil {
				return p, fmt.Errorf("write the script of %s: %w", a.Name, err)
			}
		}
	}
	if p.sockets, err = os.MkdirTemp("", "kills-"); err != nil { // a socket's path must be short
		return p, fmt.Errorf("make a folder for sockets: %w", err)
	}
	if p.temporal, err = host.Dial(ctx, host.Connection{Address: config.Address, Namespace: config.Namespace}); err != nil {
		return p, err
	}
	p.undisturbed, err = p.openRunner("undisturbed", false)
	return p, err
}

func (p *proof) close() {
	if p.undisturbed != nil {
		p.undisturbed.close()
	}
	if p.temporal != nil {
		p.temporal.Close()
	}
	_ = os.RemoveAll(p.sockets) // nobody listens there any more
}

func (p *proof) client(queue string) *client.Client {
	return local.Client(p.temporal, p.config.Address, client.Config{Namespace: p.config.Namespace, TaskQueue: queue})
}

// script is the file with what an agent's model says, or with that of one of its sub-agents.
func (p *proof) script(a Agent, subagent string) string {
	return filepath.Join(p.config.Dir, a.Name+subagent+".script.json")
}

// run has all runners work until every kill is made, or one of them fails, the undisturbed one too. The last of several
// has workers without a seat.
func (p *proof) run(ctx context.Context) error {
	group, working := errgroup.WithContext(ctx)
	for i := range p.config.Lanes {
		seatless := i > 0 && i == p.config.Lanes-1
		group.Go(func() error { return p.work(working, fmt.Sprintf("lane%d", i+1), seatless) })
	}
	err := group.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// work makes kills with a runner of its own, until there is none to make.
func (p *proof) work(ctx context.Context, name string, seatless bool) error {
	l, err := p.openRunner(name, seatless)
	if err != nil {
		return err
	}
	defer l.close()
	for point, ok := l.planned(); ok; point, ok = l.planned() {
		if err := p.try(ctx, l, p.next(point)); err != nil {
			return err
		}
	}
	return nil
}

// next is the agent whose turn it is, of those that reach a point.
func (p *proof) next(point Point) Agent {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		agent := p.config.Agents[p.turn%len(p.config.Agents)]
		p.turn++
		if agent.reaches(point) { // one does, or the point had been refused
			return agent
		}
	}
}

// baseline is what an agent leaves undisturbed. It is run when it is first asked for.
func (p *proof) baseline(ctx context.Context, a Agent) (left, error) {
	if a.expected != nil {
		return a.expected.left, nil
	}
	p.mu.Lock()
	once := p.baselines[a.Name]
	if once == nil {
		once = sync.OnceValues(func() (left, error) {
			r := newRun(a)
			p.undisturbed.begin(r)
			return p.play(ctx, p.undisturbed, r, func() {}, func() { p.undisturbed.end(r) })
		})
		p.baselines[a.Name] = once
	}
	p.mu.Unlock()
	return once()
}

// try runs an agent under kills and judges it.
func (p *proof) try(ctx context.Context, l *runner, agent Agent) error {
	base, err := p.baseline(ctx, agent)
	if err != nil {
		return fmt.Errorf("run %s undisturbed: %w", agent.Name, err)
	}
	r := newRun(agent)
	r.seatless = l.seatless
	l.begin(r)
	beside, cancel := context.WithCancel(ctx)
	defer cancel()
	var helpers sync.WaitGroup
	begun := make(chan struct{})
	helpers.Go(func() { l.askStatus(beside, r, begun) })
	helpers.Go(func() { l.killAside(beside, r) })
	got, err := p.play(ctx, l, r, func() { close(begun) }, func() {
		cancel()
		helpers.Wait()
		l.end(r)
	})
	if err == nil {
		got.running, err = p.leftRunning(ctx, l)
	}
	if err != nil {
		if ctx.Err() == nil {
			p.note(append(r.noted, r.broken(PromiseGoesOn, "%s", err)))
		}
		return fmt.Errorf("run %s: %w", agent.Name, err)
	}
	l.mu.Lock() // of what was seen of the run
	v := check(r, got, base)
	l.mu.Unlock()
	p.note(v.broken)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.verdicts = append(p.verdicts, v)
	return nil
}

// note notes promises that were broken.
func (p *proof) note(broken []report.Broken) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = append(p.broken, broken...)
	for _, b := range broken {
		p.config.Progress("BROKEN " + b.String())
	}
}

// Reached are the points that one of several agents reaches.
func Reached(agents []Agent) []Point {
	var points []Point
	add := func(p Point) {
		if !slices.Contains(points, p) && slices.ContainsFunc(agents, func(a Agent) bool { return a.reaches(p) }) {
			points = append(points, p)
		}
	}
	for _, b := range enum.Known[contract.Boundary]() {
		add(Point(b))
	}
	for _, a := range agents {
		for _, p := range a.points {
			add(p.Point)
		}
	}
	return points
}
