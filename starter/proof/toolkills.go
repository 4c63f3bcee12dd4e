package proof

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
	sdk "go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"everstep/activities/scripted"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/process"
	"everstep/worker/host"
)

// A ToolsConfig says how often workers are killed over the calls of tools.
type ToolsConfig struct {
	// Address is a server that answers, host and port, and Namespace the one to run in; empty: default.
	Address, Namespace string
	// Dir keeps the ledgers and the workers' logs; it must exist.
	Dir string
	// Each is how many kills there are of each class at each point.
	Each int
	// Lanes is how many agents run at a time, each with a worker of its own.
	Lanes int
	// Progress gets one line at a time. Nil is silent.
	Progress func(line string)
}

// Tools kills a worker over the first call of an agent, for each class of tools at each point, and reports what became
// of the calls. The agents' model insists: it asks again where it was not told that the call was done. A broken promise
// is in the report; an error means that the proof itself could not be carried out.
func Tools(ctx context.Context, config ToolsConfig) (ToolsReport, error) {
	if config.Each < 1 || config.Lanes < 1 || config.Lanes > 64 {
		return ToolsReport{}, domain.Errorf(domain.Invalid, "tools: give at least one kill of each kind, and 1 to 64 lanes")
	}
	if config.Progress == nil {
		config.Progress = func(string) {}
	}
	began := time.Now()
	p := &toolKills{config: config, prefix: "tools-" + uuid.NewString()[:8], jobs: make(chan toolJob)}
	err := p.prepare(ctx)
	if err == nil {
		err = p.run(ctx)
	}
	if err == nil {
		err = p.judgeList(ctx)
	}
	p.close()
	return p.report(time.Since(began)), err
}

// A toolJob is one kill to make.
type toolJob struct {
	class ToolClass
	point ToolPoint
}

type toolKills struct {
	config   ToolsConfig
	temporal sdk.Client
	agents   *client.Client
	prefix   string
	sockets  string
	jobs     chan toolJob

	mu     sync.Mutex
	done   []*toolTrial
	broken []Broken
}

func (p *toolKills) prepare(ctx context.Context) (err error) {
	if err := os.MkdirAll(filepath.Join(p.config.Dir, "ledgers"), 0o700); err != nil {
		return fmt.Errorf("make a folder for the ledgers: %w", err)
	}
	if p.sockets, err = os.MkdirTemp("", "chaos-"); err != nil { // a socket's path must be short
		return fmt.Errorf("make a folder for sockets: %w", err)
	}
	if p.temporal, err = host.Dial(ctx, host.Connection{Address: p.config.Address, Namespace: p.config.Namespace}); err != nil {
		return err
	}
	p.agents = p.client(p.prefix)
	return nil
}

func (p *toolKills) client(queue string) *client.Client {
	return local.Client(p.temporal, p.config.Address, client.Config{Namespace: p.config.Namespace, TaskQueue: queue})
}

func (p *toolKills) close() {
	if p.temporal != nil {
		p.temporal.Close()
	}
	_ = os.RemoveAll(p.sockets) // nobody listens there any more
}

// run has the lanes make all kills.
func (p *toolKills) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(p.jobs)
		for range p.config.Each {
			for _, class := range ToolClasses() {
				for _, point := range ToolPoints() {
					select {
					case p.jobs <- toolJob{class, point}:
					case <-ctx.Done():
						return ctx.Err()
					}
				}
			}
		}
		return nil
	})
	for i := range p.config.Lanes {
		group.Go(func() error { return p.work(ctx, fmt.Sprintf("lane%d", i+1)) })
	}
	return group.Wait()
}

// work makes kills with one worker after another, until there is none to make.
func (p *toolKills) work(ctx context.Context, name string) (err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	l := &toolLane{run: p, name: name, fail: fail}
	defer l.close()
	if err := l.open(); err != nil {
		return fmt.Errorf("lane %s: %w", name, err)
	}
	for job := range p.jobs {
		t := &toolTrial{toolJob: job, id: uuid.NewString()}
		t.agentID, err = domain.AgentIDOf(t.id)
		if err == nil {
			l.begin(t)
			err = l.play(ctx, t)
		}
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = errors.Join(err, cause)
		}
		if err != nil {
			return fmt.Errorf("run %s, killed %s: %w", t.class, t.point, err)
		}
		p.judge(t)
	}
	return nil
}

// A toolTrial is one agent whose worker is killed once. The lane's lock guards the kill.
type toolTrial struct {
	toolJob
	id      string
	agentID domain.AgentID

	killed time.Time
	// wentOn is the time from the kill to the next thing that the agent did.
	wentOn time.Duration

	result client.Result
	status []domain.UnknownCall
	calls  []domain.ToolExecution
	events []domain.Event
	// told are the results as the model read them.
	told  []string
	lines []effect
}

// script is what the model says: it insists where it is not told that the call was done.
func (t *toolTrial) script() []byte {
	call := func(note string) scriptCall {
		return scriptCall{string(t.class), map[string]any{"order": 7, "note": note}}
	}
	turns := []scriptTurn{turnOf("Order 7.", call("first"))}
	switch {
	case t.class == ClassVerified && t.point == PointBeforeEffect: // it is told that it may
		turns = append(turns, turnOf("Again.", call("again")))
	case !t.class.bounded(), t.class == ClassKeyed, t.unknown():
		turns = append(turns, turnOf("Again.", call("again")),
			turnOf("And again.", call("please"), call("now")))
	}
	return encodeTurns(append(turns, turnOf("So be it.")))
}

