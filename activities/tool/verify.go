package tool

import (
	"cmp"
	"context"

	"everstep/domain"
)

// Verify has the tool asked what became of a call of which nobody knows whether it took effect: its worker was lost, it
// took too long, or the tool said so with OutcomeUnknown. It is asked before anybody is told that the outcome is unknown,
// on any worker, and gets the arguments of the call; ExecutionOf names the call. Where it knows, the call ends so, and
// that is recorded.
//
// The call may be still under way, on a worker that is thought dead. So it did not happen only where it cannot happen
// any more: see Fenced. An attempt may take domain.VerifyTimeout (or the tool's Timeout, where that is less). One that
// fails, or whose worker is lost, is made again, up to domain.VerifyAttempts in all, unless its error says that it makes
// no sense to (GiveUp, OtherArguments, or a *domain.Error of a kind that does not pass); RetryLater says when. A stop of
// mode now ends it. Then the outcome stays unknown, as without it.
//
// Args is as in New: the arguments' struct, or json.RawMessage.
func Verify[Args any](verify func(ctx context.Context, args Args) (Finding, error)) Option {
	return func(t *Tool) {
		t.failIf(verify == nil, "verify: there is no function")
		t.verify = Typed(verify)
	}
}

// A Finding is what a tool's Verify has found out about a call: it is made by Happened, Fenced or NotKnown. The zero
// value is that nothing is known.
type Finding struct {
	verdict     domain.Verdict
	result, how string
}

// Happened says that the call took effect, with what it would have answered, and how that is known: "payment 4711 is in
// the journal". The model reads the result, and how is recorded. Without how it counts as not known.
func Happened(result, how string) Finding { return found(domain.VerdictDone, result, how) }

// Fenced says that the call did not take effect and cannot any more, because Verify has seen to that, and how: "the
// bank has voided the request, and refuses it from now on". To have looked and found nothing is not enough: what is
// still on its way would come later, after the model was told that it may call again. Who has no such fence answers
// NotKnown. Without how it counts as not known.
//
// Fence the call, by Call.ID, not the effect: with EffectKey a later call has the same Call.Key.
func Fenced(how string) Finding { return found(domain.VerdictNotDone, "", how) }

// NotKnown says that there is no telling, and why. Asking again would change nothing; where it might, return an error
// instead.
func NotKnown(why string) Finding { return Finding{how: why} }

func found(verdict domain.Verdict, result, how string) Finding {
	if how == "" {
		return NotKnown("Verify did not say how it knows")
	}
	return Finding{verdict, result, how}
}

// Verdict is empty where it is not known.
func (f Finding) Verdict() domain.Verdict { return f.verdict }

// Result is what the call would have answered, where it was done.
func (f Finding) Result() string { return f.result }

// How is how Verify knows, or why it does not.
func (f Finding) How() string { return f.how }

// Verify asks the tool what became of a call with those arguments. It fails where the tool has no Verify.
func (t Tool) Verify(ctx context.Context, arguments string) (Finding, error) {
	if t.verify == nil {
		return Finding{}, domain.Errorf(domain.Unavailable, "the tool %s has no Verify here", t.spec.Name)
	}
	return t.verify(ctx, []byte(cmp.Or(arguments, "{}")))
}
