package domain_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
)

// bigStep is a step of many calls with long results.
func bigStep(calls int, result string) domain.AgentStep {
	id := executionID(1).Step(1)
	asks := domain.Message{Role: domain.RoleAssistant}
	step := domain.AgentStep{ID: id, Number: 1}
	for i := range calls {
		call := domain.ToolCall{ID: fmt.Sprint(i), Name: "look", Arguments: "{}"}
		asks.ToolCalls = append(asks.ToolCalls, call)
		step.ToolExecutions = append(step.ToolExecutions, domain.ToolExecution{ID: id.Tool(i), Call: call, Value: result})
	}
	step.Output = append(step.Output, asks)
	for _, call := range asks.ToolCalls {
		step.Output = append(step.Output, domain.ToolMessage(domain.ToolResult{CallID: call.ID, Name: "look", Content: result}))
	}
	return step
}

func TestTrimmedStepsFit(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]domain.AgentStep{
		"128 results of 64 KB": bigStep(128, strings.Repeat("x", 64<<10)),
		"binary":               bigStep(20, strings.Repeat("\x00", 64<<10)),
		"markup":               bigStep(50, strings.Repeat("<p>&amp;", 8<<10)),
		"many calls":           bigStep(domain.MaxRequestedCalls, "a result of a hundred bytes or so, which is what most of the tools in this world give back to a model"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := encoded(t, step)
			require.Greater(t, len(before), 400_000)
			trimmed := step.Trimmed(domain.MaxPage)
			require.LessOrEqual(t, len(encoded(t, trimmed)), domain.MaxPage)
			require.Len(t, trimmed.ToolExecutions, len(step.ToolExecutions))
			require.Equal(t, before, encoded(t, step), "the step itself stays as it was")
			if len(before) > domain.MaxPage {
				require.Contains(t, trimmed.ToolExecutions[0].Value, "[cut, ", "a cut is said")
			}
		})
	}
}

func TestStepsThatFitAreNotTouched(t *testing.T) {
	t.Parallel()
	step := toolStep(executionID(1), 1)
	require.Equal(t, step, step.Trimmed(domain.MaxPage))
}

// TestSizeIsNoLessThanTheEncoding: pages and inputs are bounded by it.
func TestSizeIsNoLessThanTheEncoding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("\x00\x1f\"\\<>&\n\t\u2028\u2029x"))))
		m := domain.Message{Role: domain.RoleAssistant, Name: text.Draw(t, "name")}
		for range rapid.IntRange(0, 3).Draw(t, "parts") {
			m.Parts = append(m.Parts, domain.Part{Type: domain.PartReasoning, Text: text.Draw(t, "text"), Signature: text.Draw(t, "signature")})
		}
		for range rapid.IntRange(0, 3).Draw(t, "calls") {
			m.ToolCalls = append(m.ToolCalls, domain.ToolCall{ID: text.Draw(t, "id"), Name: text.Draw(t, "tool"), Arguments: text.Draw(t, "arguments")})
		}
		if rapid.Bool().Draw(t, "result") {
			m.ToolResult = &domain.ToolResult{CallID: text.Draw(t, "call"), Content: text.Draw(t, "content")}
		}
		id := executionID(1).Step(1)
		m.ID, m.CreatedAt = id.Message(0), after(1)
		m = domain.Tag{AgentID: sampleAgent(), ExecutionID: executionID(1), StepID: id, ToolExecutionID: id.Tool(0), Trace: true}.Apply(m)
		encoded, err := json.Marshal(domain.Entry{Message: m})
		if err != nil {
			t.Fatal(err)
		}
		if size := (domain.Entry{Message: m}).Size(); size < len(encoded) {
			t.Fatalf("size %d of %d bytes: %s", size, len(encoded), encoded)
		}
	})
}

func TestSizeOfAStepCountsItsSignals(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("<", 5000)
	signal := domain.StopSignal{
		Reason: domain.Unknown, Message: long, Source: long, Context: domain.Metadata{"a": json.RawMessage(`"` + strings.Repeat("x", 5000) + `"`)},
	}
	for _, c := range []domain.Continuation{
		{StopSignals: []domain.StopSignal{signal}}, {Overridden: []domain.StopSignal{signal}}, {Late: []domain.StopSignal{signal, signal}},
	} {
		step := domain.StepExecution{Step: domain.AgentStep{Number: 1}, Continuation: c}
		size, encoded := step.Size(), len(encoded(t, step))
		require.GreaterOrEqual(t, size, encoded)
		require.Less(t, size, encoded+2000)
	}
}
