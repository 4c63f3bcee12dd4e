package whole_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

// BenchmarkStopNow measures from the moment a stop in mode now is sent to the
// moment the provider sees its connection closed, over 100 streams that would
// never end; with -short over 5.
func BenchmarkStopNow(b *testing.B) {
	runs := 100
	if testing.Short() {
		runs = 5
	}
	streaming, closed := make(chan struct{}), make(chan time.Time)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"and so on\"}}]}\n\n")
		w.(http.Flusher).Flush()
		streaming <- struct{}{}
		<-r.Context().Done()
		closed <- time.Now()
	}))
	defer server.Close()
	s := start(b, host.Config{Vendors: map[string]host.Access{"openai": {BaseURL: server.URL + "/v1"}}})
	definition := domain.Definition{Model: domain.LLMConfig{Provider: "openai-chat", Model: "m"}}
	for b.Loop() {
		took := make([]time.Duration, 0, runs)
		for range runs {
			begun, err := s.agents.Start(within(b), client.Start{Prompt: "go", Definition: definition})
			require.NoError(b, err)
			<-streaming
			sent := time.Now()
			require.NoError(b, s.temporal.SignalWorkflow(within(b), begun.WorkflowID, "", string(contract.SignalStop), contract.StopRequest{Mode: contract.StopNow}))
			took = append(took, (<-closed).Sub(sent))
			result, err := s.agents.Wait(within(b), begun.ID, 0)
			require.NoError(b, err)
			require.Equal(b, domain.StatusStopped, result.Outcome.Status)
			require.Equal(b, "and so on", result.Answer)
		}
		slices.Sort(took)
		p50, p99 := took[len(took)/2], took[len(took)*99/100]
		fmt.Fprintf(os.Stdout, "stop now to connection closed, %d runs: p50 %s, p99 %s\n", runs, p50.Round(time.Millisecond), p99.Round(time.Millisecond))
		b.ReportMetric(float64(p50.Milliseconds()), "p50-ms")
		b.ReportMetric(float64(p99.Milliseconds()), "p99-ms")
	}
}
