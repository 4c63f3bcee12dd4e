package domain

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

const (
	// MaxUnknownOutcomes bounds the unresolved calls of an agent: where there are as many, no call begins that could
	// become another one.
	MaxUnknownOutcomes = 64
	// MaxOutcomeResult bounds the result that is told of a call of unknown outcome, in bytes.
	MaxOutcomeResult = 4 << 10
	// maxUnknownText bounds what a state keeps of the arguments of such a call, and why its outcome is unknown.
	maxUnknownText = 300
)

// VerifyClient is who has resolved a call where its tool's Verify has. It is recorded.
const VerifyClient = "tool.Verify"

const (
	// VerifyTimeout bounds one attempt of a tool's Verify.
	VerifyTimeout = time.Minute
	// VerifyAttempts bounds how often a tool's Verify is asked about one call.
	VerifyAttempts = 8
)

// CheckOutcome says what is wrong with what somebody says became of a call.
func (a Answer) CheckOutcome() error {
	switch {
	case a.Verdict != VerdictDone && a.Verdict != VerdictNotDone:
		return Invalidf("verdict: is %q; it is done or not_done", string(a.Verdict))
	case a.Reason == "":
		return Invalidf("reason: is missing; say how you know")
	case a.Content != "" && a.Verdict != VerdictDone:
		return Invalidf("result: what was not done has none; leave it out")
	}
	return cmp.Or(CheckText("reason", a.Reason, MaxReason), CheckText("result", a.Content, MaxOutcomeResult))
}

// ResolvedAs reports whether the call was resolved in the same words: somebody says so twice.
func (w Wait) ResolvedAs(a Answer) bool {
	before := w.Answer
	return before != nil && before.Verdict == a.Verdict && before.Content == a.Content && before.Reason == a.Reason
}

// Advice is what the model reads beside an outcome that is unknown.
func (w Wait) Advice() string {
	return fmt.Sprintf("Do not call %s again for the same: until somebody has resolved what happened, it is not run. "+
		"Find out in another way whether it was done, or tell the user that this is unknown, and that it is call %s.", w.Tool, w.ToolExecutionID)
}

// Blocks is why a further call of the same effect is not begun; nil where it may be.
func (w Wait) Blocks() *Error {
	switch {
	case w.Answer == nil:
		return CodedErrorf(Denied, CodeOutcomeUnresolved, "not run: nobody knows whether the same call of %s in step %d of execution %d took effect. "+
			"Do not ask for it again until somebody has resolved that: find out in another way whether it was done, "+
			"or tell the user that this is unknown, and that it is call %s", w.Tool, w.Step, w.Execution, w.ToolExecutionID)
	case w.Answer.Verdict == VerdictDone:
		return CodedErrorf(Denied, CodeBlocked, "not run. %s", w.Say()).From(SourceResolution)
	}
	return nil
}

// SourceResolution is the source of the error of a call that is not begun because the same one was done. It is recorded.
const SourceResolution = "resolution"

// TooManyUnknownOutcomes is why a call is not begun where already as many are unresolved as may be.
func TooManyUnknownOutcomes(tool string) *Error {
	return CodedErrorf(Denied, CodeOutcomeUnresolved, "not run: of %d calls nobody knows whether they took effect. "+
		"Until some of them are resolved, %s is not run; tell the user", MaxUnknownOutcomes, tool)
}

// Say tells the model what came of the call.
func (w Wait) Say() string {
	a := w.Answer
	if a == nil {
		return ""
	}
	said := fmt.Sprintf("What became of the call of %s in step %d of execution %d, of which nobody knew, is resolved: ", w.Tool, w.Step, w.Execution)
	if a.Verdict == VerdictNotDone {
		return said + "it was not done (" + a.Reason + "). It may be called again."
	}
	said += "it was done (" + a.Reason + "). Do not call it again for the same."
	if a.Content != "" {
		said += " Its result:\n" + a.Content
	}
	return said
}

func (w Wait) kept() Wait {
	w = Clone(w)
	w.Arguments, w.Why = Shorten(w.Arguments, maxUnknownText), Shorten(w.Why, maxUnknownText)
	return w
}

// UnresolvedOutcomes are those of UnknownOutcomes that nobody has resolved.
func (s AgentState) UnresolvedOutcomes() []Wait {
	return slices.DeleteFunc(slices.Clone(s.UnknownOutcomes), func(w Wait) bool { return w.Answer != nil })
}

// ResolvedOutcomes are those of UnknownOutcomes that somebody has resolved.
func (s AgentState) ResolvedOutcomes() []Wait {
	return slices.DeleteFunc(slices.Clone(s.UnknownOutcomes), Wait.Open)
}

// UnknownOutcome is the agent's call of unknown outcome that has the id, resolved or not; the zero one where there is none.
func (s AgentState) UnknownOutcome(id ToolExecutionID) Wait {
	for _, w := range s.UnknownOutcomes {
		if w.ToolExecutionID == id {
			return w
		}
	}
	return Wait{}
}

// WithUnknownOutcome returns the state with one more call of which nobody knows how it ended.
func (s AgentState) WithUnknownOutcome(w Wait, now time.Time) AgentState {
	w.Kind = WaitOutcome
	s.UnknownOutcomes = plus(s.UnknownOutcomes, w.kept())
	return s.updated(now)
}

// WithOutcomeResolved returns the state with a call resolved. It fails where there is no such call, where it is
// resolved, or where the answer makes no sense.
func (s AgentState) WithOutcomeResolved(id ToolExecutionID, answer Answer, now time.Time) (AgentState, error) {
	if err := answer.CheckOutcome(); err != nil {
		return s, err
	}
	i := slices.IndexFunc(s.UnknownOutcomes, func(w Wait) bool { return w.ToolExecutionID == id })
	if i < 0 {
		return s, Invalidf("call: %s is no call of unknown outcome of this agent", id)
	}
	if before := s.UnknownOutcomes[i].Answer; before != nil {
		return s, Deniedf("call: %s was resolved as %s at %s", id, before.Verdict, before.At.Format(time.RFC3339))
	}
	return s.resolved(i, answer, now), nil
}

// WithResolutionIn returns the state with an answer as one that an execution's events have, and with told that
// the model has read of.
func (s AgentState) WithResolutionIn(id ToolExecutionID, execution ExecutionID, told bool, now time.Time) AgentState {
	i := slices.IndexFunc(s.UnknownOutcomes, func(w Wait) bool { return w.ToolExecutionID == id && w.Answer != nil })
	if i < 0 {
		return s
	}
	answer := *s.UnknownOutcomes[i].Answer
	answer.ExecutionID, answer.Told = execution, answer.Told || told
	return s.resolved(i, answer, now)
}

func (s AgentState) resolved(i int, answer Answer, now time.Time) AgentState {
	s.UnknownOutcomes = slices.Clone(s.UnknownOutcomes)
	s.UnknownOutcomes[i] = s.UnknownOutcomes[i].Answered(answer)
	return s.updated(now)
}

// withoutTold leaves out the calls of whose answer the model has been told: it knows.
func withoutTold(calls []Wait) []Wait {
	return nilIfEmpty(slices.DeleteFunc(slices.Clone(calls), func(w Wait) bool { return w.Answer != nil && w.Answer.Told }))
}

// MayEndUnknown reports whether a call of a tool can become one of unknown outcome: to make it again would be a
// second effect. named says that the other side gets the same key for it each time.
func (e Effect) MayEndUnknown(named bool) bool { return e == AtMostOnce || e == Keyed && !named }
