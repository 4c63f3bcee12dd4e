package whole_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/worker/host"
)

// slowScript streams its first turn for a long time.
const slowScript = `
turns:
  - text: 'one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen'
    delay: 60s
    usage: {input_tokens: 50, output_tokens: 20}
  - text: 'second'
`

// toolScript asks for a tool after a moment, twice at once and not for the same, then answers.
const toolScript = `
turns:
  - text: 'let me look at this for a while'
    delay: 1500ms
    tool_calls: [{name: work, arguments: {bench: 1}}, {name: work, arguments: {bench: 2}}]
    usage: {input_tokens: 50, output_tokens: 20}
  - text: 'answered'
`

// A workshop is a tool that tells when it began and works until it is let go
// or cancelled.
type workshop struct {
	began   chan struct{}
	release chan struct{}
}

func newWorkshop() *workshop {
	return &workshop{began: make(chan struct{}, 16), release: make(chan struct{})}
}

func (w *workshop) tool(effect domain.Effect) tool.Tool {
	type args struct {
		Bench int `json:"bench,omitzero"`
	}
	return tool.New("work", "Works.", effect, func(ctx context.Context, _ args) (string, error) {
		w.began <- struct{}{}
		select {
		case <-w.release:
			return "worked", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
}

// open lets all work end at once.
func (w *workshop) open() { close(w.release) }

// textSeen follows an agent until live text of the model arrives.
func (s *stack) textSeen(t *testing.T, id string) {
	t.Helper()
	for event, err := range s.agents.Follow(within(t), id, client.FollowOptions{}) {
		require.NoError(t, err)
		if event.Type == client.EventText {
			return
		}
	}
	t.Fatal("the execution ended without live text")
}

func (s *stack) begin(t *testing.T, script string, tools ...string) client.Execution {
	t.Helper()
	begun := s.starts(t, client.Start{Prompt: "go", Definition: scripted(writeScript(t, script), tools...)})
	return begun
}

func (s *stack) stopped(t *testing.T, id string) client.Result {
	t.Helper()
	result := s.result(t, id, 0)
	require.Equal(t, domain.StatusStopped, result.Outcome.Status, "%v", result.Error)
	require.Equal(t, domain.UserRequested, result.Outcome.StopReason)
	return result
}

// keepsText wants the text that had come before a stop. Of an inference that began anew, since a busy machine's
// heartbeats came too late, there may be none yet.
func (s *stack) keepsText(t *testing.T, id string, result client.Result) {
	t.Helper()
	steps := s.explained(t, id).Steps
	require.Len(t, steps, 1)
	if steps[0].FailedAttempts == 0 {
		require.NotEmpty(t, result.Answer, "the partial text is kept")
	}
}

func TestStopNowInAStream(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{})
	begun := s.begin(t, slowScript)
	s.textSeen(t, begun.ID)
	s.stops(t, begun.ID, client.StopOptions{Mode: contract.StopNow, Reason: "enough"})

	result := s.stopped(t, begun.ID)
	s.keepsText(t, begun.ID, result)
	require.Less(t, len(result.Answer), len("one two three"), "only what had come: %q", result.Answer)
	require.Positive(t, result.Outcome.Usage.TotalTokens(), "the usage is kept")
	require.True(t, result.Outcome.Usage.Estimated)
	steps := s.steps(t, begun.ID, 0)
	require.Len(t, steps, 1)
	require.True(t, steps[0].Step.Interrupted)
	require.Equal(t, domain.StepError, steps[0].Step.Type())
}

// TestAWorkerThatShutsDownStopsNothing: the inference is made again by the
// next worker, and what it cost before is counted.
func TestAWorkerThatShutsDownStopsNothing(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	first := s.work(t, host.Config{})
	begun := s.begin(t, `
turns:
  - text: 'one two three four five six seven eight nine ten'
    delay: 3s
    usage: {input_tokens: 50, output_tokens: 20}
`)
	s.textSeen(t, begun.ID)
	first.Stop()
	second := s.work(t, host.Config{})
	defer second.Stop()
	result := s.completed(t, begun.ID, 0)
	require.Equal(t, "one two three four five six seven eight nine ten", result.Answer)
	require.Equal(t, 1, result.Outcome.Steps)
	require.Greater(t, result.Outcome.Usage.TotalTokens(), int64(70), "the attempt before is counted")
}

// TestEveryStopArrives: whatever the payload, the execution stops.
func TestEveryStopArrives(t *testing.T) {
	t.Parallel()
	odd := map[string]*commonpb.Payload{
		"nothing": nil,
		"null":    {Metadata: map[string][]byte{"encoding": []byte("binary/null")}},
		"text":    {Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(`"stop it"`)},
		"broken":  {Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(`{"mode": `)},
		"mode":    {Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(`{"mode": "faster"}`)},
		"bytes":   {Metadata: map[string][]byte{"encoding": []byte("binary/plain")}, Data: []byte{0xff, 0}},
		"unknown": {Metadata: map[string][]byte{"encoding": []byte("martian")}, Data: []byte(`x`)},
		"no zstd": {Metadata: map[string][]byte{"encoding": []byte("binary/zstd")}, Data: []byte(`x`)},
		"bare":    {Data: []byte(`x`)},
	}
	s := start(t, host.Config{})
	for name, payload := range odd {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := s.begin(t, "turns: [{text: 'one two three four', delay: 1s}, {text: more}]")
			var argument any
			if payload != nil {
				argument = converter.NewRawValue(payload)
			}
			require.NoError(t, s.temporal.SignalWorkflow(within(t), begun.WorkflowID, "", string(contract.SignalStop), argument))
			s.stopped(t, begun.ID)
		})
	}
}
