package tool

import (
	"errors"
	"fmt"
	"time"

	"everstep/domain"
)

// RetryLater marks an error that passes by itself. A repeatable tool is called again, after
// the given time at the earliest (an hour at most), as often as Attempts allows; so is any
// whose error is marked by NotStarted too. Then the model is told that it may work later.
// It returns nil for nil.
func RetryLater(err error, after time.Duration) error {
	words := "it may work later"
	if after > 0 {
		words = fmt.Sprintf("it may work in %s", after)
	}
	return mark(err, advised{Kind: domain.Unavailable, After: max(after, 0), Words: words})
}

// OtherArguments marks an error that the same arguments will meet again, and others may
// not. The call is not made again, and the model is told. It returns nil for nil.
func OtherArguments(err error) error {
	return mark(err, advised{Kind: domain.Invalid, Words: "with these arguments it fails again, with others it may work"})
}

// GiveUp marks an error that the tool will meet again whatever the arguments: a permission
// that is missing. The call is not made again, and the model is told not to. It returns
// nil for nil.
func GiveUp(err error) error {
	return mark(err, advised{Kind: domain.Denied, Words: "it fails again whatever the arguments: do not call it again"})
}

// Advice is what a tool's error says of a further call.
type Advice struct {
	// Kind decides whether the call is made again.
	Kind domain.Kind
	// After is how long to wait before that.
	After time.Duration
	// Words are for the model.
	Words string
}

// AdviceOf returns what RetryLater, OtherArguments or GiveUp said of an error, or of one
// that it wraps.
func AdviceOf(err error) (Advice, bool) {
	own, ok := errors.AsType[advised](err)
	return Advice(own), ok
}

// advised is the mark of an error with an advice.
type advised Advice

func (a advised) Error() string { return a.Words }
