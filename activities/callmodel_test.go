package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"everstep/activities/inference"
	"everstep/domain"
	"everstep/domain/contract"
)

func TestCallModelAnswers(t *testing.T) {
	t.Parallel()
	var got inference.Call
	var boundaries []contract.Boundary
	b := modelBenchOf(nil)
	b.model = func(_ context.Context, call inference.Call, emit func(inference.Delta)) (inference.Answer, error) {
		got = call
		require.Eventually(t, func() bool { return len(b.recorded()) > 0 }, 10*time.Second, time.Millisecond)
		beats := b.recorded()
		require.Equal(t, contract.PhaseRequested, beats[0].Phase)
		require.Equal(t, domain.Usage{InputTokens: call.InputTokens(), OutputTokens: 77, Estimated: true}, beats[0].Reserved)
		require.Equal(t, 5, beats[0].Attempt)
		emit(inference.Delta{})
		emit(inference.Delta{Text: "hi"})
		emit(inference.Delta{Text: " you"})
		return says("hi you", domain.Usage{InputTokens: 9, OutputTokens: 2}), nil
	}
	b.at = func(ctx context.Context, at contract.Boundary) {
		boundaries = append(boundaries, at)
		require.False(t, contract.PlaceOf(ctx).Summary)
	}
	request := b.request()
	request.Attempts, request.MaxOutputTokens, request.TokensLeft = 4, 77, 1000
	reply := b.replyTo(t, request)

	require.Equal(t, contract.Answered, reply.Outcome)
	require.Equal(t, "hi you", reply.Message.Text())
	encoded, err := json.Marshal(reply.Message)
	require.NoError(t, err)
	require.Equal(t, domain.DigestOf(encoded), reply.Digest)
	require.Equal(t, domain.Usage{InputTokens: 9, OutputTokens: 2}, reply.Response.Usage)
	require.Equal(t, 1, reply.Tries)
	require.True(t, reply.Spent.IsZero())
	require.Equal(t, []contract.Boundary{contract.BeforeRequest, contract.InStream, contract.AfterRequest}, boundaries)

	require.Equal(t, "be brief", got.System)
	require.Equal(t, []domain.Message{domain.UserMessage("hello")}, got.Messages)
	require.Equal(t, b.resolved.Tools, got.Tools)
	require.EqualValues(t, 77, got.MaxOutputTokens)
	require.Equal(t, 2, got.Inference)
	require.Equal(t, 5, got.Attempt)

	request.WithoutTools = true
	b.beats = nil
	b.replyTo(t, request)
	require.Empty(t, got.Tools)
}

func TestCallModelReckonsUnknownUsage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ reported, want domain.Usage }{
		"none":        {want: domain.Usage{InputTokens: 14, OutputTokens: 6, Estimated: true}},
		"output only": {reported: domain.Usage{OutputTokens: 3}, want: domain.Usage{InputTokens: 14, OutputTokens: 3, Estimated: true}},
		"input only":  {reported: domain.Usage{InputTokens: 3}, want: domain.Usage{InputTokens: 3, OutputTokens: 6, Estimated: true}},
		"all":         {reported: domain.Usage{InputTokens: 3, OutputTokens: 4}, want: domain.Usage{InputTokens: 3, OutputTokens: 4}},
		"by a script": {reported: domain.Usage{Estimated: true}, want: domain.Usage{Estimated: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply := modelBenchOf(returning(says("eight ch", test.reported), nil)).reply(t)
			require.Equal(t, test.want, reply.Response.Usage)
		})
	}
}

