package whole_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/tool"
	"everstep/domain"
	agentaccount "everstep/domain/account"
	"everstep/starter/client"
	"everstep/worker/host"
)

// BenchmarkAccount says how long it takes to read the account of an execution of 100, 500 and 2,000 steps with messages of 2
// KB, all of it and its head alone, as a worker answers and, without one, by a replay. With -short it does so for 100 steps.
func BenchmarkAccount(b *testing.B) {
	sizes := []int{100, 500, 2000}
	if testing.Short() {
		sizes = sizes[:1]
	}
	providers := map[string]inference.Provider{}
	for _, n := range sizes {
		providers[fmt.Sprintf("talker%d", n)] = &talker{steps: n}
	}
	for b.Loop() {
		s := connect(b, "plain", nil)
		s.irreplayable = "it is only read"
		worker := s.work(b, host.Config{Tools: []tool.Tool{recite()}, Providers: providers})
		b.Cleanup(worker.Stop)
		ids := map[int]string{}
		for _, n := range sizes {
			ids[n] = s.longTalk(b, n)
		}
		table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(table, "steps\tread\tby\tms\t")
		for _, by := range []string{"query", "replay"} {
			if by == "replay" {
				worker.Stop()
			}
			for _, n := range sizes {
				for what, parts := range map[string][]agentaccount.Part{"all": allParts, "head": nil} {
					took := s.quickest(b, ids[n], n, parts)
					fmt.Fprintf(table, "%d\t%s\t%s\t%.0f\t\n", n, what, by, took)
					b.ReportMetric(took, fmt.Sprintf("ms-%s-%s@%d", what, by, n))
				}
			}
		}
		require.NoError(b, table.Flush())
	}
}

// longTalk is an agent that has done so many steps.
func (s *stack) longTalk(b *testing.B, n int) string {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	begun, err := s.agents.Start(ctx, client.Start{Prompt: "go", Definition: domain.Definition{
		Model: domain.LLMConfig{Provider: fmt.Sprintf("talker%d", n), Model: "x"}, Tools: []string{"recite"}, Guards: repeats, Budget: domain.Unlimited(),
	}})
	require.NoError(b, err)
	_, err = s.agents.Wait(ctx, begun.ID, 1)
	require.NoError(b, err)
	return begun.ID
}

// quickest is how many milliseconds the quickest of three readings takes: what else the machine does is not ours.
func (s *stack) quickest(b *testing.B, id string, steps int, parts []agentaccount.Part) (millis float64) {
	b.Helper()
	for i := range 3 {
		began := time.Now()
		read, err := s.agents.Account(within(b), id, parts...)
		took := time.Since(began).Seconds() * 1000
		require.NoError(b, err)
		require.Equal(b, steps, read.Head.Newest.Steps)
		require.Empty(b, read.Missing)
		if i == 0 || took < millis {
			millis = took
		}
	}
	return millis
}
