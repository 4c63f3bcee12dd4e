package activities

import (
	"time"

	"everstep/activities/inference"
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

func (c *modelCall) metered(answer inference.Answer, err error) {
	limit, limited := c.activities.config.Limits[c.call.Config.Provider]
	if !limited {
		return
	}
	used := c.call.Reckon(answer.Response.Usage, answer.Message).TotalTokens()
	if err != nil {
		failed, billed := c.judge(err)
		if !billed {
			used = 0
		}
		if failed.Kind == domain.Throttled {
			limit.Meter.Pause(min(max(failed.RetryAfter, leastPause), mostPause))
		}
	}
	if used > 0 {
		limit.Meter.Used(used)
	}
}

// A provider that says that there are too many requests gets none for as long as
// it asks, within these bounds: beyond them only the one inference waits.
const (
	leastPause = time.Second
	mostPause  = time.Minute
)
