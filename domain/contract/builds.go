package contract

import "cmp"

// Builds are the builds of Everstep whose workers have carried one run of a workflow on. Another one need not be able to
// replay it.
type Builds struct {
	// Begun is that of the worker which took the run's first task; empty: none has yet.
	Begun string `json:"begun"`
	// Last is that of the worker which began the newest step, where another worker's build has begun the run or one in
	// between; empty: all steps are of the build that has begun it.
	Last string `json:"last,omitzero"`
}

// Newest is the build that has replayed all that there is. Empty: none has begun the run.
func (b Builds) Newest() string { return cmp.Or(b.Last, b.Begun) }

// With is what they are when a worker of a build carries the run on.
func (b Builds) With(build string) Builds {
	if b.Begun == "" {
		b.Begun = build
	} else if build != b.Newest() {
		b.Last = build
	}
	return b
}
