package domain

import (
	"everstep/domain/enum"
	"fmt"
	"slices"
	"time"
)

// An UnknownCall is a tool call that may have taken effect: it began, and nobody knew how it ended. It is
// unsettled until somebody says what it really did.
type UnknownCall struct {
	ID          ToolExecutionID `json:"tool_execution_id"`
	ExecutionID ExecutionID     `json:"execution_id"`
	Number      int             `json:"execution_number"`
	Step        int             `json:"step"`
	Tool        string          `json:"tool"`
	// Arguments and Why are cut where they are long. A memo has neither: they are texts of others.
	Arguments string `json:"arguments,omitzero"`
	Why       string `json:"why,omitzero"`
	// Key is the same for all calls of the agent that would be the same effect.
	Key Digest `json:"effect_key"`
	// AgentID is the agent's whose key that is, where it is another's, of which this agent is a fork.
	AgentID AgentID `json:"agent_id,omitzero"`
	// Since is when it ended without an outcome.
	Since time.Time `json:"since"`
	// Settlement is nil until the call is settled.
	Settlement *Settlement `json:"settlement,omitempty"`
}

const (
	// MaxUnsettled bounds the unsettled calls of an agent: where there are as many, no call begins that could
	// become another one.
	MaxUnsettled = 64
	// MaxSettledResult bounds the result that a settlement tells, in bytes.
	MaxSettledResult = 4 << 10
	// maxUnknownText bounds what an UnknownCall keeps of arguments and reasons.
	maxUnknownText = 300
)

// A Settlement says what a call of unknown outcome really did, and who says so.
type Settlement struct {
	Verdict Verdict `json:"verdict"`
	// Result is what the call would have answered, where it was done and somebody knows.
	Result string    `json:"result,omitzero"`
	By     Program   `json:"by,omitzero"`
	At     time.Time `json:"at"`
	// Reason is how whoever settled it knows.
	Reason string `json:"reason"`
	// ExecutionID is the one whose events have it: that in progress then, else the next; zero until that begins.
	ExecutionID ExecutionID `json:"execution_id,omitzero"`
	// Told says that the model has read of it.
	Told bool `json:"told,omitzero"`
}

// VerifyClient is the client that has settled a call where its tool's Verify has. It is recorded.
const VerifyClient = "tool.Verify"

const (
	// VerifyTimeout bounds one attempt of a tool's Verify.
	VerifyTimeout = time.Minute
	// VerifyAttempts bounds how often a tool's Verify is asked about one call.
	VerifyAttempts = 8
)

// A Verdict says what a call of unknown outcome really did.
type Verdict string

const (
	// VerdictDone: it took effect.
	VerdictDone Verdict = "done"
	// VerdictNotDone: it did not, and cannot any more.
	VerdictNotDone Verdict = "not_done"
)

// UnmarshalText accepts the known verdicts only.
func (v *Verdict) UnmarshalText(text []byte) error {
	return enum.Decode(v, text, "verdict", VerdictDone, VerdictNotDone)
}

// Check says what is wrong with a settlement that somebody gives.
func (s Settlement) Check() error {
	if err := new(Verdict).UnmarshalText([]byte(s.Verdict)); err != nil {
		return invalid(err)
	}
	switch {
	case s.Reason == "":
		return Errorf(Invalid, "reason: is missing; say how you know")
	case s.Result != "" && s.Verdict != VerdictDone:
		return Errorf(Invalid, "result: what was not done has none; leave it out")
	}
	err := checkText("reason", s.Reason, MaxReason)
	if err == nil {
		err = checkText("result", s.Result, MaxSettledResult)
	}
	return err
}

// SettledAs reports whether the call was settled in the same words: somebody says so twice.
func (c UnknownCall) SettledAs(s Settlement) bool {
	before := c.Settlement
	return before != nil && before.Verdict == s.Verdict && before.Result == s.Result && before.Reason == s.Reason
}

// Advice is what the model reads beside an outcome that is unknown.
func (c UnknownCall) Advice() string {
	return fmt.Sprintf("Do not call %s again for the same: until somebody has settled what happened, it is not run. "+
		"Find out in another way whether it was done, or tell the user that this is unknown, and that it is call %s.", c.Tool, c.ID)
}

// Blocks is why a further call of the same effect is not begun; nil where it may be.
func (c UnknownCall) Blocks() *Error {
	switch {
	case c.Settlement == nil:
		return CodedErrorf(Denied, CodeUnsettled, "not run: nobody knows whether the same call of %s in step %d of execution %d took effect. "+
			"Do not ask for it again until somebody has settled that: find out in another way whether it was done, "+
			"or tell the user that this is unknown, and that it is call %s", c.Tool, c.Step, c.Number, c.ID)
	case c.Settlement.Verdict == VerdictDone:
		return CodedErrorf(Denied, CodeBlocked, "not run. %s", c.Say()).From(SourceSettled)
	}
	return nil
}

