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
	enumspb "go.temporal.io/api/enums/v1"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

// BenchmarkStopNow measures from the moment a stop in mode now is sent to the moment the provider sees its connection
// closed, and from the end of the execution, as the server has it, to the moment a client knows that waits for it, with
// the requests of that client, over 100 streams that would never end; with -short over 5.
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
	waiter, requests := s.counted(b)
	for b.Loop() {
		took, told := make([]time.Duration, 0, runs), make([]time.Duration, 0, runs)
		before := requests.all()
		for i := range runs {
			begun, err := s.agents.Start(within(b), client.Start{ID: s.named(fmt.Sprintf("stopped-%d-%d", before, i)), Prompt: "go", Definition: definition})
			require.NoError(b, err)
			<-streaming
			var result client.Result
			known := make(chan time.Time)
			go func() {
				result, err = waiter.Wait(within(b), begun.ID, 1)
				known <- time.Now()
			}()
			require.Eventually(b, func() bool {
				return s.eventsOf(b, begun.WorkflowID)[enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED] == 1
			}, patience, 10*time.Millisecond)
			sent := time.Now()
			require.NoError(b, s.temporal.SignalWorkflow(within(b), begun.WorkflowID, "", string(contract.SignalStop), contract.StopRequest{Mode: contract.StopNow}))
			took = append(took, (<-closed).Sub(sent))
			at := <-known
			require.NoError(b, err)
			told = append(told, at.Sub(s.completedAt(b, begun.WorkflowID)))
			require.Equal(b, domain.StatusStopped, result.Outcome.Status)
			require.Equal(b, "and so on", result.Answer)
		}
		for _, one := range []struct {
			what, unit string
			took       []time.Duration
		}{{"stop now to connection closed", "", took}, {"end to the client that waits", "-told", told}} {
			slices.Sort(one.took)
			p50, p99 := one.took[len(one.took)/2], one.took[len(one.took)*99/100]
			fmt.Fprintf(os.Stdout, "%s, %d runs: p50 %s, p99 %s\n", one.what, runs, p50.Round(time.Millisecond), p99.Round(time.Millisecond))
			b.ReportMetric(float64(p50.Milliseconds()), "p50-ms"+one.unit)
			b.ReportMetric(float64(p99.Milliseconds()), "p99-ms"+one.unit)
		}
		each := float64(requests.all()-before) / float64(runs)
		fmt.Fprintf(os.Stdout, "requests of the client that waits: %.1f\n", each)
		b.ReportMetric(each, "requests")
	}
}

// completedAt is when the workflow answered who waits.
func (s *stack) completedAt(b *testing.B, workflowID string) (at time.Time) {
	b.Helper()
	for _, event := range s.historyNow(b, workflowID, "").Events {
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED {
			at = event.GetEventTime().AsTime()
		}
	}
	return at
}
