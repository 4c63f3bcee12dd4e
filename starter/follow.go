package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"everstep/domain"
	"everstep/starter/client"
)

// A pursuit is how an execution is followed to its end.
type pursuit struct {
	stack *stack
	view  view
	// events says that JSON goes to standard output as things happen, so that
	// the answer is not written a second time.
	events bool
	// exactly shows, in place of the view, each event that the execution itself
	// has noted.
	exactly bool
}

// pursue shows an execution until it ends, prints its answer, and returns the
// error that stands for its outcome. Leaving it, or the death of this process,
// changes nothing about it but that a worker of ours is gone.
func (p *program) pursue(ctx context.Context, q pursuit, x client.Execution) error {
	result, err := p.toTheEnd(ctx, q, &x)
	q.view.Close()
	switch {
	case err != nil && left(ctx, err):
		p.detach(q.stack, x)
		return detached("")
	case err != nil:
		return err
	case q.events:
	case p.flags.json:
		if err := p.json(resultOf(result)); err != nil {
			return err
		}
	default:
		p.answer(result.Answer)
	}
	return p.afterwards(ctx, q.stack.server, result, telling{mute: q.events, shown: true})
}

// toTheEnd follows and waits, unless the worker of ours cannot be kept up. It
// fills in the number of the newest execution.
func (p *program) toTheEnd(ctx context.Context, q pursuit, x *client.Execution) (client.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case err := <-q.stack.failed():
			cancel(err)
		case <-ctx.Done():
		}
	}()
	show := p.watched
	if q.exactly {
		show = p.recounted
	}
	result, err := p.ended(ctx, q, show, x)
	cause := context.Cause(ctx)
	if err != nil && cause != nil && !errors.Is(cause, errInterrupted) && !errors.Is(cause, context.Canceled) {
		return result, fmt.Errorf("%w\n%s waits until a worker is up: see `%s`", cause, x.ID, p.again("doctor"))
	}
	return result, err
}

func (p *program) ended(
	ctx context.Context, q pursuit, show func(context.Context, pursuit, *client.Execution) error, x *client.Execution,
) (client.Result, error) {
	if err := show(ctx, q, x); err != nil {
		return client.Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return client.Result{}, err
	}
	return q.stack.agents.Wait(ctx, x.ID, x.Number)
}

// watched shows what happens.
func (p *program) watched(ctx context.Context, q pursuit, x *client.Execution) error {
	for event, err := range q.stack.agents.Follow(ctx, x.ID, client.FollowOptions{Number: x.Number}) {
		if err != nil {
			return err
		}
		if x.Number == 0 {
			x.Number = event.Number
		}
		q.view.Show(event)
	}
	return nil
}

// recounted writes each event of the execution as a line of JSON. What is gone
// is said, and the rest follows.
func (p *program) recounted(ctx context.Context, q pursuit, x *client.Execution) error {
	var gone error
	for event, err := range q.stack.agents.Events(ctx, x.ID, client.EventsOptions{Number: x.Number}) {
		switch {
		case errors.Is(err, &client.Error{Class: client.Gone}):
			gone = err
			p.report(err)
			continue
		case err != nil:
			return err
		}
		if started, ok := event.(domain.AgentExecutionStarted); ok {
			x.Number = started.Number
		}
		if err := p.json(domain.RecordedEvent{Event: event}); err != nil {
			return err
		}
	}
	return reported(gone)
}

// answer prints an answer alone on standard output: as it is into a file or a
// pipe, made safe on a terminal. It is not laid out as Markdown, since nobody
// knows that it is meant so: 2*3*4, __init__ and vector<int> would lose
// characters that count.
func (p *program) answer(text string) {
	if text == "" {
		return
	}
	if p.out.terminal {
		text = clean(text)
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	p.out.printf("%s", text)
}

// detach says how to come back to an execution that goes on.
func (p *program) detach(s *stack, x client.Execution) {
	words := "it goes on"
	if s.own() {
		words = "what runs it ends with this command, so it pauses until one of these runs:"
	}
	id := oneLine(x.ID)
	which := ""
	if x.Number > 0 {
		which = fmt.Sprintf(", execution %d", x.Number)
	}
	p.err.printf("\nleft %s%s: %s\n", id, which, words)
	hints := [][2]string{
		{p.again("watch", id), "follow it again"},
		{p.again("result", id), "wait for its answer"},
		{p.again("stop", id), "end it"},
	}
	if s.own() {
		hints = [][2]string{
			{p.again("watch", id), "go on with it, and follow it"},
			{p.again("dev"), "go on with it in the background"},
			{p.again("result", id), "wait for its answer, while one of these runs"},
		}
	}
	p.hint(hints)
}

// again is a command line that reaches the same server as this one.
func (p *program) again(words ...string) string {
	return strings.Join(append(append([]string{programName}, words...), p.shared...), " ")
}
