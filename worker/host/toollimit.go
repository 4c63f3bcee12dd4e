package host

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/worker"

	"everstep/activities"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
)

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
