package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	workflowpb "go.temporal.io/api/workflow/v1"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
)

// Belongings are what belongs to an agent, as far as it was found.
type Belongings struct {
	ID string
	// Runs counts those of its workflows and of its sub-agents', Subagents the agents below it.
	Runs, Subagents int
	// Storage and Records say that workers of theirs have such.
	Storage, Records bool
	// Recorded counts the records.
	Recorded int
	// Forks are the ids of the agents that were forked from any of them.
	Forks []string

	// all are the agents, each after the one above it.
	all     []*belonging
	remains []Remaining
	// copying is a fork that still copies messages.
	copying string
}

// A belonging is one agent of them.
type belonging struct {
	agent
	// above is the agent whose sub-agent it is; nil: it is the one to be deleted.
	above *belonging
	// filed says that nothing but records that came out of a file name it.
	filed bool
	// left says that it is left as it is.
	left bool
	// runs are those of its workflows, the oldest first.
	runs []string
	// segments are the names of those that the runs name.
	segments []string
}

// belongings finds what belongs to an agent: by its histories and the server's list, and by the records where these
// outlast them.
func (c *Client) belongings(ctx context.Context, a agent, o DeleteOptions) (Belongings, error) {
	b := Belongings{ID: a.called(), all: []*belonging{{agent: a}}, remains: []Remaining{}}
	known := map[domain.AgentID]bool{a.id: true}
	for next := 0; next < len(b.all); next++ { // it grows
		one := b.all[next]
		why, err := c.runsOf(ctx, one)
		if err == nil && why != "" {
			remain(&b.remains, RemainsUnknown, one.called(), "%s, which is named as a sub-agent of %s, was left as it is: %s", one.called(), one.above.called(), why)
			one.left = true
			delete(known, one.id)
			continue
		}
		found := subagentsOf{}
		if err == nil {
			err = c.reads(ctx, one, &b, found)
		}
		if err == nil && o.Records != nil {
			err = b.recordedBelow(ctx, one, o.Records, found)
		}
		if err != nil {
			return b, err
		}
		// in an order that does not change
		for _, below := range slices.SortedFunc(maps.Keys(found), func(x, y domain.AgentID) int { return cmp.Compare(x.String(), y.String()) }) {
			if !known[below] {
				known[below] = true
				b.all = append(b.all, &belonging{agent: agent{id: below}, above: one, filed: !found[below]})
			}
		}
		b.Runs += len(one.runs)
	}
	b.all = slices.DeleteFunc(b.all, func(one *belonging) bool { return one.left })
	b.Subagents = len(b.all) - 1
	if o.Storage == nil && (b.Storage || b.Runs == 0) {
		remain(&b.remains, RemainsInStorage, b.ID, "the storage of its workers, if they have one, was not reached: parts of its conversation and results of its tools may be there")
	}
	if o.Records == nil && (b.Records || b.Runs == 0) {
		remain(&b.remains, RemainsInRecords, b.ID, "the records of its workers, if they have some, were not reached: its executions may be there")
	}
	if b.Runs+b.Recorded == 0 { // it may never have been
		return b, nil
	}
	return b, c.forks(ctx, &b, known)
}

// subagentsOf are the ids of an agent's sub-agents; false: nothing but records that came out of a file name it.
type subagentsOf map[domain.AgentID]bool

func (s subagentsOf) add(id domain.AgentID, own bool) { s[id] = s[id] || own }

// addWorkflow adds the agent of a workflow, where it is one without a name.
func (s subagentsOf) addWorkflow(workflowID string) {
	if child, is := agentOfWorkflow(workflowID); is && child.name == "" {
		s.add(child.id, true)
	}
}

// runsOf finds the runs of an agent, and why a sub-agent is not to be deleted with the one above it; empty: it is.
func (c *Client) runsOf(ctx context.Context, one *belonging) (why string, _ error) {
	listed, err := c.listedRuns(ctx, workflowIs(one.workflowID()))
	if err != nil {
		return "", err
	}
	slices.SortStableFunc(listed, func(x, y *workflowpb.WorkflowExecutionInfo) int {
		return x.GetStartTime().AsTime().Compare(y.GetStartTime().AsTime())
	})
	for _, info := range listed {
		one.runs = append(one.runs, info.GetExecution().GetRunId())
	}
	newest, err := c.described(ctx, one.agent, "")
	var chain []string // the newest and those before it, of which the list may not have all yet
	for run := newest.runID(); err == nil && run != "" && !slices.Contains(chain, run); {
		chain = append(chain, run)
		run, err = c.previous(ctx, one.agent, run)
	}
	if err != nil && !deleted(err) { // the server has all of them, or those down to the first that is deleted
		return "", err
	}
	one.runs = slices.DeleteFunc(one.runs, func(run string) bool { return slices.Contains(chain, run) })
	slices.Reverse(chain)
	one.runs = append(one.runs, chain...)
	if one.above == nil {
		return "", nil
	}
	if one.filed && len(one.runs) > 0 {
		return "the server has it, and only records that were imported name it", nil
	}
	for _, info := range append(listed, newest.info()) {
		parent := info.GetParentExecution().GetWorkflowId()
		if starter, _ := agentOfWorkflow(parent); parent != "" && starter.id != one.above.id {
			return fmt.Sprintf("the server tells that %s has started it", strings.TrimPrefix(parent, domain.WorkflowIDPrefix)), nil
		}
	}
	return "", nil
}

