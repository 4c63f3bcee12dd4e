package client

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"everstep/domain"
	"everstep/domain/account"
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
	// Own is what it used itself, and Total adds those below it: the cost of all is null where that of one is. Of one that has
	// ended the agent that started it has counted Total against its budget; without an outcome that is all that it was granted, an
	// estimate.
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

	// Priced says that its model has a price.
	Priced bool `json:"-"`
	// estimated says that of an inference of its own the tokens were estimated.
	estimated bool
	// startedChild is what the agent that started it has noted; nil at the root.
	startedChild *startedChild
}

// A TreeGrant says what a sub-agent might use in all of the budget of the agent that started it, from a time on: with what
// it began, or what it got when it asked for more.
type TreeGrant struct {
	At    time.Time              `json:"at"`
	Grant domain.ExecutionBudget `json:"grant"`
	// Asked is what it asked for; nil: nothing. Refused says that it got nothing of that.
	Asked   *domain.Ask `json:"asked,omitempty"`
	Refused bool        `json:"refused,omitzero"`
}

// A startedChild is a sub-agent as the events of the agent that started it tell: how it began and, where it has, how it ended.
type startedChild struct {
	domain.SubagentSpawning
	// begun is the header of the event of its beginning.
	begun domain.EventHeader
	// ended is how it ended, at endedAt; nil: it has not.
	ended   *domain.SubagentCompleted
	endedAt time.Time
	// call is what the call came to for the model; nil: it has not ended.
	call     *domain.ToolExecution
	position int
	grants   []TreeGrant
}

// startedBy are the sub-agents that events tell of, in the order in which they began. steps have the calls.
func startedBy(events []domain.Event, steps []domain.StepExecution) (all []*startedChild) {
	of := func(id domain.AgentID) *startedChild {
		for _, one := range slices.Backward(all) {
			if one.ChildID == id {
				return one
			}
		}
		return &startedChild{} // its beginning can no longer be read
	}
	for _, event := range events {
		switch data := event.Data.(type) {
		case domain.SubagentSpawning:
			one := &startedChild{SubagentSpawning: data, begun: event.EventHeader, grants: []TreeGrant{{At: event.Time, Grant: data.Grant}}}
			one.call, one.position = callIn(steps, data.ToolExecutionID)
			all = append(all, one)
		case domain.SubagentGranted:
			one := of(data.ChildID)
			one.grants = append(one.grants, TreeGrant{
				At: event.Time, Grant: data.Grant, Asked: &domain.Ask{Limit: data.Limit, Need: data.Need}, Refused: data.More == 0,
			})
		case domain.SubagentCompleted:
			one := of(data.ChildID)
			one.ended, one.endedAt = &data, event.Time
		}
	}
	return all
}

// callIn finds a call in steps, with its position in its step.
func callIn(steps []domain.StepExecution, id domain.ToolExecutionID) (*domain.ToolExecution, int) {
	for _, step := range steps {
		for i, call := range step.Step.ToolExecutions {
			if call.ID == id {
				return &call, i
			}
		}
	}
	return nil, 0
}

// grantsOf are the grants of a sub-agent by the account of the agent that has started it; none where it has asked for no more
// than it began with, or where nobody tells it any more.
func (c *Client) grantsOf(ctx context.Context, child account.Head) []TreeGrant {
	parent, err := c.Account(ctx, child.Parent.AgentID.String(), account.Events)
	if err != nil {
		return nil
	}
	for _, one := range startedBy(parent.Events, nil) {
		if one.ChildID == child.AgentID && len(one.grants) > 1 {
			return one.grants
		}
	}
	return nil
}

// TreeUse is what agents of a tree have used.
type TreeUse struct {
	Usage domain.Usage `json:"usage"`
	// CostNanoUSD is null where nobody knows what the model costs.
	CostNanoUSD *int64 `json:"cost_nano_usd"`

	// cost counts also where it is not shown.
	cost int64
}

// Tree reads an execution and all sub-agents below it, to any depth, by their accounts. Number zero is the newest. It needs no
// worker. A sub-agent that can no longer be read stands in it with what the agent that started it has noted.
func (c *Client) Tree(ctx context.Context, id string, number int) (Tree, error) {
	r := treeReader{client: c, seats: make(chan struct{}, 8)}
	tree, err := r.read(ctx, id, number, Tree{})
	return tree, fail(ctx, id, "reading the sub-agents of "+id, err)
}

// All yields the agents of the tree: each, and then those below it.
func (t *Tree) All() iter.Seq[*Tree] {
	return func(yield func(*Tree) bool) {
		if !yield(t) {
			return
		}
		for i := range t.Children {
			for below := range t.Children[i].All() {
				if !yield(below) {
					return
				}
			}
		}
	}
}

// A treeReader reads the agents of a tree.
type treeReader struct {
	client *Client
	// seats bounds how many are read side by side.
	seats chan struct{}
}

