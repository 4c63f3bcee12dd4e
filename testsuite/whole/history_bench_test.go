package whole_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"
	workflowpb "go.temporal.io/api/workflow/v1"

	"everstep/activities/inference"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
)

// kilobytes2 is the size of the messages that the figures are for.
const kilobytes2 = 2048

// A talker is a model that makes a call of a tool in each of its first steps
// and answers then, with texts of 2 KB, each after a while.
type talker struct {
	steps  int
	thinks time.Duration
	// begins is called as an inference begins, where it is not nil.
	begins func(inference int)
}

func (*talker) Check(context.Context, domain.LLMConfig) error { return nil }
func (*talker) MinOutputTokens() int64                        { return 1 }

func (m *talker) Infer(_ context.Context, call inference.Call, _ func(inference.Delta)) (inference.Answer, error) {
	if m.begins != nil {
		m.begins(call.Inference)
	}
	time.Sleep(m.thinks)
	answer := inference.Answer{
		Message:  inference.AssistantMessage(nil, text2KB(call.Inference), nil),
		Response: domain.Response{Finish: domain.FinishStop, Usage: domain.Usage{InputTokens: 1, OutputTokens: 1}},
	}
	if call.Inference+1 < m.steps {
		answer.Message.ToolCalls = []domain.ToolCall{{ID: "call", Name: "recite", Arguments: "{}"}}
		answer.Response.Finish = domain.FinishToolCalls
	}
	return answer, nil
}

// talkers are the providers that executions of so many steps ask for.
func talkers(thinks time.Duration, steps ...int) map[string]inference.Provider {
	providers := map[string]inference.Provider{}
	for _, n := range steps {
		providers[fmt.Sprintf("talker%d", n)] = &talker{steps: n, thinks: thinks}
	}
	return providers
}

func text2KB(n int) string {
	return fmt.Sprintf("%08d", n) + strings.Repeat("abcdefgh", kilobytes2/8-1)
}

func recite() tool.Tool {
	return tool.New("recite", "", domain.ReadOnly, func(context.Context, struct{}) (string, error) { return text2KB(0), nil })
}

// repeats are the guards of agents that make the same call in each step.
var repeats = domain.Guards{Repetition: &domain.Repetition{}}

// A measured run is what an execution cost.
type measured struct {
	steps, events, runs int
	bytes               int64
	took                time.Duration
}

func (m measured) bytesPerStep() float64 { return float64(m.bytes) / float64(m.steps) }
func (m measured) millisPerStep() float64 {
	return m.took.Seconds() * 1000 / float64(m.steps)
}

// measure runs an agent of so many steps, with hooks of the worker's, and adds
// up all runs of its chain.
func (s *stack) measure(t testing.TB, steps int, hooks ...string) measured {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	began := time.Now()
	definition := domain.Definition{
		Model: domain.LLMConfig{Provider: fmt.Sprintf("talker%d", steps), Model: "x"}, Tools: []string{"recite"}, Hooks: hooks, Guards: repeats, Budget: domain.Unlimited(),
	}
	begun, err := s.agents.Start(ctx, client.Start{Prompt: "go", Definition: definition})
	require.NoError(t, err)
	result, err := s.agents.Wait(ctx, begun.ID, 1)
	require.NoError(t, err)
	require.Equal(t, domain.StatusCompleted, result.Outcome.Status, "%v", result.Error)
	require.Equal(t, steps, result.Outcome.Steps)
	m := measured{steps: steps, took: time.Since(began)}
	for run := ""; ; {
		info, previous := s.runInfo(t, begun.WorkflowID, run)
		m.bytes, m.events, m.runs = m.bytes+info.HistorySizeBytes, m.events+int(info.HistoryLength), m.runs+1
		if previous == "" {
			return m
		}
		run = previous
	}
}

// runInfo describes a run and names the one before it.
func (s *stack) runInfo(t testing.TB, workflowID, runID string) (*workflowpb.WorkflowExecutionInfo, string) {
	t.Helper()
	ctx := context.Background()
	described, err := s.temporal.DescribeWorkflowExecution(ctx, workflowID, runID)
	require.NoError(t, err)
	info := described.GetWorkflowExecutionInfo()
	first, err := s.temporal.GetWorkflowHistory(ctx, workflowID, info.GetExecution().GetRunId(), false, 0).Next()
	require.NoError(t, err)
	return info, first.GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId()
}

// BenchmarkHistory prints what a step costs, in bytes of history and in time, in executions of 100, 500 and 2,000 steps
// with messages of 2 KB. With -short it does so for 20 and 100 steps.
func BenchmarkHistory(b *testing.B) {
	sizes, runs := []int{100, 500, 2000}, 3
	if testing.Short() {
		sizes, runs = []int{20, 100}, 1
	}
	s := start(b, host.Config{Tools: []tool.Tool{recite()}, Providers: talkers(0, sizes...)})
	for b.Loop() {
		s.measure(b, sizes[0]) // warm
		table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(table, "steps\truns\tevents/step\tbytes/step\tbytes/step beyond its messages\tms/step\t")
		for _, n := range sizes {
			var all []measured
			for range runs {
				all = append(all, s.measure(b, n))
			}
			m := middle(all, measured.millisPerStep)
			fmt.Fprintf(table, "%d\t%d\t%.1f\t%.0f\t%.0f\t%.2f\t\n", n, m.runs, float64(m.events)/float64(n),
				m.bytesPerStep(), m.bytesPerStep()-2*kilobytes2, m.millisPerStep())
			b.ReportMetric(m.bytesPerStep(), fmt.Sprintf("B/step@%d", n))
			b.ReportMetric(m.millisPerStep(), fmt.Sprintf("ms/step@%d", n))
		}
		require.NoError(b, table.Flush())
	}
}

// middle is the run with the median time.
func middle[Run any](runs []Run, time func(Run) float64) Run {
	sorted := slices.SortedFunc(slices.Values(runs), func(a, b Run) int { return cmp.Compare(time(a), time(b)) })
	return sorted[len(sorted)/2]
}
