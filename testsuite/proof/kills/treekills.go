package kills

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"everstep/activities/scripted"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/starter/process"
)

// A TreesConfig says how often workers are killed over trees of agents.
type TreesConfig struct {
	// Address is a server that answers, host and port, and Namespace the one to run in; empty: default.
	Address, Namespace string
	// Dir keeps the ledger and the workers' logs; it must exist.
	Dir string
	// Each is how many kills there are at each point.
	Each int
	// Points are where. Empty: all.
	Points []TreePoint
	// Lanes is how many trees run at a time, each with a worker of its own.
	Lanes int
	// Progress gets one line at a time. Nil is silent.
	Progress func(line string)
}

// Trees kills a worker over each of many trees of agents, at each point of a tree's life, and holds every agent of it
// against those of a tree that was not disturbed. A broken promise is in the report; an error means that the proof itself
// could not be carried out.
func Trees(ctx context.Context, config TreesConfig) (TreesReport, error) {
	if config.Each < 1 || config.Lanes < 1 || config.Lanes > 64 {
		return TreesReport{}, domain.Errorf(domain.Invalid, "trees: give at least one kill at each point, and 1 to 64 lanes")
	}
	if config.Progress == nil {
		config.Progress = func(string) {}
	}
	if len(config.Points) == 0 {
		config.Points = TreePoints()
	}
	began := time.Now()
	p := &treeKills{config: config, stage: newStage("trees", config.Address, config.Namespace), ledger: filepath.Join(config.Dir, "ledger.jsonl")}
	err := p.prepare(ctx)
	if err == nil {
		err = p.run(ctx)
	}
	p.close()
	return p.report(time.Since(began)), err
}

type treeKills struct {
	stage
	config TreesConfig
	ledger string

	mu     sync.Mutex
	base   func() (map[string]treeAgent, error)
	done   []*treeTrial
	broken []Broken
}

func (p *treeKills) prepare(ctx context.Context) error {
	for name, script := range treeScripts() {
		if err := os.WriteFile(p.script(name), script, 0o600); err != nil {
			return fmt.Errorf("write the script of %s: %w", name, err)
		}
	}
	return p.open(ctx)
}

func (p *treeKills) script(name string) string {
	return filepath.Join(p.config.Dir, "tree-"+name+".script.json")
}

// run has the lanes make all kills.
func (p *treeKills) run(ctx context.Context) error {
	points := slices.Values(slices.Repeat(p.config.Points, p.config.Each))
	return deal(ctx, p.config.Lanes, points, p.work)
}

// work makes kills with one worker after another, until there is none to make.
func (p *treeKills) work(ctx context.Context, name string, points <-chan TreePoint) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	l := &treeLane{lane: lane{name: name, fail: fail}, run: p, agents: p.client(p.queue(name))}
	defer l.close()
	plan := p.plan(name)
	plan.Storage, plan.Ledger, plan.Tools = p.config.Dir, p.ledger, payTools()
	if err := l.open(p.sockets, p.config.Dir, plan, l.decide); err != nil {
		return err
	}
	for point := range points {
		base, err := p.undisturbed(ctx, l)
		t := newTreeTrial(point)
		if err == nil {
			err = l.play(ctx, t)
		}
		if err = withCause(ctx, err); err != nil {
			return fmt.Errorf("run a tree, killed at %s: %w", point, err)
		}
		p.judge(t, base)
	}
	return nil
}

// undisturbed is what each agent of a tree does without kills, by its place. It is run by whoever asks first.
func (p *treeKills) undisturbed(ctx context.Context, l *treeLane) (map[string]treeAgent, error) {
	p.mu.Lock()
	if p.base == nil {
		p.base = sync.OnceValues(func() (map[string]treeAgent, error) {
			t := newTreeTrial("")
			err := l.play(ctx, t)
			return t.agents, err
		})
	}
	base := p.base
	p.mu.Unlock()
	return base()
}

// A treeTrial is one tree whose worker is killed once. The lane's lock guards what the kill is about.
type treeTrial struct {
	point TreePoint // empty: none
	id    string

	kin map[string]*kin // by workflow id
	// killed is when worker process pid was.
	killed time.Time
	pid    int
	// wentOn is the time from the kill to the next thing that any of the agents did.
	wentOn time.Duration
	// ending tells that a sub-agent has its last answer.
	ending chan string

	result client.Result
	tree   client.Tree
	agents map[string]treeAgent // by place
	// running are the workflows that were left over.
	running []string
	verdict treeVerdict
}

// A treeAgent is one agent of a tree, and what it left.
type treeAgent struct {
	client.Tree
	messages []domain.Entry
	steps    []domain.StepExecution
	told     []string // the differences of what history tells from what it has kept
	effects  map[domain.ToolExecutionID]int
	// inFlight are its calls that may not be repeated and were lost, and the worker process that had each.
	inFlight map[domain.ToolExecutionID]int
}

func newTreeTrial(point TreePoint) *treeTrial {
	t := &treeTrial{point: point, id: uuid.NewString(), ending: make(chan string, 16)}
	t.kin = map[string]*kin{domain.WorkflowID(t.id): {}}
	return t
}

// A treeLane is a lane and the tree that runs on it.
type treeLane struct {
	lane
	run    *treeKills
	agents *client.Client
	trial  *treeTrial
}

func (l *treeLane) begin(t *treeTrial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trial = t
}

