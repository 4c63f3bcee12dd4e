package whole_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	script "everstep/activities/scripted"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
	agents "everstep/starter/client"
	"everstep/worker/host"
)

// An elsewhere is a model that has come under a rate limit on a queue that no worker knows.
type elsewhere struct{ inference.Provider }

func (elsewhere) Infer(context.Context, inference.Call, func(inference.Delta)) (inference.Answer, error) {
	return inference.Answer{}, domain.CodedErrorf(domain.Denied, domain.CodeRerouted, "elsewhere")
}

// job is a tool whose other side goes on until it was asked so often.
func job() tool.Tool {
	type args struct {
		Asked int `json:"asked"`
	}
	return tool.New("job", "Does a job.", domain.AtMostOnce, func(ctx context.Context, a args) (string, error) {
		call, _ := tool.ExecutionOf(ctx)
		asked := 0
		if call.Handle != nil {
			if err := json.Unmarshal(call.Handle, &asked); err != nil {
				return "", err
			}
			asked++
		}
		if asked >= a.Asked {
			return "done", nil
		}
		return "", tool.GoesOn(tool.Elsewhere{Handle: json.RawMessage(strconv.Itoa(asked)), Status: fmt.Sprintf("asked %d times", asked)})
	})
}

// doing waits until a status says so.
func (s *stack) doing(t *testing.T, id, what string) {
	t.Helper()
	require.Eventually(t, func() bool {
		status, err := s.agents.Status(within(t), id)
		return err == nil && strings.Contains(status.Doing, what)
	}, patience, 20*time.Millisecond)
}

