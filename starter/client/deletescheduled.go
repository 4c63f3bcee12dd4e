package client

import (
	"context"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"

	"everstep/domain/contract"
)

// deleteScheduled deletes the runs of schedules that have begun executions of an agent: each has the message with which
// it began one. It says which schedules have that too.
func (c *Client) deleteScheduled(ctx context.Context, a agent, d *Deletion) error {
	runs, err := c.listedRuns(ctx, fmt.Sprintf("WorkflowType = '%s'", contract.Scheduled))
	if err != nil {
		return err
	}
	by := map[string]bool{}
	for _, info := range runs {
		told, ok := c.memo(info).Scheduled()
		if !ok || told.AgentID != a.id {
			continue
		}
		by[told.Schedule] = true
		if info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			remain(&d.Remains, RemainsInSchedule, told.Schedule, "a run of schedule %s is under way, and has the message with which it begins: workflow %s", told.Schedule, info.GetExecution().GetWorkflowId())
			continue
		}
		if err := c.deleteRun(ctx, info.GetExecution().GetWorkflowId(), a.called(), info.GetExecution().GetRunId(), d); err != nil {
			return err
		}
	}
	for s, err := range c.Schedules(ctx) {
		if err != nil {
			return err
		}
		if by[s.Name] || a.name != "" && s.Session == a.name {
			remain(&d.Remains, RemainsInSchedule, s.Name, "schedule %s has the message with which its runs begin; delete it too", s.Name)
		}
	}
	return nil
}
