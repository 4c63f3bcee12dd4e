package contract

import "time"

// A Suspension says that a session accepts nothing until it is lifted, since when and why.
type Suspension struct {
	Since  time.Time `json:"since"`
	Reason string    `json:"reason,omitzero"`
	// By is who has suspended the session.
	By string `json:"by,omitzero"`
}

// A SuspendRequest has a session accept nothing. The execution in progress goes on to its end; what waits stays, and
// begins none.
type SuspendRequest struct {
	Reason string `json:"reason,omitzero"`
	By     string `json:"by,omitzero"`
}

// An UnsuspendRequest ends that.
type UnsuspendRequest struct{}

// A SuspendReply confirms either.
type SuspendReply struct {
	// Changed is false where it was so already.
	Changed bool `json:"changed"`
	// Busy says that an execution is in progress, which goes on.
	Busy bool `json:"busy,omitzero"`
}

// A ClearRequest drops the conversation of an idle session for what its model sees.
type ClearRequest struct{}

// A ClearReply says how many messages the model sees no more.
type ClearReply struct {
	Messages int `json:"messages"`
}
