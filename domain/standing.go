package domain

import (
	"encoding/json"
	"slices"
	"time"
)

// A StandingApproval is a person's word that holds beyond one call: for the rest of the session, calls of a tool with
// exactly these arguments run without anybody being asked anew, until it is revoked. It decides where rules ask; it lets
// nothing run that they deny.
type StandingApproval struct {
	// ID is that of the call with which it was given.
	ID   ToolExecutionID `json:"id"`
	Tool string          `json:"tool"`
	// Arguments are cut where they are long. Digest is CallDigest of the call, with all of them.
	Arguments string `json:"arguments,omitzero"`
	Digest    Digest `json:"digest"`
	// Context is StandingContext where it was given: in another one it does not hold.
	Context Digest `json:"context"`
	// By is who gave it, by their own word, At when.
	By     string    `json:"by,omitzero"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitzero"`
	// Revocation is nil as long as it holds.
	Revocation *Revocation `json:"revoked,omitempty"`
}

// A Revocation says who has taken a standing approval back, when and why.
type Revocation struct {
	By     string    `json:"by,omitzero"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitzero"`
}

const (
	// MaxStanding bounds the standing approvals of a session. The oldest that was revoked makes room for a new one.
	MaxStanding = 50
	// MaxStandingReason bounds why one is given or taken back, in bytes.
	MaxStandingReason = 300
)

// StandingContext names what a standing approval relies on beside the call: the tool as its session was given it, so that
// one which has changed does not go by an old word, and for whom the agent acts.
func StandingContext(tool ToolSpec, trusted Trusted) Digest {
	// All but what says only how it is run.
	tool.Timeout, tool.Losses, tool.Attempts, tool.Note, tool.Verifies, tool.Stateful = 0, 0, 0, "", false, false
	encoded, _ := json.Marshal([]any{tool, trusted}) // both were decoded, so it cannot fail
	return DigestOf(encoded)
}

// StandingIn is the standing approval that is given with an answer about a call in a context.
func (w Wait) StandingIn(context Digest, a Answer) StandingApproval {
	return StandingApproval{
		ID: w.ToolExecutionID, Tool: w.Tool, Arguments: w.Arguments, Digest: w.Digest, Context: context, By: a.By, At: a.At, Reason: a.Reason,
	}.kept()
}

// Wait is how a call is recorded that the standing approval lets run; rule is the one that would have asked.
func (a StandingApproval) Wait(rule string) Wait {
	answer := &Answer{Verdict: Approved, Always: a.ID, By: a.By, At: a.At, Reason: a.Reason}
	return Wait{Kind: WaitApproval, Digest: a.Digest, AskedBy: rule, Answer: answer}
}

// Holds reports whether it lets a call run in a context.
func (a StandingApproval) Holds(call, context Digest) bool {
	return a.Revocation == nil && a.Digest == call && a.Context == context
}

func (a StandingApproval) kept() StandingApproval {
	a.Arguments, a.Reason = Shorten(a.Arguments, 300), Shorten(a.Reason, MaxStandingReason)
	if r := a.Revocation; r != nil {
		a.Revocation = &Revocation{Shorten(r.By, MaxDecider), r.At, Shorten(r.Reason, MaxStandingReason)}
	}
	return a
}

// KeptStanding returns a copy of standing approvals with one more, or with a known one as it is now.
func KeptStanding(all []StandingApproval, one StandingApproval) []StandingApproval {
	all = slices.Clone(all)
	if i := slices.IndexFunc(all, func(a StandingApproval) bool { return a.ID == one.ID }); i >= 0 {
		all[i] = one.kept()
		return all
	}
	if revoked := slices.IndexFunc(all, func(a StandingApproval) bool { return a.Revocation != nil }); len(all) >= MaxStanding && revoked >= 0 {
		all = slices.Delete(all, revoked, revoked+1)
	}
	return append(all, one.kept())
}

// StandingFor is the standing approval that lets a call run in a context.
func (s AgentState) StandingFor(call, context Digest) (StandingApproval, bool) {
	for _, a := range s.StandingApprovals {
		if a.Holds(call, context) {
			return a, true
		}
	}
	return StandingApproval{}, false
}

// CheckStandingRoom fails where the session has as many standing approvals as it may.
func (s AgentState) CheckStandingRoom() error {
	held := slices.DeleteFunc(slices.Clone(s.StandingApprovals), func(a StandingApproval) bool { return a.Revocation != nil })
	if len(held) >= MaxStanding {
		return TooLargef("always: the session has %d standing approvals, which is as many as it may; revoke one, or approve the call this once", len(held))
	}
	return nil
}

// WithStandingApproval returns the state with one more standing approval. It fails where there are too many.
func (s AgentState) WithStandingApproval(a StandingApproval, now time.Time) (AgentState, error) {
	if err := s.CheckStandingRoom(); err != nil {
		return s, err
	}
	s.StandingApprovals = KeptStanding(s.StandingApprovals, a)
	return s.updated(now), nil
}

// WithRevocation returns the state with a standing approval taken back. It fails where there is none of that id, and where
// it was taken back before.
func (s AgentState) WithRevocation(id ToolExecutionID, r Revocation, now time.Time) (AgentState, error) {
	i := slices.IndexFunc(s.StandingApprovals, func(a StandingApproval) bool { return a.ID == id })
	if i < 0 {
		return s, Invalidf("rule: %s is no standing approval of this session", id)
	}
	one := s.StandingApprovals[i]
	if was := one.Revocation; was != nil {
		by := ""
		if was.By != "" {
			by = " by " + was.By
		}
		return s, Deniedf("rule: %s was revoked already, at %s%s", id, was.At.Format(time.RFC3339), by)
	}
	r.At = now
	one.Revocation = &r
	s.StandingApprovals = KeptStanding(s.StandingApprovals, one)
	return s.updated(now), nil
}