func TestCallModelFailures(t *testing.T) {
	t.Parallel()
	throttled := domain.Errorf(domain.Throttled, "slow down")
	throttled.RetryAfter = 7 * time.Second
	day := domain.Errorf(domain.Throttled, "come back tomorrow")
	day.RetryAfter = 24 * time.Hour
	for name, test := range map[string]struct {
		err         error
		kind        domain.Kind
		code        domain.Code
		final       bool
		least, most time.Duration
	}{
		"throttled":           {err: throttled, kind: domain.Throttled, least: 7 * time.Second, most: 7 * time.Second},
		"for a day":           {err: day, kind: domain.Throttled, least: time.Hour, most: time.Hour},
		"unavailable":         {err: domain.Errorf(domain.Unavailable, "no"), kind: domain.Unavailable, least: 100 * time.Millisecond, most: 250 * time.Millisecond},
		"a bad key":           {err: domain.CodedErrorf(domain.Denied, domain.CodeAuth, "no"), kind: domain.Denied, code: domain.CodeAuth, final: true},
		"a long context":      {err: domain.CodedErrorf(domain.TooLarge, domain.CodeContextOverflow, "no"), kind: domain.TooLarge, code: domain.CodeContextOverflow, final: true},
		"an error of no kind": {err: errors.New("with a secret"), kind: domain.Internal, final: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modelBenchOf(returning(inference.Answer{}, test.err))
			if test.least > time.Second {
				reply := b.reply(t)
				require.Equal(t, contract.BilledFailure, reply.Outcome, "a stop is to end the wait")
				require.Equal(t, test.kind, reply.Error.Kind)
				require.Zero(t, reply.Spent)
				require.Equal(t, test.least.Milliseconds(), reply.RetryAfterMillis)
				return
			}
			app, own := b.failure(t)
			require.Equal(t, test.kind, own.Kind)
			require.Equal(t, test.code, own.Code)
			require.Equal(t, test.final, app.NonRetryable())
			require.GreaterOrEqual(t, app.NextRetryDelay(), test.least)
			require.LessOrEqual(t, app.NextRetryDelay(), test.most)
			require.NotContains(t, app.Error(), "secret")
			require.Empty(t, b.recorded(), "the next attempt must not count this one")
		})
	}
}

// TestCallModelTakesItsHeartbeatBack where it cost nothing after all: the next attempt must not count this one.
func TestCallModelTakesItsHeartbeatBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := modelBenchOf(func(context.Context, inference.Call, func(inference.Delta)) (inference.Answer, error) {
			<-time.After(250 * time.Millisecond)
			return inference.Answer{}, domain.Errorf(domain.Unavailable, "no")
		})
		b.failure(t)
		beats := b.recorded()
		require.Len(t, beats, 2)
		require.False(t, beats[0].Reserved.IsZero())
		require.Equal(t, contract.PhaseWaiting, beats[1].Phase)
		require.True(t, beats[1].Reserved.IsZero())
	})
}

func TestCallModelBackoffGrows(t *testing.T) {
	t.Parallel()
	b := modelBenchOf(returning(inference.Answer{}, domain.Errorf(domain.Unavailable, "no")))
	b.attempt = 2
	app, _ := b.failure(t)
	require.GreaterOrEqual(t, app.NextRetryDelay(), 375*time.Millisecond)
	require.LessOrEqual(t, app.NextRetryDelay(), 500*time.Millisecond)
	for attempt, most := range map[int32]int64{5: 4000, 1000: 60_000} {
		b.attempt = attempt
		reply := b.reply(t)
		require.GreaterOrEqual(t, reply.RetryAfterMillis, most*3/4)
		require.LessOrEqual(t, reply.RetryAfterMillis, most)
		require.Equal(t, int(attempt), reply.Tries)
	}
}

func TestCallModelBilledFailure(t *testing.T) {
	t.Parallel()
	cut := domain.CodedErrorf(domain.Unavailable, domain.CodeMalformed, "cut off")
	cut.Billed, cut.RetryAfter = true, 2*time.Second
	b := modelBenchOf(func(_ context.Context, _ inference.Call, emit func(inference.Delta)) (inference.Answer, error) {
		emit(inference.Delta{Text: "eight ch"})
		return inference.Answer{Message: inference.PartialMessage("", "eight ch"), Partial: true}, cut
	})
	reply := b.reply(t)
	require.Equal(t, contract.BilledFailure, reply.Outcome)
	require.Equal(t, domain.CodeMalformed, reply.Error.Code)
	require.Nil(t, reply.Message)
	require.Equal(t, domain.Usage{InputTokens: 14, OutputTokens: 6, Estimated: true}, reply.Spent)
	require.True(t, reply.Response.Usage.IsZero())
	require.EqualValues(t, 2000, reply.RetryAfterMillis)

	cut.Kind = domain.Invalid
	reply = b.reply(t)
	require.Equal(t, "eight ch", reply.Message.Text(), "the model is shown what the provider could not read")

	b = modelBenchOf(returning(says(strings.Repeat("x", domain.MaxMessage), domain.Usage{InputTokens: 5, OutputTokens: 6}), nil))
	reply = b.reply(t)
	require.Equal(t, contract.BilledFailure, reply.Outcome)
	require.Equal(t, domain.TooLarge, reply.Error.Kind)
	require.Equal(t, domain.Usage{InputTokens: 5, OutputTokens: 6}, reply.Spent)

	b = modelBenchOf(func(_ context.Context, call inference.Call, _ func(inference.Delta)) (inference.Answer, error) {
		call.Sent()
		panic("oh")
	})
	reply = b.reply(t)
	require.Equal(t, contract.BilledFailure, reply.Outcome, "what broke down after it had sent may be billed")
	require.Equal(t, domain.Internal, reply.Error.Kind)
}