// recordWaits records what is made again, or is not, and why: after lost workers, by
// others than lack something, and where a stop comes.
func recordWaits(t *testing.T) {
	t.Helper()
	t.Run("lost-inference", func(t *testing.T) {
		s := connect(t, "plain", nil)
		s.mortals(t)
		definition := scripted(writeScript(t, "turns: [{text: done}]"))
		definition.Model.Provider, definition.Attempts = "mortal", 1
		begun, err := s.agents.Start(within(t), agents.Start{Prompt: "go", Definition: definition})
		require.NoError(t, err)
		s.keep(t, "lost-inference", s.ended(t, begun))
	})
	t.Run("lost-hooks", func(t *testing.T) {
		s := connect(t, "plain", nil)
		s.mortals(t)
		definition := scripted(writeScript(t, "turns: [{tool_calls: [{name: echo, arguments: {text: a}}]}, {text: done}]"), "echo")
		definition.Hooks = []string{"kept-audit"}
		begun, err := s.agents.Start(within(t), agents.Start{Prompt: "go", Definition: definition})
		require.NoError(t, err)
		s.keep(t, "lost-hooks", s.ended(t, begun))
	})
	t.Run("lost-calls", func(t *testing.T) {
		s := connect(t, "plain", nil)
		s.mortals(t)
		s.keep(t, "lost-calls", s.ended(t, s.begin(t, "turns: [{tool_calls: [{name: die, arguments: {}}]}, {text: done}]", "die")))
	})
	t.Run("lacking-workers", func(t *testing.T) {
		s := connect(t, "plain", nil)
		t.Cleanup(s.work(t, host.Config{}).Stop)
		definition := scripted(writeScript(t, "turns: [{text: done}]"))
		definition.Model.Provider = "newest"
		begun, err := s.agents.Start(within(t), agents.Start{Prompt: "go", Definition: definition})
		require.NoError(t, err)
		s.doing(t, begun.ID, "waiting for a worker that has it")
		t.Cleanup(s.work(t, host.Config{Providers: map[string]inference.Provider{"newest": script.New()}}).Stop)
		s.keep(t, "lacking-workers", s.ended(t, begun))
	})
	t.Run("brief-last-words", func(t *testing.T) {
		var asked atomic.Int64
		s := start(t, host.Config{Hooks: []hook.Hook{hook.IO(domain.TriggerOnStop, "kept-report", func(context.Context, contract.HookRequest) (contract.HookReply, error) {
			if asked.Add(1) > 2 {
				return contract.HookReply{}, nil
			}
			lacks := domain.Errorf(domain.Unavailable, "no such thing")
			lacks.Lacking = true // as a worker of other activities says
			return contract.HookReply{}, lacks
		})}})
		definition := scripted(writeScript(t, "turns: [{text: 'one two three four five six seven eight', delay: 1m}]"))
		definition.Hooks = []string{"kept-report"}
		begun, err := s.agents.Start(within(t), agents.Start{Prompt: "go", Definition: definition})
		require.NoError(t, err)
		s.textSeen(t, begun.ID)
		_, err = s.agents.Stop(within(t), begun.ID, agents.StopOptions{Mode: contract.StopNow, Reason: "enough"})
		require.NoError(t, err)
		s.keep(t, "brief-last-words", s.ended(t, begun))
	})
	t.Run("reroutes", func(t *testing.T) {
		s := start(t, host.Config{Providers: map[string]inference.Provider{"moved": elsewhere{script.New()}}})
		definition := scripted(writeScript(t, "turns: [{text: done}]"))
		definition.Model.Provider = "moved"
		begun, err := s.agents.Start(within(t), agents.Start{Prompt: "go", Definition: definition})
		require.NoError(t, err)
		s.doing(t, begun.ID, "looking again in")
		_, err = s.agents.Stop(within(t), begun.ID, agents.StopOptions{Reason: "enough"})
		require.NoError(t, err)
		s.keep(t, "reroutes", s.ended(t, begun))
	})
	t.Run("bound-sessions", func(t *testing.T) {
		file, _ := mcpFile(t, map[string]any{"stateful": true, "tools": map[string]any{
			"count": map[string]string{"effect": "read_only"}, "pay": map[string]string{},
		}})
		s := connect(t, "plain", nil)
		first := s.work(t, host.Config{MCP: file})
		begun, err := s.agents.Start(within(t), agents.Start{ID: "kept", Prompt: "go", Definition: scripted(writeScript(t, `
turns:
  - {tool_calls: [{name: shop__count, arguments: {}}, {name: shop__count, arguments: {}}]}
  - {tool_calls: [{name: shop__pay, arguments: {text: "5"}}]}
  - {tool_calls: [{name: shop__count, arguments: {}}]}
  - {text: one}
  - {tool_calls: [{name: shop__count, arguments: {}}, {name: shop__pay, arguments: {text: "6"}}]}
  - {tool_calls: [{name: shop__pay, arguments: {text: "7"}}]}
  - {text: two}
`), "shop__count", "shop__pay")})
		require.NoError(t, err)
		s.ended(t, begun)
		first.Stop()
		second := s.work(t, host.Config{MCP: file})
		defer second.Stop()
		more, err := s.agents.Send(within(t), "kept", agents.SendOptions{Prompt: "more"})
		require.NoError(t, err)
		s.ended(t, more)
		status, err := s.agents.Status(within(t), "kept")
		require.NoError(t, err)
		for _, unknown := range status.OutcomeUnknown {
			_, err = s.agents.Resolve(within(t), "kept", agents.ResolveOptions{Call: unknown.ID.String(), Verdict: domain.VerdictDone, Reason: "it is in the notes"})
			require.NoError(t, err)
		}
		_, err = s.agents.Close(within(t), "kept")
		require.NoError(t, err)
		s.keep(t, "bound-sessions", more)
	})
	t.Run("waiting-calls", func(t *testing.T) {
		s := start(t, host.Config{BuiltinTools: []string{"sleep", "wait_until", "todo"}})
		s.keep(t, "waiting-calls", s.ended(t, s.begin(t, waitsScript, "sleep", "wait_until", "todo")))
	})
	t.Run("questions", func(t *testing.T) {
		s := start(t, host.Config{BuiltinTools: []string{"ask_user"}})
		begun, questions := s.startQuestions(t, "")
		for i, reply := range []agents.Reply{{Text: "Berlin", By: "ann", Reason: "asked her"}, {Text: "by train"}, {Value: json.RawMessage("2")}} {
			reply.Call = questions[i].ToolExecutionID
			_, err := s.agents.Answer(within(t), begun.ID, reply)
			require.NoError(t, err)
		}
		s.keep(t, "questions", s.ended(t, begun))
	})
	t.Run("question-stopped", func(t *testing.T) {
		s := start(t, host.Config{BuiltinTools: []string{"ask_user"}})
		begun := s.begin(t, `turns: [{tool_calls: [{name: ask_user, arguments: {question: "?"}}]}, {text: done}]`, "ask_user")
		s.questionsOf(t, begun.ID, 1)
		_, err := s.agents.Stop(within(t), begun.ID, agents.StopOptions{Reason: "enough"})
		require.NoError(t, err)
		s.keep(t, "question-stopped", s.ended(t, begun))
	})
	t.Run("waiting-call-stopped", func(t *testing.T) {
		s := start(t, host.Config{BuiltinTools: []string{"sleep"}})
		begun := s.begin(t, "turns: [{tool_calls: [{name: sleep, arguments: {seconds: 86400}}]}, {text: done}]", "sleep")
		s.doing(t, begun.ID, "sleep waits until")
		_, err := s.agents.Stop(within(t), begun.ID, agents.StopOptions{Reason: "enough"})
		require.NoError(t, err)
		s.keep(t, "waiting-call-stopped", s.ended(t, begun))
	})
	t.Run("held-calls", func(t *testing.T) {
		s := start(t, host.Config{BuiltinTools: []string{"sleep"}})
		begun, err := s.agents.Start(within(t), agents.Start{
			Prompt: "go", Budget: domain.ExecutionBudget{MaxSeconds: new(3600.0)},
			Definition: scripted(writeScript(t, "turns: [{tool_calls: [{name: sleep, arguments: {seconds: 2}}]}, {text: done}]"), "sleep"),
		})
		require.NoError(t, err)
		s.doing(t, begun.ID, "sleep waits until")
		_, err = s.agents.Pause(within(t), begun.ID)
		require.NoError(t, err)
		s.doing(t, begun.ID, "calls wait for the end of the pause")
		_, err = s.agents.Resume(within(t), begun.ID)
		require.NoError(t, err)
		s.keep(t, "held-calls", s.ended(t, begun))
	})
	t.Run("tool-limit", func(t *testing.T) {
		b := newTill()
		s := start(t, host.Config{Tools: []tool.Tool{b.pay("one", 0, tool.Rate(1, time.Minute))}})
		begun := s.begin(t, "turns: [{tool_calls: [{name: pay, arguments: {order: 1}}, {name: pay, arguments: {order: 2}}]}, {text: done}]", "pay")
		s.doing(t, begun.ID, "calls that wait for their turn: 1 of pay")
		_, err := s.agents.Stop(within(t), begun.ID, agents.StopOptions{Mode: contract.StopNow, Reason: "enough"})
		require.NoError(t, err)
		s.keep(t, "tool-limit", s.ended(t, begun))
	})
	for _, name := range []string{"tool-limit-comes", "rerouted-calls"} { // the first has no version of it
		t.Run(name, func(t *testing.T) {
			s := connect(t, "plain", nil)
			s.keep(t, name, s.limitComes(t, newTill()))
		})
	}
	t.Run("rechecked-tool-limits", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{newTill().pay("one", 0, tool.AtOnce(1))}})
		begun, err := s.agents.Start(within(t), agents.Start{
			ID: "kept", Prompt: "go", Definition: scripted(writeScript(t, "turns: [{text: one}, {text: two}]"), "pay"),
		})
		require.NoError(t, err)
		s.ended(t, begun)
		second, err := s.agents.Send(within(t), "kept", agents.SendOptions{Prompt: "more"})
		require.NoError(t, err)
		s.ended(t, second)
		_, err = s.agents.Close(within(t), "kept")
		require.NoError(t, err)
		s.keep(t, "rechecked-tool-limits", second)
	})
	t.Run("stranded-calls", func(t *testing.T) { // it takes as long as a call waits for its turn at least
		s := connect(t, "plain", nil)
		s.keep(t, "stranded-calls", s.limitGoes(t, newTill()))
	})
	t.Run("pending-calls", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{job()}})
		s.keep(t, "pending-calls", s.ended(t, s.begin(t, "turns: [{tool_calls: [{name: job, arguments: {asked: 2}}]}, {text: done}]", "job")))
	})
	t.Run("pending-call-stopped", func(t *testing.T) {
		s := start(t, host.Config{Tools: []tool.Tool{job()}})
		begun := s.begin(t, "turns: [{tool_calls: [{name: job, arguments: {asked: 1000}}]}, {text: done}]", "job")
		s.doing(t, begun.ID, "job goes on at its server: asked 1 times")
		_, err := s.agents.Stop(within(t), begun.ID, agents.StopOptions{Mode: contract.StopNow, Reason: "enough"})
		require.NoError(t, err)
		s.keep(t, "pending-call-stopped", s.ended(t, begun))
	})
	t.Run("within-no-time", func(t *testing.T) {
		shop := newWorkshop()
		s := start(t, host.Config{Tools: []tool.Tool{shop.tool(domain.ReadOnly)}})
		begun := s.begin(t, toolScript, "work")
		s.textSeen(t, begun.ID)
		_, err := s.agents.Stop(within(t), begun.ID, agents.StopOptions{Mode: contract.AfterStep, Within: contract.AtOnce, Reason: "enough"})
		require.NoError(t, err)
		s.keep(t, "within-no-time", s.ended(t, begun))
	})
	t.Run("summary-cut-off", func(t *testing.T) {
		s := connect(t, "plain", nil)
		first := s.work(t, host.Config{Tools: []tool.Tool{echo()}})
		var text strings.Builder
		text.WriteString("summaries: [{text: 'in short', delay: 1m}]\nturns:\n")
		for n := range 10 {
			fmt.Fprintf(&text, "  - {text: '%d %s', tool_calls: [{name: echo, arguments: {text: '%d', times: 100}}]}\n", n, strings.Repeat("words ", 100), n)
		}
		definition := scripted(writeScript(t, text.String()), "echo")
		definition.Model.ContextWindow, definition.Attempts = 1500, 1
		begun, err := s.agents.Start(within(t), agents.Start{Prompt: "go", Definition: definition})
		require.NoError(t, err)
		s.doing(t, begun.ID, "making the conversation shorter")
		first.Stop()
		t.Cleanup(s.work(t, host.Config{Tools: []tool.Tool{echo()}}).Stop)
		s.keep(t, "summary-cut-off", s.ended(t, begun))
	})
}
