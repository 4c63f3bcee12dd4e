package domain

import (
	"slices"

	"everstep/domain/enum"
)

// A WaitKind says what a tool call waits for.
type WaitKind string

const (
	// WaitApproval: a person is to allow the call or not, as it is or with other arguments.
	WaitApproval WaitKind = "approval"
	// WaitQuestion: a person is to answer what the call asks.
	WaitQuestion WaitKind = "question"
	// WaitOutcome: a person is to say what became of the call, which may have taken effect. What waits is any further call of
	// the same effect.
	WaitOutcome WaitKind = "outcome"
)

// WaitKinds lists every kind, in the order of WaitRules.
func WaitKinds() (kinds []WaitKind) {
	for _, rule := range WaitRules() {
		kinds = append(kinds, rule.Kind)
	}
	return kinds
}

// UnmarshalText accepts the known kinds only.
func (k *WaitKind) UnmarshalText(text []byte) error {
	return enum.Decode(k, text, "kind of wait", WaitKinds()...)
}

// Rule is the kind's row of WaitRules; the zero one of a call that has not waited.
func (k WaitKind) Rule() WaitRule {
	for _, rule := range WaitRules() {
		if rule.Kind == k {
			return rule
		}
	}
	return WaitRule{}
}

// A WaitRule is all that tells one kind of wait from the others: whatever deals with waits reads it.
type WaitRule struct {
	Kind WaitKind
	// Cause says why a call waits so, and For what it waits for, in words.
	Cause, For string
	// Answers are those that people give, the first of them the one by which the call goes on.
	Answers []WaitAnswer
	// Replies says that the answer is what the model reads as the call's result. Else it decides about the call.
	Replies bool
	// Outlasts says that the call is over and the execution goes on: the wait outlasts both. It has no end of its own, no stop
	// ends it, nobody is asked in passing, and the same answer again is taken.
	Outlasts bool
}

// A WaitAnswer is one answer that people give.
type WaitAnswer struct {
	Verdict Verdict
	// Command is the one that gives it.
	Command string
	// Key is the word, or its first letter, that decides so where somebody is asked, and Does what that does with words behind it.
	Key, Does string
	// Edits says that it may come with other arguments for the call, or be for all such calls from now on.
	Edits bool
}

// WaitRules is the table of the kinds of waits, in the order in which people are asked.
func WaitRules() []WaitRule {
	return []WaitRule{
		{
			Kind: WaitApproval, Cause: "a rule asks", For: "approval",
			Answers: []WaitAnswer{
				{Verdict: Approved, Command: "approve", Key: "yes", Does: "runs it", Edits: true},
				{Verdict: WasDenied, Command: "deny", Key: "no", Does: "[WHY] does not"},
			},
		},
		{
			Kind: WaitQuestion, Cause: "the call asks (ask_user)", For: "an answer", Replies: true,
			Answers: []WaitAnswer{{Verdict: AnsweredByPerson, Command: "answer"}},
		},
		{
			Kind: WaitOutcome, Cause: "nobody knows whether it took effect", For: "a resolution", Outlasts: true,
			Answers: []WaitAnswer{{Verdict: VerdictDone, Command: "resolve"}, {Verdict: VerdictNotDone, Command: "resolve"}},
		},
	}
}

// Takes is the kind's answer with a verdict; ok is false where people do not answer so.
func (r WaitRule) Takes(verdict Verdict) (answer WaitAnswer, ok bool) {
	for _, a := range r.Answers {
		if a.Verdict == verdict {
			return a, true
		}
	}
	return answer, false
}

// Grants reports whether the call goes on by an answer with the verdict.
func (r WaitRule) Grants(verdict Verdict) bool {
	return len(r.Answers) > 0 && r.Answers[0].Verdict == verdict
}

// Commands are those that answer waits of the kind.
func (r WaitRule) Commands() (commands []string) {
	for _, answer := range r.Answers {
		commands = append(commands, answer.Command)
	}
	return slices.Compact(commands)
}

// AnswerForm is what stands behind the call in a command that answers the wait: the answer, where the model reads it.
func (w Wait) AnswerForm() string {
	switch {
	case !w.Kind.Rule().Replies:
		return ""
	case w.Ask != nil && len(w.Ask.Schema) > 0:
		return " --value JSON"
	}
	return ` "…"`
}

// WaitsFor says what calls wait for: for people, where it is not the same for all.
func WaitsFor(waits []Wait) (what string) {
	for _, w := range waits {
		if what != "" && what != w.Kind.Rule().For {
			return "people"
		}
		what = w.Kind.Rule().For
	}
	return what
}

// Kind is the first whose waits a person answers with the verdict; empty: only time gives it, or it is unknown.
func (v Verdict) Kind() WaitKind {
	for _, rule := range WaitRules() {
		if _, ok := rule.Takes(v); ok {
			return rule.Kind
		}
	}
	return ""
}
