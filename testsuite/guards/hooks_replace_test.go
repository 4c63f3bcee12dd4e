package guards_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
	"everstep/testsuite"
)

// bothKinds runs a test with a Go hook and with the activity that does the same.
func bothKinds(t *testing.T, plain, io hook.Hook, test func(t *testing.T, h hook.Hook)) {
	t.Helper()
	for name, h := range map[string]hook.Hook{"go": plain, "activity": io} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, h)
		})
	}
}

// TestAHookThatReplacesACall: what it made of it is run, once, and what the
// model asked for stays in the transcript.
func TestAHookThatReplacesACall(t *testing.T) {
	t.Parallel()
	plain := hook.BeforeToolUse("doer", func(c hook.ToolUse) (hook.ToolUse, error) {
		if c.At.Position == 1 {
			c.At.Call.Arguments = `{"where":"Oslo"}`
			c.At.Call.ID = "another"
		}
		return c, nil
	})
	first := true
	io := hook.IO(domain.TriggerBeforeToolUse, "doer", func(_ context.Context, r contract.HookRequest) (contract.HookReply, error) {
		if first {
			first = false
			return contract.HookReply{}, nil
		}
		return contract.HookReply{Call: &domain.ToolCall{Name: r.Call.Name, Arguments: `{"where":"Oslo"}`}}, nil
	})
	bothKinds(t, plain, io, func(t *testing.T, h hook.Hook) {
		m := meets(t, domain.TriggerBeforeToolUse, nil, h)
		require.Equal(t, domain.StatusCompleted, m.Outcome.Status, "%v", m.Error)
		require.Len(t, m.look.Calls(), 2)
		require.Equal(t, "{}", m.look.Calls()[0].Arguments)
		require.JSONEq(t, `{"where":"Oslo"}`, m.look.Calls()[1].Arguments)
		made := m.ToolExecutions()[1]
		require.JSONEq(t, `{"where":"Oslo"}`, made.Call.Arguments)
		asked := m.Messages[1].ToolCalls[1]
		require.Equal(t, "{}", asked.Arguments)
		require.Equal(t, asked.ID, made.Call.ID, "a call keeps its id")
		require.Equal(t, asked.ID, m.Messages[3].ToolResult.CallID)
	})
}

// TestAHookThatNamesAnotherTool: the one that it names is run, if there is one.
func TestAHookThatNamesAnotherTool(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tool string
		code domain.Code
	}{"one that is": {"other", ""}, "one that is not": {"nowhere", domain.CodeUnknownTool}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain := hook.BeforeToolUse("doer", func(c hook.ToolUse) (hook.ToolUse, error) {
				c.At.Call.Name = test.tool
				return c, nil
			})
			io := hook.IO(domain.TriggerBeforeToolUse, "doer", replies(contract.HookReply{Call: &domain.ToolCall{Name: test.tool, Arguments: "{}"}}))
			bothKinds(t, plain, io, func(t *testing.T, h hook.Hook) {
				other := testsuite.NewFake(domain.ToolSpec{Name: "other"}, testsuite.Returns("elsewhere"))
				m := meets(t, domain.TriggerBeforeToolUse, func(c *testsuite.Config) { c.Tools = append(c.Tools, other.Tool()) }, h)
				require.Empty(t, m.look.Calls())
				require.Equal(t, "look", m.Messages[2].ToolResult.Name, "the model reads of the tool that it asked for")
				if test.code == "" {
					require.Len(t, other.Calls(), 2)
					require.Equal(t, "elsewhere", m.Messages[2].ToolResult.Content)
					return
				}
				require.Equal(t, test.code, m.ToolExecutions()[0].Error.Code)
			})
		})
	}
}

// TestAHookThatBlocksACall: it is not made and not counted, no later hook sees
// it, and the model reads why.
func TestAHookThatBlocksACall(t *testing.T) {
	t.Parallel()
	seen := 0
	after := hook.BeforeToolUse("after", func(c hook.ToolUse) (hook.ToolUse, error) {
		seen++
		return c, nil
	})
	plain := hook.BeforeToolUse("doer", func(c hook.ToolUse) (hook.ToolUse, error) { return hook.Block(c, "not on Sundays"), nil })
	io := hook.IO(domain.TriggerBeforeToolUse, "doer", replies(contract.HookReply{Block: "not on Sundays"}))
	for name, h := range map[string]hook.Hook{"go": plain, "activity": io} {
		m := meets(t, domain.TriggerBeforeToolUse, func(c *testsuite.Config) { c.Budget.MaxToolCalls = new(int64(1)) }, h, after)
		require.Equal(t, domain.Completed, m.Outcome.StopReason, "%s: a blocked call uses up nothing", name)
		require.Empty(t, m.look.Calls())
		for _, e := range m.ToolExecutions() {
			require.True(t, e.WasBlocked())
			require.Equal(t, domain.CodeBlocked, e.Error.Code)
			require.Equal(t, "doer", e.Error.Source)
			require.Contains(t, e.Error.Message, "not on Sundays")
		}
		require.Equal(t, 2, strings.Count(m.Transcript(), "not on Sundays"))
		require.Zero(t, seen)
	}
}

