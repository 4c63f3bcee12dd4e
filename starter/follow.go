package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/chat"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func watchCommand(p *program) *cobra.Command {
	need := local.Need{Up: true, Reads: true}
	var number int
	var after int64
	command := p.withAgent(&need, "watch ID", "Follow an execution to its end", `Follows an execution from its beginning to its end, as run does. It can be
started at any time and any number of times.

What the model writes is shown as it arrives; what it thinks as well, on a
terminal and with --json. Whoever comes in the middle gets the last 8 KiB of it.
Where an attempt failed, its text is withdrawn and that of the next one follows.
None of it is shown where a hook may rewrite answers.

What sub-agents do is shown too, with their names, and their calls that wait for a
person are asked about here.

With --json each line is one thing that happens. What the execution itself has
noted has a sequence number: each of these comes once, in order, the same at any
time, with what it is about beside: texts, arguments, results of people. Between
them, without numbers, stands what only the moment knows: text as it arrives,
retries of the server, that no worker is up (starter help events has all types).
Those of sub-agents stand between the events that say that one begins, and that it
has ended, and have a path: the names by which it was started. With --after N the
first N events of the execution itself are left out.

Where no server is configured, what the execution needs to go on is brought up,
as run does; a worker only where it has the agent's tools, also in the place of
one that ends. What the server has deleted, or where none can be reached, is shown
by the records (starter help operations): the steps that were taken, and the end.`, `  starter watch notes
  starter watch notes --execution 2
  starter watch notes --json | jq -r .type
  starter watch notes --json --after 120
  starter watch notes --json | jq -c 'select(.sequence and (.path | not))'`, func(ctx context.Context, s *local.Stack, id string) error {
		q := followed{stack: s, view: p.newView(id, s.UI(id)), after: after}
		if p.flags.json {
			q.view, q.events = render.JSONView(p.out), true
		}
		return p.follow(ctx, q, client.Execution{ID: id, Number: number})
	})
	executionFlag(command, &number)
	rawFlag(command, p)
	command.Flags().Int64Var(&after, "after", 0, "leave out the execution's own events up to this sequence number")
	need.Register(command.Flags())
	return command
}

// A followed is how an execution is followed to its end.
type followed struct {
	stack *local.Stack
	view  render.View
	// events: JSON has gone to standard output, so that the answer is not written again.
	events bool
	// missing: it was said that no worker is there, and is not said again until one was.
	missing bool
	// after leaves out the execution's own events up to a sequence number.
	after int64
}

// followNew follows an execution that this command has begun.
func (p *program) followNew(ctx context.Context, stack *local.Stack, x client.Execution) error {
	missing := stack.MissingFor(ctx, x.ID)
	p.warn(missing)
	return p.follow(ctx, followed{stack: stack, view: p.newView(x.ID, stack.UI(x.ID)), missing: missing != ""}, x)
}

// follow shows an execution until it ends, prints its answer, and returns the
// error that stands for its outcome. Leaving it, or the death of this process,
// changes nothing about it but that a worker of ours is gone.
func (p *program) follow(ctx context.Context, q followed, x client.Execution) error {
	result, err := p.showToEnd(ctx, q, &x)
	q.view.Close()
	switch {
	case err != nil && left(ctx, err):
		p.sayDetached(q.stack, x)
		return detached("")
	case err != nil:
		return err
	case !q.events:
		if err := p.answer(result); err != nil {
			return err
		}
	}
	return p.reportEnding(ctx, q.stack, result, q.events, true)
}

// showToEnd follows while our worker can be kept up. It fills in the newest number.
func (p *program) showToEnd(ctx context.Context, q followed, x *client.Execution) (client.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case err := <-q.stack.Failed():
			cancel(err)
		case <-ctx.Done():
		}
	}()
	var result client.Result
	err := p.showEvents(ctx, q, x)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		result, err = q.stack.Agents.Wait(ctx, x.ID, x.Number)
	}
	cause := context.Cause(ctx)
	if err != nil && cause != nil && !errors.Is(cause, context.Canceled) {
		return result, fmt.Errorf("%w\n%s waits until a worker is up: see `%s`", cause, x.ID, p.again("doctor"))
	}
	return result, err
}

