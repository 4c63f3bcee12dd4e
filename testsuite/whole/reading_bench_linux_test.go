package whole_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
)

// BenchmarkReading says what it costs to read what an execution of 500 and 2,000 steps has left, with
// messages of 2 KB: the time, and the server's requests by name. Each query of a run that has ended is a
// whole replay of it. With -short it does so for 20 steps.
func BenchmarkReading(b *testing.B) {
	sizes := []int{500, 2000}
	if testing.Short() {
		sizes = []int{20}
	}
	s := connect(b, "beside", nil)
	worker := s.work(b, host.Config{Tools: []tool.Tool{recite()}, Providers: talkers(0, sizes...)})
	b.Cleanup(worker.Stop)
	for b.Loop() {
		table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(table, "steps\truns\treading\tms\tqueries\thistory pages\tserver CPU ms\tclient and worker CPU ms\t")
		for _, n := range sizes {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
			begun, err := s.agents.Start(ctx, client.Start{Prompt: "go", Definition: domain.Definition{
				Model: domain.LLMConfig{Provider: fmt.Sprintf("talker%d", n), Model: "x"}, Tools: []string{"recite"}, Guards: repeats, Budget: domain.Unlimited(),
			}})
			require.NoError(b, err)
			result, err := s.agents.Wait(ctx, begun.ID, 1)
			require.NoError(b, err)
			require.Equal(b, n, result.Outcome.Steps)
			status, err := s.agents.Status(ctx, begun.ID)
			require.NoError(b, err)
			for _, reading := range []struct {
				name string
				read func() int
			}{
				{"messages", func() int { return len(collect(b, s.agents.Messages(ctx, begun.ID))) / 2 }},
				{"steps", func() int { return len(collect(b, s.agents.Steps(ctx, begun.ID, 0))) }},
				{"explain", func() int {
					view, err := s.agents.Explain(ctx, begun.ID, 0)
					require.NoError(b, err)
					return len(view.Steps)
				}},
			} {
				var cost bill
				for range 3 { // the quickest: what else the machine does is not ours
					asked := s.serverRequests(b)
					own, server, began := ownCPU(b), s.serverCPU(b), time.Now()
					require.Equal(b, n, reading.read())
					took := time.Since(began).Seconds() * 1000
					if cost.millis > 0 && took >= cost.millis {
						continue
					}
					cost = bill{millis: took, workerCPU: (ownCPU(b) - own).Seconds() * 1000, serverCPU: (s.serverCPU(b) - server).Seconds() * 1000}
					cost.requests = map[string]float64{}
					for name, count := range s.serverRequests(b) {
						cost.requests[name] = count - asked[name]
					}
				}
				fmt.Fprintf(table, "%d\t%d\t%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t\n", n, status.History.Runs, reading.name, cost.millis,
					cost.requests["frontend/QueryWorkflow"], cost.requests["frontend/GetWorkflowExecutionHistory"]+
						cost.requests["frontend/GetWorkflowExecutionHistoryReverse"], cost.serverCPU, cost.workerCPU)
				b.ReportMetric(cost.millis, fmt.Sprintf("ms-%s@%d", reading.name, n))
				b.ReportMetric(cost.requests["frontend/QueryWorkflow"], fmt.Sprintf("queries-%s@%d", reading.name, n))
			}
			cancel()
		}
		require.NoError(b, table.Flush())
	}
}
