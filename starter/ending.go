package main

import (
	"context"
	"strings"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func outcomeOf(r client.Result) error {
	ended := &exitError{code: exitOther}
	switch r.Outcome.Status {
	case domain.StatusCompleted:
		return nil
	case domain.StatusStopped:
		ended.code = exitStopped
	case domain.StatusFailed:
		if r.Error != nil {
			ended.text = render.Failure(r.Error)
		}
	case domain.StatusPending, domain.StatusInProgress:
	}
	return ended
}

// reportEnding says how an execution ended that did not complete, and on a terminal what goes on
// from there. It returns the outcome's error. mute leaves out all but errors; shown means that a
// view has shown that it was stopped, and why.
func (p *program) reportEnding(ctx context.Context, s *local.Stack, r client.Result, mute, shown bool) error {
	err := outcomeOf(r)
	if r.Name == "" && r.Outcome.Unread > 0 {
		p.say("%s never read, as the execution ended before: `%s` shows what", unread(r.Outcome.Unread), p.again("status", r.ID))
	}
	if err == nil {
		return nil
	}
	p.report(err)
	if mute || p.flags.quiet || p.flags.json {
		return reported(err)
	}
	if text := render.Stopped(r, shown); text != "" {
		p.err.Printf("%s", p.err.Fold(text+"\n"))
	}
	for _, line := range render.LeftBehind(r) {
		p.err.Printf("%s", p.err.Fold(line+"\n"))
	}
	if p.err.Terminal {
		p.err.Hints(p.nextCommands(ctx, s.Agents.Explain, r))
	}
	return reported(err)
}

// nextCommands raise the limit that was reached, as far as a worker tells, and explain.
func (p *program) nextCommands(
	ctx context.Context, explain func(context.Context, string, int) (client.ExplainView, error), r client.Result,
) [][2]string {
	var hints [][2]string
	if r.Outcome.Status == domain.StatusStopped && r.Source == contract.FromWorkflow {
		view, _ := explain(ctx, r.ID, r.Number) // without it there is one hint less
		for _, advice := range view.Advice {
			if strings.HasPrefix(advice.Command, "extend ") {
				what := "go on where it stopped"
				if r.Name != "" && strings.Contains(advice.Command, " --session ") {
					what = "give the session more"
				}
				hints = append(hints, [2]string{p.again(render.OneLine(advice.Command)), what})
			}
		}
	}
	return append(hints, [2]string{p.again("explain", render.OneLine(r.ID)), "why, and what it cost"})
}
