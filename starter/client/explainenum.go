package client

import (
	"fmt"
	"slices"
)

// A SignalFate says what became of a request to stop.
type SignalFate string

const (
	// SignalCounted: it is why the execution ended.
	SignalCounted SignalFate = "counted"
	// SignalOutranked: another one came first, or has a higher priority.
	SignalOutranked SignalFate = "outranked"
	// SignalOverridden: a request to continue took its effect away.
	SignalOverridden SignalFate = "overridden"
	// SignalLate: it came when the loop was over.
	SignalLate SignalFate = "late"
	// SignalPending: the execution goes on until it is heeded.
	SignalPending SignalFate = "pending"
)

// SignalFates lists every fate.
func SignalFates() []SignalFate {
	return []SignalFate{SignalCounted, SignalOutranked, SignalOverridden, SignalLate, SignalPending}
}

// UnmarshalText accepts the known fates only.
func (f *SignalFate) UnmarshalText(text []byte) error {
	return known(f, text, SignalFates(), "fate")
}

// A CompactionKind says how a conversation was made shorter.
type CompactionKind string

const (
	// CompactionCleared: old results of tools are shown by a note.
	CompactionCleared CompactionKind = "cleared"
	// CompactionSummary: a summary stands for old messages.
	CompactionSummary CompactionKind = "summary"
)

// CompactionKinds lists every kind.
func CompactionKinds() []CompactionKind {
	return []CompactionKind{CompactionCleared, CompactionSummary}
}

// UnmarshalText accepts the known kinds only.
func (k *CompactionKind) UnmarshalText(text []byte) error {
	return known(k, text, CompactionKinds(), "compaction kind")
}

func known[E ~string](e *E, text []byte, all []E, what string) error {
	if !slices.Contains(all, E(text)) {
		return fmt.Errorf("%s: %q is not known", what, string(text))
	}
	*e = E(text)
	return nil
}
