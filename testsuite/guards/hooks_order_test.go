package guards_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
	"everstep/domain/hook"
	"everstep/testsuite"
)

// TestHooksRunByPriority: the higher first, equal ones as they were registered,
// Go hooks and activities in one row; each sees what the ones before it made.
func TestHooksRunByPriority(t *testing.T) {
	t.Parallel()
	for _, trigger := range enum.Known[domain.Trigger]() {
		t.Run(string(trigger), func(t *testing.T) {
			t.Parallel()
			adds := func(name string, priority int) hook.Hook {
				h := at(trigger, name, func(c hook.Point) (hook.Point, error) {
					return c.Note("ran", strings.Trim(string(c.State.Metadata["ran"]), `"`)+name)
				})
				h.Priority = priority
				return h
			}
			activity := hook.IO(trigger, "d", func(_ context.Context, r contract.HookRequest) (contract.HookReply, error) {
				ran := strings.Trim(string(r.Metadata["ran"]), `"`) + "d"
				return contract.HookReply{Note: domain.Metadata{"ran": fmt.Appendf(nil, "%q", ran)}}, nil
			})
			m := meets(t, trigger, nil, adds("c", 0), activity, adds("b", 7), adds("e", 0), adds("a", 9), adds("f", -7))
			require.Equal(t, "abcdef", strings.Trim(string(m.last.Metadata["ran"]), `"`)[:6])
		})
	}
}

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

// TestWhichHooksAnAgentHas: those that it lists, and those for all.
func TestWhichHooksAnAgentHas(t *testing.T) {
	t.Parallel()
	var ran []string
	notes := func(name string, always bool) hook.Hook {
		h := hook.OnStop(name, func(c hook.Point) (hook.Point, error) {
			ran = append(ran, name)
			return c, nil
		})
		h.Always = always
		return h
	}
	config := testsuite.Config{
		Definition: domain.Definition{Hooks: []string{"listed"}},
		Turns:      []testsuite.Turn{{Text: "hi"}},
		Hooks:      []hook.Hook{notes("other", false), notes("listed", false), notes("for all", true)},
	}
	testsuite.New(t, config).Run("go")
	require.Equal(t, []string{"listed", "for all"}, ran)

	config.Definition.Hooks = []string{"lsted", "listed"}
	run := testsuite.New(t, config).Run("go")
	require.Equal(t, domain.StatusFailed, run.Outcome.Status)
	require.Contains(t, run.Error.Message, "this worker has no lsted; it has: other, listed, for all")
	require.Empty(t, run.Asked)
	checkEvents(t, run)
	require.Len(t, ran, 2, "where nothing is resolved no hooks are known, those for all included")
}