// waits is a model that has said something and then waits for its end.
func waits(text string, ready func()) fakeModel {
	return func(ctx context.Context, call inference.Call, emit func(inference.Delta)) (inference.Answer, error) {
		call.Sent()
		if text != "" {
			emit(inference.Delta{Text: text})
		}
		ready()
		<-ctx.Done()
		err := domain.Errorf(domain.Unavailable, "cut off")
		err.Billed = true
		return inference.Answer{Message: inference.PartialMessage("", text), Response: domain.Response{Model: "m-1"}, Partial: true}, err
	}
}

func TestCallModelStopped(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"with text": "eight ch", "with nothing": "", "with much": strings.Repeat("\x01", 2_000_000)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modelBenchOf(nil)
			cancel := b.cancellable()
			b.model = waits(text, func() { cancel(temporal.NewCanceledError()) })
			reply := b.reply(t)
			require.Equal(t, contract.Interrupted, reply.Outcome)
			require.Nil(t, reply.Error)
			require.EqualValues(t, 14, reply.Response.Usage.InputTokens)
			require.True(t, reply.Response.Usage.Estimated)
			require.Equal(t, "m-1", reply.Response.Model)
			if text == "" {
				require.Nil(t, reply.Message)
				return
			}
			require.True(t, strings.HasPrefix(text, reply.Message.Text()))
			require.NotEmpty(t, reply.Message.Text())
			encoded, err := json.Marshal(reply)
			require.NoError(t, err)
			require.LessOrEqual(t, len(encoded), domain.MaxPayload)
		})
	}
	t.Run("before the request", func(t *testing.T) {
		t.Parallel()
		b := answeringBench("whole", few)
		b.parent = stopped()
		reply := b.reply(t)
		require.Equal(t, contract.Interrupted, reply.Outcome)
		require.True(t, reply.Response.Usage.IsZero())
		require.Empty(t, b.called.Messages, "nothing is asked")
	})
	t.Run("after the answer", func(t *testing.T) {
		t.Parallel()
		b := modelBenchOf(nil)
		cancel := b.cancellable()
		b.model = func(context.Context, inference.Call, func(inference.Delta)) (inference.Answer, error) {
			cancel(temporal.NewCanceledError())
			return says("whole", few), nil
		}
		require.Equal(t, contract.Answered, b.reply(t).Outcome)
	})
}

func TestCallModelWorkerStops(t *testing.T) {
	t.Parallel()
	b := modelBenchOf(nil)
	b.model = waits("eight ch", func() { close(b.stop) })
	reply := b.reply(t)
	require.Equal(t, contract.ShutDown, reply.Outcome, "never a stop")
	require.Equal(t, domain.Usage{InputTokens: 14, OutputTokens: 6, Estimated: true}, reply.Spent)
	require.Nil(t, reply.Message)
}

// What ends a context and is no stop must not look like one.
func TestCallModelCutOffByTheServer(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{activity.ErrActivityPaused, activity.ErrActivityReset, worker.ErrWorkerShutdown, errors.New("workflow execution already completed")} {
		t.Run(cause.Error(), func(t *testing.T) {
			t.Parallel()
			b := modelBenchOf(nil)
			cancel := b.cancellable()
			b.model = waits("x", func() { cancel(cause) })
			app, own := b.failure(t)
			require.False(t, app.NonRetryable())
			require.Equal(t, domain.Unavailable, own.Kind)
			beats := b.recorded()
			require.NotEqual(t, contract.PhaseWaiting, beats[len(beats)-1].Phase, "the next attempt counts this one")
		})
	}
}

