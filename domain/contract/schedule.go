package contract

import (
	"everstep/domain"
	"everstep/domain/enum"
	"time"
)

// A ScheduledInput is what a schedule starts each of its runs with.
type ScheduledInput struct {
	// Schedule is the schedule's name.
	Schedule string `json:"schedule"`
	// Start is what a run begins. With a name it is a message to that session, which is opened where none is open;
	// without one an agent of its own, whose id the run gives it.
	Start SessionInput `json:"start"`
	// Model, where given, replaces the one of a session that is open. It is not of Start's definition alone.
	Model *domain.LLMConfig `json:"model,omitempty"`
	// Indexed are the trusted values that search attributes may hold.
	Indexed []string `json:"indexed,omitempty"`
}

// A ScheduledRun is what a run of a schedule has begun, and what came of it: its memo, and its result. It holds no user
// text.
type ScheduledRun struct {
	Schedule string         `json:"schedule"`
	AgentID  domain.AgentID `json:"agent_id"`
	// Name is the session's; empty for an agent of the run's own.
	Name        string             `json:"name,omitzero"`
	ExecutionID domain.ExecutionID `json:"execution_id,omitzero"`
	Number      int                `json:"execution_number,omitzero"`
	// RunID is the run of the agent's workflow in which the execution began.
	RunID string `json:"run_id,omitzero"`
	// Status is pending until the execution begins.
	Status     domain.ExecutionStatus `json:"status"`
	StopReason domain.StopReason      `json:"stop_reason,omitzero"`
	// SessionLimit says that it was a limit of the session's budget which ended the execution.
	SessionLimit bool `json:"session_limit,omitzero"`
	// Kind and Code are of what made it fail, be it before it began.
	Kind  domain.Kind `json:"kind,omitzero"`
	Code  domain.Code `json:"code,omitzero"`
	Steps int         `json:"step_count,omitzero"`
	// EffectCounts are what the execution has done.
	domain.EffectCounts
	// EndedAt is when it was known to have ended.
	EndedAt time.Time `json:"ended_at,omitzero"`
}

// With is the run with how its execution ended.
func (r ScheduledRun) With(o Outcome, at time.Time) ScheduledRun {
	r.ExecutionID, r.Number, r.Status, r.StopReason = o.ExecutionID, o.Number, o.Status, o.StopReason
	r.SessionLimit, r.Kind, r.Code, r.Steps, r.EffectCounts, r.EndedAt = o.SessionLimit, o.Kind, o.Code, o.Steps, o.EffectCounts, at
	return r
}

// A SessionMessage asks that a named agent's open session begins its next execution with a message.
type SessionMessage struct {
	Name    string      `json:"name"`
	Request SendRequest `json:"request"`
	// UpdateID is the same each time, so that the message is taken once.
	UpdateID string `json:"update_id"`
}

// A SessionState says what became of a SessionMessage.
type SessionState string

const (
	// SessionBegan: an execution began with it.
	SessionBegan SessionState = "began"
	// SessionBusy: one is in progress, so it has to be sent again.
	SessionBusy SessionState = "busy"
	// SessionClosed: no session of the name is open.
	SessionClosed SessionState = "closed"
)

// UnmarshalText accepts the known states only.
func (s *SessionState) UnmarshalText(text []byte) error {
	return enum.Decode(s, text, "state", SessionBegan, SessionBusy, SessionClosed)
}

// A SessionReply is the answer. What the session refuses for good is an error instead.
type SessionReply struct {
	State SessionState `json:"state"`
	// Reply is set where an execution began.
	Reply SendReply `json:"reply,omitzero"`
}

// A FollowRequest asks for the end of an execution of a named agent.
type FollowRequest struct {
	Name        string             `json:"name"`
	ExecutionID domain.ExecutionID `json:"execution_id"`
	Number      int                `json:"execution_number"`
	// RunID is the run of the workflow in which it began.
	RunID string `json:"run_id"`
	// For is how long the answer may take.
	For time.Duration `json:"for"`
}

// A FollowReply says how an execution ended, or nothing where it goes on.
type FollowReply struct {
	Outcome *Outcome `json:"outcome,omitempty"`
}