// SourceSettled is the source of the error of a call that is not begun because the same one was done. It is recorded.
const SourceSettled = "settled"

// TooManyUnsettled is why a call is not begun where already as many are unsettled as may be.
func TooManyUnsettled(tool string) *Error {
	return CodedErrorf(Denied, CodeUnsettled, "not run: of %d calls nobody knows whether they took effect. "+
		"Until some of them are settled, %s is not run; tell the user", MaxUnsettled, tool)
}

// Say tells the model what came of the call.
func (c UnknownCall) Say() string {
	s := c.Settlement
	if s == nil {
		return ""
	}
	said := fmt.Sprintf("What became of the call of %s in step %d of execution %d, of which nobody knew, is settled: ", c.Tool, c.Step, c.Number)
	if s.Verdict == VerdictNotDone {
		return said + "it was not done (" + s.Reason + "). It may be called again."
	}
	said += "it was done (" + s.Reason + "). Do not call it again for the same."
	if s.Result != "" {
		said += " Its result:\n" + s.Result
	}
	return said
}

// Brief returns the call without texts of models, tools and people, and without its key, from which short ones could be
// guessed.
func (c UnknownCall) Brief() UnknownCall {
	c.Arguments, c.Why, c.Key, c.Settlement = "", "", Digest{}, nil
	return c
}

func (c UnknownCall) kept() UnknownCall {
	c.Arguments, c.Why, c.Settlement = Shorten(c.Arguments, maxUnknownText), Shorten(c.Why, maxUnknownText), copied(c.Settlement)
	return c
}

// Unsettled are those of UnknownCalls that nobody has settled.
func (s AgentState) Unsettled() []UnknownCall {
	return slices.DeleteFunc(slices.Clone(s.UnknownCalls), func(c UnknownCall) bool { return c.Settlement != nil })
}

// Settled are those of UnknownCalls that somebody has settled.
func (s AgentState) Settled() []UnknownCall {
	return slices.DeleteFunc(slices.Clone(s.UnknownCalls), func(c UnknownCall) bool { return c.Settlement == nil })
}

// UnknownCall is the agent's call of unknown outcome that has the id, settled or not; the zero one where there is none.
func (s AgentState) UnknownCall(id ToolExecutionID) UnknownCall {
	for _, c := range s.UnknownCalls {
		if c.ID == id {
			return c
		}
	}
	return UnknownCall{}
}

// WithUnknownCall returns the state with one more call of which nobody knows how it ended.
func (s AgentState) WithUnknownCall(c UnknownCall, now time.Time) AgentState {
	s.UnknownCalls = plus(s.UnknownCalls, c.kept())
	return s.updated(now)
}

// WithSettlement returns the state with a call settled. It fails where there is no such call, where it is
// settled, or where the settlement makes no sense.
func (s AgentState) WithSettlement(id ToolExecutionID, settled Settlement, now time.Time) (AgentState, error) {
	if err := settled.Check(); err != nil {
		return s, err
	}
	i := slices.IndexFunc(s.UnknownCalls, func(c UnknownCall) bool { return c.ID == id })
	if i < 0 {
		return s, Errorf(Invalid, "call: %s is no call of unknown outcome of this agent", id)
	}
	if before := s.UnknownCalls[i].Settlement; before != nil {
		return s, Errorf(Denied, "call: %s was settled as %s at %s", id, before.Verdict, before.At.Format(time.RFC3339))
	}
	return s.settled(i, settled, now), nil
}

// WithSettlementIn returns the state with a settlement as one that an execution's events have, and with told that
// the model has read of.
func (s AgentState) WithSettlementIn(id ToolExecutionID, execution ExecutionID, told bool, now time.Time) AgentState {
	i := slices.IndexFunc(s.UnknownCalls, func(c UnknownCall) bool { return c.ID == id && c.Settlement != nil })
	if i < 0 {
		return s
	}
	settled := *s.UnknownCalls[i].Settlement
	settled.ExecutionID, settled.Told = execution, settled.Told || told
	return s.settled(i, settled, now)
}

func (s AgentState) settled(i int, settled Settlement, now time.Time) AgentState {
	calls := slices.Clone(s.UnknownCalls)
	calls[i].Settlement = &settled
	s.UnknownCalls = calls
	return s.updated(now)
}

// withoutTold leaves out the calls whose settlement the model has been told: it knows.
func withoutTold(calls []UnknownCall) []UnknownCall {
	return nilIfEmpty(slices.DeleteFunc(slices.Clone(calls), func(c UnknownCall) bool { return c.Settlement != nil && c.Settlement.Told }))
}

// Unsettling reports whether a call of a tool can become one of unknown outcome: to make it again would be a
// second effect. named says that the other side gets the same key for it each time.
func (e Effect) Unsettling(named bool) bool { return e == AtMostOnce || e == Keyed && !named }
