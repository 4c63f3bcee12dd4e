package guards_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/testsuite"
	"everstep/testsuite/internal/kept"
)

const (
	longSteps  = 400
	longWindow = 16_000
)

// TestCompaction drives 400 steps through a window of 16,000 tokens: whatever is
// sent fits it, no call is parted from its result, and all that was ever said
// can still be read.
func TestCompaction(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]int{"small results": 300, "results of 1.5 KB": 1500, "results of 20 KB": 20_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run, said := longRun(t, result)
			require.Equal(t, domain.StatusCompleted, run.Outcome.Status, "%+v", run.Error)
			require.Equal(t, longSteps, run.Outcome.Steps)
			require.Equal(t, "The end.", run.Answer)
			summaries := 0
			for i, call := range run.Asked {
				if call.Summary {
					summaries++
				}
				require.LessOrEqual(t, tokensOf(call), int64(longWindow), "inference %d", i)
				requirePaired(t, call.Messages)
				if !call.Summary {
					require.Contains(t, textOf(call.Messages), "the key is 4711", "what the user asked is never lost")
				}
			}
			require.Positive(t, summaries)
			require.Less(t, summaries, longSteps/4, "a compaction leaves room for many steps")
			kept := map[string]bool{}
			for _, m := range run.Messages {
				if m.ToolResult != nil {
					kept[m.ToolResult.Content] = true
				}
			}
			for _, content := range said {
				require.True(t, kept[content], "a result is missing from the transcript")
			}
			require.Len(t, kept, longSteps-1)
		})
	}
}

// longRun is an agent that reads a page in each of its steps but the last. It
// answers with what each page said.
func longRun(t *testing.T, size int) (testsuite.Run, []string) {
	t.Helper()
	var said []string
	pages := testsuite.NewFake(domain.ToolSpec{Name: "page", Schema: []byte(`{"type":"object"}`), Effect: domain.ReadOnly},
		func(context.Context, testsuite.FakeCall) (string, error) {
			text := fmt.Sprintf("page %d: %s", len(said), strings.Repeat("all work and no play ", size/21))
			said = append(said, text)
			return text, nil
		})
	turns := make([]testsuite.Turn, 0, longSteps)
	for n := range longSteps - 1 {
		turns = append(turns, testsuite.Turn{
			Text:  fmt.Sprintf("I'll read page %d.", n),
			Calls: []testsuite.Call{{Name: "page", Arguments: map[string]int{"n": n}}},
		})
	}
	turns = append(turns, testsuite.Turn{Text: "The end."})
	env := testsuite.New(t, testsuite.Config{
		Definition: domain.Definition{Model: domain.LLMConfig{ContextWindow: longWindow}, Budget: domain.Unlimited()},
		Tools:      []tool.Tool{pages.Tool()}, Turns: turns,
	})
	run := env.Run("Read all pages; the key is 4711.")
	kept.CheckInputs(t, run)
	return run, said
}

// tokensOf counts what is sent, by the rule of thumb of four characters a token.
func tokensOf(call inference.Call) int64 {
	chars := len(call.System)
	for _, m := range call.Messages {
		chars += 16
		for _, p := range m.Parts {
			chars += len(p.Text)
		}
		for _, c := range m.ToolCalls {
			chars += len(c.Name) + len(c.Arguments)
		}
		if m.ToolResult != nil {
			chars += len(m.ToolResult.Content)
		}
	}
	for _, tool := range call.Tools {
		chars += len(tool.Name) + len(tool.Description) + len(tool.Schema)
	}
	return int64(chars) / 4
}

func textOf(messages []domain.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(m.Text())
	}
	return b.String()
}

// requirePaired fails unless each call has its result and each result its call,
// next to it.
func requirePaired(t *testing.T, messages []domain.Message) {
	t.Helper()
	var open []string
	for _, m := range messages {
		if m.Role == domain.RoleTool {
			require.NotEmpty(t, open, "a result without its call")
			require.Equal(t, open[0], m.ToolResult.CallID)
			open = open[1:]
			continue
		}
		require.Empty(t, open, "calls without results")
		for _, call := range m.ToolCalls {
			open = append(open, call.ID)
		}
	}
	require.Empty(t, open, "calls without results")
}