// TestAHookThatReplacesAResult: with a value, or with an error.
func TestAHookThatReplacesAResult(t *testing.T) {
	t.Parallel()
	plain := hook.AfterToolUse("doer", func(c hook.ToolResult) (hook.ToolResult, error) {
		c.At.Execution.Value = "cloudy"
		return c, nil
	})
	content := "cloudy"
	io := hook.IO(domain.TriggerAfterToolUse, "doer", replies(contract.HookReply{Content: &content}))
	bothKinds(t, plain, io, func(t *testing.T, h hook.Hook) {
		m := meets(t, domain.TriggerAfterToolUse, nil, h)
		require.Len(t, m.look.Calls(), 2)
		require.Equal(t, "cloudy", m.ToolExecutions()[1].Value)
		require.Equal(t, "cloudy", m.Messages[3].ToolResult.Content)
		require.Equal(t, "cloudy", m.Asked[1].Messages[3].ToolResult.Content)
	})
}

func saying(text string) domain.Message {
	return domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: text}}}
}

// TestAHookThatReplacesAnAnswer: what it made joins the conversation, and calls
// that it took out are not made.
func TestAHookThatReplacesAnAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer     domain.Message
		transcript string
		ran, steps int
	}{
		"without calls": {saying("I will not"), "user: go\nassistant: I will not\n", 0, 1},
		"with a call of its own": {
			domain.Message{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{{ID: "x", Name: "look", Arguments: "{}"}}},
			"user: go\nassistant:\n  look {}\nlook: sunny\nassistant: seen\n", 1, 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain := hook.AfterInference("doer", func(c hook.Reply) (hook.Reply, error) {
				if len(c.At.Message.ToolCalls) > 0 {
					c.At.Message = test.answer
				}
				return c, nil
			})
			io := hook.IO(domain.TriggerAfterInference, "doer", func(_ context.Context, r contract.HookRequest) (contract.HookReply, error) {
				if len(r.Answer.ToolCalls) == 0 {
					return contract.HookReply{}, nil
				}
				return contract.HookReply{Answer: &test.answer}, nil
			})
			bothKinds(t, plain, io, func(t *testing.T, h hook.Hook) {
				m := meets(t, domain.TriggerAfterInference, nil, h)
				require.Equal(t, test.transcript, m.Transcript())
				require.Equal(t, test.steps, m.Outcome.Steps)
				require.Len(t, m.look.Calls(), test.ran)
				require.Equal(t, domain.Completed, m.Outcome.StopReason)
			})
		})
	}
}

// TestAHookThatEmptiesAnAnswer: the model is asked once more, then the execution
// fails, as if the model had said nothing.
func TestAHookThatEmptiesAnAnswer(t *testing.T) {
	t.Parallel()
	plain := hook.AfterInference("doer", func(c hook.Reply) (hook.Reply, error) {
		c.At.Message.Parts, c.At.Message.ToolCalls = nil, nil
		return c, nil
	})
	io := hook.IO(domain.TriggerAfterInference, "doer", replies(contract.HookReply{Answer: &domain.Message{Role: domain.RoleAssistant}}))
	bothKinds(t, plain, io, func(t *testing.T, h hook.Hook) {
		m := meets(t, domain.TriggerAfterInference, nil, h)
		require.Equal(t, domain.CodeEmptyResponse, m.Outcome.Code)
		require.Len(t, m.Asked, 2)
	})
}

// TestAHookThatWithholdsTools, or bounds the answer, of one inference.
func TestAHookThatWithholdsTools(t *testing.T) {
	t.Parallel()
	m := meets(t, domain.TriggerBeforeInference, nil, hook.BeforeInference("doer", func(c hook.Inference) (hook.Inference, error) {
		if c.State.StepCount() == 1 {
			c.At.WithoutTools, c.At.MaxOutputTokens = true, 7
		}
		return c, nil
	}))
	require.Len(t, m.Asked[0].Tools, 1)
	require.Zero(t, m.Asked[0].MaxOutputTokens)
	require.Empty(t, m.Asked[1].Tools)
	require.Equal(t, int64(7), m.Asked[1].MaxOutputTokens)
}

// TestWhatStaysOfAnAnswerThatIsCutOff: its text, unless a hook may have taken out of
// it what nobody may read.
func TestWhatStaysOfAnAnswerThatIsCutOff(t *testing.T) {
	t.Parallel()
	rewrites := hook.AfterInference("rewrites", func(c hook.Reply) (hook.Reply, error) {
		c.At.Message = saying("-")
		return c, nil
	})
	rewrites.Always = true
	for name, test := range map[string]struct {
		hooks []hook.Hook
		stays string
	}{"alone": {nil, "one two"}, "with a hook that rewrites": {[]hook.Hook{rewrites}, ""}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := testsuite.New(t, testsuite.Config{
				Hooks: test.hooks, Turns: []testsuite.Turn{{Text: "one two three four five six", Delay: time.Minute}},
			}).Run("go", testsuite.StopAt(30*time.Second, contract.StopNow))
			require.Equal(t, domain.StatusStopped, run.Outcome.Status)
			stayed := ""
			for _, m := range run.Messages[1:] {
				stayed += m.Text()
			}
			require.Equal(t, test.stays == "", stayed == "", stayed)
			require.True(t, strings.HasPrefix(stayed, test.stays), stayed)
		})
	}
}
