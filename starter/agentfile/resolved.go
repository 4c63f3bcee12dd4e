package agentfile

import (
	"regexp"
	"time"

	"everstep/activities/document"
	"everstep/domain"
)

// Resolve is the agent as it would run, all defaults set, in the form of an agent's file: what Load makes of it runs the
// same. What only a worker knows is absent, such as the price of a model that the file gives none, and bounds of requests.
func (f File) Resolve() document.Shown {
	a := agent{File: f, timeouts: f.Definition.Model.Timeouts}
	d := &a.Definition
	d.Budget, d.Guards = d.Budget.WithDefaultSteps(), d.Guards.WithDefaults()
	d.Tools, d.Hooks = []string{}, append([]string{}, d.Hooks...) // not nil, so that they are shown where there are none, too
	for _, name := range f.Definition.Tools {
		if _, all := domain.ServerOfAll(name); all {
			a.servers = append(a.servers, name)
		} else {
			d.Tools = append(d.Tools, name)
		}
	}
	return a.keys().Shown()
}

// span is a duration as people write it: 15m, not 15m0s. Zero is none.
func span(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return regexp.MustCompile(`([hm])(0m)?0s$`).ReplaceAllString(d.String(), "$1")
}
