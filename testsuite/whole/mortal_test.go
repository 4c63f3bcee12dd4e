package whole_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"

	"everstep/activities/inference"
	script "everstep/activities/scripted"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

// mortalWorker is the argument with which the test binary is a worker that one of
// its tools ends.
const mortalWorker = "mortal-worker"

func mortalWork(ctx context.Context, args []string) error {
	die := tool.New("die", "ends the worker", domain.ReadOnly, func(ctx context.Context, _ struct{}) (string, error) {
		dieOnce(ctx, func(contract.Heartbeat) bool { return true })
		return "", nil
	})
	wire := tool.New("wire", "pays, and ends the worker", domain.AtMostOnce, func(ctx context.Context, _ struct{}) (string, error) {
		dieOnce(ctx, func(contract.Heartbeat) bool { return true })
		return "", nil
	}, tool.Verify(func(ctx context.Context, _ struct{}) (tool.Finding, error) {
		if call, _ := tool.ExecutionOf(ctx); call.Attempt == 1 {
			dieOnce(ctx, func(contract.Heartbeat) bool { return true })
		}
		return tool.Happened("receipt 4711", "it is in the journal"), nil
	}))
	var model host.Access
	if len(args) > 3 {
		model = host.Access{BaseURL: args[3], Key: "sk-canary"}
	}
	return serve(ctx, args, host.Config{
		Vendors:    map[string]host.Access{"openai": model},
		Approvals:  domain.ApprovalsOf("allow"),
		Connection: host.Connection{Seat: args[2]}, Tools: []tool.Tool{die, wire, echo()},
		Providers: map[string]inference.Provider{"mortal": mortal{script.New(), args[2] + ".deaths"}},
		Log:       host.Log{Level: slog.LevelWarn},
	})
}

// A mortal model ends its worker in the middle of its first three answers.
type mortal struct {
	inference.Provider
	deaths string
}

func (m mortal) Infer(ctx context.Context, call inference.Call, hear func(inference.Delta)) (inference.Answer, error) {
	deaths, err := os.OpenFile(m.deaths, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return inference.Answer{}, err
	}
	if at, err := deaths.Seek(0, io.SeekEnd); err != nil || at == 3 {
		return m.Provider.Infer(ctx, call, hear)
	}
	if _, err := deaths.WriteString("."); err != nil {
		return inference.Answer{}, err
	}
	hear(inference.Delta{Text: "half"})
	dieOnce(ctx, func(beat contract.Heartbeat) bool { return beat.Tail == "half" })
	return inference.Answer{}, nil
}

// dieOnce kills the process of the activity that it is called in, as kill -9 does, once the server has such
// a heartbeat of it.
func dieOnce(ctx context.Context, such func(contract.Heartbeat) bool) {
	info, again := activity.GetInfo(ctx), time.NewTicker(10*time.Millisecond)
	for ; ctx.Err() == nil; <-again.C {
		run, err := activity.GetClient(ctx).DescribeWorkflowExecution(ctx, info.WorkflowExecution.ID, info.WorkflowExecution.RunID)
		if err != nil {
			continue // the server is busy, and asked again
		}
		for _, pending := range run.GetPendingActivities() {
			var beat contract.Heartbeat
			if pending.GetActivityId() != info.ActivityID || pending.GetHeartbeatDetails() == nil {
				continue
			}
			if err := converter.GetDefaultDataConverter().FromPayloads(pending.GetHeartbeatDetails(), &beat); err == nil && such(beat) {
				self, _ := os.FindProcess(os.Getpid()) // it is there
				_ = self.Kill()
				select {}
			}
		}
	}
}

// mortals keeps a worker up, whichever way it ends, and counts how often it did.
func (s *stack) mortals(t *testing.T) *atomic.Int64 {
	t.Helper()
	var deaths atomic.Int64
	ended := make(chan struct{})
	serving, stop := context.WithCancel(context.Background())
	seat := t.TempDir() + "/seat"
	go func() {
		defer close(ended)
		for serving.Err() == nil {
			worker := exec.CommandContext(serving, os.Args[0], mortalWorker, s.address, s.queue, seat)
			in, err := worker.StdinPipe()
			if err == nil {
				err = worker.Start()
			}
			if err != nil {
				t.Error(err)
				return
			}
			if err := worker.Wait(); serving.Err() == nil {
				deaths.Add(1)
				t.Log("a worker died:", err)
			}
			_ = in.Close()
		}
	}()
	t.Cleanup(func() { stop(); <-ended })
	return &deaths
}