// read reads an agent of which the agent that started it has told, and those below it.
func (r treeReader) read(ctx context.Context, id string, number int, t Tree) (Tree, error) {
	children, err := r.agent(ctx, id, number, &t)
	if err != nil {
		return t, err
	}
	slices.SortStableFunc(children, func(a, b *startedChild) int {
		return cmp.Or(cmp.Compare(a.begun.Step, b.begun.Step), cmp.Compare(a.position, b.position))
	})
	t.Children = make([]Tree, len(children))
	group, ctx := errgroup.WithContext(ctx)
	for i, one := range children {
		group.Go(func() error {
			child := Tree{
				Subagent: one.Subagent, ParentAgentID: t.AgentID, Depth: t.Depth + 1, Step: one.begun.Step, Position: one.position,
				ToolExecutionID: one.ToolExecutionID, Grant: &one.grants[len(one.grants)-1].Grant, Grants: one.grants, StartedAt: orNull(one.begun.Time),
				Status: domain.StatusFailed, Code: domain.CodeTerminated, startedChild: one,
			}
			for _, g := range one.grants[1:] {
				if !g.Refused {
					child.MoreGranted++
				}
			}
			if !t.Status.Terminal() {
				child.Status, child.Code = domain.StatusInProgress, ""
			}
			read, err := r.read(ctx, one.ChildID.String(), 0, child)
			t.Children[i] = read
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return t, err
	}
	t.reckon()
	return t, nil
}

// agent fills in what is told of one agent, and says whom it has started. The cost and usage that are in Total then are
// as it has counted them by itself.
func (r treeReader) agent(ctx context.Context, id string, number int, t *Tree) ([]*startedChild, error) {
	select {
	case r.seats <- struct{}{}:
		defer func() { <-r.seats }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	e, err := r.client.explained(ctx, id, number)
	switch {
	case err == nil:
		return t.told(e), nil
	case lostToServer(err) && t.startedChild != nil: // the agent that started it tells
		a, _ := agentOf(id) // it was asked about
		t.Execution = a.begun(1, domain.ExecutionID{}, "")
		switch ended := t.startedChild.ended; {
		case ended == nil && !t.Status.Terminal(): // it is not there yet
		case ended != nil && ended.Unstarted:
		default:
			t.Gone = "its history has been deleted, and there is no record of it"
		}
		return nil, nil
	}
	return nil, err
}

// told takes what its account tells, and returns whom it has started.
func (t *Tree) told(e explanation) []*startedChild {
	x := e.asked
	t.Execution = e.begun(x.Number, x.ExecutionID, cmp.Or(e.runID(), x.RunID))
	t.Status, t.StopReason, t.Code, t.SessionLimit, t.Priced = x.Status, x.StopReason, x.Code, x.SessionLimit, x.Priced
	if t.Status == domain.StatusPending {
		t.Status = domain.StatusInProgress
	}
	t.StartedAt, t.EndedAt, t.Steps = cmp.Or(orNull(x.StartedAt), t.StartedAt), orNull(x.CompletedAt), &x.Steps
	steps := e.StepExecutions()
	if current := e.state.Execution.CurrentStep; current != nil {
		steps = append(steps, domain.StepExecution{Step: *current})
	}
	t.use(x.Usage, x.CostNanoUSD)
	t.estimated = slices.ContainsFunc(e.Events, func(event domain.Event) bool {
		reply, ok := event.Data.(domain.InferenceResponseReceived)
		return ok && reply.Usage.Estimated
	})
	if slices.ContainsFunc(e.Missing, func(m account.Missing) bool { return m.Part == account.Events && m.Execution == x.Number }) {
		t.Gone = "earlier runs of it have been deleted, and what it did and started in them"
	}
	return startedBy(e.Events, steps)
}

// use notes what one has used as it has counted it: with those below it that are over.
func (t *Tree) use(usage domain.Usage, cost int64) {
	t.Total = useOf(usage, cost, t.Priced)
}

func useOf(usage domain.Usage, cost int64, priced bool) TreeUse {
	return TreeUse{Usage: usage, CostNanoUSD: domain.KnownCost(cost, usage.TotalTokens(), priced), cost: cost}
}

// reckon counts what was its own, and what it took with all below it: where the agent that started one has counted it, as that
// has. What a sub-agent has used that it has not counted, as one that is under way or was begun before a reset, comes on top.
func (t *Tree) reckon() {
	if one := t.startedChild; one != nil && one.ended != nil && (!one.ended.Unstarted || t.RunID == "") {
		t.ended(*one)
	}
	counted, known, estimated := t.Total, true, t.Total.Usage.Estimated || t.estimated
	var below TreeUse
	for i := range t.Children {
		total := t.Children[i].Total
		known, estimated = known && total.CostNanoUSD != nil, estimated || total.Usage.Estimated
		if ended := t.Children[i].startedChild.ended; ended != nil && !ended.Unstarted { // this agent has counted it
			below.Usage, below.cost = below.Usage.Add(total.Usage), domain.AddCost(below.cost, total.cost)
		} else {
			t.use(t.Total.Usage.Add(total.Usage), domain.AddCost(t.Total.cost, total.cost))
		}
	}
	t.Own = counted.less(below, t.Priced)
	t.Own.Usage.Estimated = t.Own.Usage.Estimated || t.estimated
	if t.Total.Usage.Estimated = estimated || t.Own.Usage.Estimated; !known {
		t.Total.CostNanoUSD = nil
	}
}

// ended takes how it ended by the account of the agent that started it. That of itself says more, where it has one.
func (t *Tree) ended(one startedChild) {
	by := one.ended
	t.EndedAt = cmp.Or(t.EndedAt, &one.endedAt)
	if by.Lost || t.RunID == "" {
		t.Status, t.StopReason, t.Code = by.Status, by.StopReason, by.Code
	}
	if t.RunID == "" && !by.Lost {
		t.Steps = &by.Steps
	}
	if by.Lost && one.call != nil {
		t.Error = one.call.Error
	}
	t.Priced = t.Priced || by.CostNanoUSD > 0
	t.use(by.Usage, by.CostNanoUSD)
}

// less is what is left without a part. Where that was counted in another way, as an estimate is, the sum of tokens counts.
func (u TreeUse) less(part TreeUse, priced bool) TreeUse {
	all, some := u.Usage, part.Usage
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
// needs no worker.
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
		case Is(err, Gone):
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