func (p *program) showEvents(ctx context.Context, q followed, x *client.Execution) error {
	var asks *asker // nil: nobody is there to be asked
	if p.interactive() {
		asks = &asker{program: p, agents: q.stack.Agents, decided: map[domain.ToolExecutionID]context.CancelFunc{}}
		asks.ctx, asks.cancel = context.WithCancel(ctx)
		defer asks.ended.Wait()
		defer asks.cancel() // ends a question that is open; the call goes on waiting
	}
	followed := q.stack.Agents.Follow(ctx, x.ID, client.FollowOptions{Number: x.Number, After: q.after, Tree: true})
	return each(p, followed, func(event client.Event) error {
		if x.Number == 0 {
			x.Number = event.Number
		}
		if q.missing = q.missing && event.Step == 0; q.missing && event.Type == client.EventNoWorker {
			return nil
		}
		if event.Type == client.EventNoWorker || event.Type == client.EventReconnecting {
			event.Reason = cmp.Or(q.stack.Full(), event.Reason)
		}
		q.view.Show(event)
		asked := event.Type == domain.EventWaitOpened && !event.Wait.Kind.Rule().Outlasts
		switch over := event.Type == domain.EventWaitClosed; {
		case !asked && !over:
		case asked && !event.Waits(): // it was decided since
		case asks != nil:
			asks.take(callIn(x.ID, event), asked)
		case asked && !q.events:
			p.warn(p.howToAnswer(callIn(x.ID, event)))
		}
		return nil
	})
}

// sayDetached says how to come back to an execution that goes on; first are what does so best.
func (p *program) sayDetached(s *local.Stack, x client.Execution, first ...[2]string) {
	id, which, words := render.OneLine(x.ID), "", "it goes on"
	hints := [][2]string{
		{p.again("watch", id), "follow it again"},
		{p.again("result", id), "wait for its answer"},
		{p.again("stop", id), "end it"},
	}
	switch waits := s.Waits(x.ID); {
	case waits != "":
		words = "it waits for a worker on task queue " + waits
		if s.Lease != nil && s.Lease.Server.Started {
			words += ", and for the server, which ends with this command: " + p.again("dev") + " has one"
		}
	case s.Pauses():
		words = "what runs it ends with this command, so it pauses until one of these runs:"
		hints = [][2]string{
			{p.again("watch", id), "go on with it, and follow it"},
			{p.again("dev"), "go on with it in the background"},
			{p.again("result", id), "wait for its answer, while one of these runs"},
		}
	}
	if x.Number > 0 {
		which = fmt.Sprintf(", execution %d", x.Number)
	}
	p.err.Print(fmt.Sprintf("\nleft %s%s: %s\n", id, which, words))
	p.err.Hints(append(first, hints...))
}

// newView is a view for whoever reads the notes: none when quiet.
func (p *program) newView(id, ui string) render.View {
	if p.flags.quiet {
		return render.Blind()
	}
	if p.err.Animated {
		return chat.Follow(p.err, id, ui)
	}
	return render.NewView(p.err, id, ui)
}

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
		p.say("%s never read, as the execution ended before: `%s` shows what", messagesAre(r.Outcome.Unread, "was", "were"), p.again("status", r.ID))
	}
	if err == nil {
		return nil
	}
	p.report(err)
	if mute || p.flags.quiet || p.flags.json {
		return reported(err)
	}
	if text := render.Stopped(r, shown); text != "" {
		p.err.Print(text + "\n")
	}
	for _, line := range render.LeftBehind(r) {
		p.err.Print(line + "\n")
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
