package main

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func statusCommand(p *program) *cobra.Command {
	var at momentFlags
	command := p.looking("status ID", "Show what an agent is doing", `Shows what an agent is doing now, what it has used, and what its budget leaves.
Where no worker is up, it shows what the agent knew when one carried it on last,
with what waits for a worker since, and says so.

With --json, build is the one that has begun the agent's newest run. Where no
worker that serves its task queue is of that build (or where none serves it, this
command is not) it says so: finish the agent there, or export and fork.

With --at it shows the state in which an earlier event left the agent.`, `  starter status notes
  starter status notes --json | jq -r .status
  starter status notes --execution 2 --at 7`, func(ctx context.Context, s *local.Stack, id string) error {
		if at.Event > 0 {
			status, when, err := s.Agents.StatusAt(ctx, id, at.Moment)
			if err != nil {
				return err
			}
			p.say("as it was at %s, after event %d", when.Local().Format(time.DateTime), at.Event)
			return p.show(render.Status(status), render.StatusText(p.out.Theme, id, status, when))
		}
		status, err := s.Agents.Status(ctx, id)
		if err != nil {
			return err
		}
		if full := s.Full(); status.Server.Source == contract.FromHistory && full != "" {
			p.say("%s", full)
		}
		return p.show(render.Status(status), render.StatusText(p.out.Theme, id, status, p.now()))
	})
	at.register(command)
	return command
}

// momentFlags name an event of an execution, as that has left the agent.
type momentFlags struct{ client.Moment }

func (f *momentFlags) register(command *cobra.Command) {
	command.Flags().Var(numberFlag(&f.Event, 1, 1<<31-1), "at",
		"the state after an event: its `SEQUENCE` in the JSON of watch")
	executionFlag(command, &f.Execution)
	command.Flag("execution").Usage = "the execution of that event; the newest unless given"
	command.PreRunE = func(*cobra.Command, []string) error {
		if f.Execution > 0 && f.Event == 0 {
			return usage("--at: is missing; name an event of execution %d", f.Execution)
		}
		return nil
	}
}

func stepsCommand(p *program) *cobra.Command {
	var number int
	var tree bool
	command := p.looking("steps ID", "Show the completed steps of an execution", `Shows the completed steps of an execution, one a line. It needs no worker. Steps
that can no longer be read are reported as gone (exit 1), and the others follow.

With --tree the steps of sub-agents follow the step that started them, and those
of theirs in turn, with what each was granted of the budget, and refused; with --json each line then names its agent.`, `  starter steps notes
  starter steps notes --tree
  starter steps notes --execution 2 --json | jq '{number, type, finish_reason}'`, func(ctx context.Context, s *local.Stack, id string) error {
		if tree { // in JSON each agent is known by its steps
			return each(p, s.Agents.TreeSteps(ctx, id, number), func(at client.TreeStep) error {
				if line := render.TreeStep(at); at.Step != nil || !p.flags.json {
					return p.show(line, line.Text(p.out.Theme)+"\n")
				}
				return nil
			})
		}
		priced, err := s.Agents.Priced(ctx, id, number)
		if err != nil && !client.Is(err, client.Gone) {
			return err
		}
		return each(p, s.Agents.Steps(ctx, id, number), func(step domain.StepExecution) error {
			line := render.Step(step, priced)
			return p.show(line, line.Text(p.out.Theme)+"\n")
		})
	})
	executionFlag(command, &number)
	command.Flags().BoolVar(&tree, "tree", false, "show the steps of sub-agents too, to any depth")
	return command
}

