package domain

// An ExecutionStatus says how far an execution is. It moves only from pending
// to in_progress and from there, once, to one of the other three.
type ExecutionStatus string

const (
	// StatusPending: no execution, or none since the last one was dropped. An
	// execution that exists is never pending.
	StatusPending ExecutionStatus = "pending"
	// StatusInProgress: the execution has begun and not ended.
	StatusInProgress ExecutionStatus = "in_progress"
	// StatusCompleted: it ended by itself.
	StatusCompleted ExecutionStatus = "completed"
	// StatusStopped: a limit, a hook, a tool or a person ended it.
	StatusStopped ExecutionStatus = "stopped"
	// StatusFailed: an unrecoverable error ended it.
	StatusFailed ExecutionStatus = "failed"
)

// ExecutionStatuses lists every status, in the order of life.
func ExecutionStatuses() []ExecutionStatus {
	return []ExecutionStatus{StatusPending, StatusInProgress, StatusCompleted, StatusStopped, StatusFailed}
}

// Terminal reports whether the execution has ended.
func (s ExecutionStatus) Terminal() bool {
	return s == StatusCompleted || s == StatusStopped || s == StatusFailed
}

// Next returns the status after a move, or an error where there is no such move.
func (s ExecutionStatus) Next(to ExecutionStatus) (ExecutionStatus, error) {
	begins := s == StatusPending && to == StatusInProgress
	ends := s == StatusInProgress && to.Terminal()
	if begins || ends {
		return to, nil
	}
	return s, Errorf(Denied, "status: an execution cannot go from %s to %s", s, to)
}

// UnmarshalText accepts the known statuses only.
func (s *ExecutionStatus) UnmarshalText(text []byte) error {
	return decodeEnum(s, text, ExecutionStatuses(), "status")
}
