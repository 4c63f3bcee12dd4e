package main

import (
	"context"
	"strings"

	"everstep/starter/client"
	"everstep/starter/render"
)

// question is what a call asks, as the workflow says. Nil: it does not wait any more.
func (a *asker) question(ctx context.Context, asked client.Event) (*matter, error) {
	all, err := waitingOf(ctx, a.agents, a.of(asked))
	for _, question := range all.questions {
		if question.ToolExecutionID == asked.ToolExecutionID {
			return &matter{
				PendingCall: question.PendingCall, kind: "question",
				shown:  render.Questions([]client.WaitingQuestion{question}, a.program.now()),
				prompt: promptFor(question.Question),
				hear:   func(ctx context.Context, line string) (done, said bool) { return a.reply(ctx, asked, question, line) },
			}, nil
		}
	}
	return nil, err
}

// reply gives what was typed as the answer to a question.
func (a *asker) reply(ctx context.Context, asked client.Event, question client.WaitingQuestion, line string) (done, said bool) {
	if strings.TrimSpace(line) == "" {
		return a.later(asked)
	}
	reply, err := client.TypedReply(question.PendingQuestion, line)
	if err != nil {
		a.program.err.Printf("%s\n", err)
		return false, false
	}
	reply.By = person()
	_, err = a.agents.Answer(ctx, a.of(asked), reply)
	return a.heard(ctx, err)
}
