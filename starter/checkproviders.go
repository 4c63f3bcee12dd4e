package main

import (
	"slices"
	"strings"

	"everstep/worker/host"
)

// checkProviders says with which key, and where, a worker with this environment
// would reach each provider. It never says what a key is, and reaches nobody.
func (p *program) checkProviders(f stackFlags) []check {
	reaches, err := host.Reaches(p.env, p.env.or(f.dir, variableDir))
	if err != nil {
		return []check{ok("providers", "%s", err).fail("")}
	}
	usable := slices.ContainsFunc(reaches, func(r host.Reach) bool { return r.Err == nil && (r.Key != "" || !r.Own) })
	chosen, _, _ := strings.Cut(p.env.value(variableModel), "/")
	var checks []check
	for _, r := range reaches {
		c := checkReach(r)
		if r.RateLimit != nil && r.Err == nil {
			c.Detail += "; at most " + r.RateLimit.String()
		}
		// A key that nobody misses is nothing to see to.
		if c.Verdict == verdictWarn && usable && r.Provider != chosen {
			c.Verdict, c.Fix = verdictOK, ""
		}
		checks = append(checks, c)
	}
	return checks
}

func checkReach(r host.Reach) check {
	wants := strings.Join(r.Wants, " or ")
	switch {
	case r.Err != nil:
		return ok(r.Provider, "%s", r.Err).fail("")
	case r.KeyFile != "":
		return ok(r.Provider, "%s, with the key in %s (%s)", r.Server, r.KeyFile, r.Key)
	case r.Key != "":
		return ok(r.Provider, "%s, with the key in %s", r.Server, r.Key)
	case !r.Own:
		return ok(r.Provider, "%s, with no key; it may need none", r.Server)
	}
	return ok(r.Provider, "%s, with no key", r.Server).warn("set " + wants + " on the worker")
}