func messagesCommand(p *program) *cobra.Command {
	var at momentFlags
	command := p.looking("messages ID", "Show an agent's transcript", `Shows the transcript of an agent over all its executions. It needs no worker.
Messages that can no longer be read are reported as gone (exit 1), and the
others follow. What a rewind or clear has taken back, and what a summary stands
for, is shown, and marked: the model sees it no more.

With --at it shows them as an earlier event left them.`, `  starter messages notes
  starter messages notes --execution 2 --at 7
  starter messages notes --json | jq -r '.message.parts[].text'
  starter messages notes --json | jq 'select(.taken_back or .cleared | not)'`, func(ctx context.Context, s *local.Stack, id string) error {
		if at.Event > 0 {
			messages, edits, err := s.Agents.MessagesAt(ctx, id, at.Moment)
			if err != nil {
				return err
			}
			return p.showMessages(messages, edits)
		}
		edits, err := s.Agents.Edits(ctx, id)
		if err != nil {
			if !client.Is(err, client.Gone) {
				return err
			}
			p.report(err)
		}
		return cmp.Or(p.showMessages(s.Agents.Messages(ctx, id), edits), reported(err))
	})
	at.register(command)
	return command
}

func (p *program) showMessages(messages iter.Seq2[domain.Entry, error], edits domain.Edits) error {
	return each(p, messages, func(entry domain.Entry) error {
		said := render.Said(entry, edits)
		return p.show(said, said.Text(p.out.Theme))
	})
}

func explainCommand(p *program) *cobra.Command {
	var number int
	var tree bool
	command := p.looking("explain ID", "Explain why an execution ended, and what it cost", `Explains why an execution ended, or what it is doing now: a line a step with its
time, tokens, cost and tool calls, what was wasted, what the budget has left and
how to raise it, and how long the history is. It needs no worker, and says what
can no longer be told.

With --tree it also says of each sub-agent below the execution, to any depth, how
it ended, what it used and cost itself, and what with those below it; and what it
was granted of the budget of the agent that started it, when, and what it was
refused.`, `  starter explain notes
  starter explain notes --tree
  starter explain notes --execution 2 --json | jq .waste`, func(ctx context.Context, s *local.Stack, id string) error {
		view, err := s.Agents.Explain(ctx, id, number)
		if err != nil {
			return err
		}
		for i, advice := range view.Advice {
			if advice.Command != "" {
				view.Advice[i].Command = p.again(advice.Command)
			}
		}
		text := render.Explanation(p.out, view, p.now())
		if tree {
			all, err := s.Agents.Tree(ctx, id, number)
			if err != nil {
				return err
			}
			view.Tree = &all
			text += "\n" + render.Tree(p.out, all, p.now())
		}
		return p.show(view, text)
	})
	executionFlag(command, &number)
	command.Flags().BoolVar(&tree, "tree", false, "explain the sub-agents below it too")
	return command
}

func resultCommand(p *program) *cobra.Command {
	var number int
	var noWait bool
	command := p.looking("result ID", "Wait for an execution's end and print its answer", `Waits until an execution has ended, prints its answer, and exits 0 where it
completed, 1 where it failed, 3 where it was stopped. It needs no worker; where
none answers and this build cannot replay what another one has written, the
answer is that of the last inference, and it is said beside it. Where the agent
answers in JSON, --json has the answer's value under output. Of one that did not
complete it also says what it said last, where it has no answer, and what it has
done: --json has said_last and outcome.effects.`, `  starter result notes
  starter result notes --execution 2 --no-wait --json
  starter result notes --json | jq .output`, func(ctx context.Context, s *local.Stack, id string) error {
		result, err := s.Agents.Result(ctx, id, number)
		if client.Is(err, client.Refused) { // in progress
			if noWait {
				p.warn(s.MissingFor(ctx, id))
			} else {
				result, err = s.Agents.Wait(ctx, id, number)
			}
		}
		if err != nil && left(ctx, err) {
			p.sayDetached(s, client.Execution{ID: id, Number: number})
			return detached("")
		}
		if err != nil {
			return err
		}
		if !result.ImportedAt.IsZero() {
			p.say("execution %d was imported on %s: what it answered is told by a file, and no workflow of it is here", result.Number, result.ImportedAt.Format(time.DateOnly))
		}
		if err := p.answer(result); err != nil {
			return err
		}
		return p.reportEnding(ctx, s, result, false, false)
	})
	rawFlag(command, p)
	command.Flags().BoolVar(&noWait, "no-wait", false, "be refused (exit 6) where it is in progress")
	executionFlag(command, &number)
	return command
}

