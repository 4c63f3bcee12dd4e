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

// TestRareHistoriesReplay does on a server what no other test does there. As of every test, what its agents have done is
// replayed at its end.
func TestRareHistoriesReplay(t *testing.T) {
	t.Parallel()
	t.Run("hooks", func(t *testing.T) {
		t.Parallel()
		s := start(t, host.Config{Tools: []tool.Tool{echo()}, Hooks: sundryHooks()})
		definition := scripted(writeScript(t, `
turns:
  - text: looking
    tool_calls: [{name: echo, arguments: {text: a}}, {name: echo, arguments: {text: secret}}]
  - text: done
  - text: done, once more
`), "echo")
		definition.Hooks = namesOf(sundryHooks())
		begun, err := s.agents.Start(within(t), agents.Start{Prompt: "go", Definition: definition})
		require.NoError(t, err)
		s.ended(t, begun)
	})
	t.Run("calls-apart", func(t *testing.T) {
		t.Parallel()
		s := start(t, host.Config{Tools: []tool.Tool{echo()}, Hooks: sundryHooks()})
		calls := strings.Repeat("{name: echo, arguments: {text: a}}, ", 5)
		definition := scripted(writeScript(t, "turns: [{tool_calls: ["+calls+"]}, {text: done}]"), "echo")
		definition.Hooks = []string{"kept-long"}
		begun, err := s.agents.Start(within(t), agents.Start{Prompt: "go", Definition: definition})
		require.NoError(t, err)
		s.ended(t, begun)
		timers := 0 // each begins another workflow task
		for _, event := range s.historyNow(t, domain.WorkflowID(begun.ID), "").GetEvents() {
			if event.GetTimerStartedEventAttributes() != nil {
				timers++
			}
		}
		require.Positive(t, timers, "the calls are too large for one request to the server")
	})
	t.Run("invalid-answers", func(t *testing.T) {
		t.Parallel()
		s := start(t, host.Config{})
		definition := scripted(writeScript(t, `turns: [{text: 'no json'}, {text: '{"n": "one"}'}, {text: '{"n": 1}'}]`))
		definition.Format = domain.ResponseFormat{
			Type: domain.FormatSchema, Name: "count",
			Schema: []byte(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`),
		}
		begun, err := s.agents.Start(within(t), agents.Start{Prompt: "go", Definition: definition})
		require.NoError(t, err)
		s.ended(t, begun)
	})
	t.Run("subagents-held", func(t *testing.T) {
		t.Parallel()
		s := start(t, host.Config{Tools: []tool.Tool{echo()}})
		begun, err := s.agents.Start(within(t), agents.Start{Prompt: "go", Definition: tree(t, quickLeaf)})
		require.NoError(t, err)
		s.ended(t, begun)
	})
	t.Run("wrapped-calls", func(t *testing.T) {
		t.Parallel()
		s := start(t, host.Config{Tools: []tool.Tool{echo()}})
		s.ended(t, s.begin(t, `
turns:
  - tool_calls: [{name: multi_tool_use.parallel, arguments: {tool_uses: [{recipient_name: functions.echo, parameters: {text: a}}, {recipient_name: echo, parameters: {text: b}}]}}]
  - tool_calls: [{name: multi_tool_use.parallel, arguments: {tool_uses: [{recipient_name: functions.nothing}]}}, {name: functions.echo, arguments: {text: c}}]
  - text: 'done'
`, "echo"))
	})
	t.Run("result-parts", func(t *testing.T) {
		t.Parallel()
		s := start(t, host.Config{Tools: []tool.Tool{drawing()}})
		s.ended(t, s.begin(t, `
turns:
  - tool_calls: [{name: draw}, {name: draw}]
  - tool_calls: [{name: draw}]
  - text: 'done'
`, "draw"))
	})
	t.Run("stop-in-wait", func(t *testing.T) {
		t.Parallel()
		s := start(t, host.Config{})
		begun := s.begin(t, "turns: [{failures: [{status: 429, retry_after: 1h}], text: done}]")
		require.Eventually(t, func() bool {
			status, err := s.agents.Status(within(t), begun.ID)
			return err == nil && strings.Contains(status.Doing, "waits until")
		}, patience, 10*time.Millisecond)
		_, err := s.agents.Stop(within(t), begun.ID, agents.StopOptions{Reason: "enough"})
		require.NoError(t, err)
		s.ended(t, begun)
	})
	t.Run("brief-last-words", func(t *testing.T) {
		t.Parallel()
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
		s.ended(t, begun)
	})
	t.Run("reroutes", func(t *testing.T) {
		t.Parallel()
		s := start(t, host.Config{Providers: map[string]inference.Provider{"moved": elsewhere{script.New()}}})
		definition := scripted(writeScript(t, "turns: [{text: done}]"))
		definition.Model.Provider = "moved"
		begun, err := s.agents.Start(within(t), agents.Start{Prompt: "go", Definition: definition})
		require.NoError(t, err)
		s.doing(t, begun.ID, "looking again in")
		_, err = s.agents.Stop(within(t), begun.ID, agents.StopOptions{Reason: "enough"})
		require.NoError(t, err)
		s.ended(t, begun)
	})
	t.Run("question-stopped", func(t *testing.T) {
		t.Parallel()
		s := start(t, host.Config{BuiltinTools: []string{"ask_user"}})
		begun := s.begin(t, `turns: [{tool_calls: [{name: ask_user, arguments: {question: "?"}}]}, {text: done}]`, "ask_user")
		s.questionsOf(t, begun.ID, 1)
		_, err := s.agents.Stop(within(t), begun.ID, agents.StopOptions{Reason: "enough"})
		require.NoError(t, err)
		s.ended(t, begun)
	})
	t.Run("waiting-call-stopped", func(t *testing.T) {
		t.Parallel()
		s := start(t, host.Config{BuiltinTools: []string{"sleep"}})
		begun := s.begin(t, "turns: [{tool_calls: [{name: sleep, arguments: {seconds: 86400}}]}, {text: done}]", "sleep")
		s.doing(t, begun.ID, "sleep waits until")
		_, err := s.agents.Stop(within(t), begun.ID, agents.StopOptions{Reason: "enough"})
		require.NoError(t, err)
		s.ended(t, begun)
	})
	t.Run("held-calls", func(t *testing.T) {
		t.Parallel()
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
		s.ended(t, begun)
	})
	t.Run("tool-limit", func(t *testing.T) {
		t.Parallel()
		b := newTill()
		s := start(t, host.Config{Tools: []tool.Tool{b.pay("one", 0, tool.Rate(1, time.Minute))}})
		begun := s.begin(t, "turns: [{tool_calls: [{name: pay, arguments: {order: 1}}, {name: pay, arguments: {order: 2}}]}, {text: done}]", "pay")
		s.doing(t, begun.ID, "calls that wait for their turn: 1 of pay")
		_, err := s.agents.Stop(within(t), begun.ID, agents.StopOptions{Mode: contract.StopNow, Reason: "enough"})
		require.NoError(t, err)
		s.ended(t, begun)
	})
	t.Run("pending-calls", func(t *testing.T) {
		t.Parallel()
		s := start(t, host.Config{Tools: []tool.Tool{job()}})
		s.ended(t, s.begin(t, "turns: [{tool_calls: [{name: job, arguments: {asked: 2}}]}, {text: done}]", "job"))
	})
	t.Run("pending-call-stopped", func(t *testing.T) {
		t.Parallel()
		s := start(t, host.Config{Tools: []tool.Tool{job()}})
		begun := s.begin(t, "turns: [{tool_calls: [{name: job, arguments: {asked: 1000}}]}, {text: done}]", "job")
		s.doing(t, begun.ID, "job goes on at its server: asked 1 times")
		_, err := s.agents.Stop(within(t), begun.ID, agents.StopOptions{Mode: contract.StopNow, Reason: "enough"})
		require.NoError(t, err)
		s.ended(t, begun)
	})
	t.Run("within-no-time", func(t *testing.T) {
		t.Parallel()
		shop := newWorkshop()
		s := start(t, host.Config{Tools: []tool.Tool{shop.tool(domain.ReadOnly)}})
		begun := s.begin(t, toolScript, "work")
		s.textSeen(t, begun.ID)
		_, err := s.agents.Stop(within(t), begun.ID, agents.StopOptions{Mode: contract.AfterStep, Within: contract.AtOnce, Reason: "enough"})
		require.NoError(t, err)
		s.ended(t, begun)
	})
	t.Run("summary-cut-off", func(t *testing.T) {
		t.Parallel()
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
		s.ended(t, begun)
	})
	t.Run("compaction", func(t *testing.T) {
		t.Parallel()
		start(t, host.Config{Tools: []tool.Tool{echo()}}).outgrows(t, 14)
	})
}

// sundryHooks have one of each kind: what says, blocks, rewrites, goes on, reports.
func sundryHooks() []hook.Hook {
	nudge := hook.BeforeStep("kept-nudge", func(p hook.Point) (hook.Point, error) {
		if p.State.StepCount() > 0 {
			return p, nil
		}
		return p.Say(domain.RoleUser, "Be brief."), nil
	})
	deny := hook.BeforeToolUse("kept-deny", func(c hook.ToolUse) (hook.ToolUse, error) {
		if strings.Contains(c.At.Call.Arguments, "secret") {
			return hook.Block(c, "not that"), nil
		}
		return c, nil
	})
	redact := hook.AfterToolUse("kept-redact", func(c hook.ToolResult) (hook.ToolResult, error) {
		c.At.Execution.Value = strings.ReplaceAll(c.At.Execution.Value, "a", "*")
		return c, nil
	})
	again := hook.AfterStep("kept-again", func(p hook.Point) (hook.Point, error) {
		if step, ok := p.State.CurrentStep(); ok && step.Number == 2 {
			return p.Say(domain.RoleUser, "Say it once more.").Continue(), nil
		}
		return p, nil
	})
	report := hook.IO(domain.TriggerOnStop, "kept-report", func(_ context.Context, r contract.HookRequest) (contract.HookReply, error) {
		return contract.HookReply{Note: domain.Metadata{"steps": fmt.Append(nil, r.Steps)}}, nil
	})
	audit := hook.IO(domain.TriggerBeforeToolUse, "kept-audit", func(context.Context, contract.HookRequest) (contract.HookReply, error) {
		return contract.HookReply{}, nil
	})
	long := hook.BeforeToolUse("kept-long", func(c hook.ToolUse) (hook.ToolUse, error) {
		c.At.Call.Arguments += strings.Repeat(" ", 450_000)
		return c, nil
	})
	return []hook.Hook{nudge, deny, redact, again, report, audit, long}
}

func namesOf(hooks []hook.Hook) (names []string) {
	for _, h := range hooks {
		names = append(names, h.Name)
	}
	return names
}

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
