package client

import (
	"context"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"everstep/domain"
)

// limited is the first piece of work that waits for its turn under a rate limit.
func limited(work []pendingWork) (pendingWork, bool) {
	for _, w := range work {
		if w.limited != "" {
			return w, true
		}
	}
	return pendingWork{}, false
}

// rateLimited says so in a status where an inference waits for its turn.
func (c *Client) rateLimited(ctx context.Context, s snapshot, v domain.StatusView) domain.StatusView {
	waits, ok := limited(c.reader().pending(s))
	if !ok || v.Status != domain.StatusInProgress {
		return v
	}
	v.RateLimited, v.Since = true, waits.since
	rate := "task queue " + waits.limited + " has a rate limit"
	if v.RateLimit != nil {
		rate = v.RateLimit.String()
	}
	v.Doing = fmt.Sprintf("step %d: waits for its turn to ask the model (%s)", v.StepCount+1, rate)
	if !c.served(ctx, waits.limited) {
		v.Doing = fmt.Sprintf("step %d: %s", v.StepCount+1, unserved(waits.limited))
	}
	return v
}

// unserved says what to do about a queue that nobody asks for work.
func unserved(queue string) string {
	return "no worker serves task queue " + queue + ", where its inferences wait; start one that has the rate limit (EVERSTEP_RATE_LIMITS)"
}

// served reports whether a worker asks a task queue for activities. Where the
// server does not say, one does.
func (c *Client) served(ctx context.Context, queue string) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	described, err := c.temporal.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: c.cfg.Namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: queue}, TaskQueueType: enumspb.TASK_QUEUE_TYPE_ACTIVITY,
	})
	return err != nil || len(described.GetPollers()) > 0
}
