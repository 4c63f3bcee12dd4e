package host

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.temporal.io/sdk/worker"

	"everstep/activities"
	"everstep/domain"
	"everstep/domain/contract"
)

// A RateLimit is how fast the workers of a task queue may use a vendor's models.
// Zero: no limit.
type RateLimit struct {
	// RequestsPerMinute is for all workers together.
	RequestsPerMinute int64
	// TokensPerMinute, of input and output, is for all workers together too. Each
	// takes an equal share of it, by Config.Workers.
	TokensPerMinute int64
}

// A quota is a limit, and what the providers of one key have in common: a meter
// and a task queue.
type quota struct {
	contract.RateLimit
	providers []string
	meter     *meter
}

// quotas are those that this worker keeps to, in the order of their names.
func (c Config) quotas() ([]quota, error) {
	if c.Workers < 0 {
		return nil, domain.Errorf(domain.Invalid, "workers: %d; give how many workers share the tokens, at least 1", c.Workers)
	}
	var all []quota
	for _, name := range slices.Sorted(maps.Keys(c.RateLimits)) {
		limit, providers := c.RateLimits[name], c.limited(name)
		switch {
		case len(providers) == 0:
			return nil, domain.Errorf(domain.Invalid, "rate limit: %q is no vendor; the vendors are: %s", name, strings.Join(vendorNames(), ", "))
		case limit.RequestsPerMinute < 0 || limit.TokensPerMinute < 0:
			return nil, domain.Errorf(domain.Invalid, "rate limit: %s: a limit cannot be negative; zero is none", name)
		case limit == RateLimit{}:
			continue
		}
		share := limit.TokensPerMinute
		if share > 0 {
			share = max(share/int64(max(c.Workers, 1)), 1)
		}
		all = append(all, quota{
			RateLimit: contract.RateLimit{
				TaskQueue: c.TaskQueue + "/" + name, RequestsPerMinute: limit.RequestsPerMinute, TokensPerMinute: share,
			},
			providers: providers, meter: newMeter(share),
		})
	}
	return all, nil
}

// limits are quotas by the names of the providers that they are for.
func limits(quotas []quota) map[string]activities.Limit {
	all := make(map[string]activities.Limit)
	for _, q := range quotas {
		for _, name := range q.providers {
			all[name] = activities.Limit{RateLimit: q.RateLimit, Meter: q.meter}
		}
	}
	return all
}

// limited are the providers that a limit is for: a vendor's, or one that the
// program has added.
func (c Config) limited(name string) []string {
	for _, v := range vendors() {
		if v.Name == name {
			return v.names()
		}
	}
	if _, added := c.Providers[name]; added {
		return []string{name}
	}
	return nil
}

// readRateLimits reads what --rate-limits says.
func readRateLimits(text string) (map[string]RateLimit, error) {
	limits := make(map[string]RateLimit)
	for item := range strings.SplitSeq(text, ",") {
		name, rates, ok := strings.Cut(item, "=")
		name, rates = strings.TrimSpace(name), strings.TrimSpace(rates)
		switch _, twice := limits[name]; {
		case !ok:
			return nil, fmt.Errorf("%q is no limit; write it like openai=600rpm/200000tpm, requests and tokens a minute", item)
		case !slices.Contains(vendorNames(), name):
			return nil, fmt.Errorf("%q is no vendor; the vendors are: %s; a limit holds for all models of a vendor's key", name, strings.Join(vendorNames(), ", "))
		case twice:
			return nil, fmt.Errorf("%s has two limits; leave one out", name)
		}
		limit, err := readRateLimit(rates)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		limits[name] = limit
	}
	return limits, nil
}

func readRateLimit(text string) (RateLimit, error) {
	var limit RateLimit
	for rate := range strings.SplitSeq(text, "/") {
		number, field := "", (*int64)(nil)
		if digits, ok := strings.CutSuffix(rate, "rpm"); ok {
			number, field = digits, &limit.RequestsPerMinute
		} else if digits, ok := strings.CutSuffix(rate, "tpm"); ok {
			number, field = digits, &limit.TokensPerMinute
		}
		n, err := strconv.ParseInt(number, 10, 64)
		if field == nil || err != nil || n < 1 || *field != 0 {
			return RateLimit{}, fmt.Errorf("%q is neither requests a minute, as in 600rpm, nor tokens a minute, as in 200000tpm, nor both with / between", text)
		}
		*field = n
	}
	return limit, nil
}

// options are those of a worker that serves the quota's task queue. The server
// holds the requests back, the meter the tokens.
func (q quota) options(options worker.Options) (worker.Options, error) {
	most := options.MaxConcurrentActivityExecutionSize
	tuner, err := worker.NewFixedSizeTuner(worker.FixedSizeTunerOptions{NumActivitySlots: most})
	if err != nil {
		return options, fmt.Errorf("rate limit: %w", err)
	}
	options.MaxConcurrentActivityExecutionSize, options.MaxConcurrentEagerActivityExecutionSize = 0, 0
	options.WorkflowTaskPollerBehavior = nil
	options.MaxConcurrentActivityTaskPollers = limitedPollers
	options.DisableWorkflowWorker = true
	options.Tuner = meteredTuner{WorkerTuner: tuner, meter: q.meter}
	options.TaskQueueActivitiesPerSecond = float64(q.RequestsPerMinute) / 60
	return options, nil
}

const limitedPollers = 2

// A meteredTuner hands out slots as a meter lets it.
type meteredTuner struct {
	worker.WorkerTuner
	meter *meter
}

// GetActivityTaskSlotSupplier is the supplier of slots for inferences.
func (t meteredTuner) GetActivityTaskSlotSupplier() worker.SlotSupplier {
	return meteredSlots{SlotSupplier: t.WorkerTuner.GetActivityTaskSlotSupplier(), meter: t.meter}
}
