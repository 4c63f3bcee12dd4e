package whole_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"golang.org/x/sync/errgroup"

	"everstep/activities/inference"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

// A nodder is a model that answers everything with yes.
type nodder struct{}

func (nodder) Check(context.Context, domain.LLMConfig) error { return nil }
func (nodder) MinOutputTokens() int64                        { return 1 }

func (nodder) Infer(ctx context.Context, _ inference.Call, _ func(inference.Delta)) (inference.Answer, error) {
	if err := ctx.Err(); err != nil { // as any provider does: a busy worker may give a held attempt up, and it is held anew
		return inference.Answer{}, err
	}
	return inference.Answer{
		Message:  inference.AssistantMessage(nil, "yes", nil),
		Response: domain.Response{Finish: domain.FinishStop, Usage: domain.Usage{InputTokens: 1, OutputTokens: 1}},
	}, nil
}

// A flood is many sends to one session, from many clients at once.
type flood struct {
	*stack
	id   string
	gate *turnstile

	mu                sync.Mutex
	accepted, refused []string
}

// floods opens a session that nods, idle after its first execution, or held in it.
func floods(t *testing.T, held bool) (f *flood, begun client.Execution, step *heldStep) {
	t.Helper()
	f = &flood{gate: &turnstile{held: map[string][]*heldStep{}}}
	f.stack = start(t, host.Config{Providers: map[string]inference.Provider{"nodder": nodder{}}, At: f.gate.at})
	f.id = f.named("flooded")
	opens := client.Start{ID: f.id, Prompt: "go", Definition: domain.Definition{Model: domain.LLMConfig{Provider: "nodder", Model: "x"}}}
	if !held {
		return f, f.answers(t, opens), nil
	}
	step = f.gate.hold(domain.WorkflowID(f.id), 1)
	begun = f.starts(t, opens)
	<-step.reached
	return f, begun, step
}

// sendsFlooding is how many sends make a flood: EVERSTEP_FLOOD, or as many as the gate has time for.
func sendsFlooding(t *testing.T) int {
	t.Helper()
	text := os.Getenv("EVERSTEP_FLOOD")
	if text == "" {
		return 400
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, "EVERSTEP_FLOOD")
	return n
}

const flooders = 50

