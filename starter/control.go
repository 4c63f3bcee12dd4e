package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/enum"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func stopCommand(p *program) *cobra.Command {
	o := client.StopOptions{Mode: contract.AfterStep}
	command := p.changing("stop ID", "Stop the execution in progress", `Asks the execution in progress to stop, and returns. It ends as stopped, and
its partial answer is kept.

  after_step       the step finishes, tools included
  after_inference  the inference finishes, none of its tool calls starts
  now              all that is in flight is cancelled`, `  starter stop notes
  starter stop notes --mode now --reason "wrong folder"
  starter stop notes --within 30s`, func(ctx context.Context, s *local.Stack, id string) error {
		execution, err := s.Agents.Stop(ctx, id, o)
		if err != nil {
			return err
		}
		p.warn(s.MissingFor(ctx, id))
		return p.done(execution, "asked execution %d of %s to stop (%s); `%s` waits for the end", execution.Number, execution.ID, o.Mode, p.again("result", execution.ID))
	})
	set := command.Flags()
	set.Var(choiceFlag(&o.Mode, enum.Known[contract.StopMode]()), "mode", "how much may still finish")
	after := durationFlag(new(time.Duration)) // else it is a span, which tells no time from none
	set.Var(flagValue{after.kind, "", func(text string) error {
		if o.Within.UnmarshalText([]byte(text)) == nil {
			return nil
		}
		return after.set(text)
	}}, "within", "go over to mode now after so long; 0s is at once, never is the default")
	set.StringVar(&o.Reason, "reason", "", "a `TEXT` for whoever reads the outcome")
	completeWith(command, "mode", cobra.FixedCompletions([]cobra.Completion{
		cobra.CompletionWithDesc(string(contract.AfterStep), "the step finishes, tools included"),
		cobra.CompletionWithDesc(string(contract.AfterInference), "the inference finishes, no tool call starts"),
		cobra.CompletionWithDesc(string(contract.StopNow), "all that is in flight is cancelled"),
	}, cobra.ShellCompDirectiveNoFileComp))
	return command
}

func pauseCommand(p *program) *cobra.Command {
	return p.pausing("pause ID", "Let nothing new start until resume", `Pauses the execution in progress: what is under way finishes, and no further
inference or tool call starts until resume, or stop. The pause does not count in
--max-seconds; a deadline passes all the same.`,
		`  starter pause notes`, (*client.Client).Pause, "is paused", "was paused already")
}

func resumeCommand(p *program) *cobra.Command {
	return p.pausing("resume ID", "End a pause", `Lets an execution go on that was paused.`,
		`  starter resume notes`, (*client.Client).Resume, "goes on", "was not paused")
}

// pausing is newCommand of one that changes whether an execution is paused.
func (p *program) pausing(
	use, short, long, example string, change func(*client.Client, context.Context, string) (client.Pausing, error), done, before string,
) *cobra.Command {
	return p.changing(use, short, long, example, func(ctx context.Context, s *local.Stack, id string) error {
		paused, err := change(s.Agents, ctx, id)
		return p.switched(paused, err, paused.Changed, fmt.Sprintf("execution %d of %s", paused.Number, paused.ID), done, before)
	})
}

// switched answers a command that has something be so or not: what it says now of what, or that it was so before.
func (p *program) switched(value any, err error, changed bool, what, now, before string) error {
	if err != nil {
		return err
	}
	if !changed {
		now = before
	}
	return p.done(value, "%s %s", what, now)
}

func closeCommand(p *program) *cobra.Command {
	return p.changing("close ID", "End an idle session", `Ends the session of a named agent, so that it takes no more messages. What it
did stays readable. When the name begins a new session, this one is NAME@RUN, as
list --all says. It is refused while an execution is in progress, and waits until
the name is free: a session ends its own with MCP servers first.`, `  starter close notes`, func(ctx context.Context, s *local.Stack, id string) error {
		executions, err := s.Agents.Close(ctx, id)
		if err != nil {
			return err
		}
		closed := struct {
			ID         string `json:"id"`
			Executions int    `json:"executions"`
		}{id, executions}
		return p.done(closed, "closed %s after %s; it stays readable, also when the name begins a new session: `%s` names it then", id, render.Counted(executions, "execution"), p.again("list --all"))
	})
}

