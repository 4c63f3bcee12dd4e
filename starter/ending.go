package main

import (
	"context"
	"fmt"
	"strings"

	"everstep/domain"
	"everstep/starter/client"
)

// outcomeOf is the error, or none, that an execution's end is to a command
// that waited for it.
func outcomeOf(r client.Result) error {
	code := ofStatus(r.Outcome.Status)
	if code == exitDone {
		return nil
	}
	ended := &exitError{code: code}
	if r.Outcome.Status == domain.StatusFailed && r.Error != nil {
		ended.text = oneLine(r.Error.Message)
		// Providers begin their words with their names.
		if source := oneLine(r.Error.Source); source != "" && !strings.HasPrefix(ended.text, source+":") {
			ended.text = source + ": " + ended.text
		}
	}
	return ended
}

// A telling says what of an ending is still to be told.
type telling struct {
	// mute leaves out all but errors.
	mute bool
	// shown means that a view has shown that it was stopped, and the reason.
	shown bool
}

// afterwards says how an execution ended that did not complete, and on a
// terminal which commands go on from there. It returns the error that stands
// for the outcome.
func (p *program) afterwards(ctx context.Context, s *server, r client.Result, t telling) error {
	err := outcomeOf(r)
	if err == nil {
		return nil
	}
	p.report(err)
	if t.mute || p.flags.quiet || p.flags.json {
		return reported(err)
	}
	if text := stoppedText(r, t.shown); text != "" {
		p.err.printf("%s\n", text)
	}
	if p.err.terminal {
		p.hint(p.goingOn(ctx, s.agents, r))
	}
	return reported(err)
}

// stoppedText says what stopped an execution, in the words of what did; empty
// where there is no more to say.
func stoppedText(r client.Result, shown bool) string {
	if r.Outcome.Status != domain.StatusStopped {
		return ""
	}
	message := ""
	if r.Signal != nil {
		message = oneLine(r.Signal.Message)
	}
	if shown {
		if message == "" {
			return ""
		}
		return "  " + message
	}
	words := "stopped"
	if r.Outcome.StopReason != "" {
		words += " (" + string(r.Outcome.StopReason) + ")"
	}
	if message != "" {
		words += ": " + message
	}
	return words
}

// An explaining tells all about an execution.
type explaining interface {
	Explain(ctx context.Context, id string, number int) (client.ExplainView, error)
}

// goingOn are the commands for what has not completed: what raises the limit
// that was reached, as far as a worker tells, and what explains it.
func (p *program) goingOn(ctx context.Context, agents explaining, r client.Result) [][2]string {
	var hints [][2]string
	if r.Outcome.Status == domain.StatusStopped && r.Source == domain.FromWorkflow {
		view, _ := agents.Explain(ctx, r.ID, r.Number) // without it there is one hint less
		for _, advice := range view.Advice {
			if strings.HasPrefix(advice.Command, "extend ") {
				hints = append(hints, [2]string{p.commandLine(oneLine(advice.Command)), "go on where it stopped"})
			}
		}
	}
	return append(hints, [2]string{p.again("explain", oneLine(r.ID)), "why, and what it cost"})
}

// hint writes commands with what they do.
func (p *program) hint(hints [][2]string) {
	width := 0
	for _, hint := range hints {
		width = max(width, len(hint[0]))
	}
	for _, hint := range hints {
		p.err.printf("  %s  %s\n", p.err.theme.name(fmt.Sprintf("%-*s", width, hint[0])), p.err.theme.faint(hint[1]))
	}
}
