package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities"
	"everstep/activities/inference"
	"everstep/domain"
	"everstep/domain/contract"
)

// metered keeps what a meter is told.
type metered struct {
	used   []int64
	paused []time.Duration
}

func (m *metered) Used(tokens int64)        { m.used = append(m.used, tokens) }
func (m *metered) Pause(wait time.Duration) { m.paused = append(m.paused, wait) }

// limitedBench is a bench whose provider is limited, on a task queue.
func limitedBench(queue string, model fakeModel) (*modelBench, *metered) {
	meter := &metered{}
	b := modelBenchOf(model)
	b.limits = map[string]activities.Limit{"fake": {RateLimit: contract.RateLimit{TaskQueue: queue, TokensPerMinute: 60}, Meter: meter}}
	return b, meter
}

// TestCallModelKeepsTheSmallerBound of an answer's tokens; zero is none.
func TestCallModelKeepsTheSmallerBound(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ asked, defined, want int64 }{{0, 0, 0}, {0, 7, 7}, {7, 0, 7}, {7, 9, 7}, {9, 7, 7}} {
		b := answeringBench("x", few)
		b.resolved.Definition.Model.MaxOutputTokens = test.defined
		request := b.request()
		request.MaxOutputTokens = test.asked
		b.replyTo(t, request)
		require.Equal(t, test.want, b.called.MaxOutputTokens)
	}
}

// TestCallModelKeepsItsTime: an attempt that goes on for too long ends by itself,
// and what had come of it is counted.
func TestCallModelKeepsItsTime(t *testing.T) {
	t.Parallel()
	b := modelBenchOf(func(ctx context.Context, call inference.Call, emit func(inference.Delta)) (inference.Answer, error) {
		call.Sent()
		emit(inference.Delta{Text: "so far"})
		<-ctx.Done()
		answer := says("so far", domain.Usage{InputTokens: 30, OutputTokens: 2})
		answer.Partial = true
		return answer, ctx.Err()
	})
	b.resolved.Definition.InferenceTimeout = 50 * time.Millisecond
	reply := b.reply(t)
	require.Equal(t, contract.BilledFailure, reply.Outcome)
	require.Equal(t, domain.Unavailable, reply.Error.Kind)
	require.Equal(t, domain.CodeTimeout, reply.Error.Code)
	require.Equal(t, "the model took longer than 50ms, the time-out of an inference", reply.Error.Message)
	require.Equal(t, domain.Usage{InputTokens: 30, OutputTokens: 2}, reply.Spent)
}

// ownQueue is that of the SDK's test environment.
const ownQueue = "default-test-taskqueue"

// TestCallModelTellsTheMeter of the tokens that each attempt has used, counted or
// estimated, and of the delay that a provider asks for.
func TestCallModelTellsTheMeter(t *testing.T) {
	t.Parallel()
	usage := domain.Usage{InputTokens: 30, OutputTokens: 7}
	free := domain.Errorf(domain.Unavailable, "down")
	busy := domain.Errorf(domain.Throttled, "slow down")
	busy.RetryAfter = 20 * time.Second
	day := domain.Errorf(domain.Throttled, "slow down")
	day.RetryAfter = 24 * time.Hour
	cut := domain.Errorf(domain.Unavailable, "cut")
	cut.Billed = true
	for name, c := range map[string]struct {
		answer inference.Answer
		err    error
		used   int64
		paused []time.Duration
	}{
		"an answer":              {answer: says("hello", usage), used: 37},
		"a refusal that is free": {err: free},
		"too many, by the day":   {err: day, paused: []time.Duration{time.Minute}},
		"too many, no delay":     {err: domain.Errorf(domain.Throttled, "slow down"), paused: []time.Duration{time.Second}},
		"too many requests":      {err: busy, paused: []time.Duration{20 * time.Second}},
		"an answer that was cut": {answer: says("hel", usage), err: cut, used: 37},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, meter := limitedBench(ownQueue, returning(c.answer, c.err))
			_, _ = b.call(t, b.request()) // what comes of it is others' to show
			if c.used == 0 {
				require.Empty(t, meter.used, "what cost nothing says nothing of what others take")
			} else {
				require.Equal(t, []int64{c.used}, meter.used)
			}
			require.Equal(t, c.paused, meter.paused)
		})
	}
	t.Run("unknown usage", func(t *testing.T) {
		t.Parallel()
		b, meter := limitedBench(ownQueue, returning(says("twelve bytes", domain.Usage{}), nil))
		reply := b.reply(t)
		require.True(t, reply.Response.Usage.Estimated)
		require.Equal(t, []int64{reply.Response.Usage.TotalTokens()}, meter.used)
	})
}

// TestCallModelSendsBackWhatCameByAnotherQueue, and asks nothing.
func TestCallModelSendsBackWhatCameByAnotherQueue(t *testing.T) {
	t.Parallel()
	b, meter := limitedBench("elsewhere", func(context.Context, inference.Call, func(inference.Delta)) (inference.Answer, error) {
		panic("nothing is asked")
	})
	app, err := b.failure(t)
	require.True(t, app.NonRetryable())
	require.Equal(t, domain.CodeRerouted, err.Code)
	require.Equal(t, "this worker has a rate limit for fake, which holds on task queue elsewhere; the inference came by "+ownQueue, err.Message)
	require.Empty(t, meter.used)
}

// TestACallIsMadeWhereItsLimitHolds: one that comes by another queue is sent there before it has begun, unless it was
// begun when there was no limit.
func TestACallIsMadeWhereItsLimitHolds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		queue   string
		attempt int32
		effect  domain.Effect
		sent    bool
		content string
	}{
		"by another queue":           {"q/tool/fake", 1, domain.AtMostOnce, true, "not run: fake has a limit, and its turn did not come"},
		"by its own":                 {ownQueue, 1, domain.AtMostOnce, false, "done"},
		"begun before, repeatable":   {"q/tool/fake", 2, domain.ReadOnly, false, "done"},
		"begun before, at most once": {"q/tool/fake", 2, domain.AtMostOnce, false, "outcome unknown: an earlier attempt may have begun; the call of fake may or may not have taken effect, and was not repeated"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := benchOf(fake(test.effect, answering("done")))
			b.attempt = test.attempt
			b.config.ToolLimits = map[string]contract.ToolLimit{"fake": {TaskQueue: test.queue, ToolLimit: domain.ToolLimit{AtOnce: 1}}}
			reply := b.run(t)
			require.Equal(t, test.content, reply.Content)
			require.Equal(t, test.sent, reply.NotStarted)
			if test.sent {
				require.Equal(t, test.queue, reply.TaskQueue)
				require.Equal(t, domain.CodeNotRun, reply.Error.Code)
			}
		})
	}
}

// TestListToolsTellsLimits of the definition's tools alone, and they are not of the definition's digest.
func TestListToolsTellsLimits(t *testing.T) {
	t.Parallel()
	config, definition := providing(named("a"), named("b")), agentWith("a")
	without := listed(t, config, definition)
	require.Nil(t, without.ToolLimits)
	limit := contract.ToolLimit{TaskQueue: "q/tool/a", ToolLimit: domain.ToolLimit{Calls: 5, Per: time.Minute}}
	config.ToolLimits = map[string]contract.ToolLimit{"a": limit, "b": limit}
	with := listed(t, config, definition)
	require.Equal(t, map[string]contract.ToolLimit{"a": limit}, with.ToolLimits)
	require.Equal(t, without.Digest, with.Digest)
}
