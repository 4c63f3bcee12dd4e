package host

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/worker"

	"everstep/activities"
	"everstep/activities/tool"
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

// A quota is a limit with a task queue, and a meter, which the providers of one key have in common.
type quota struct {
	contract.RateLimit
	providers []string
	meter     *meter
}

// quotas are those that this worker keeps to, in the order of their names.
func (c Config) quotas() ([]quota, error) {
	if c.Workers < 0 {
		return nil, invalid("workers: %d; give how many workers share the tokens, at least 1", c.Workers)
	}
	var all []quota
	for _, name := range slices.Sorted(maps.Keys(c.RateLimits)) {
		limit := c.RateLimits[name]
		var providers []string // a vendor's, or one that the program has added
		if i := slices.Index(vendorNames(), name); i >= 0 {
			providers = vendors()[i].names()
		} else if _, added := c.Providers[name]; added {
			providers = []string{name}
		}
		switch {
		case len(providers) == 0:
			return nil, invalid("rate limit: %q is no vendor; the vendors are: %s", name, strings.Join(vendorNames(), ", "))
		case limit.RequestsPerMinute < 0 || limit.TokensPerMinute < 0:
			return nil, invalid("rate limit: %s: a limit cannot be negative; zero is none", name)
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

func readRateLimits(text string) (map[string]RateLimit, error) {
	limits, err := readLimits(text, "openai=600rpm/200000tpm, requests and tokens a minute", readRateLimit)
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		if known := vendorNames(); !slices.Contains(known, name) {
			return nil, fmt.Errorf("%q is no vendor; the vendors are: %s; a limit holds for all models of a vendor's key", name, strings.Join(known, ", "))
		}
	}
	return limits, err
}

func readRateLimit(text string) (RateLimit, error) {
	var limit RateLimit
	fields := map[string]*int64{"rpm": &limit.RequestsPerMinute, "tpm": &limit.TokensPerMinute}
	for rate := range strings.SplitSeq(text, "/") {
		unit := strings.TrimLeft(rate, "0123456789")
		n, err := strconv.ParseInt(strings.TrimSuffix(rate, unit), 10, 64)
		if field := fields[unit]; field == nil || err != nil || n < 1 || *field != 0 {
			return RateLimit{}, fmt.Errorf("%q is neither requests a minute, as in 600rpm, nor tokens a minute, as in 200000tpm, nor both with / between", text)
		}
		*fields[unit] = n
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
	options = limitedQueue(options, float64(q.RequestsPerMinute)/60)
	options.MaxConcurrentActivityExecutionSize = 0
	options.Tuner = meteredTuner{WorkerTuner: tuner, meter: q.meter}
	return options, nil
}

// limitedQueue are the options of a worker that serves activities alone, so many a second over all workers; zero: as many as come.
func limitedQueue(options worker.Options, perSecond float64) worker.Options {
	options.MaxConcurrentEagerActivityExecutionSize = 0
	options.WorkflowTaskPollerBehavior = nil
	options.MaxConcurrentActivityTaskPollers = limitedPollers
	options.DisableWorkflowWorker = true
	options.TaskQueueActivitiesPerSecond = perSecond
	return options
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

// A meter counts the tokens that a worker uses, and says when it may take more
// work: a bucket that fills by itself. Each inference begins with what the ones
// before took on average; the bucket may go below empty by the difference.
type meter struct {
	// rate is tokens a second; zero: they are not limited.
	rate float64

	mu     sync.Mutex
	level  float64
	filled time.Time
	// average is what an inference uses.
	average float64
	// paused is until when the provider takes nothing.
	paused time.Time
}

const (
	// bucketShare is how much of a minute's tokens may be used at once, as a
	// divisor. Providers hold the rate over shorter times than a minute too.
	bucketShare = 6
	// firstGuess is what the first inference is taken to use.
	firstGuess = 4000
	// averaged is over about how many inferences the average goes.
	averaged = 8
)

func newMeter(perMinute int64) *meter {
	most := float64(perMinute) / bucketShare
	return &meter{rate: float64(perMinute) / 60, level: most, average: min(most, firstGuess), filled: time.Now()}
}

// Used is told of the tokens of an inference that has ended.
func (m *meter) Used(tokens int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fill(time.Now())
	m.level -= float64(tokens)
	m.average += (float64(tokens) - m.average) / averaged
}

// Pause is told for how long the provider takes no request.
func (m *meter) Pause(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if until := time.Now().Add(d); until.After(m.paused) {
		m.paused = until
	}
}

// begin takes what an inference will use, or says how long nothing may begin.
func (m *meter) begin() (taken float64, wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	wait = max(m.paused.Sub(now), 0)
	if m.rate == 0 {
		return 0, wait
	}
	m.fill(now)
	if m.level <= 0 {
		wait = max(wait, time.Duration((1-m.level)/m.rate*float64(time.Second)))
	}
	if wait > 0 {
		return 0, wait
	}
	m.level -= m.average
	return m.average, 0
}

func (m *meter) fill(now time.Time) {
	m.level = min(m.level+m.rate*now.Sub(m.filled).Seconds(), m.rate*60/bucketShare)
	m.filled = now
}

// giveBack returns what begin took, once what was used is counted.
func (m *meter) giveBack(taken float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.level += taken
}

// meteredSlots hand out the right to take an inference from its queue while the
// meter lets one begin. What must wait so stays in the queue, where it is no
// attempt and any worker may take it.
type meteredSlots struct {
	worker.SlotSupplier
	meter *meter
}

// lookAgain bounds how long a wait is believed: answers may use less than was
// expected of them.
const lookAgain = time.Second

// ReserveSlot waits for the meter, then for a slot.
func (s meteredSlots) ReserveSlot(ctx context.Context, info worker.SlotReservationInfo) (*worker.SlotPermit, error) {
	for {
		taken, wait := s.meter.begin()
		if wait <= 0 {
			permit, err := s.SlotSupplier.ReserveSlot(ctx, info)
			if err != nil {
				s.meter.giveBack(taken)
				return nil, err
			}
			permit.UserData = taken
			return permit, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(min(wait, lookAgain)):
		}
	}
}

// ReleaseSlot gives the slot back.
func (s meteredSlots) ReleaseSlot(info worker.SlotReleaseInfo) {
	if taken, ok := info.Permit().UserData.(float64); ok {
		s.meter.giveBack(taken)
	}
	s.SlotSupplier.ReleaseSlot(info)
}

// TryReserveSlot has none: whatever comes here waits in the queue first.
func (s meteredSlots) TryReserveSlot(worker.SlotReservationInfo) *worker.SlotPermit { return nil }

// toolLimits are those that this worker keeps to: what the configuration says of a tool,
// else what the tool says of itself.
func (c Config) toolLimits(tools []tool.Tool, more activities.Toolbox) (map[string]contract.ToolLimit, error) {
	all := make(map[string]contract.ToolLimit)
	limited := func(name string, limit domain.ToolLimit) {
		if limit != (domain.ToolLimit{}) && c.Allow.Tool(name) {
			all[name] = contract.ToolLimit{TaskQueue: c.TaskQueue + "/tool/" + name, ToolLimit: limit}
		}
	}
	own := make(map[string]bool)
	for _, t := range tools {
		own[t.Spec().Name] = true
		limited(t.Spec().Name, t.Bounds().Limit)
	}
	for name, limit := range c.ToolLimits {
		_, every := domain.ServerOfAll(name)
		if every || !own[name] && (more == nil || !more.Has(name)) {
			return nil, invalid("tool limits: this worker has no tool %q; name one that it has (--tool-limits, EVERSTEP_TOOL_LIMITS)", domain.Shorten(name, 64))
		}
		if err := limit.Check(); err != nil {
			return nil, invalid("tool limits: %s: %s", name, err)
		}
		delete(all, name)
		limited(name, limit)
	}
	return all, nil
}

// ToolLimits are what an environment has a worker keep to, in words, in the order of the tools' names.
func ToolLimits(environment Environment) ([]string, error) {
	config, err := readAlone(environment, "tool-limits")
	if err != nil {
		return nil, err
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(config.ToolLimits)) {
		all = append(all, name+": "+config.ToolLimits[name].String())
	}
	return all, nil
}

// limitedTool are the options of a worker that serves the queue of a tool. The server
// hands out its calls as its rate allows, whoever asks; how many run at once is each
// worker's own.
func limitedTool(limit contract.ToolLimit, options worker.Options) worker.Options {
	if limit.AtOnce > 0 {
		options.MaxConcurrentActivityExecutionSize = limit.AtOnce
	}
	return limitedQueue(options, limit.PerSecond())
}

// readToolLimits reads limits as in refund=5/m+2,http_get=10/s,shell=+1.
func readToolLimits(text string) (map[string]domain.ToolLimit, error) {
	return readLimits(text, "refund=5/m (a rate), refund=+2 (so many at once) or refund=5/m+2", readToolLimit)
}

// readLimits reads limits by names that commas part. like says how one is written.
func readLimits[T any](text, like string, read func(string) (T, error)) (map[string]T, error) {
	limits := make(map[string]T)
	for item := range strings.SplitSeq(text, ",") {
		name, limit, ok := strings.Cut(item, "=")
		name = strings.TrimSpace(name)
		switch _, twice := limits[name]; {
		case !ok || name == "":
			return nil, fmt.Errorf("%q is no limit; write it like %s", item, like)
		case twice:
			return nil, fmt.Errorf("%s has two limits; leave one out", name)
		}
		one, err := read(strings.TrimSpace(limit))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		limits[name] = one
	}
	return limits, nil
}

func readToolLimit(text string) (limit domain.ToolLimit, err error) {
	rate, atOnce, bounded := strings.Cut(text, "+")
	wrong := fmt.Errorf("%q is neither a rate, as in 5/m (a second: s, an hour: h), nor how many run at once on each worker, as in +2, nor both, as in 5/m+2", text)
	if bounded {
		if limit.AtOnce, err = strconv.Atoi(atOnce); err != nil || limit.AtOnce < 1 {
			return limit, wrong
		}
	}
	if rate != "" || !bounded {
		calls, per, _ := strings.Cut(rate, "/")
		limit.Per = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[per]
		if limit.Calls, err = strconv.ParseInt(calls, 10, 64); err != nil || limit.Calls < 1 || limit.Per == 0 {
			return limit, wrong
		}
	}
	return limit, limit.Check()
}
