package guards_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/enum"
	"everstep/domain/hook"
)

// TestHooksSeeEachOthersChanges of what is at hand.
func TestHooksSeeEachOthersChanges(t *testing.T) {
	t.Parallel()
	adds := func(name, what string) []hook.Hook {
		return []hook.Hook{
			hook.AfterInference(name, func(c hook.Reply) (hook.Reply, error) {
				if len(c.At.Message.ToolCalls) == 0 {
					c.At.Message = saying(c.At.Message.Text() + what)
				}
				return c, nil
			}),
			hook.BeforeToolUse(name, func(c hook.ToolUse) (hook.ToolUse, error) {
				c.At.Call.Arguments = fmt.Sprintf(`{"a":%q}`, strings.NewReplacer(`{"a":"`, "", `"}`, "", "{}", "").Replace(c.At.Call.Arguments)+what)
				return c, nil
			}),
			hook.AfterToolUse(name, func(c hook.ToolResult) (hook.ToolResult, error) {
				c.At.Execution.Value += what
				return c, nil
			}),
			hook.BeforeInference(name, func(c hook.Inference) (hook.Inference, error) {
				c.At.MaxOutputTokens = c.At.MaxOutputTokens*10 + int64(len(what))
				return c, nil
			}),
		}
	}
	m := meets(t, domain.TriggerAfterStep, nil, append(adds("one", "+"), adds("two", "--")...)...)
	require.Equal(t, "seen+--", m.Answer)
	require.JSONEq(t, `{"a":"+--"}`, m.look.Calls()[0].Arguments)
	require.Equal(t, "sunny+--", m.ToolExecutions()[0].Value)
	require.Equal(t, int64(12), m.Asked[0].MaxOutputTokens)
}

// TestAHookThatFailsIsTheLastOfItsTrigger.
func TestAHookThatFailsIsTheLastOfItsTrigger(t *testing.T) {
	t.Parallel()
	for _, trigger := range enum.Known[domain.Trigger]() {
		t.Run(string(trigger), func(t *testing.T) {
			t.Parallel()
			ran := 0
			m := meets(t, trigger, nil,
				at(trigger, "first", func(c hook.Point) (hook.Point, error) {
					c.State = c.State.WithSystemPrompt("kept", c.Now)
					return c, nil
				}),
				at(trigger, "bad", func(c hook.Point) (hook.Point, error) { return c, fmt.Errorf("no") }),
				at(trigger, "later", func(c hook.Point) (hook.Point, error) {
					ran++
					return c, nil
				}))
			require.Equal(t, domain.StatusFailed, m.Outcome.Status)
			require.Zero(t, ran)
			if m.known {
				require.Equal(t, "kept", m.last.SystemPrompt, "state changed by any hook is kept")
			}
		})
	}
}
