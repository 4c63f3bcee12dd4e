package domain

import (
	"cmp"
	"time"
)

const (
	// DefaultAttempts is how often an inference or repeatable call is tried.
	DefaultAttempts = 12
	// DefaultInferenceTimeout bounds one attempt of an inference.
	DefaultInferenceTimeout = 15 * time.Minute
	// DefaultToolTimeout bounds one attempt of a tool call.
	DefaultToolTimeout = 5 * time.Minute
	// DefaultHookTimeout bounds one attempt of a hook that is an activity.
	DefaultHookTimeout = 30 * time.Second
	// ReportTime is what an activity has beyond the time-out of its work, to say that it is over. A
	// worker takes it off again, so that the work's is decided once, where it is scheduled.
	ReportTime = 30 * time.Second
)

// Tries bounds the attempts at an inference or a repeatable call.
func (d Definition) Tries() int { return cmp.Or(max(d.Attempts, 0), DefaultAttempts) }
