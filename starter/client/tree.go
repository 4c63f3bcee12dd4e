package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/domain/progress"
)

// A Tree is one execution of an agent, with the sub-agents that it has started, and theirs in turn. Names come from
// agents' files, and errors from models and tools: clean them for a terminal.
type Tree struct {
	Execution
	// Subagent is its name with the agent that started it, which ParentAgentID is; Step, Position and ToolExecutionID
	// name the call. All are empty at the root, whose Depth is zero.
	Subagent        string                 `json:"subagent,omitzero"`
	ParentAgentID   domain.AgentID         `json:"parent_agent_id,omitzero"`
	Depth           int                    `json:"depth"`
	Step            int                    `json:"step,omitzero"`
	Position        int                    `json:"position,omitzero"`
	ToolExecutionID domain.ToolExecutionID `json:"tool_execution_id,omitzero"`

	Status     domain.ExecutionStatus `json:"status"`
	StopReason domain.StopReason      `json:"stop_reason,omitzero"`
	Code       domain.Code            `json:"code,omitzero"`
	// SessionLimit says that it was a limit of the session's budget which ended it.
	SessionLimit bool `json:"session_limit,omitzero"`
	// Error is why a sub-agent has no outcome: its workflow was ended by force, or never began.
	Error *domain.Error `json:"error,omitempty"`
	// Steps are its own completed ones; nil where nobody can tell them.
	Steps *int `json:"step_count"`
	// StartedAt and EndedAt are nil where nothing tells them, and EndedAt while it is in progress.
	StartedAt *time.Time `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`
	// Own is what it used itself, and Total adds those below it. Of one that has ended the agent that started it has
	// counted Total against its budget; without an outcome that is all that it was granted, an estimate.
	Own   TreeUse `json:"own"`
	Total TreeUse `json:"total"`
	// Grant is what it may use of the budget of the agent that started it, and MoreGranted how often it got more of that when
	// it asked; nil at the root, and where nothing tells it.
	Grant       *domain.ExecutionBudget `json:"grant,omitempty"`
	MoreGranted int                     `json:"more_granted,omitzero"`
	// Grants are all of them, by their times, those that were refused too.
	Grants []TreeGrant `json:"grants,omitempty"`
	// Gone says what of it can no longer be read: then only what the agent that started it has noted is told, and who
	// was below it is not known. Empty: nothing.
	Gone string `json:"gone,omitzero"`
	// Children are those that it has started, by step and position.
	Children []Tree `json:"children"`

	priced bool
	// born is with what a sub-agent began and ended, by the agent that started it; nil at the root.
	born *born
}

// TreeUse is what agents of a tree have used.
type TreeUse struct {
	Usage domain.UsageView `json:"usage"`
	// CostNanoUSD is null where nobody knows what the model costs.
	CostNanoUSD *int64 `json:"cost_nano_usd"`

	used domain.Usage
	cost int64
}

// agentsAtOnce bounds how many agents of a tree are read side by side.
const agentsAtOnce = 8

// Tree reads an execution and all sub-agents below it, to any depth, from their histories, or the records where the server
// has deleted those. Number zero is the newest. It needs no worker. A sub-agent that can no longer be read stands in it
// with what the agent that started it has noted.
func (c *Client) Tree(ctx context.Context, id string, number int) (Tree, error) {
	r := treeReader{client: c, seats: make(chan struct{}, agentsAtOnce)}
	tree, err := r.read(ctx, id, number, Tree{})
	return tree, fail(ctx, id, "reading the sub-agents of "+id, err)
}

// All yields the agents of the tree: each, and then those below it.
func (t *Tree) All() iter.Seq[*Tree] {
	return func(yield func(*Tree) bool) { t.all(yield) }
}

func (t *Tree) all(yield func(*Tree) bool) bool {
	if !yield(t) {
		return false
	}
	for i := range t.Children {
		if !t.Children[i].all(yield) {
			return false
		}
	}
	return true
}

// Priced reports whether its model has a price.
func (t *Tree) Priced() bool { return t.priced }

// A treeReader reads the agents of a tree.
type treeReader struct {
	client *Client
	seats  chan struct{}
}

