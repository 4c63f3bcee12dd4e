package whole_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities"
	"everstep/activities/inference"
	script "everstep/activities/scripted"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
	"everstep/starter/client"
	"everstep/worker/host"
)

// TestARollingDeploymentEndsNoExecution: of two workers one is older, and has neither
// the hook nor the compiler nor the provider that agents use.
func TestARollingDeploymentEndsNoExecution(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	audit := hook.IO(domain.TriggerAfterStep, "audit", func(context.Context, contract.HookRequest) (contract.HookReply, error) {
		return contract.HookReply{}, nil
	})
	all := func(entries []domain.Entry) (messages []domain.Message) {
		for _, e := range entries {
			messages = append(messages, e.Message)
		}
		return messages
	}
	s := start(t, host.Config{
		Hooks: []hook.Hook{audit}, Compilers: map[string]activities.Compiler{"all": all},
		Providers: map[string]inference.Provider{"newest": script.New()},
	})
	older := s.work(t, host.Config{Hooks: []hook.Hook{}})
	t.Cleanup(older.Stop)
	definition := scripted(writeScript(t, "turns: [{text: done}]"))
	definition.Model.Provider, definition.Hooks, definition.Compiler = "newest", []string{"audit"}, "all"
	var begun []client.Execution
	for range 8 {
		x, err := s.agents.Start(ctx, client.Start{Prompt: "go", Definition: definition})
		require.NoError(t, err)
		begun = append(begun, x)
	}
	for _, x := range begun {
		result, err := s.agents.Wait(ctx, x.ID, 0)
		require.NoError(t, err)
		require.Equal(t, "done", result.Answer, "%v", result.Error)
	}
	older.Stop() // it cannot say what it does not know
}
