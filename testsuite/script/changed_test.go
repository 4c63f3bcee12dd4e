package script_test

import (
	"context"
	"fmt"
	"os"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"everstep/domain/contract"
	"everstep/domain/hook"
	"everstep/worker/host"
)

// changedCommand is the name under which this binary is a worker of another build.
const changedCommand = "changed-worker"

// hookedCommand is the name under which this binary is a worker with a hook.
const hookedCommand = "hooked-worker"

func hookedWorker() {
	host.Main(host.Config{Hooks: []hook.Hook{hook.BeforeExecution("greeter", func(h hook.Context[hook.Nothing]) (hook.Context[hook.Nothing], error) { return h, nil })}})
}

// changedWorker is a worker whose workflow begins with a timer. It ends when it has begun an agent.
func changedWorker() {
	if err := beginChanged(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func beginChanged() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := host.Dial(ctx, host.Connection{Address: os.Getenv("TEMPORAL_ADDRESS")})
	if err != nil {
		return err
	}
	defer c.Close()
	queue := os.Getenv("EVERSTEP_TASK_QUEUE")
	w := worker.New(c, queue, worker.Options{})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ contract.SessionInput) (contract.Outcome, error) {
		return contract.Outcome{}, workflow.Sleep(ctx, time.Hour)
	}, workflow.RegisterOptions{Name: string(contract.Execute)})
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		page, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: fmt.Sprintf("TaskQueue = '%s' AND ExecutionStatus = 'Running'", queue)})
		if err != nil {
			return err
		}
		for _, info := range page.GetExecutions() {
			for events := c.GetWorkflowHistory(ctx, info.GetExecution().GetWorkflowId(), info.GetExecution().GetRunId(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
				event, err := events.Next()
				if err != nil {
					return err
				}
				if event.GetTimerStartedEventAttributes().GetStartToFireTimeout().AsDuration() == time.Hour {
					return nil
				}
			}
		}
	}
	return context.Cause(ctx)
}