// read reads an agent of which the agent that started it has told, and those below it.
func (r treeReader) read(ctx context.Context, id string, number int, t Tree) (Tree, error) {
	children, err := r.agent(ctx, id, number, &t)
	if err != nil {
		return t, err
	}
	slices.SortStableFunc(children, func(a, b born) int { return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.position, b.position)) })
	t.Children = make([]Tree, len(children))
	group, ctx := errgroup.WithContext(ctx)
	for i, b := range children {
		group.Go(func() error {
			child := Tree{
				Subagent: b.subagent, ParentAgentID: t.AgentID, Depth: t.Depth + 1, Step: b.step, Position: b.position,
				ToolExecutionID: b.call, Grant: b.grant, MoreGranted: b.more, Grants: b.grants, StartedAt: timeOf(b.since), Status: domain.StatusFailed, Code: domain.CodeTerminated, born: &b,
			}
			if !t.Status.Terminal() {
				child.Status, child.Code = domain.StatusInProgress, ""
			}
			read, err := r.read(ctx, b.id.String(), 0, child)
			t.Children[i] = read
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return t, err
	}
	t.Children = slices.DeleteFunc(t.Children, func(child Tree) bool { return child.born.unsure && child.RunID == "" })
	t.reckon()
	return t, nil
}

// agent fills in what is told of one agent, and says whom it has started. The cost and usage that are in Total then are
// as it has counted them by itself.
func (r treeReader) agent(ctx context.Context, id string, number int, t *Tree) ([]born, error) {
	select {
	case r.seats <- struct{}{}:
		defer func() { <-r.seats }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c := r.client
	a, err := agentOf(id)
	if err != nil {
		return nil, err
	}
	if b := t.born; b != nil && b.ended != nil && b.ended.Unstarted {
		t.Execution = a.begun(1, domain.ExecutionID{}, "")
		return nil, nil
	}
	e, err := c.treeHistory(ctx, id, number)
	switch {
	case err == nil:
		t.told(e)
		return e.children, nil
	case !lostToServer(err):
		return nil, err
	}
	a, kept, ok, failed := c.kept(ctx, id, number)
	switch {
	case failed != nil:
		return nil, failed
	case ok:
		t.kept(a, kept)
		return bornOf(kept), nil
	case t.born == nil:
		return nil, err
	}
	t.lost(a)
	return nil, nil
}

// treeHistory reads the history of an execution.
func (c *Client) treeHistory(ctx context.Context, id string, number int) (*explanation, error) {
	t, err := c.targetEnd(ctx, id, number)
	if err != nil {
		return nil, err
	}
	e := &explanation{target: t}
	if err = e.read(ctx, c, nil); err == nil && e.at.Number == 0 {
		err = gone("the runs of %s have been deleted", id)
	}
	return e, goneIfDeleted(err, "the runs of %s have been deleted", id)
}

// told takes what a history tells.
func (t *Tree) told(e *explanation) {
	t.Execution = e.execution(e.asked)
	t.ExecutionID, t.Status, t.priced = e.want(), domain.StatusInProgress, e.then.Price != nil
	t.StartedAt, t.EndedAt = cmp.Or(timeOf(e.at.StartedAt), t.StartedAt), timeOf(e.at.EndedAt)
	var usage domain.Usage
	var cost int64
	steps, open := e.at.Steps(len(e.then.Open) > 0)
	for _, s := range steps {
		usage, cost = usage.Add(s.Usage), domain.AddCost(cost, s.CostNanoUSD)
	}
	completed := len(steps)
	if open {
		completed--
	}
	if t.Steps = &completed; e.gone {
		t.Steps, t.Gone = nil, "earlier runs of it have been deleted, and what it did and started in them"
	}
	if o := e.outcome; o != nil {
		t.Status, t.StopReason, t.Code, t.SessionLimit = o.Status, o.StopReason, o.Code, o.SessionLimit
		if !e.byServerHere() {
			usage, cost, t.Steps, t.priced = o.Usage, o.CostNanoUSD, &o.Steps, t.priced || o.Priced
		}
	}
	t.use(usage, cost)
}

// kept takes what a record tells.
func (t *Tree) kept(a agent, r record.Record) {
	t.Execution, t.Status, t.StopReason, t.Code = a.recorded(r), r.Status, r.StopReason, r.Outcome.Code
	t.SessionLimit = r.Outcome.SessionLimit
	t.Steps, t.StartedAt, t.EndedAt, t.priced = &r.Outcome.Steps, timeOf(r.StartedAt), timeOf(r.CompletedAt), r.Outcome.Priced
	t.use(r.Usage, r.Outcome.CostNanoUSD)
}

// lost takes what the agent that started one knows of it, as nobody else does.
func (t *Tree) lost(a agent) {
	t.Execution = a.begun(1, domain.ExecutionID{}, "")
	x, ended := t.born.wrote, t.born.ended
	if x == nil && ended == nil && !t.Status.Terminal() { // it is not there yet
		return
	}
	if t.Gone = "its history has been deleted, and there is no record of it"; x != nil {
		var result progress.ChildResult
		if json.Unmarshal([]byte(x.Value), &result) == nil {
			t.Status, t.StopReason = result.Status, result.StopReason
		}
	}
}

// use notes what one has used as it has counted it: with those below it that are over.
func (t *Tree) use(usage domain.Usage, cost int64) {
	t.Total = useOf(usage, cost, t.priced)
}

func useOf(usage domain.Usage, cost int64, priced bool) TreeUse {
	return TreeUse{Usage: usage.View(), CostNanoUSD: costOf(cost, priced || usage.TotalTokens() == 0), used: usage, cost: cost}
}

// reckon takes the account of the agent that started one, where that has counted it, and tells what was its own.
func (t *Tree) reckon() {
	counted := false
	if b := t.born; b != nil && b.ended != nil {
		counted = true
		usage, spent := b.ended.Usage()
		t.use(usage, spent.CostNanoUSD)
		if t.EndedAt == nil {
			t.EndedAt = timeOf(b.at)
		}
		if o := b.ended.Outcome; o != nil {
			t.Status, t.StopReason, t.Code, t.SessionLimit = o.Status, o.StopReason, o.Code, o.SessionLimit
			t.Steps, t.priced = &o.Steps, t.priced || o.Priced
			t.ExecutionID = o.ExecutionID
			t.use(usage, spent.CostNanoUSD)
		} else {
			t.Status, t.StopReason, t.Code, t.Error = domain.StatusFailed, domain.ErrorForbade, b.ended.Why.Code, b.ended.Why
		}
	}
	var below TreeUse
	for i := range t.Children {
		child := &t.Children[i]
		below = below.plus(child.Total)
		if b := child.born; !counted && b.ended == nil && b.wrote == nil {
			t.use(t.Total.used.Add(child.Total.used), domain.AddCost(t.Total.cost, child.Total.cost))
		}
	}
	t.Own = t.Total.less(below, t.priced)
}

func (u TreeUse) plus(v TreeUse) TreeUse {
	return useOf(u.used.Add(v.used), domain.AddCost(u.cost, v.cost), true)
}

// less is what is left without a part. Where that was counted in another way, as an estimate is, the sum of tokens counts.
func (u TreeUse) less(part TreeUse, priced bool) TreeUse {
	all, some := u.used, part.used
	own := domain.Usage{
		InputTokens: all.InputTokens - some.InputTokens, OutputTokens: all.OutputTokens - some.OutputTokens, CacheReadTokens: all.CacheReadTokens - some.CacheReadTokens,
		CacheWriteTokens: all.CacheWriteTokens - some.CacheWriteTokens, ReasoningTokens: all.ReasoningTokens - some.ReasoningTokens,
		Estimated: all.Estimated && !some.Estimated,
	}
	if min(own.InputTokens, own.OutputTokens, own.CacheReadTokens, own.CacheWriteTokens, own.ReasoningTokens) < 0 {
		own = domain.Usage{InputTokens: max(all.TotalTokens()-some.TotalTokens(), 0), Estimated: true}
	}
	return useOf(own, max(u.cost-part.cost, 0), priced)
}

// A TreeStep is a completed step of an agent of a tree, or, where Step is nil, says that those of the agent follow.
type TreeStep struct {
	Agent *Tree
	Step  *domain.StepExecution
}

// TreeSteps yields the agents of a tree with their completed steps, and after each step those that it has started. Of
// what can no longer be read it yields an error of class Gone that says which, and goes on; any other error ends it. It
// needs a worker, but for what the records tell.
func (c *Client) TreeSteps(ctx context.Context, id string, number int) iter.Seq2[TreeStep, error] {
	return func(yield func(TreeStep, error) bool) {
		tree, err := c.Tree(ctx, id, number)
		if err != nil {
			yield(TreeStep{}, err)
			return
		}
		c.treeSteps(ctx, &tree, yield)
	}
}

func (c *Client) treeSteps(ctx context.Context, t *Tree, yield func(TreeStep, error) bool) bool {
	if !yield(TreeStep{Agent: t}, nil) {
		return false
	}
	if t.RunID == "" && t.Gone != "" { // nothing of it is there
		return yield(TreeStep{}, gone("sub-agent %s (%s): %s", t.ID, t.Subagent, t.Gone))
	}
	next := 0
	before := func(step int) bool { // those that were started before a step
		for ; next < len(t.Children) && t.Children[next].Step < step; next++ {
			if !c.treeSteps(ctx, &t.Children[next], yield) {
				return false
			}
		}
		return true
	}
	for step, err := range c.Steps(ctx, t.ID, t.Number) {
		switch {
		case errors.Is(err, &Error{Class: Gone}):
			if !yield(TreeStep{}, err) {
				return false
			}
			continue
		case err != nil:
			yield(TreeStep{}, err)
			return false
		case !before(step.Step.Number) || !yield(TreeStep{Agent: t, Step: &step}, nil):
			return false
		}
	}
	return before(math.MaxInt)
}
