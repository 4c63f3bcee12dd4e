package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client/internal/history"
)

// TestAttemptsThatFailed: how many failed and why, as the history of one activity tells.
func TestAttemptsThatFailed(t *testing.T) {
	t.Parallel()
	down := domain.Errorf(domain.Unavailable, "down")
	work := func(attempt int, before *domain.Error) history.Inference {
		return history.Inference{Request: contract.ModelRequest{Reserved: usage(40, 4)}, Attempt: attempt, Before: before}
	}
	price := &domain.Price{Input: 1_000_000, Output: 10_000_000}
	replied := func(one history.Inference, reply contract.ModelReply) stepAttempts {
		one.Reply = &reply
		return stepAttempts{}.with(one, false, price)
	}
	lost := func(one history.Inference, loss contract.Loss, turns bool) stepAttempts {
		one.Lost = &loss
		return stepAttempts{}.with(one, turns, price)
	}
	timedOut, cancelled := contract.Loss{How: contract.TimedOut}, contract.Loss{How: contract.Cancelled}
	for name, c := range map[string]struct {
		got    stepAttempts
		failed int
		why    string
		cost   int64
	}{
		"an answer at once":                {replied(work(1, nil), contract.ModelReply{Outcome: contract.Answered}), 0, "", 0},
		"an answer at the third try":       {replied(work(3, down), contract.ModelReply{Outcome: contract.Answered, Tries: 3, Spent: usage(5, 1)}), 2, "down", 15},
		"a failure that was billed":        {replied(work(1, nil), contract.ModelReply{Outcome: contract.BilledFailure, Error: down, Spent: usage(50, 5)}), 1, "down", 100},
		"a worker that stopped":            {replied(work(1, nil), contract.ModelReply{Outcome: contract.ShutDown}), 1, "cut off by a worker that stopped", 0},
		"what a stop cut off":              {replied(work(1, nil), contract.ModelReply{Outcome: contract.Interrupted}), 0, "", 0},
		"lost workers":                     {lost(work(4, nil), timedOut, false), 4, "no worker finished it in time", 80},
		"a worker with another queue":      {lost(work(1, nil), contract.Loss{Reported: domain.CodedErrorf(domain.Unavailable, domain.CodeRerouted, "elsewhere")}, false), 0, "", 0},
		"cut off while it waited its turn": {lost(work(0, nil), cancelled, true), 0, "", 0},
		"cut off before a worker had it":   {lost(work(0, nil), cancelled, false), 1, "cut off by a stop", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.failed, c.got.failed)
			if c.failed == 0 {
				require.Empty(t, c.got.retries)
				return
			}
			require.Len(t, c.got.retries, 1)
			require.Equal(t, c.why, c.got.retries[0].Reason)
			require.Equal(t, c.cost, *c.got.retries[0].CostNanoUSD)
		})
	}
	both := replied(work(3, down), contract.ModelReply{Outcome: contract.BilledFailure, Error: domain.Errorf(domain.Unavailable, "still down")})
	require.Equal(t, []string{"down", "still down"}, []string{both.retries[0].Reason, both.retries[1].Reason})
	repeated := work(2, nil)
	repeated.Lost = &contract.Loss{Reported: domain.Errorf(domain.Unavailable, "still down")}
	again := both.with(repeated, false, price)
	require.Len(t, again.retries, 2, "the same again is told once")
	require.Equal(t, []int{2, 3}, []int{again.retries[0].Attempts, again.retries[1].Attempts})
	require.Equal(t, both.failed+2, again.failed)
	refused := replied(work(2, down), contract.ModelReply{Outcome: contract.Answered, Tries: 4, Error: domain.Invalidf("no seed\nno stop")})
	require.Equal(t, []string{"down", "no seed", "no stop"}, []string{refused.retries[0].Reason, refused.retries[1].Reason, refused.retries[2].Reason})
	require.Equal(t, 3, refused.failed)
	unpriced := work(1, nil)
	unpriced.Lost = &timedOut
	require.Nil(t, stepAttempts{}.with(unpriced, false, nil).retries[0].CostNanoUSD, "without a price nobody knows")
}
