package kills

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"everstep/activities/scripted"
	"everstep/domain"
	"everstep/starter/client"
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
	p := &toolKills{config: config, stage: newStage("tools", config.Address, config.Namespace)}
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
	stage
	config ToolsConfig
	agents *client.Client

	mu     sync.Mutex
	done   []*toolTrial
	broken []Broken
}

func (p *toolKills) prepare(ctx context.Context) (err error) {
	if err := os.MkdirAll(filepath.Join(p.config.Dir, "ledgers"), 0o700); err != nil {
		return fmt.Errorf("make a folder for the ledgers: %w", err)
	}
	if err := p.open(ctx); err != nil {
		return err
	}
	p.agents = p.client(p.prefix)
	return nil
}

// run has the lanes make all kills.
func (p *toolKills) run(ctx context.Context) error {
	return deal(ctx, p.config.Lanes, func(yield func(toolJob) bool) {
		for range p.config.Each {
			for _, class := range ToolClasses() {
				for _, point := range ToolPoints() {
					if !yield(toolJob{class, point}) {
						return
					}
				}
			}
		}
	}, p.work)
}

// work makes kills with one worker after another, until there is none to make.
func (p *toolKills) work(ctx context.Context, name string, jobs <-chan toolJob) (err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	l := &toolLane{lane: lane{name: name, fail: fail}, run: p, agents: p.client(p.queue(name))}
	defer l.close()
	plan := p.plan(name)
	plan.Storage, plan.Ledger, plan.Classes = p.config.Dir, filepath.Join(p.config.Dir, "ledgers"), true
	if err := l.open(p.sockets, p.config.Dir, plan, l.decide); err != nil {
		return err
	}
	for job := range jobs {
		t := &toolTrial{toolJob: job, id: uuid.NewString()}
		t.agentID, err = domain.AgentIDOf(t.id)
		if err == nil {
			l.begin(t)
			err = l.play(ctx, t)
		}
		if err = withCause(ctx, err); err != nil {
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
		Approvals: domain.ApprovalsOf("allow"), Guards: domain.Guards{Repetition: &domain.Repetition{}}, Budget: domain.Unlimited(),
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

// A toolLane is a lane and the agent that runs on it.
type toolLane struct {
	lane
	run    *toolKills
	agents *client.Client
	trial  *toolTrial
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
	case l.dead(h):
		return answer{}, false
	case t == nil || h.WorkflowID != domain.WorkflowID(t.id):
		return answer{}, true
	case t.killed.IsZero() && t.point.reached(h):
		t.killed = time.Now()
		l.run.config.Progress(fmt.Sprintf("killed worker process %d: %s, %s", l.kill(), t.class, t.point))
		return answer{}, false
	case !t.killed.IsZero() && t.wentOn == 0:
		t.wentOn = time.Since(t.killed)
	}
	return answer{}, true
}