func diffCommand(p *program) *cobra.Command {
	command := newCommand("diff A B", "Show where two executions part", `Compares two executions step by step, and shows what is different in each step
that is not the same: what it was asked, what the model said, which calls it
asked for, what came of them, and the tokens. A and B are ids of agents, of which
the newest execution is meant, or ID:EXECUTION with its number or id, or how that
begins.

Steps that a fork has from its origin are the origin's own: the first that differs
is where they part. Two executions of one agent that have no such steps in common
are compared by their own. It needs no worker. Exit 0, whether they differ or not.`, `  starter diff notes:1 notes:2
  starter diff notes notes-anew
  starter diff notes:1 notes:2 --json | jq .equal_steps`, func(ctx context.Context, args []string) error {
		points := make([]client.Point, len(args))
		for i, arg := range args {
			points[i].ID, points[i].Execution, _ = strings.Cut(arg, ":")
			if err := client.CheckID(points[i].ID); err != nil {
				return err
			}
		}
		return p.onAgent(ctx, []string{points[0].ID}, looks(), func(ctx context.Context, s *local.Stack, id string) (err error) {
			points[0].ID = id
			if points[1].ID, err = p.idOf(ctx, s, points[1].ID); err != nil {
				return err
			}
			difference, err := s.Agents.Diff(ctx, points[0], points[1])
			if err != nil {
				return err
			}
			return p.show(difference, render.Difference(p.out.Theme, difference))
		})
	})
	command.ValidArgsFunction = p.completeIDs
	return command
}

func executionsCommand(p *program) *cobra.Command {
	var all bool
	command := p.looking("executions ID", "List the executions of an agent", `Lists the executions of an agent, the oldest first: how each ended, its steps,
tokens, cost and time, and where it goes on from. One that a rewind has taken
back, whole or from a step on, is marked with the execution that goes on without
it; it can be read, compared and forked all the same. It reads what the server
has recorded and needs no worker. Executions whose runs the server has deleted
are reported as gone (exit 1), and the others follow.

Each session of a name counts from 1. With --all those before the open one are
listed too, as far as the server has them; NAME@RUN lists one of them.`, `  starter executions notes
  starter executions notes --all
  starter executions notes --json | jq '.[] | {execution_number, status}'
  starter executions notes --json | jq '.[] | select(.taken_back == null)'`, func(ctx context.Context, s *local.Stack, id string) error {
		ids, err := sessionsOf(ctx, s, id)
		if err != nil {
			return err
		}
		if earlier := len(ids) - 1; !all {
			if ids = ids[earlier:]; earlier > 0 {
				p.say("%s of that name before this one; `%s` lists them too", render.Counted(earlier, "session"), p.again("executions", id, "--all"))
			}
		}
		var gone error
		past := []client.Past{}
		for _, session := range ids {
			for one, err := range s.Agents.Executions(ctx, session) {
				if client.Is(err, client.Gone) {
					gone = err
					p.report(err)
					continue
				}
				if err != nil {
					return err
				}
				past = append(past, one)
			}
		}
		if len(past) > 0 || p.flags.json {
			if err := p.table(past, render.Executions(past, p.now(), len(ids) > 1), ""); err != nil {
				return err
			}
			if next := render.NextOrigin(past); next != "" {
				p.say("%s", next)
			}
		}
		return reported(gone)
	})
	command.Flags().BoolVar(&all, "all", false, "list the executions of earlier sessions of the name too")
	return command
}

// sessionsOf are the ids of the sessions of a name, the oldest first and the one that is meant last.
func sessionsOf(ctx context.Context, s *local.Stack, id string) (ids []string, _ error) {
	if domain.CheckAgentName(id) != nil { // it is a session, or an agent without a name, which has no other
		return []string{id}, nil
	}
	for agent, err := range s.Agents.List(ctx, client.ListOptions{All: true, ListFilter: client.ListFilter{Agent: id}}) {
		if errors.Is(err, client.ErrUnreached) {
			break
		}
		if err != nil {
			return nil, err
		}
		if agent.ID != id {
			ids = append(ids, agent.ID)
		}
	}
	slices.Reverse(ids)
	return append(ids, id), nil
}