// decide lets a worker go on, or kills it.
func (l *treeLane) decide(h hit) (answer, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead(h) {
		return answer{}, false
	}
	t := l.trial
	if t == nil {
		return answer{}, true
	}
	k := t.kinOf(h)
	switch {
	case k == nil || h.Boundary == "":
	case t.point != "" && t.killed.IsZero() && t.at(h, k):
		l.killOver(t)
		return answer{}, false
	case !t.killed.IsZero() && t.wentOn == 0:
		t.wentOn = time.Since(t.killed)
	case k.depth == 1 && k.last && h.Boundary == contract.AfterRequest:
		select {
		case t.ending <- h.WorkflowID:
		default:
		}
	}
	return answer{}, true
}

// killOver kills the worker that has the tree. The lock is the caller's.
func (l *treeLane) killOver(t *treeTrial) {
	t.killed, t.pid = time.Now(), l.kill()
	l.run.config.Progress(fmt.Sprintf("killed worker process %d: %s", t.pid, t.point))
}

// killAtEnd kills as soon as the server knows that a sub-agent has ended.
func (l *treeLane) killAtEnd(ctx context.Context, t *treeTrial) {
	const look = 2 * time.Millisecond
	var workflow string
	select {
	case workflow = <-t.ending:
	case <-ctx.Done():
		return
	}
	for ctx.Err() == nil {
		if running, err := l.isRunning(ctx, workflow); err == nil && !running {
			l.mu.Lock()
			l.killOver(t)
			l.mu.Unlock()
			return
		}
		_ = process.Pause(ctx, look)
	}
}

func (l *treeLane) isRunning(ctx context.Context, workflow string) (bool, error) {
	described, err := l.run.temporal.DescribeWorkflowExecution(ctx, workflow, "")
	return described.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, err
}

// play runs a tree to its end, and reads what its agents left.
func (l *treeLane) play(ctx context.Context, t *treeTrial) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, playPatience, fmt.Errorf("it is not over after %s", playPatience))
	defer cancel()
	l.begin(t)
	defer l.begin(nil)
	var beside sync.WaitGroup
	watch, end := context.WithCancel(ctx)
	defer beside.Wait()
	defer end()
	if t.point == PointChildEnded {
		beside.Go(func() { l.killAtEnd(watch, t) })
	}
	if _, err = l.agents.Start(ctx, client.Start{ID: t.id, Prompt: "Have it looked up.", Definition: l.definition(), Budget: treeBudget()}); err != nil {
		return err
	}
	if t.result, err = patiently(ctx, func() (client.Result, error) { return l.agents.Wait(ctx, t.id, 1) }); err != nil {
		return err
	}
	end()
	beside.Wait()
	return l.collect(ctx, t)
}

func (l *treeLane) definition() domain.Definition {
	price := &domain.Price{Input: 1_000_000_000, Output: 4_000_000_000}
	model := func(name string) domain.LLMConfig {
		return domain.LLMConfig{Provider: scripted.Name, Model: l.run.script(name), Price: price}
	}
	leaf := map[string]domain.Subagent{"leaf": {Agent: "leaf"}}
	return domain.Definition{
		Model: model("root"), Approvals: domain.ApprovalsOf("allow"), Tools: []string{noteTool},
		Subagents: map[string]domain.Subagent{"leaf": leaf["leaf"], "branch": {Agent: "branch"}},
		Agents: map[string]domain.Definition{
			"branch": {Model: model("branch"), Tools: []string{noteTool}, Subagents: leaf},
			"leaf":   {Model: model("leaf"), Tools: []string{noteTool, payTool}},
		},
	}
}

// collect reads the tree, what each agent of it left, and what is running that should not.
func (l *treeLane) collect(ctx context.Context, t *treeTrial) (err error) {
	if t.tree, err = l.agents.Tree(ctx, t.id, 1); err != nil {
		return err
	}
	t.agents = map[string]treeAgent{}
	places := map[domain.AgentID]string{}
	for one := range t.tree.All() {
		a := treeAgent{Tree: *one}
		if a.messages, err = read(ctx, func() iter.Seq2[domain.Entry, error] { return l.agents.Messages(ctx, one.ID) }); err != nil {
			return err
		}
		if a.steps, err = read(ctx, func() iter.Seq2[domain.StepExecution, error] { return l.agents.Steps(ctx, one.ID, 1) }); err != nil {
			return err
		}
		if a.told, err = patiently(ctx, func() ([]string, error) { return l.agents.Audit(ctx, one.ID, 1) }); err != nil {
			return err
		}
		if a.inFlight, err = inFlight(ctx, l.agents, played{begun: one.Execution, runs: []string{one.RunID}}); err != nil {
			return err
		}
		entered, err := effects(l.run.ledger, one.WorkflowID)
		if err != nil {
			return err
		}
		a.effects = entered.calls
		place := "root"
		if one.Depth > 0 {
			place = fmt.Sprintf("%s, step %d, call %d", places[one.ParentAgentID], one.Step, one.Position+1)
		}
		places[one.AgentID] = place
		t.agents[place] = a
	}
	return l.leftOver(ctx, t)
}

// leftOver looks for workflows that go on although the tree has ended. The server's list may be late.
func (l *treeLane) leftOver(ctx context.Context, t *treeTrial) error {
	const patience = 10 * time.Second
	for began := time.Now(); ; {
		response, err := l.run.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: l.run.config.Namespace, Query: fmt.Sprintf("TaskQueue = '%s' AND ExecutionStatus = 'Running'", l.run.queue(l.name)),
		})
		if err != nil {
			return fmt.Errorf("list what is running: %w", err)
		}
		running := map[string]bool{}
		for _, info := range response.GetExecutions() {
			running[info.GetExecution().GetWorkflowId()] = true
		}
		t.running = slices.Sorted(maps.Keys(running))
		if len(t.running) == 0 || time.Since(began) > patience {
			return nil
		}
		if err := process.Pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}