// TestLostWorkersUseUpNoAttempt of an inference, which is made again until it is answered.
func TestLostWorkersUseUpNoAttempt(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	deaths := s.mortals(t)
	definition := scripted(writeScript(t, "turns: [{text: done}]"))
	definition.Model.Provider, definition.Attempts = "mortal", 1
	x := s.starts(t, client.Start{Prompt: "go", Definition: definition})
	result := s.result(t, x.ID, 0)
	require.Equal(t, "done", result.Answer, "%v", result.Error)
	require.EqualValues(t, 3, deaths.Load())
	for _, step := range s.steps(t, x.ID, 0) {
		require.Equal(t, 4, step.Step.Tries)
		require.Positive(t, step.Step.Lost.OutputTokens, "what was said is counted")
	}
}

// TestAKillCostsWhatItIsBilledAtLeast of a request, and the estimate at most, whether or not a heartbeat has told of it.
func TestAKillCostsWhatItIsBilledAtLeast(t *testing.T) {
	t.Parallel()
	const longest = 50
	prompt := strings.Repeat("four", 100)
	billed := domain.Usage{InputTokens: 100, OutputTokens: 1}
	estimate := domain.Usage{InputTokens: domain.EstimateTokens(domain.UserMessage(prompt)), OutputTokens: longest}
	price := domain.Price{Input: 1_000_000_000, Output: 4_000_000_000}
	for _, after := range []time.Duration{20 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			asked := make(chan time.Time, 1)
			model := serveChat(t, func(w http.ResponseWriter, r *http.Request) {
				asked <- time.Now()
				streamed("", `{"content":"four"}`)(w, r)
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}, streamed("stop", `{"content":"done"}`))
			s, seat := connect(t, "plain", nil), t.TempDir()+"/seat"
			worker := s.process(t, mortalWorker, seat, model.URL)
			x := s.starts(t, client.Start{Prompt: prompt, Definition: domain.Definition{
				Model: domain.LLMConfig{Provider: "openai-chat", Model: "m-1", MaxOutputTokens: longest, Price: &price},
			}})
			<-time.After(time.Until((<-asked).Add(after)))
			worker.Kill()
			s.process(t, mortalWorker, seat, model.URL)
			result := s.result(t, x.ID, 0)
			require.Equal(t, "done", result.Answer, "%v", result.Error)
			for _, step := range s.steps(t, x.ID, 0) {
				lost := step.Step.Lost
				require.GreaterOrEqual(t, lost.InputTokens, billed.InputTokens)
				require.LessOrEqual(t, lost.InputTokens, estimate.InputTokens)
				require.GreaterOrEqual(t, lost.OutputTokens, billed.OutputTokens)
				require.LessOrEqual(t, lost.OutputTokens, estimate.OutputTokens)
				require.GreaterOrEqual(t, step.Step.LostNanoUSD, price.Cost(billed))
				require.LessOrEqual(t, step.Step.LostNanoUSD, price.Cost(estimate))
				require.Greater(t, result.Outcome.Usage.TotalTokens(), lost.TotalTokens(), "the answer's is added")
			}
		})
	}
}

// TestAToolThatEndsItsProcessHarmsNoOther: it takes two workers with it and then no
// more, and twenty agents beside it finish.
func TestAToolThatEndsItsProcessHarmsNoOther(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	s := connect(t, "plain", nil)
	deaths := s.mortals(t)
	calm := scripted(writeScript(t, `
turns:
  - {text: a, delay: 1s, tool_calls: [{name: echo, arguments: {text: one}}]}
  - {text: b, delay: 1s, tool_calls: [{name: echo, arguments: {text: two}}]}
  - {text: done, delay: 1s}
`), "echo")
	calm.Attempts = 1 // those that others take with them are none
	var beside []client.Execution
	for range 20 {
		x := s.starts(t, client.Start{Prompt: "go", Definition: calm})
		beside = append(beside, x)
	}
	x := s.starts(t, client.Start{Prompt: "go", Definition: scripted(writeScript(t, `
turns:
  - {tool_calls: [{name: die, arguments: {}}]}
  - {text: 'It said: {{ result "die" }}'}
`), "die")})
	result := s.result(t, x.ID, 0)
	require.Contains(t, result.Answer, "its worker was lost each time")
	for i, one := range beside {
		result, err := s.agents.Wait(ctx, one.ID, 0)
		require.NoError(t, err, fmt.Sprint(i))
		require.Equal(t, "done", result.Answer)
	}
	require.EqualValues(t, 2, deaths.Load())
}