// TestCallModelAfterALostAttempt: an attempt that was lost after its request
// counts as spent, and no other begins where the budget does not cover it.
func TestCallModelAfterALostAttempt(t *testing.T) {
	t.Parallel()
	lost := contract.Heartbeat{
		Phase: contract.PhaseStreaming, Spent: domain.Usage{InputTokens: 10, OutputTokens: 1}, Length: 8,
		Reserved: domain.Usage{InputTokens: 12, OutputTokens: 1000, ReasoningTokens: 3, Estimated: true},
	}
	spent := domain.Usage{InputTokens: 22, OutputTokens: 6, ReasoningTokens: 3, Estimated: true}
	for name, test := range map[string]struct {
		phase contract.InferencePhase
		left  int64
		spent domain.Usage
		// maxOutput is what the answer may have; zero: there is none.
		maxOutput int64
	}{
		"no limit":              {contract.PhaseStreaming, 0, spent, 500},
		"requested":             {contract.PhaseRequested, 0, spent, 500},
		"nothing was sent":      {contract.PhaseWaiting, 0, lost.Spent, 500},
		"a budget that covers":  {contract.PhaseStreaming, 100, spent, 58},
		"a budget that just":    {contract.PhaseStreaming, 58, spent, 16},
		"a budget that doesn't": {contract.PhaseStreaming, 57, spent, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := answeringBench("x", few)
			before := lost
			before.Phase = test.phase
			b.before, b.attempt = &before, 2
			request := b.request()
			request.TokensLeft, request.MaxOutputTokens = test.left, 500
			reply := b.replyTo(t, request)
			require.Equal(t, test.spent, reply.Spent)
			require.Equal(t, test.maxOutput, b.called.MaxOutputTokens)
			require.Equal(t, 2, reply.Tries)
			if test.maxOutput > 0 {
				require.Equal(t, contract.Answered, reply.Outcome)
				require.Equal(t, test.spent, b.recorded()[0].Spent, "the ledger goes on")
				return
			}
			require.Equal(t, contract.BilledFailure, reply.Outcome)
			require.Empty(t, b.recorded(), "nothing may say that a request was made")
		})
	}
	t.Run("a failure keeps the ledger", func(t *testing.T) {
		t.Parallel()
		b := modelBenchOf(returning(inference.Answer{}, domain.CodedErrorf(domain.Denied, domain.CodeAuth, "no")))
		b.before, b.attempt = &lost, 2
		reply := b.reply(t)
		require.Equal(t, contract.BilledFailure, reply.Outcome)
		require.Equal(t, domain.CodeAuth, reply.Error.Code)
		require.Equal(t, spent, reply.Spent)
	})
}

func TestCallModelUnknownProvider(t *testing.T) {
	t.Parallel()
	b := modelBenchOf(nil)
	b.resolved.Definition.Model.Provider = "other"
	app, own := b.failure(t)
	require.True(t, app.NonRetryable())
	require.Equal(t, domain.CodeModelNotFound, own.Code)
	require.Contains(t, own.Message, "the providers are: fake")
}

// TestCallModelWordsOfOthers: what a provider of somebody else's calls a kind,
// a code or a finish reason never costs the reply.
func TestCallModelWordsOfOthers(t *testing.T) {
	t.Parallel()
	reply := modelBenchOf(func(_ context.Context, call inference.Call, _ func(inference.Delta)) (inference.Answer, error) {
		call.Sent()
		return inference.Answer{Partial: true}, &domain.Error{Kind: "odd", Code: "odder", Message: "no", Billed: true}
	}).reply(t)
	require.Equal(t, contract.BilledFailure, reply.Outcome)
	require.Equal(t, domain.Internal, reply.Error.Kind)
	require.Empty(t, reply.Error.Code)

	answer := says("hi", few)
	answer.Response.Finish = "eos"
	reply = modelBenchOf(returning(answer, nil)).reply(t)
	require.Equal(t, domain.FinishOther, reply.Response.Finish)
	require.Equal(t, "eos", reply.Response.FinishWord)
}

