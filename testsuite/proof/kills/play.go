package kills

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"

	"everstep/activities/scripted"
	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/starter/process"
	"everstep/testsuite/proof/report"
	"everstep/worker/host/codec"
)

// A left is what one run left: what its agents did, and what is there of them.
type left struct {
	// agents are the agent itself, which is at the place root, and its sub-agents by the places at which they were started.
	agents map[string]agentLeft
	// total is what all agents of a tree used; nil: it is no tree.
	total *client.TreeUse
	// running are workflows that were not over when the agent was.
	running []string
}

const root = "root"

// An agentLeft is what one agent left. Slices by execution are in the order of the executions.
type agentLeft struct {
	results  []client.Result // by execution
	steps    [][]domain.StepExecution
	events   [][]domain.Event // by execution; empty for the agents of trees
	messages []domain.Entry
	told     []string // the differences of what history tells from what executions have kept, and of replays from workers
	own      client.TreeUse
	// unresolved are the calls of unknown outcome by its status.
	unresolved []domain.Wait
	// lost are its calls that may not be repeated and were lost, with the worker process that had each, by history.
	lost   map[domain.ToolExecutionID]int
	ledger []effect
}

// calls are all tool calls of the agent.
func (a agentLeft) calls() (all []domain.ToolExecution) {
	for _, steps := range a.steps {
		for _, step := range steps {
			all = append(all, step.Step.ToolExecutions...)
		}
	}
	return all
}

// playPatience bounds one run of an agent, kills included.
const playPatience = 15 * time.Minute

// play runs an agent to its end and reads what it left. began and over are told.
func (p *proof) play(ctx context.Context, l *runner, r *run, began, over func()) (left, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, playPatience, fmt.Errorf("it is not over after %s", playPatience))
	defer cancel()
	own, runs, err := p.drive(ctx, l.agents, r, began)
	over()
	var got left
	if err == nil {
		got, err = p.collect(ctx, l.agents, r, own, runs)
	}
	if err != nil && context.Cause(ctx) != nil {
		err = fmt.Errorf("%w (%w)", err, context.Cause(ctx))
	}
	return got, err
}

// drive has the agent do all its executions. It returns their results, and the first runs of the agent's workflows: one,
// unless it went on in another.
func (p *proof) drive(ctx context.Context, agents *client.Client, r *run, began func()) (results []client.Result, runs []string, err error) {
	for i, x := range r.agent.Executions {
		budget := x.Budget
		if budget.IsZero() {
			budget = domain.Unlimited()
		}
		switch {
		case i == 0:
			var begun client.Execution
			begun, err = agents.Start(ctx, client.Start{ID: r.id, Prompt: x.Prompt, Definition: p.definition(r.agent), Budget: budget})
			runs = append(runs, begun.RunID)
			began()
		case x.GoesOn:
			var extended client.Extended
			options := client.ExtendOptions{Lift: []domain.Limit{domain.LimitSteps}, RequestID: uuid.NewString()}
			extended, err = patiently(ctx, func() (client.Extended, error) { return agents.Extend(ctx, r.id, options) })
			if err == nil && !extended.Began {
				err = fmt.Errorf("execution %d was extended and did not begin", i+1)
			}
			if !r.agent.session() {
				runs = append(runs, extended.RunID)
			}
		default:
			_, err = agents.Send(ctx, r.id, client.SendOptions{Prompt: x.Prompt, Budget: budget})
		}
		if err != nil {
			return nil, nil, err
		}
		result, err := patiently(ctx, func() (client.Result, error) { return agents.Wait(ctx, r.id, i+1) })
		if err != nil {
			return nil, nil, err
		}
		results = append(results, result)
	}
	return results, runs, nil
}

