package activities

import (
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// A Limit is what a worker keeps to with a provider. Whoever hands out its task
// queue's work sees to the requests; of the tokens it is told here.
type Limit struct {
	contract.RateLimit
	Meter Meter
}

// A Meter counts what inferences use. It is used by many at once.
type Meter interface {
	// Used is told of the tokens of an inference that has ended.
	Used(tokens int64)
	// Pause is told for how long the provider takes no request.
	Pause(time.Duration)
}

// rerouted refuses an inference from a queue that its provider's limit does not hold for.
func (c *modelCall) rerouted() error {
	limit, limited := c.activities.config.Limits[c.call.Config.Provider]
	if !limited || limit.TaskQueue == c.info.TaskQueue {
		return nil
	}
	return domain.CodedErrorf(domain.Denied, domain.CodeRerouted,
		"this worker has a rate limit for %s, which holds on task queue %s; the inference came by %s",
		c.call.Config.Provider, limit.TaskQueue, c.info.TaskQueue)
}

// elsewhere has the workflow make the call on the queue that its tool's limit holds for. The error is what remains
// of it where a stop comes first.
func (c toolCall) elsewhere(limit contract.ToolLimit) contract.ToolReply {
	reply := c.failed(domain.CodedErrorf(domain.Unavailable, domain.CodeNotRun, "not run: %s has a limit, and its turn did not come", c.request.Name))
	reply.NotStarted, reply.TaskQueue = true, limit.TaskQueue
	return reply
}

func (c *modelCall) metered(err error) {
	limit, limited := c.activities.config.Limits[c.call.Config.Provider]
	if !limited {
		return
	}
	used := c.call.CompleteUsage(c.answer.Response.Usage, c.answer.Message).TotalTokens()
	if err != nil {
		failed := c.judge(err)
		if !failed.Billed {
			used = 0
		}
		if failed.Kind == domain.Throttled { // the provider gets no request for so long; beyond that only the one inference waits
			limit.Meter.Pause(min(max(failed.RetryAfter, time.Second), time.Minute))
		}
	}
	if used > 0 {
		limit.Meter.Used(used)
	}
}

// smallest returns the smaller bound; zero is none.
func smallest(a, b int64) int64 {
	if least := min(a, b); least > 0 {
		return least
	}
	return max(a, b)
}

// cover takes what lost attempts may have cost out of what this one may.
func (c *modelCall) cover(minOutput int64) error {
	if c.spent.IsZero() {
		return nil
	}
	input := c.call.InputTokens()
	bound := func(by string, tokens int64) error {
		if tokens < max(minOutput, 1) {
			return domain.Errorf(domain.Unavailable, "the worker was lost after it had sent the request, and the %s does not cover another try", by)
		}
		c.call.MaxOutputTokens = smallest(c.call.MaxOutputTokens, tokens)
		return nil
	}
	var err error
	if left := c.request.TokensLeft; left > 0 {
		err = bound("budget", left-c.spent.TotalTokens()-input)
	}
	if tokens, bounded := c.moneyLeft(input); err == nil && bounded {
		err = bound("money", tokens)
	}
	return err
}

// moneyLeft is how many tokens of output the budget's money buys: none where the price
// is unknown, since a limit never fails open.
func (c *modelCall) moneyLeft(input int64) (tokens int64, bounded bool) {
	if c.request.CostLeftNanoUSD <= 0 {
		return 0, false
	}
	if c.price == nil {
		return 0, true
	}
	left := c.request.CostLeftNanoUSD - domain.AddCost(c.price.Cost(c.spent), c.price.InputCost(input))
	if left < 0 {
		return 0, true
	}
	return c.price.OutputFor(left, input)
}
