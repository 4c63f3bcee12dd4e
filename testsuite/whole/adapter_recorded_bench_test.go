//go:build unix

package whole_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

// A listened provider tells a server what arrives of its answers.
type listened struct {
	inference.Provider
	server *answerServer
}

func (p listened) Infer(ctx context.Context, call inference.Call, emit func(inference.Delta)) (inference.Answer, error) {
	hear := p.server.listen()
	return p.Provider.Infer(ctx, call, func(d inference.Delta) {
		emit(d)
		hear(d.Text)
	})
}

// BenchmarkRecorded prints, for each adapter, the time from the last bytes of an
// answer of 200 pieces to the moment at which it is recorded: the server's time
// of the activity's completion in history. Beside it stands an activity on the
// same server and in this process that asks with the vendor's SDK and returns the
// text, and nothing else; and the SDK without any of this, up to the answer in
// hand. The last columns are the time to when the workflow has the answer: with
// Everstep, to when a listener is told that the step is completed.
func BenchmarkRecorded(b *testing.B) {
	const pieces = 200
	pairs := 60
	if testing.Short() {
		pairs = 6
	}
	completed := make(chan time.Time, 1)
	providers, servers, bare := map[string]inference.Provider{}, map[string]*answerServer{}, map[string]asker{}
	for name := range adapters() {
		s := newAnswerServer(name, pieces, false).held()
		defer s.Close()
		adapter := openAdapter(b, name, wire.Config{BaseURL: s.URL, Key: wire.FixedKey(sdkKey)})
		providers[name], servers[name] = listened{adapter, s}, s
		bare[name], _ = s.askers(b)
	}
	s := start(b, host.Config{Providers: providers, Listeners: []host.Listener{
		host.On(domain.EventStepCompleted, func(domain.Event) { completed <- time.Now() }),
	}})
	taken := make(chan time.Time, 1)
	defer s.askActivity(b, taken, bare, servers).Stop()
	for b.Loop() {
		table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(table, "API\tlast byte to answer in hand, µs: SDK\tto the record, µs: SDK in an activity\tEverstep\tratio\tEverstep by SDK\tto the workflow, µs: SDK in an activity\tEverstep\tratio\t")
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			server := servers[name]
			inActivity := func() []float64 {
				run, err := s.temporal.ExecuteWorkflow(b.Context(), sdk.StartWorkflowOptions{TaskQueue: s.queue + "-bare"}, "ask", name)
				require.NoError(b, err)
				require.NoError(b, run.Get(b.Context(), nil))
				ended := <-server.ended
				return []float64{micros(s.answered(b, run.GetID(), "ask").Sub(ended)), micros((<-taken).Sub(ended))}
			}
			ours := func() []float64 {
				begun, err := s.agents.Start(within(b), client.Start{Prompt: "go", Definition: domain.Definition{Model: domain.LLMConfig{Provider: name, Model: "m-1"}}})
				require.NoError(b, err)
				result, err := s.agents.Wait(within(b), begun.ID, 0)
				require.NoError(b, err)
				require.Equal(b, server.text, result.Answer, "%v", result.Error)
				ended := <-server.ended
				return []float64{micros(s.answered(b, begun.WorkflowID, string(contract.CallModel)).Sub(ended)), micros((<-completed).Sub(ended))}
			}
			inHand := server.late(b, bare[name])
			_ = alternate(2, inActivity, ours) // warm
			recorded := alternate(pairs, inActivity, ours)
			alone := alternate(pairs, inHand, inHand)[0]
			our := func(p pair) float64 { return p.ours }
			inSDK, known := inMiddle(alone, our), inMiddle(recorded[0], our)
			fmt.Fprintf(table, "%s\t%.0f\t", name, inSDK)
			ratio := tell(table, recorded[0])
			fmt.Fprintf(table, "%.1f\t", known/inSDK)
			_ = tell(table, recorded[1])
			fmt.Fprintln(table)
			b.ReportMetric(ratio, "recorded/activity@"+name)
			b.ReportMetric(known/inSDK, "recorded/SDK@"+name)
		}
		require.NoError(b, table.Flush())
	}
}

// askActivity starts a worker with a workflow that asks an API by its SDK in an
// activity, and tells when it has the answer.
func (s *stack) askActivity(b *testing.B, taken chan<- time.Time, bare map[string]asker, servers map[string]*answerServer) worker.Worker {
	b.Helper()
	w := worker.New(s.temporal, s.queue+"-bare", worker.Options{})
	ask := func(ctx context.Context, name string) (string, error) { return bare[name](ctx, servers[name].listen()) }
	w.RegisterActivityWithOptions(ask, activity.RegisterOptions{Name: "ask"})
	flow := func(ctx workflow.Context, name string) (said string, err error) {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
		err = workflow.ExecuteActivity(ctx, "ask", name).Get(ctx, &said)
		select {
		case taken <- time.Now():
		default: // replayed
		}
		return said, err
	}
	w.RegisterWorkflowWithOptions(flow, workflow.RegisterOptions{Name: "ask"})
	require.NoError(b, w.Start())
	return w
}

// answered is when the server recorded that an activity of a name was completed.
func (s *stack) answered(b *testing.B, workflowID, name string) time.Time {
	b.Helper()
	history := s.temporal.GetWorkflowHistory(b.Context(), workflowID, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	scheduled := map[int64]string{}
	for history.HasNext() {
		event, err := history.Next()
		require.NoError(b, err)
		if a := event.GetActivityTaskScheduledEventAttributes(); a != nil {
			scheduled[event.GetEventId()] = a.GetActivityType().GetName()
		}
		if a := event.GetActivityTaskCompletedEventAttributes(); a != nil && scheduled[a.GetScheduledEventId()] == name {
			return event.GetEventTime().AsTime()
		}
	}
	require.Fail(b, "no activity has answered", name)
	return time.Time{}
}