func extendCommand(p *program) *cobra.Command {
	var totals client.ExtendOptions
	var session bool
	need := followable()
	command := p.withAgent(&need, "extend ID", "Raise an execution's limits, or go on from where one ended", `Gives the execution in progress new limits. Where the newest execution was
stopped or failed, the next one begins, which goes on from where that one ended,
with the new limits or, without any, with what the old ones leave.

Limits are totals: they count what was used before. A limit that was reached has
to be raised, or nothing could go on; none takes one away. What completed cannot
go on: send gives a named agent its next message.

With --session the totals are those of the session, where its definition has a
session_budget: over all its executions, the one in progress included. There are
none of time. In an open session nothing begins by that; an agent without a name
that was stopped goes on at once.

It needs a server that is up and a worker: dev, watch ID and --wait bring them up.`, `  starter extend notes --max-steps 40
  starter extend notes --max-cost 0.50 --deadline none --wait
  starter extend notes --session --max-tokens 500000
  starter extend 7d44c2b5-3a9a-4dc0-8f0b-6a3f9e1b2c3d`, func(ctx context.Context, s *local.Stack, id string) error {
		if session {
			extended, err := s.Agents.ExtendSession(ctx, id, totals)
			switch {
			case err != nil:
				return err
			case need.Up && (extended.Began || extended.InProgress):
				return p.followNew(ctx, s, extended.Execution)
			}
			return p.sessionExtended(extended)
		}
		extended, err := s.Agents.Extend(ctx, id, totals)
		switch {
		case err != nil:
			return err
		case need.Up:
			return p.followNew(ctx, s, extended.Execution)
		}
		p.warn(s.MissingFor(ctx, id))
		limits := "without limits"
		if totals := render.Budget(extended.Budget, domain.ExecutionBudget{}); totals != "" {
			limits = "with limits of " + totals + " in all, what was used before included"
		}
		if extended.Began {
			return p.done(extended, "execution %d of %s has begun, and goes on from the one before %s; `%s` waits for its end", extended.Number, extended.ID, limits, p.again("result", extended.ID))
		}
		return p.done(extended, "execution %d of %s goes on %s", extended.Number, extended.ID, limits)
	})
	set := command.Flags()
	p.totalFlags(set, &totals)
	set.BoolVar(&session, "session", false, "new totals of the session's budget, over all its executions")
	set.BoolVar(&need.Up, "wait", false, "follow the execution to its end, as run does")
	rawFlag(command, p)
	return command
}

func (p *program) sessionExtended(x client.SessionExtended) error {
	totals := cmp.Or(render.Budget(x.Budget, x.Left), "no limit")
	used := render.UsedUp(x.Account())
	switch {
	case used != "":
		raise := p.again("extend", x.ID, "--session", "--"+x.Account().UsedUp()[0].Rule.Limit.Flag(), "TOTAL")
		if x.InProgress {
			return p.done(x, "execution %d of %s will stop, since nothing is left of its session's budget: %s; `%s` raises it", x.Number, x.ID, used, raise)
		}
		return p.done(x, "nothing is left of the budget of the session of %s: %s; `%s` raises it", x.ID, used, raise)
	case x.Began:
		return p.done(x, "execution %d of %s has begun, and goes on from the one before; its session may use %s in all; `%s` waits for its end", x.Number, x.ID, totals, p.again("result", x.ID))
	case x.InProgress:
		return p.done(x, "execution %d of %s goes on; its session may use %s in all", x.Number, x.ID, totals)
	}
	return p.done(x, "the session of %s may use %s in all; `%s` goes on with an execution that was stopped, `%s` begins the next", x.ID, totals, p.again("extend", x.ID), p.again("send", x.ID))
}

func suspendCommand(p *program) *cobra.Command {
	var o client.SuspendOptions
	command := p.changing("suspend ID", "Have a session accept nothing until unsuspend", `Has the session of a named agent accept no messages, and not go on, until
unsuspend. The execution in progress comes to its end; messages that wait stay,
and begin none. Who is refused is told since when, and why.`, `  starter suspend notes
  starter suspend notes --reason "the data is being moved"`, func(ctx context.Context, s *local.Stack, id string) error {
		done, err := s.Agents.Suspend(ctx, id, o)
		now := "accepts nothing until `" + p.again("unsuspend", id) + "`"
		if done.Busy {
			now = "accepts nothing more; the execution in progress comes to its end"
		}
		return p.switched(done, err, done.Changed, id, now, "was suspended already")
	})
	saidFlags(command, &o.By, "suspends it", &o.Reason, "for whoever is refused")
	return command
}

func unsuspendCommand(p *program) *cobra.Command {
	return p.changing("unsuspend ID", "Have a suspended session accept messages again", `Ends a suspension. Messages that wait begin their executions.`, `  starter unsuspend notes`, func(ctx context.Context, s *local.Stack, id string) error {
		done, err := s.Agents.Unsuspend(ctx, id)
		return p.switched(done, err, done.Changed, id, "accepts messages again", "was not suspended")
	})
}

