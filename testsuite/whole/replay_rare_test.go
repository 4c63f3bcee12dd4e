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
// replayed at its end, and what the worker tells of it after each workflow task is what a replay tells.
func TestRareHistoriesReplay(t *testing.T) {
	t.Parallel()
	says := func(doing string) func(*testing.T, *stack, string) {
		return func(t *testing.T, s *stack, id string) { t.Helper(); s.doing(t, id, doing) }
	}
	writes := func(t *testing.T, s *stack, id string) { t.Helper(); s.textSeen(t, id) }
	stops := func(o agents.StopOptions) func(*testing.T, *stack, string) {
		return func(t *testing.T, s *stack, id string) {
			t.Helper()
			o.Reason = "enough"
			s.stops(t, id, o)
		}
	}
	stop, stopNow := stops(agents.StopOptions{}), stops(agents.StopOptions{Mode: contract.StopNow})
	for name, test := range map[string]struct {
		config host.Config
		script string
		tools  []string
		change func(*agents.Start)
		// ready waits until it is time for what is done meanwhile.
		ready, meanwhile func(t *testing.T, s *stack, id string)
	}{
		"hooks that are activities": {
			config: host.Config{Tools: []tool.Tool{echo()}, Hooks: auditing()},
			script: "turns: [{tool_calls: [{name: echo, arguments: {text: a}}, {name: echo, arguments: {text: b}}]}, {text: done}]", tools: []string{"echo"},
			change: func(s *agents.Start) { s.Definition.Hooks = []string{"audit", "report"} },
		},
		"calls that are wrapped in one": {
			config: host.Config{Tools: []tool.Tool{echo()}}, tools: []string{"echo"}, script: `
turns:
  - tool_calls: [{name: multi_tool_use.parallel, arguments: {tool_uses: [{recipient_name: functions.echo, parameters: {text: a}}, {recipient_name: echo, parameters: {text: b}}]}}]
  - tool_calls: [{name: multi_tool_use.parallel, arguments: {tool_uses: [{recipient_name: functions.nothing}]}}, {name: functions.echo, arguments: {text: c}}]
  - text: done
`},
		"results with images": {
			config: host.Config{Tools: []tool.Tool{drawing()}}, script: "turns: [{tool_calls: [{name: draw}, {name: draw}]}, {tool_calls: [{name: draw}]}, {text: done}]", tools: []string{"draw"},
		},
		"a stop before another attempt at the model": {
			script: "turns: [{failures: [{status: 429, retry_after: 1h}], text: done}]", ready: says("waits until"), meanwhile: stop,
		},
		"a hook at a stop that its first workers lack": {
			config: host.Config{Hooks: []hook.Hook{lackedTwice()}},
			script: "turns: [{text: 'one two three four five six seven eight', delay: 1m}]",
			change: func(s *agents.Start) { s.Definition.Hooks = []string{"report"} }, ready: writes, meanwhile: stopNow,
		},
		"an inference that goes to another queue": {
			config: host.Config{Providers: map[string]inference.Provider{"moved": elsewhere{script.New()}}},
			script: "turns: [{text: done}]", change: func(s *agents.Start) { s.Definition.Model.Provider = "moved" },
			ready: says("looking again in"), meanwhile: stop,
		},
		"a question when it is stopped": {
			config: host.Config{BuiltinTools: []string{"ask_user"}},
			script: `turns: [{tool_calls: [{name: ask_user, arguments: {question: "?"}}]}, {text: done}]`, tools: []string{"ask_user"},
			ready: says("waits for an answer"), meanwhile: stop,
		},
		"a call that waits when it is stopped": {
			config: host.Config{BuiltinTools: []string{"sleep"}},
			script: "turns: [{tool_calls: [{name: sleep, arguments: {seconds: 86400}}]}, {text: done}]", tools: []string{"sleep"},
			ready: says("sleep waits until"), meanwhile: stop,
		},
		"a call whose wait ends in a pause": {
			config: host.Config{BuiltinTools: []string{"sleep"}},
			script: "turns: [{tool_calls: [{name: sleep, arguments: {seconds: 2}}]}, {text: done}]", tools: []string{"sleep"},
			change: func(s *agents.Start) { s.Budget.MaxSeconds = new(3600.0) },
			ready:  says("sleep waits until"), meanwhile: func(t *testing.T, s *stack, id string) {
				t.Helper()
				s.pauses(t, id)
				s.doing(t, id, "calls wait for the end of the pause")
				_, err := s.agents.Resume(within(t), id)
				require.NoError(t, err)
			},
		},
		"a call that goes on elsewhere": {
			config: host.Config{Tools: []tool.Tool{job()}}, script: "turns: [{tool_calls: [{name: job, arguments: {asked: 2}}]}, {text: done}]", tools: []string{"job"},
		},
		"a call that goes on elsewhere when it is stopped": {
			config: host.Config{Tools: []tool.Tool{job()}}, script: "turns: [{tool_calls: [{name: job, arguments: {asked: 1000}}]}, {text: done}]", tools: []string{"job"},
			ready: says("job goes on at its server: asked 1 times"), meanwhile: stopNow,
		},
		"a stop that has no time": {
			config: host.Config{Tools: []tool.Tool{newWorkshop().tool(domain.ReadOnly)}}, script: toolScript, tools: []string{"work"},
			ready: writes, meanwhile: stops(agents.StopOptions{Mode: contract.AfterStep, Within: contract.AtOnce}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startCompared(t, test.config)
			begins := agents.Start{Prompt: "go", Definition: scripted(writeScript(t, test.script), test.tools...)}
			if test.change != nil {
				test.change(&begins)
			}
			begun := s.starts(t, begins)
			if test.ready != nil {
				test.ready(t, s, begun.ID)
				test.meanwhile(t, s, begun.ID)
			}
			s.ended(t, begun)
		})
	}
	t.Run("a summary whose worker stops", func(t *testing.T) {
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
		begun := s.starts(t, agents.Start{Prompt: "go", Definition: definition})
		s.doing(t, begun.ID, "making the conversation shorter")
		first.Stop()
		t.Cleanup(s.work(t, host.Config{Tools: []tool.Tool{echo()}}).Stop)
		s.ended(t, begun)
	})
}