func (p *proof) definition(a Agent) domain.Definition {
	d := a.Definition
	model := func(d *domain.Definition, name string) {
		d.Model.Provider, d.Model.Model = scripted.Name, p.script(a, name)
	}
	model(&d, "")
	d.Agents = maps.Clone(d.Agents)
	for name, below := range d.Agents {
		model(&below, name)
		d.Agents[name] = below
	}
	d.Approvals, d.SystemPrompt = domain.ApprovalsOf("allow"), a.System
	if d.Tools == nil {
		for _, t := range a.Tools {
			d.Tools = append(d.Tools, t.Name)
		}
	}
	return d
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
func read[T any](ctx context.Context, from iter.Seq2[T, error]) ([]T, error) {
	return patiently(ctx, func() (all []T, err error) {
		for value, err := range from {
			if err != nil {
				return nil, err
			}
			all = append(all, value)
		}
		return all, nil
	})
}

// collect reads what the agents of a run left, and closes the session.
func (p *proof) collect(ctx context.Context, agents *client.Client, r *run, results []client.Result, runs []string) (got left, err error) {
	own := agentLeft{results: results}
	if err := p.read(ctx, agents, &own, r.id, runs); err != nil {
		return got, err
	}
	got.agents = map[string]agentLeft{root: own}
	if len(r.agent.Subagents) > 0 {
		err = p.readTree(ctx, agents, r.id, &got)
	}
	if err == nil && r.agent.session() {
		_, err = agents.Close(ctx, r.id)
	}
	return got, err
}

// read reads what one agent left of as many executions as there are results.
func (p *proof) read(ctx context.Context, agents *client.Client, a *agentLeft, id string, runs []string) (err error) {
	if a.messages, err = read(ctx, agents.Messages(ctx, id)); err != nil {
		return err
	}
	for i := range a.results {
		steps, err := read(ctx, agents.Steps(ctx, id, i+1))
		if err != nil {
			return err
		}
		events, err := read(ctx, agents.Events(ctx, id, client.FollowOptions{Number: i + 1}))
		if err != nil {
			return err
		}
		a.steps, a.events = append(a.steps, steps), append(a.events, events)
	}
	status, err := patiently(ctx, func() (account.Status, error) { return agents.Status(ctx, id) })
	if err != nil {
		return err
	}
	a.unresolved = slices.DeleteFunc(status.Waits, func(w domain.Wait) bool { return w.Kind != domain.WaitOutcome })
	if a.lost, err = p.lostCalls(ctx, domain.WorkflowID(id), runs); err != nil {
		return err
	}
	if a.told, err = p.compareAccounts(ctx, id); err != nil {
		return err
	}
	a.ledger, err = readLedger(p.ledgers(), domain.WorkflowID(id))
	return err
}

// readTree reads what the agents of a tree used, and what the sub-agents left. Which events there are of a tree is told by
// how its agents share the budget, and so by their times: they are not compared.
func (p *proof) readTree(ctx context.Context, agents *client.Client, id string, got *left) error {
	tree, err := agents.Tree(ctx, id, 1)
	if err != nil {
		return err
	}
	got.total = &tree.Total
	places := map[domain.AgentID]string{}
	for one := range tree.All() {
		place, a := root, got.agents[root]
		if one.Depth > 0 {
			place = fmt.Sprintf("%s, step %d, call %d", places[one.ParentAgentID], one.Step, one.Position+1)
			steps := -1
			if one.Steps != nil {
				steps = *one.Steps
			}
			a = agentLeft{results: []client.Result{{Outcome: contract.Outcome{Status: one.Status, StopReason: one.StopReason, Steps: steps}}}}
			if err := p.read(ctx, agents, &a, one.ID, []string{one.RunID}); err != nil {
				return fmt.Errorf("%s: %w", place, err)
			}
		}
		a.own, a.events = one.Own, nil
		places[one.AgentID], got.agents[place] = place, a
	}
	return nil
}

// lostCalls reads from histories which calls that may not be repeated were lost with a worker, and which process that was: of the
// runs given and all that continue them.
func (p *proof) lostCalls(ctx context.Context, workflowID string, runs []string) (map[domain.ToolExecutionID]int, error) {
	found := make(map[domain.ToolExecutionID]int)
	for _, runID := range runs {
		for runID != "" {
			events, err := p.events(ctx, workflowID, runID)
			if err != nil {
				return nil, err
			}
			if err := addLost(found, events); err != nil {
				return nil, fmt.Errorf("read a call of %s: %w", workflowID, err)
			}
			runID = events[len(events)-1].GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
		}
	}
	return found, nil
}

// addLost adds those of one run.
func addLost(found map[domain.ToolExecutionID]int, events []*historypb.HistoryEvent) error {
	workers := make(map[int64]string)
	for _, event := range events {
		if started := event.GetActivityTaskStartedEventAttributes(); started != nil {
			workers[started.GetScheduledEventId()] = started.GetIdentity()
		}
		lost := event.GetActivityTaskTimedOutEventAttributes()
		if lost == nil {
			continue
		}
		scheduled := events[lost.GetScheduledEventId()-1].GetActivityTaskScheduledEventAttributes()
		if scheduled.GetActivityType().GetName() != string(contract.CallTool) {
			continue
		}
		var call contract.ToolRequest
		if err := codec.New().DataConverter().FromPayloads(scheduled.GetInput(), &call); err != nil {
			return err
		}
		if !call.Effect.Repeatable() {
			// An identity is the process's id, its host and its queue.
			pid, _, _ := strings.Cut(workers[lost.GetScheduledEventId()], "@")
			found[call.ID()], _ = strconv.Atoi(pid) // zero is no process
		}
	}
	return nil
}

// eventually asks again while an answer is not right, since the server's lists may be late.
func eventually(ctx context.Context, right func() (bool, error)) error {
	const patience = 30 * time.Second
	for began := time.Now(); ; {
		ok, err := right()
		if ok || err != nil || time.Since(began) > patience {
			return err
		}
		if err := process.Pause(ctx, askAgain); err != nil {
			return err
		}
	}
}

// leftRunning looks for workflows on the queue of a runner that go on although its agent has ended.
func (p *proof) leftRunning(ctx context.Context, l *runner) (running []string, err error) {
	err = eventually(ctx, func() (bool, error) {
		response, err := p.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: p.config.Namespace, Query: fmt.Sprintf("TaskQueue = '%s-%s' AND ExecutionStatus = 'Running'", p.prefix, l.name),
		})
		running = nil
		for _, info := range response.GetExecutions() {
			running = append(running, info.GetExecution().GetWorkflowId())
		}
		return len(running) == 0, err
	})
	return running, err
}

// checkList compares the list of agents with unknown calls with those that have some.
func (p *proof) checkList(ctx context.Context) error {
	var wrong []report.Broken
	err := eventually(ctx, func() (bool, error) {
		listed := map[string]int{}
		for a, err := range p.client(p.prefix).List(ctx, client.ListOptions{Unknown: true}) {
			if err != nil {
				return false, err
			}
			listed[a.ID] = a.Unknown
		}
		wrong = wronglyListed(p.verdicts, listed)
		return len(wrong) == 0, nil
	})
	p.note(wrong)
	return err
}
