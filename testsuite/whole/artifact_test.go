package whole_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

// longText is more than a model reads at once, and no part of it is like another.
func longText() string {
	var text strings.Builder
	for n := range 30_000 {
		fmt.Fprintf(&text, "%05d é\n", n)
	}
	return text.String()
}

// TestAnArtifactOutlivesItsWorker: what was cut is read by range by other workers than the one that kept it, which was
// killed.
func TestAnArtifactOutlivesItsWorker(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	deaths := s.mortals(t)
	const read = `{name: read_artifact, arguments: {id: '{{ slice (last (lines (result "long"))) 23 59 }}', offset: %d, limit: %d}}`
	begun := s.ended(t, s.begin(t, fmt.Sprintf(`
turns:
  - tool_calls: [{name: long, arguments: {}}]
  - tool_calls: [{name: die, arguments: {}}]
  - tool_calls: [`+read+", "+read+`]
  - text: '{{ results "read_artifact" | join "|" }}'
`, 100_000, 18, 269_991, 1000), "long", "die", "read_artifact"))
	require.EqualValues(t, 2, deaths.Load())
	result := s.completed(t, begun.ID, 1)
	whole := longText()
	require.Equal(t, fmt.Sprintf("[bytes 100000 to 100018 of 270000; offset 100018 reads on]\n%s|[bytes 269991 to 270000 of 270000; to its end]\n%s",
		whole[100_000:100_018], whole[269_991:]), result.Answer)
	for _, step := range s.steps(t, begun.ID, 1) {
		for _, call := range step.Step.ToolExecutions {
			require.LessOrEqual(t, len(call.Value), domain.MaxToolResult)
		}
	}
}