// play runs the agent to its end, and reads what it left.
func (l *toolLane) play(ctx context.Context, t *toolTrial) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, playPatience, fmt.Errorf("it is not over after %s", playPatience))
	defer cancel()
	p := l.run
	file := filepath.Join(p.config.Dir, t.id+".script.json")
	if err := os.WriteFile(file, t.script(), 0o600); err != nil {
		return err
	}
	_, err = l.agents.Start(ctx, client.Start{ID: t.id, Prompt: "Deal with order 7.", Definition: domain.Definition{
		Model: domain.LLMConfig{Provider: scripted.Name, Model: file}, Tools: []string{string(t.class)},
		Approvals: domain.ApprovalsOf("allow"), Guards: domain.Guards{Repetition: &domain.Repetition{}},
	}})
	if err != nil {
		return err
	}
	if t.result, err = patiently(ctx, func() (client.Result, error) { return l.agents.Wait(ctx, t.id, 1) }); err != nil {
		return err
	}
	return l.collect(ctx, t)
}

func (l *toolLane) collect(ctx context.Context, t *toolTrial) error {
	steps, err := read(ctx, func() iter.Seq2[domain.StepExecution, error] { return l.agents.Steps(ctx, t.id, 1) })
	if err != nil {
		return err
	}
	for _, step := range steps {
		t.calls = append(t.calls, step.Step.ToolExecutions...)
	}
	if t.events, err = read(ctx, func() iter.Seq2[domain.Event, error] {
		return l.agents.Events(ctx, t.id, client.EventsOptions{Number: 1})
	}); err != nil {
		return err
	}
	messages, err := read(ctx, func() iter.Seq2[domain.Entry, error] { return l.agents.Messages(ctx, t.id) })
	if err != nil {
		return err
	}
	for _, entry := range messages {
		if r := entry.Message.ToolResult; r != nil {
			t.told = append(t.told, r.Content)
		}
	}
	status, err := l.agents.Status(ctx, t.id)
	if err != nil {
		return err
	}
	t.status = status.OutcomeUnknown
	t.lines, err = readLedger(ledgerOf(filepath.Join(l.run.config.Dir, "ledgers"), t.agentID))
	return err
}

// A toolLane is a task queue, its one worker process, and the agent that runs on it.
type toolLane struct {
	run      *toolKills
	name     string
	agents   *client.Client
	plan     []byte
	log      *os.File
	listener net.Listener
	fail     context.CancelCauseFunc

	mu     sync.Mutex
	worker *process.Process
	trial  *toolTrial
}

func (l *toolLane) open() (err error) {
	p := l.run
	socket := filepath.Join(p.sockets, l.name)
	queue := p.prefix + "-" + l.name
	l.agents = p.client(queue)
	if l.listener, err = net.Listen("unix", socket); err != nil {
		return err
	}
	if l.log, err = os.OpenFile(filepath.Join(p.config.Dir, l.name+".log"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600); err != nil {
		return err
	}
	if l.plan, err = json.Marshal(plan{
		Address: p.config.Address, Namespace: p.config.Namespace, TaskQueue: queue, Storage: p.config.Dir,
		Socket: socket, Ledger: filepath.Join(p.config.Dir, "ledgers"), Seat: filepath.Join(p.config.Dir, l.name+".seat"), Classes: true,
	}); err != nil {
		return err
	}
	go func() {
		if err := listen(l.listener, l.decide); err != nil {
			l.fail(err)
		}
	}()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.start()
}

// start starts a worker that dies with this process. The lock is the caller's.
func (l *toolLane) start() error {
	worker, err := startWorker(l.plan, l.log)
	if err != nil {
		return err
	}
	l.worker = worker
	go func() {
		<-worker.Done()
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.worker == worker {
			l.fail(fmt.Errorf("lane %s: the worker ended by itself (%s); see %s", l.name, worker.State(), l.log.Name()))
		}
	}()
	return nil
}

func (l *toolLane) begin(t *toolTrial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trial = t
}

// decide lets a worker go on, or kills it.
func (l *toolLane) decide(h hit) (answer, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.trial
	switch {
	case l.worker == nil || h.PID != l.worker.PID():
		return answer{}, false // it is being killed
	case t == nil || h.WorkflowID != domain.WorkflowID(t.id):
		return answer{}, true
	case t.killed.IsZero() && t.point.reached(h):
		l.kill(t)
		return answer{}, false
	case !t.killed.IsZero() && t.wentOn == 0:
		t.wentOn = time.Since(t.killed)
	}
	return answer{}, true
}

func (l *toolLane) kill(t *toolTrial) {
	worker := l.worker
	l.worker, t.killed = nil, time.Now()
	worker.Kill()
	if err := l.start(); err != nil {
		l.fail(err)
	}
	l.run.config.Progress(fmt.Sprintf("killed worker process %d: %s, %s", worker.PID(), t.class, t.point))
}

func (l *toolLane) close() {
	l.mu.Lock()
	worker := l.worker
	l.worker = nil
	l.mu.Unlock()
	if l.listener != nil {
		_ = l.listener.Close()
	}
	if worker != nil {
		worker.Kill()
	}
	if l.log != nil {
		_ = l.log.Close()
	}
}
