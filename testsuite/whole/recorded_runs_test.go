package whole_test

import (
	"context"
	"fmt"
	"slices"

	"everstep/domain"
)

// toolsOf are the names of all that runs call, in order.
func toolsOf(runs []recordedRun) (names []string) {
	for _, run := range runs {
		names = append(names, run.tools()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// said is all that a run has, in order.
func (r recordedRun) said() (all []recordedMessage) {
	for _, e := range r.Executions {
		all = append(append(all, recordedMessage{Role: "user", Content: e.Prompt}), e.Messages...)
	}
	return all
}

// compareTranscript holds the agent's messages against the recording.
func (s *stack) compareTranscript(ctx context.Context, id string, run recordedRun) error {
	want, i := run.said(), 0
	for entry, err := range s.agents.Messages(ctx, id) {
		if err != nil {
			return err
		}
		if i >= len(want) {
			return fmt.Errorf("more than %d messages", len(want))
		}
		if got := recordedOf(entry.Message); !sameMessage(got, want[i]) {
			return fmt.Errorf("message %d is %+v; want %+v", i, got, want[i])
		}
		i++
	}
	if i != len(want) {
		return fmt.Errorf("%d messages; want %d", i, len(want))
	}
	return nil
}

func recordedOf(m domain.Message) recordedMessage {
	got := recordedMessage{Role: string(m.Role), Content: m.Text()}
	if m.ToolResult != nil {
		got.Content = m.ToolResult.Content
	}
	for _, c := range m.ToolCalls {
		call := recordedCall{ID: c.ID}
		call.Function.Name, call.Function.Arguments = c.Name, c.Arguments
		got.ToolCalls = append(got.ToolCalls, call)
	}
	return got
}

func sameMessage(a, b recordedMessage) bool {
	return a.Role == b.Role && a.Content == b.Content && slices.Equal(a.ToolCalls, b.ToolCalls)
}
