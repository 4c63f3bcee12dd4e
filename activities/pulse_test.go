package activities_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/domain"
	"everstep/domain/contract"
)

// toldOf is the first heartbeat that tells of all that a model emits. The
// model ends when it is there.
func toldOf(t *testing.T, deltas []inference.Delta, prepare func(*modelBench, *contract.ModelRequest)) (contract.Heartbeat, contract.ModelReply) {
	t.Helper()
	var text, reasoning strings.Builder
	for _, d := range deltas {
		text.WriteString(strings.ToValidUTF8(d.Text, "\uFFFD"))
		reasoning.WriteString(strings.ToValidUTF8(d.Reasoning, "\uFFFD"))
	}
	told := make(chan contract.Heartbeat, 1)
	b := modelBenchOf(func(ctx context.Context, _ inference.Call, emit func(inference.Delta)) (inference.Answer, error) {
		for _, d := range deltas {
			emit(d)
		}
		select {
		case beat := <-told:
			told <- beat
			return says("answer", domain.Usage{InputTokens: 1, OutputTokens: 1}), nil
		case <-ctx.Done():
			return inference.Answer{}, ctx.Err()
		}
	})
	var once sync.Once
	b.onBeat = func(beat contract.Heartbeat) {
		if beat.Length == text.Len() && beat.ReasoningLength == reasoning.Len() && beat.Phase == contract.PhaseStreaming {
			once.Do(func() { told <- beat })
		}
	}
	request := b.request()
	if prepare != nil {
		prepare(b, &request)
	}
	request.Log, request.Resolved = b.log.Ref(), b.resolved.Digest
	reply, err := b.call(t, request)
	require.NoError(t, err)
	return <-told, reply
}

// TestUnbilledModelFirstBeat: what costs nothing need not be known to have been
// asked, so an answer within 100 ms costs the server no write.
func TestUnbilledModelFirstBeat(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		unbilled bool
		takes    time.Duration
		beats    int
	}{
		{true, 99 * time.Millisecond, 0},
		{true, 101 * time.Millisecond, 1},
		{false, 0, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := modelBenchOf(func(context.Context, inference.Call, func(inference.Delta)) (inference.Answer, error) {
				<-time.After(test.takes)
				return says("hi", domain.Usage{InputTokens: 1, OutputTokens: 1}), nil
			})
			b.unbilled = test.unbilled
			b.reply(t)
			require.Len(t, b.recorded(), test.beats)
			for _, beat := range b.recorded() {
				require.Equal(t, contract.PhaseRequested, beat.Phase)
			}
		})
	}
}

func TestHeartbeatsTellTextAndReasoning(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("thought ", 1000)
	beat, _ := toldOf(t, []inference.Delta{{Reasoning: long}, {Reasoning: "the end"}, {Text: "4"}, {Text: "2\xff"}, {Tool: "f"}}, nil)
	require.Equal(t, "42\uFFFD", beat.Tail)
	require.True(t, strings.HasSuffix(long+"the end", beat.Reasoning))
	require.Len(t, beat.Reasoning, 4<<10)
	require.Equal(t, 1, beat.Attempt)
	require.EqualValues(t, (len(long)+7+3)/4, beat.Reserved.ReasoningTokens)
}

// TestHeartbeatsWithhold: neither what a hook may rewrite nor a summary can be
// read before the inference has ended, and both are counted.
func TestHeartbeatsWithhold(t *testing.T) {
	t.Parallel()
	deltas := []inference.Delta{{Reasoning: "a thought"}, {Text: "a text"}}
	for name, prepare := range map[string]func(*modelBench, *contract.ModelRequest){
		"hook": func(b *modelBench, _ *contract.ModelRequest) {
			b.resolved.Hooks = []contract.HookSpec{{Name: "audit", Trigger: domain.TriggerAfterStep}, {Name: "redact", Trigger: domain.TriggerAfterInference}}
		},
		"summary": func(b *modelBench, request *contract.ModelRequest) {
			b.log = b.log.Append("", domain.UserMessage(strings.Repeat("more ", 200)), domain.DigestOf([]byte("more")))
			request.Summary = &domain.SummaryRequest{To: 2, MaxTokens: 100}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			beat, reply := toldOf(t, deltas, prepare)
			require.Equal(t, contract.Answered, reply.Outcome)
			require.Empty(t, beat.Tail)
			require.Empty(t, beat.Reasoning)
			require.Equal(t, len("a text"), beat.Length)
			require.EqualValues(t, 3, beat.Reserved.ReasoningTokens)
		})
	}
	open := func(b *modelBench, _ *contract.ModelRequest) {
		b.resolved.Hooks = []contract.HookSpec{{Name: "audit", Trigger: domain.TriggerAfterStep}}
	}
	beat, _ := toldOf(t, deltas, open)
	require.Equal(t, "a text", beat.Tail, "another hook sees no answer before the readers")
}