// pour has 50 clients send so many messages in all. Whatever is refused is refused in words, and is not sent again.
func (f *flood) pour(t *testing.T, n int, delivery contract.Delivery) {
	t.Helper()
	var group errgroup.Group
	began := time.Now()
	for c := range flooders {
		group.Go(func() error {
			for k := range n / flooders {
				text := fmt.Sprintf("%d of client %d", k, c)
				_, err := f.agents.Send(within(t), f.id, client.SendOptions{Prompt: text, IfBusy: delivery})
				if err := f.note(text, err); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	t.Logf("%d sends, %d accepted, %d refused, in %s", n, len(f.accepted), len(f.refused), time.Since(began).Round(time.Millisecond))
	require.Equal(t, n/flooders*flooders, len(f.accepted)+len(f.refused))
}

func (f *flood) note(text string, err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err == nil:
		f.accepted = append(f.accepted, text)
	case errors.Is(err, &client.Error{Class: client.Refused}) && (strings.Contains(err.Error(), "100 messages wait") || strings.Contains(err.Error(), "as many updates as it may")):
		f.refused = append(f.refused, text)
	default:
		return fmt.Errorf("%q: %w", text, err)
	}
	return nil
}

// heardAll waits until the session is idle and nothing waits, and returns what it was told after its first message.
func (f *flood) heardAll(t *testing.T) (told []string) {
	t.Helper()
	require.Eventually(t, func() bool {
		status, err := f.agents.Status(within(t), f.id)
		return err == nil && status.Server.Source == contract.FromWorkflow && status.Status.Terminal() && len(status.Unread) == 0
	}, patience, 100*time.Millisecond)
	for _, entry := range f.messages(t, f.id) {
		if entry.Message.Role == domain.RoleUser && entry.Message.Text() != "go" {
			told = append(told, entry.Message.Text())
		}
	}
	return told
}

// acceptedIn are the messages that the server has accepted, in its order, by the history of all runs from the first on.
func (s *stack) acceptedIn(t *testing.T, first client.Execution) (texts []string, runs int) {
	t.Helper()
	for run := first.RunID; run != ""; runs++ {
		events := s.historyNow(t, first.WorkflowID, run).Events
		run = ""
		for _, event := range events {
			if next := event.GetWorkflowExecutionContinuedAsNewEventAttributes(); next != nil {
				run = next.GetNewExecutionRunId()
			}
			input := event.GetWorkflowExecutionUpdateAcceptedEventAttributes().GetAcceptedRequest().GetInput()
			if input.GetName() != string(contract.UpdateSend) {
				continue
			}
			var request contract.SendRequest
			require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(input.GetArgs(), &request))
			texts = append(texts, request.Prompt)
		}
	}
	return texts, runs
}

// requireEach: what was accepted was read once each, in the order of acceptance, and nothing else was; the session
// answers still, and nothing is left of it when it is closed.
func (f *flood) requireEach(t *testing.T, begun client.Execution) {
	t.Helper()
	told := f.heardAll(t)
	inOrder, runs := f.acceptedIn(t, begun)
	require.Equal(t, inOrder, told, "in the order of acceptance")
	slices.Sort(told)
	require.Equal(t, slices.Sorted(slices.Values(f.accepted)), told, "each that its sender was told of, once, and no other")
	last := f.sends(t, f.id, client.SendOptions{Prompt: "still there?"})
	result := f.result(t, f.id, last.Number)
	require.Equal(t, "yes", result.Answer)
	t.Logf("%d executions in %d runs", last.Number, runs)
	f.closesAfter(t, last)
	f.nothingRuns(t)
}

// TestAFloodWhileBusy: of a flood that meets an inference a hundred messages wait, and the others are refused.
func TestAFloodWhileBusy(t *testing.T) {
	t.Parallel()
	f, begun, held := floods(t, true)
	f.pour(t, sendsFlooding(t), contract.SteerIfBusy)
	require.Len(t, f.accepted, contract.MaxWaitingMessages)
	status := f.status(t, f.id)
	require.Less(t, status.History.Events, int64(4*len(f.accepted)+sendsFlooding(t)/4), "what is refused leaves next to nothing in the history")
	close(held.passes)
	f.requireEach(t, begun)
}

// TestAFloodOfSends to a session that is idle when it comes, and answers meanwhile: it steers, or queues.
func TestAFloodOfSends(t *testing.T) {
	long(t)
	t.Parallel()
	for _, delivery := range []contract.Delivery{contract.SteerIfBusy, contract.QueueIfBusy} {
		t.Run(string(delivery), func(t *testing.T) {
			t.Parallel()
			f, begun, _ := floods(t, false)
			f.pour(t, sendsFlooding(t), delivery)
			f.requireEach(t, begun)
		})
	}
}

// TestARunThatIsFullOfUpdates refuses messages before the server refuses everything, and the next run takes them.
func TestARunThatIsFullOfUpdates(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: no run is filled with updates")
	}
	f, begun, held := floods(t, true)
	var group errgroup.Group
	full := make(chan struct{})
	isFull := sync.OnceFunc(func() { close(full) })
	began := time.Now()
	for c := range flooders {
		group.Go(func() error {
			for k := 0; ; k++ {
				select {
				case <-full:
					return nil
				default:
				}
				text := fmt.Sprintf("%d of client %d", k, c)
				sent, err := f.agents.Send(within(t), f.id, client.SendOptions{Prompt: text, IfBusy: contract.QueueIfBusy})
				if errors.Is(err, &client.Error{Class: client.Refused}) && strings.Contains(err.Error(), "as many updates as it may") {
					isFull()
					return nil
				}
				if err == nil {
					_, err = f.agents.Unsend(within(t), f.id, sent.Waits.String())
				}
				if err != nil {
					return err
				}
			}
		})
	}
	require.NoError(t, group.Wait())
	t.Logf("full after %s", time.Since(began).Round(time.Millisecond))
	texts, _ := f.acceptedIn(t, begun)
	require.GreaterOrEqual(t, len(texts), 925-flooders)
	// What can wait is refused, so that there is room for people's words; a stop is no update.
	_, err := f.agents.Pause(within(t), f.id)
	require.ErrorIs(t, err, &client.Error{Class: client.Refused})
	require.ErrorContains(t, err, "as many updates as it may")
	f.stops(t, f.id, client.StopOptions{})
	close(held.passes)
	result := f.result(t, f.id, 1)
	require.Equal(t, domain.UserRequested, result.Outcome.StopReason)
	var last client.Execution
	require.Eventually(t, func() bool { // the run that is full refuses it until the next one has begun
		last, err = f.agents.Send(within(t), f.id, client.SendOptions{Prompt: "still there?"})
		return !errors.Is(err, &client.Error{Class: client.Refused})
	}, patience, 50*time.Millisecond)
	require.NoError(t, err)
	f.ended(t, last)
	require.NotEqual(t, begun.RunID, last.RunID, "another run took it")
	f.closesAfter(t, last)
	f.nothingRuns(t)
}
