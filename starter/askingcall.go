package main

import (
	"context"
	"strings"

	"everstep/starter/client"
	"everstep/starter/render"
)

// call is a call that waits for the person's word, with exactly what would run, as the workflow says. Nil: it does not wait
// any more, or nobody can be asked about it here.
func (a *asker) call(ctx context.Context, asked client.Event) (*matter, error) {
	all, err := waitingOf(ctx, a.agents, a.of(asked))
	for _, call := range all.calls {
		switch {
		case call.ToolExecutionID != asked.ToolExecutionID:
		case !call.Known(): // nobody says yes to what they cannot see
			a.program.warn(a.program.howToAnswer(a.of(asked), asked))
			return nil, nil
		default:
			return &matter{
				PendingCall: call.PendingCall, kind: "call",
				shown:  render.Waiting([]client.WaitingCall{call}, a.program.now()),
				prompt: "y runs it, a always, e JSON edits it, n [REASON] does not, d decides later: ",
				hear:   func(ctx context.Context, line string) (done, said bool) { return a.decide(ctx, asked, call, line) },
			}, nil
		}
	}
	return nil, err
}

// decide does what a line says about a call.
func (a *asker) decide(ctx context.Context, asked client.Event, call client.WaitingCall, line string) (done, said bool) {
	verb, reason, _ := strings.Cut(strings.TrimSpace(line), " ")
	word := client.Word{Call: call.ToolExecutionID, Digest: call.Digest, By: person(), Reason: strings.TrimSpace(reason)}
	var err error
	switch strings.ToLower(verb) {
	case "y", "yes", "a", "always":
		if cut := a.program.notWhole(a.of(asked), call); cut != "" {
			a.program.err.Printf("%s\n", a.program.err.Fold(cut))
			return false, false
		}
		word.Always = strings.HasPrefix(strings.ToLower(verb), "a")
		_, err = a.agents.Approve(ctx, a.of(asked), word)
	case "e", "edit":
		if word.Edit, word.Reason = word.Reason, ""; word.Edit == "" {
			return false, false
		}
		_, err = a.agents.Approve(ctx, a.of(asked), word)
	case "n", "no":
		_, err = a.agents.Deny(ctx, a.of(asked), word)
	case "d", "later":
		return a.later(asked)
	default:
		return false, false
	}
	return a.heard(ctx, err)
}
