package activities_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"everstep/activities/inference"
	"everstep/activities/transcript"
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
			return says("answer", few), nil
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
	reply := b.replyTo(t, request)
	return <-told, reply
}

// TestCallModelFirstBeat: a heartbeat is a write of the server's state, so an answer within 200 ms costs none.
func TestCallModelFirstBeat(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		takes time.Duration
		beats int
	}{
		{199 * time.Millisecond, 0},
		{201 * time.Millisecond, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := modelBenchOf(func(context.Context, inference.Call, func(inference.Delta)) (inference.Answer, error) {
				<-time.After(test.takes)
				return says("hi", few), nil
			})
			b.reply(t)
			require.Len(t, b.recorded(), test.beats)
			for _, beat := range b.recorded() {
				require.Equal(t, contract.PhaseRequested, beat.Phase)
			}
		})
	}
}

// TestHeartbeatsComeWithText: where each costs something, one that tells nothing new waits,
// and one that tells what the model says does not.
func TestHeartbeatsComeWithText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		began := time.Now()
		b := modelBenchOf(func(_ context.Context, _ inference.Call, emit func(inference.Delta)) (inference.Answer, error) {
			for _, pause := range []time.Duration{50 * time.Millisecond, time.Second, time.Second} {
				<-time.After(pause)
				emit(inference.Delta{Text: "word "})
			}
			<-time.After(6 * time.Second)
			return says("hi", few), nil
		})
		b.heartbeat, b.every = 30*time.Second, 5*time.Second
		b.onBeat = func(contract.Heartbeat) { at = append(at, time.Since(began)) }
		b.reply(t)
		const tick = 100 * time.Millisecond
		require.Equal(t, []time.Duration{2 * tick, 11 * tick, 21 * tick, 71 * tick}, at)
	})
}

// TestHeartbeatsOfManyAreBoundedTogether: each is a write of the server, and what it can take
// of them is no more where many wait. None comes so late that its activity seems lost.
func TestHeartbeatsOfManyAreBoundedTogether(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		many  int
		apart time.Duration
	}{{1, 100 * time.Millisecond}, {10, 100 * time.Millisecond}, {50, 500 * time.Millisecond}, {300, time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			const lasts = 10 * time.Second
			var beats atomic.Int64
			var others sync.WaitGroup
			var first sync.Once
			var b *modelBench
			b = modelBenchOf(func(_ context.Context, _ inference.Call, emit func(inference.Delta)) (inference.Answer, error) {
				first.Do(func() {
					for range test.many - 1 {
						others.Go(func() { _, _ = b.callOn(t, b.made, b.request()) })
					}
				})
				for range lasts / (10 * time.Millisecond) {
					<-time.After(10 * time.Millisecond)
					emit(inference.Delta{Text: "word "})
				}
				return says("hi", few), nil
			})
			b.heartbeat = 3 * time.Second
			b.onBeat = func(contract.Heartbeat) { beats.Add(1) }
			b.reply(t)
			others.Wait()
			each := float64(beats.Load()) / float64(test.many)
			require.InDelta(t, float64(lasts/test.apart), each, float64(lasts/test.apart)/10+2, "of %d", test.many)
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

	text := strings.Repeat("é€", 5000)
	beat, _ = toldOf(t, []inference.Delta{{Text: text}}, nil)
	require.True(t, strings.HasSuffix(text, beat.Tail), "in whole characters")
	require.LessOrEqual(t, len(beat.Tail), 8<<10)
	require.Greater(t, len(beat.Tail), 8<<10-4)
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
			b.say(domain.UserMessage(strings.Repeat("more ", 200)))
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

// A slowQuerier answers with the whole conversation after a while.
type slowQuerier struct {
	bench *modelBench
	after time.Duration
}

func (q *slowQuerier) QueryWorkflow(context.Context, string, string, string, ...any) (converter.EncodedValue, error) {
	time.Sleep(q.after)
	entries := q.bench.log.Entries()
	page, err := converter.GetDefaultDataConverter().ToPayloads(contract.MessagesPage{Entries: entries, Length: len(entries), Resolved: &q.bench.resolved})
	return client.NewValue(page), err
}

// TestCallModelSlowConversation: while the conversation is looked for the
// activity stays alive without saying that a request was made. The request waits for no heartbeat.
func TestCallModelSlowConversation(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name             string
		heartbeat, takes time.Duration
		first            time.Duration
		phase            contract.InferencePhase
	}{
		{name: "slow", heartbeat: 3 * time.Second, takes: 2 * time.Second, first: 1100 * time.Millisecond, phase: contract.PhaseWaiting},
		{name: "soon enough", heartbeat: 3 * time.Second, takes: 950 * time.Millisecond, first: time.Second, phase: contract.PhaseRequested},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var asked, first time.Time
				b := modelBenchOf(func(context.Context, inference.Call, func(inference.Delta)) (inference.Answer, error) {
					asked = time.Now()
					<-time.After(150 * time.Millisecond)
					return says("x", few), nil
				})
				b.heartbeat = test.heartbeat
				b.source = &transcript.Source{Cache: transcript.NewCache(1 << 20), Client: &slowQuerier{b, test.takes}}
				b.onBeat = func(contract.Heartbeat) {
					if first.IsZero() {
						first = time.Now()
					}
				}
				began := time.Now()
				require.Equal(t, contract.Answered, b.reply(t).Outcome)
				require.Equal(t, test.first, first.Sub(began))
				require.Equal(t, test.phase, b.recorded()[0].Phase)
				require.Equal(t, test.phase == contract.PhaseWaiting, b.recorded()[0].Reserved.IsZero())
				require.Equal(t, test.takes, asked.Sub(began))
			})
		})
	}
}

// TestCallToolBeatsOftenEnough for the time-out of its heartbeats: a stop comes
// with the next of them.
func TestCallToolBeatsOftenEnough(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ timeout, every, want time.Duration }{
		{0, 0, 100 * time.Millisecond},
		{10 * time.Second, 0, 500 * time.Millisecond},
		{time.Hour, 0, time.Second},
		{30 * time.Second, 5 * time.Second, 5 * time.Second},
		{3 * time.Second, 5 * time.Second, time.Second},
	} {
		t.Run(test.timeout.String()+", "+test.every.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				beats := make(chan time.Time, 100)
				b := benchOf(fake(domain.ReadOnly, func(context.Context) (string, error) {
					first := <-beats
					return (<-beats).Sub(first).String(), nil
				}))
				b.config.HeartbeatEvery = test.every
				b.info = func(info *activity.Info) { info.HeartbeatTimeout = test.timeout }
				b.beaten = func() { beats <- time.Now() }
				require.Equal(t, test.want.String(), b.run(t).Content)
			})
		})
	}
}