// auditing are hooks that are activities: one at each call, and one at the end, which notes something.
func auditing() []hook.Hook {
	return []hook.Hook{
		hook.IO(domain.TriggerBeforeToolUse, "audit", func(context.Context, contract.HookRequest) (contract.HookReply, error) {
			return contract.HookReply{}, nil
		}),
		hook.IO(domain.TriggerOnStop, "report", func(_ context.Context, r contract.HookRequest) (contract.HookReply, error) {
			return contract.HookReply{Note: domain.Metadata{"steps": fmt.Append(nil, r.Steps)}}, nil
		}),
	}
}

// lackedTwice is a hook that two workers lack before one has it.
func lackedTwice() hook.Hook {
	var asked atomic.Int64
	return hook.IO(domain.TriggerOnStop, "report", func(context.Context, contract.HookRequest) (contract.HookReply, error) {
		if asked.Add(1) > 2 {
			return contract.HookReply{}, nil
		}
		lacks := domain.Errorf(domain.Unavailable, "no such thing")
		lacks.Lacking = true // as a worker of other activities says
		return contract.HookReply{}, lacks
	})
}

// drawing is a tool of Go that shows an image.
func drawing() tool.Tool {
	return tool.NewResult("draw", "Draws.", domain.ReadOnly, func(context.Context, struct{}) (tool.Result, error) {
		return tool.Result{Content: "a dot", Parts: []domain.Part{{Type: domain.PartImage, Data: []byte("\x89PNG\r\n\x1a\na dot")}}}, nil
	})
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