// TestCallModelAdapts: what a server refuses is asked again at once in another form, told with the answer, and no more
// often than is meant.
func TestCallModelAdapts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ refused, requests int }{
		"at once": {0, 1}, "once": {1, 2}, "twice": {2, 3}, "without an end": {1 << 20, 1 + inference.MostAdapted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := 0
			b := modelBenchOf(func(_ context.Context, call inference.Call, _ func(inference.Delta)) (inference.Answer, error) {
				requests++
				call.Sent()
				if requests <= test.refused {
					return inference.Answer{Partial: true}, &inference.Adapted{Refusal: domain.Invalidf("no seed")}
				}
				return says("hi", few), nil
			})
			if test.requests > test.refused {
				reply := b.reply(t)
				require.Equal(t, 1+test.refused, reply.Tries)
				require.Zero(t, reply.Spent)
				require.Equal(t, test.refused > 0, reply.Error != nil)
				if reply.Error != nil {
					require.Equal(t, strings.TrimSuffix(strings.Repeat("no seed\n", test.refused), "\n"), reply.Error.Message)
				}
			} else {
				_, own := b.failure(t)
				require.Equal(t, "no seed", own.Message)
			}
			require.Equal(t, test.requests, requests)
		})
	}
}

// TestCallModelAfterALostAttemptByMoney: what a lost attempt may have cost comes
// out of the money too.
func TestCallModelAfterALostAttemptByMoney(t *testing.T) {
	t.Parallel()
	lost := contract.Heartbeat{
		Phase: contract.PhaseRequested, Reserved: domain.Usage{InputTokens: 100, OutputTokens: 1000, Estimated: true}, Length: 40,
	}
	// A token in costs 2 nano-dollars and one out 10; cached input costs more
	// to write.
	price := domain.Price{Input: 2_000_000, Output: 10_000_000, CacheWrite: new(int64(3_000_000))}
	// The lost attempt cost 2·100 + 10·10; the input of the next at most 3·14.
	const spent, input = 300, 42
	for name, test := range map[string]struct {
		price              *domain.Price
		cost, tokens, lost int64
		fresh              bool
		// maxOutput is what the answer may have; zero: there is none.
		maxOutput int64
	}{
		"no limit":                  {price: &price, maxOutput: 500},
		"enough":                    {price: &price, cost: spent + input + 5000, maxOutput: 500},
		"enough for a shorter one":  {price: &price, cost: spent + input + 4999, maxOutput: 499},
		"just enough":               {price: &price, cost: spent + input + 160, maxOutput: 16},
		"too little":                {price: &price, cost: spent + input + 159},
		"nothing":                   {price: &price, cost: 1},
		"output is free":            {price: &domain.Price{Input: 2_000_000}, cost: 200 + 28, maxOutput: 500},
		"output is free, input not": {price: &domain.Price{Input: 2_000_000}, cost: 200 + 27},
		"lost beyond reckoning":     {price: &domain.Price{Input: domain.MaxPrice, Output: 1}, lost: 1 << 50, cost: 1 << 62},
		"no price":                  {cost: 1_000_000},
		"no price and no limit":     {maxOutput: 500},
		"tokens are scarcer":        {price: &price, cost: spent + input + 4999, tokens: 110 + 14 + 20, maxOutput: 20},
		"money is scarcer":          {price: &price, cost: spent + input + 200, tokens: 110 + 14 + 30, maxOutput: 20},
		"nothing was lost":          {price: &price, cost: 1, fresh: true, maxOutput: 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := answeringBench("x", few)
			b.resolved.Price = test.price
			before := lost
			before.Reserved.InputTokens = max(test.lost, 100)
			if !test.fresh {
				b.before, b.attempt = &before, 2
			}
			request := b.request()
			request.CostLeftNanoUSD, request.TokensLeft, request.MaxOutputTokens = test.cost, test.tokens, 500
			reply := b.replyTo(t, request)
			require.Equal(t, test.maxOutput, b.called.MaxOutputTokens)
			if test.maxOutput > 0 {
				require.Equal(t, contract.Answered, reply.Outcome)
				return
			}
			require.Equal(t, contract.BilledFailure, reply.Outcome)
			require.Contains(t, reply.Error.Message, "the money does not cover another try")
			require.Equal(t, before.Reserved.InputTokens+10, reply.Spent.TotalTokens())
			require.Empty(t, b.recorded(), "nothing may say that a request was made")
		})
	}
}