func clearCommand(p *program) *cobra.Command {
	return p.changing("clear ID", "Begin the conversation of a session anew", `Rewinds an idle session to before all messages, those that were given too: the
model sees none of them. All of it stays readable, and the session keeps what it
is and has done: its model, calls of unknown outcome, standing approvals, trusted
values, notes of tools, counts. A rewind takes it back. messages marks what was
cleared, from the records too. Of what was cleared execution_history shows the
model how it ended, and no text.`, `  starter clear notes`, func(ctx context.Context, s *local.Stack, id string) error {
		cleared, err := s.Agents.Clear(ctx, id)
		if err != nil {
			return err
		}
		return p.done(cleared, "the model of %s sees %s no more", id, render.Counted(cleared.Messages, "message"))
	})
}

// messagesAre is a number of messages with its verb.
func messagesAre(n int, one, many string) string {
	return render.Counted(n, "message") + " " + map[bool]string{true: one, false: many}[n == 1]
}

// sent says what has become of a message.
func (p *program) sent(x client.Execution, queued bool) error {
	switch short := x.Waits.String()[:8]; {
	case x.Waits.IsZero():
		return p.done(x, "execution %d of %s has begun", x.Number, x.ID)
	case queued:
		return p.done(x, "message %s waits until execution %d of %s has ended; `%s` takes it back", short, x.Number, x.ID, p.again("unsend", x.ID, short))
	default:
		return p.done(x, "message %s waits for the next step of execution %d of %s; `%s` takes it back", short, x.Number, x.ID, p.again("unsend", x.ID, short))
	}
}

func unsendCommand(p *program) *cobra.Command {
	return newCommand("unsend ID [MESSAGE]", "Take a message back that was not read yet", `Takes a message back that waits for an execution in progress, as status shows it.
MESSAGE is its id, or how that begins; it may be left out where one waits alone.
What was read cannot be taken back.`, `  starter unsend notes
  starter unsend notes 3f9e1b2c`, func(ctx context.Context, args []string) error {
		message := strings.Join(args[1:], "")
		return p.change(ctx, args, func(ctx context.Context, s *local.Stack, id string) error {
			unsent, err := s.Agents.Unsend(ctx, id, message)
			if err != nil {
				return err
			}
			return p.done(unsent, "took message %s back; %s of %s still wait", unsent.MessageID.String()[:8], render.Counted(unsent.Left, "message"), id)
		})
	})
}

func updateCommand(p *program) *cobra.Command {
	var asked startFlags
	var options client.UpdateOptions
	command := p.changing("update ID", "Give a session another definition", `Gives the session of a named agent another definition, from its next execution
on: one in progress goes on as it began. With --agent all of the file takes the
place of what the session has, with flags over it; without it, what is given by
flags does, and the rest stays: --max-steps leaves the other limits as they are.
Who has changed it, when and why is recorded: status shows it, also while it waits
for the next execution, and explain of the first execution that has it. The tools'
schemas, prices and windows follow.`, `  starter update notes --agent agents/notes.md --reason "renamed a tool"
  starter update notes --system "Answer in one sentence." --max-steps 5
  starter update notes --model openai/gpt-5-mini`, func(ctx context.Context, s *local.Stack, id string) error {
		d, err := asked.overridden(p)
		if err != nil {
			return err
		}
		d.Budget = d.Budget.CappedBy(asked.budget)
		options.Definition = d
		switch { // with a file all of the definition is meant, else what is given
		case asked.agent == "":
			if options.Fields = d.Given(); len(options.Fields) == 0 {
				return usage("nothing is given to change; give --agent FILE, --system, --tool, --model or a limit such as --max-steps")
			}
		case d.Model.Provider == "":
			return usage("model: is missing; the file names none, so name one with --model")
		}
		own := s.Own(ctx, id)
		if err := p.machine.CheckLocally(ctx, local.Flags{}, d, d.Budget); err != nil && own {
			return err
		}
		for _, tool := range d.Tools {
			if (!own || !s.Local()) && !slices.Contains(local.BuiltinNames(), tool) { // what nobody has fails the next execution
				p.warn(fmt.Sprintf("tool: %s is not built in; where the workers of %s have none of that name, its next execution fails", domain.Shorten(tool, 100), id))
			}
		}
		updated, err := s.Agents.Update(ctx, id, options)
		if err != nil {
			return err
		}
		if len(updated.Fields) == 0 {
			return p.done(updated, "nothing differs: %s has that definition", id)
		}
		return p.done(updated, "%s has another definition %s", id, render.Change(updated.Change))
	})
	asked.registerDefinition(p, command)
	saidFlags(command, &options.By, "changes it", &options.Reason, "that is recorded")
	return command
}

// overridden is what the agent's file says, with the flags over it, but for limits.
func (f *startFlags) overridden(p *program) (d domain.Definition, err error) {
	if d, err = f.definition(p); err == nil {
		d.Model, err = f.over(d.Model)
	}
	return d, err
}
