package client

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"everstep/domain"
	"everstep/starter/client/internal/history"
)

// limited is the first piece of work that waits for its turn under a rate limit.
func limited(work []history.Pending) (history.Pending, bool) {
	for _, w := range work {
		if w.Limited != "" {
			return w, true
		}
	}
	return history.Pending{}, false
}

// waiting says in a status what an inference waits for, where it does not go on:
// its turn under a rate limit, or the time of its next attempt.
func (c *Client) waiting(ctx context.Context, s snapshot, v domain.StatusView) domain.StatusView {
	if v.Status != domain.StatusInProgress {
		return v
	}
	work := c.pending(s)
	if waits, ok := limited(work); ok {
		return c.rateLimited(ctx, waits, v)
	}
	for _, w := range work {
		if w.Activity == string(domain.CallModel) && w.BackingOff && w.Before != nil {
			v.Doing = fmt.Sprintf("step %d: attempt %d at the model waits until %s: %s",
				v.StepCount+1, w.Attempt, w.Next.UTC().Format(time.RFC3339), domain.Shorten(w.Before.Message, maxWaitReason))
			return v
		}
	}
	return v
}

// maxWaitReason bounds why an attempt failed, where that is said in passing.
const maxWaitReason = 200

func (c *Client) rateLimited(ctx context.Context, waits history.Pending, v domain.StatusView) domain.StatusView {
	v.RateLimited, v.Since = true, waits.Since
	rate := "task queue " + waits.Limited + " has a rate limit"
	if v.RateLimit != nil {
		rate = v.RateLimit.String()
	}
	v.Doing = fmt.Sprintf("step %d: waits for its turn to ask the model (%s)", v.StepCount+1, rate)
	if !c.served(ctx, waits.Limited) {
		v.Doing = fmt.Sprintf("step %d: %s", v.StepCount+1, unserved(waits.Limited))
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