// reads reads the runs of an agent for what they name.
func (c *Client) reads(ctx context.Context, one *belonging, b *Belongings, below subagentsOf) error {
	if len(one.runs) > 1 {
		c.cfg.Progress(fmt.Sprintf("reading the histories of %s: %d runs", one.called(), len(one.runs)))
	}
	for _, run := range one.runs {
		events, err := c.reader(one.agent).Events(ctx, run)
		switch {
		case deleted(err) || err == nil && len(events) == 0:
			continue
		case err != nil:
			return err
		}
		in := history.Began(c.cfg.Converter, events[0]).Input
		if parent := in.Parent; parent != nil && one == b.all[0] && !slices.ContainsFunc(b.remains, func(r Remaining) bool { return r.Kind == RemainsInParent }) {
			remain(&b.remains, RemainsInParent, parent.AgentID.String(), "the agent whose sub-agent it was, %s, has what it was asked and what it answered", parent.AgentID)
		}
		if in.Carry != nil {
			for _, segment := range in.Carry.Segments {
				if name := segment.Key(one.workflowID()); !slices.Contains(one.segments, name) {
					one.segments = append(one.segments, name)
				}
			}
			if resolved := in.Carry.Config.Resolved; resolved != nil {
				b.Storage, b.Records = b.Storage || resolved.Storage, b.Records || resolved.Records
			}
		}
		for _, catalog := range history.Replies(c.cfg.Converter, events, contract.ListTools) {
			b.Storage, b.Records = b.Storage || catalog.Storage, b.Records || catalog.Records
		}
		for _, workflowID := range history.Children(events) {
			below.addWorkflow(workflowID)
		}
	}
	// A sub-agent of which no history tells any more may still be listed.
	children, err := c.listedRuns(ctx, fmt.Sprintf("WorkflowType = '%s' AND ParentWorkflowId = '%s'", contract.Execute, one.workflowID()))
	if err != nil {
		return err
	}
	for _, info := range children {
		below.addWorkflow(info.GetExecution().GetWorkflowId())
	}
	return nil
}

// recordedBelow adds the sub-agents that records name.
func (b *Belongings) recordedBelow(ctx context.Context, one *belonging, records RecordStore, below subagentsOf) error {
	refs, err := records.List(ctx, one.id)
	if err != nil {
		return err
	}
	b.Recorded += len(refs)
	for _, ref := range refs {
		r, err := records.Get(ctx, ref)
		other, isOther := errors.AsType[*domain.OtherSchema](err)
		switch {
		case err == nil:
		case errors.Is(err, record.ErrNone):
			continue
		case isOther: // it may name sub-agents, which nothing else names
			return errorf(Refused, err, "the record of execution %d of %s: schema_version: %s", ref.Number, one.called(), other.Advise("nothing was deleted: delete it"))
		case domain.AsError(err).Kind == domain.Unavailable:
			return err
		default:
			remain(&b.remains, RemainsUnknown, one.called(), "the record of execution %d of %s is damaged: which sub-agents it had is not known by it", ref.Number, one.called())
			continue
		}
		for _, step := range r.Steps {
			for i, x := range step.Step.ToolExecutions {
				child := r.ExecutionID.Step(step.Step.Number).Tool(i).Subagent() // whatever the record says

				if x.Name() != domain.SpawnSubagent { // it may be a sub-agent that is offered as a tool of its own
					recorded, err := records.List(ctx, child)
					if err != nil {
						return err
					}
					if len(recorded) == 0 {
						continue
					}
				}
				below.add(child, r.Imported.IsZero())
			}
		}
	}
	return nil
}

// listedRuns are the runs that fit a query, those too that went on in another one.
func (c *Client) listedRuns(ctx context.Context, query string) (all []*workflowpb.WorkflowExecutionInfo, _ error) {
	for info, err := range c.runs(ctx, query) {
		if err != nil {
			return nil, err
		}
		all = append(all, info)
	}
	return all, nil
}
