package whole_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	agents "everstep/starter/client"
	"everstep/testsuite/internal/kept"
	"everstep/worker/host"
)

func historyHookNames() []string {
	var names []string
	for _, h := range kept.HistoryHooks() {
		names = append(names, h.Name)
	}
	return names
}

// recordAgents records what an agent is made of beside its loop: hooks, formats,
// compaction, going on.
func recordAgents(t *testing.T) {
	t.Helper()
	t.Run("hooks", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{echo()}, Hooks: kept.HistoryHooks()})
		definition := scripted(writeScript(t, `
turns:
  - text: looking
    tool_calls: [{name: echo, arguments: {text: a}}, {name: echo, arguments: {text: secret}}]
  - text: done
  - text: done, once more
`), "echo")
		definition.Hooks = historyHookNames()
		begun, err := s.agents.Start(within(t), agents.Start{Prompt: "go", Definition: definition})
		require.NoError(t, err)
		s.keep(t, "hooks", s.ended(t, begun))
	})
	t.Run("recent-steps", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{echo()}, Hooks: kept.HistoryHooks()})
		definition := scripted(longScript(t, domain.RecentSteps+2, 1), "echo")
		definition.Hooks = []string{"kept-deny"}
		begun, err := s.agents.Start(within(t), agents.Start{Prompt: "go", Definition: definition})
		require.NoError(t, err)
		s.keep(t, "recent-steps", s.ended(t, begun))
	})
	t.Run("calls-apart", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{echo()}, Hooks: kept.HistoryHooks()})
		calls := strings.Repeat("{name: echo, arguments: {text: a}}, ", 5)
		definition := scripted(writeScript(t, "turns: [{tool_calls: ["+calls+"]}, {text: done}]"), "echo")
		definition.Hooks = []string{"kept-long"}
		begun, err := s.agents.Start(within(t), agents.Start{Prompt: "go", Definition: definition})
		require.NoError(t, err)
		s.keep(t, "calls-apart", s.ended(t, begun))
	})
	t.Run("invalid-answers", func(t *testing.T) {
		s := start(t, host.Config{})
		definition := scripted(writeScript(t, `turns: [{text: 'no json'}, {text: '{"n": "one"}'}, {text: '{"n": 1}'}]`))
		definition.Format = domain.ResponseFormat{
			Type: domain.FormatSchema, Name: "count",
			Schema: []byte(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`),
		}
		begun, err := s.agents.Start(within(t), agents.Start{Prompt: "go", Definition: definition})
		require.NoError(t, err)
		s.keep(t, "invalid-answers", s.ended(t, begun))
	})
	t.Run("compaction", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{echo()}})
		s.keep(t, "compaction", s.outgrows(t, 10))
	})
	t.Run("going-on", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{echo()}})
		one, five := int64(1), int64(5)
		begun, err := s.agents.Start(within(t), agents.Start{
			Prompt: "go", Definition: scripted(longScript(t, 3, 1), "echo"), Budget: domain.ExecutionBudget{MaxSteps: &one},
		})
		require.NoError(t, err)
		s.ended(t, begun)
		extended, err := s.agents.Extend(within(t), begun.ID, agents.ExtendOptions{Budget: domain.ExecutionBudget{MaxSteps: &five}})
		require.NoError(t, err)
		s.keep(t, "going-on", s.ended(t, extended.Execution))
	})
	t.Run("approvals", func(t *testing.T) {
		s := start(t, host.Config{Tools: payTools(make(chan string, 8))})
		begun, calls := s.startApprovals(t, "")
		_, err := s.agents.Approve(within(t), begun.ID, agents.Word{Call: calls[0].ToolExecutionID, Digest: calls[0].Digest, By: "ann"})
		require.NoError(t, err)
		_, err = s.agents.Deny(within(t), begun.ID, agents.Word{By: "bob", Reason: "too much"})
		require.NoError(t, err)
		s.keep(t, "approvals", s.ended(t, begun))
	})
	t.Run("standing-approvals", func(t *testing.T) {
		s := start(t, host.Config{Tools: payTools(make(chan string, 8))})
		last := s.standing(t, "kept")
		_, err := s.agents.Close(within(t), "kept")
		require.NoError(t, err)
		s.keep(t, "standing-approvals", last)
	})
	t.Run("edited-call", func(t *testing.T) {
		s := start(t, host.Config{Tools: payTools(make(chan string, 8))})
		begun, _ := s.edited(t, "")
		s.keep(t, "edited-call", s.ended(t, begun))
	})
	t.Run("counted-edits", func(t *testing.T) {
		s := start(t, host.Config{Tools: payTools(make(chan string, 8)), Hooks: kept.HistoryHooks()})
		begun, _ := s.edited(t, "", "kept-audit")
		s.keep(t, "counted-edits", s.ended(t, begun))
	})
	t.Run("paused", func(t *testing.T) {
		shop := newWorkshop()
		s := start(t, host.Config{Tools: []tool.Tool{shop.tool(domain.ReadOnly)}})
		hour, ten := 3600.0, int64(10)
		begun, err := s.agents.Start(within(t), agents.Start{
			Prompt: "go", Definition: scripted(writeScript(t, toolScript), "work"), Budget: domain.ExecutionBudget{MaxSeconds: &hour},
		})
		require.NoError(t, err)
		s.textSeen(t, begun.ID)
		_, err = s.agents.Pause(within(t), begun.ID)
		require.NoError(t, err)
		shop.open()
		require.Eventually(t, func() bool {
			view, err := s.agents.Status(within(t), begun.ID)
			return err == nil && view.Doing == "paused"
		}, patience, 50*time.Millisecond)
		_, err = s.agents.Extend(within(t), begun.ID, agents.ExtendOptions{Budget: domain.ExecutionBudget{MaxSteps: &ten}})
		require.NoError(t, err)
		_, err = s.agents.Resume(within(t), begun.ID)
		require.NoError(t, err)
		s.keep(t, "paused", s.ended(t, begun))
	})
}

// outgrows is an execution of so many steps and an answer, whose conversation does not fit the model's window.
func (s *stack) outgrows(t *testing.T, steps int) agents.Execution {
	t.Helper()
	var script strings.Builder
	script.WriteString("turns:\n")
	for n := range steps {
		fmt.Fprintf(&script, "  - {text: '%d %s', tool_calls: [{name: echo, arguments: {text: '%d', times: 100}}]}\n", n, strings.Repeat("words ", 100), n)
	}
	script.WriteString("  - {text: done}\n")
	definition := scripted(writeScript(t, script.String()), "echo")
	definition.Model.ContextWindow = 1500
	return s.answers(t, agents.Start{Definition: definition})
}
