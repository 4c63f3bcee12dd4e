// Command hooks is a worker with a hook that decides at once, one that reports
// elsewhere when an execution has ended, and a listener.
//
//	starter dev
//	go run ./worker/examples/hooks
//	starter run --task-queue hooks --agent …     # a file with hooks: [planets]
package main

import (
	"context"
	"fmt"
	"strings"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
	"everstep/worker/host"
)

func main() {
	host.Main(config(func(_ context.Context, id domain.ExecutionID, used domain.Usage) error {
		fmt.Println(id, "took", used.InputTokens, "+", used.OutputTokens, "tokens")
		return nil
	}))
}

// A sender hands on what an execution has used.
type sender func(context.Context, domain.ExecutionID, domain.Usage) error

// config is the worker.
func config(send sender) host.Config {
	return host.Config{
		TaskQueue: "hooks",
		Tools: []tool.Tool{
			tool.New("forecast", "Tells the weather of a place.", domain.ReadOnly, forecast),
		},
		Hooks: []hook.Hook{planets(), report(send)},
		Listeners: []host.Listener{host.On(domain.EventStepCompleted, func(e domain.Event) {
			fmt.Println(e.AgentID, "step", e.Step, "cost", domain.USD(e.Data.(domain.AgentStepCompleted).CostNanoUSD))
		})},
	}
}

type place struct {
	Name string `json:"name"`
}

func forecast(_ context.Context, p place) (string, error) { return "sunny in " + p.Name, nil }

// planets is an agent's whose file lists it. It runs inside the workflow, so it
// reads nothing but what it is given.
func planets() hook.Hook {
	return hook.BeforeToolUse("planets", blockPlanets)
}

func blockPlanets(c hook.ToolUse) (hook.ToolUse, error) {
	if strings.Contains(c.At.Call.Arguments, "Mars") {
		return hook.Block(c, "There are no forecasts for other planets."), nil
	}
	return c, nil
}

// report is every agent's. It touches the world, so it runs as an activity, and
// again where it fails.
func report(send sender) hook.Hook {
	report := hook.IO(domain.TriggerAfterExecution, "report",
		func(
			ctx context.Context, r contract.HookRequest,
		) (contract.HookReply, error) {
			return contract.HookReply{}, send(ctx, r.ExecutionID, r.Usage)
		})
	report.Always, report.Attempts = true, 3
	return report
}
