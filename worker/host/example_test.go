package host_test

import (
	"context"
	"fmt"
	"strings"

	"everstep/activities"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
	"everstep/worker/host"
)

// A worker with a hook that decides at once, one that asks elsewhere first, a
// compiler and a listener. Agents use the first hook and the compiler where
// their definitions list them; the second is every agent's.
func Example() {
	readOnly := hook.BeforeToolUse("read_only", func(c hook.ToolUse) (hook.ToolUse, error) {
		if strings.HasPrefix(c.At.Call.Name, "write") {
			return hook.Block(c, "this agent may only read"), nil
		}
		return c, nil
	})
	approve := hook.IO(domain.TriggerBeforeExecution, "approve", func(ctx context.Context, request contract.HookRequest) (contract.HookReply, error) {
		if overdrawn(ctx, request.AgentID) {
			return contract.HookReply{Stops: []domain.StopSignal{{Message: "the account is overdrawn"}}}, nil
		}
		return contract.HookReply{}, nil
	})
	approve.Always, approve.Attempts = true, 3

	config := host.Config{
		Hooks: []hook.Hook{readOnly, approve},
		Compilers: map[string]activities.Compiler{"questions_only": func(entries []domain.Entry) []domain.Message {
			var seen []domain.Message
			for _, e := range entries {
				if e.Message.Role == domain.RoleUser {
					seen = append(seen, e.Message)
				}
			}
			return seen
		}},
		Listeners: []host.Listener{host.On(domain.EventStepCompleted, func(e domain.Event) {
			fmt.Println(e.AgentID, "step", e.Step, "cost", domain.USD(e.Data.(domain.AgentStepCompleted).CostNanoUSD))
		})},
	}
	_ = config // host.Main(config)
}

// overdrawn stands for a question to another system.
func overdrawn(context.Context, domain.AgentID) bool { return false }
