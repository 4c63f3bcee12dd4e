package main

import (
	"context"
	"errors"
	"strings"

	"everstep/starter/client"
	"everstep/starter/render"
)

// aboutQuestion asks what a call asks, and reports whether the person has answered. They may leave it for later.
func (a *asker) aboutQuestion(ctx context.Context, asked client.Event) (answered bool) {
	question, err := a.posed(ctx, asked)
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil:
		a.program.warn(err.Error())
		a.program.warn(a.program.howToAnswer(a.id, asked))
		return false
	case question == nil:
		return false // it was answered long ago, or a moment
	}
	if a.typed == nil {
		a.typed = linesOf(a.program.in)
	}
	screen := a.program.err
	screen.Hold(render.Questions([]client.WaitingQuestion{*question}, a.program.now()))
	defer screen.Resume()
	forgetTyped(a.program.in)
	for shown := a.program.now(); ; {
		screen.Printf("%s", promptFor(question.Question))
		line, typed := a.read(ctx, question.ToolExecutionID)
		switch {
		case !typed:
			screen.Printf("\n")
			return false
		case a.program.now().Sub(shown) < tooSoon:
			screen.Printf("that was typed before anybody could read the question; look at it, and answer again\n")
			continue
		case strings.TrimSpace(line) == "":
			screen.Printf("%s\n", screen.Fold(a.program.howToAnswer(a.id, asked)))
			return false
		}
		if done, answered := a.reply(ctx, *question, line); done {
			return answered
		}
	}
}

// reply gives what was typed as the answer. It is done where there is nothing more to ask about the question.
func (a *asker) reply(ctx context.Context, question client.WaitingQuestion, line string) (done, answered bool) {
	reply := client.Reply{Call: question.ToolExecutionID, Digest: question.Digest, By: person()}
	if wrong := typedAnswer(question.Question, line, &reply); wrong != "" {
		a.program.err.Printf("%s\n", wrong)
		return false, false
	}
	_, err := a.agents.Answer(ctx, a.id, reply)
	if err != nil && ctx.Err() == nil {
		a.program.report(err) // it says who was faster, too
	}
	return err == nil || ctx.Err() != nil || errors.Is(err, &client.Error{Class: client.Refused}), err == nil
}

// posed is a question that waits, as the workflow says. Nil: it does not wait any more.
func (a *asker) posed(ctx context.Context, asked client.Event) (*client.WaitingQuestion, error) {
	for question, err := range a.agents.Questions(ctx, a.id) {
		if err != nil {
			return nil, err
		}
		if question.ToolExecutionID == asked.ToolExecutionID {
			return &question, nil
		}
	}
	return nil, nil
}
