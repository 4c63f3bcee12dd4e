package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func scheduleUpdateCommand(p *program) *cobra.Command {
	var flags client.Schedule
	var asked startFlags
	command := newCommand(`update NAME ["prompt"]`, "Change a schedule", `Changes a schedule, and says what is another. What is given takes the place of
what there was, and the rest stays; what is wrong is told before anything is
changed. Runs under way go on as they began. Whether it is paused stays: pause
and unpause.

--cron and --every say anew when it runs: all lines and the interval that it had
go. --agent takes the place of all that a run's agent is, limits too, with flags
over it; without it --system, --tool, --model and the others change what they
name. Limits cap what the agent's file says. --with, --metadata and --messages
each replace all of theirs. The time none takes --start-at or --end-at away.`,
		`  starter schedule update digest --cron "0 8 * * MON-FRI"
  starter schedule update digest "Sum up, in five lines" --max-cost 0.10
  starter schedule update digest --agent agents/digest.md
  starter schedule update watch --every 30m --overlap BufferOne`, nil)
	command.Args = arguments(`starter schedule update digest --cron "0 9 * * *"`, "name", "[prompt]")
	command.ValidArgsFunction = p.completeSchedules
	command.RunE = func(command *cobra.Command, args []string) error {
		ctx, given := command.Context(), len(args) > 1
		command.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { given = given || f.Changed })
		if !given {
			return usage("nothing is given to change; give a prompt, or flags such as --cron, --every, --agent or --overlap")
		}
		change, err := scheduleChange(ctx, p, command.Flags().Changed, flags, &asked, args[1:])
		if err != nil {
			return err
		}
		s, err := p.machine.Connect(ctx, local.Need{Flags: local.Flags{TaskQueue: flags.TaskQueue}})
		if err != nil {
			return err
		}
		defer s.Close()
		updated, err := s.Agents.UpdateSchedule(ctx, args[0], change)
		if err != nil {
			return err
		}
		if flags.TaskQueue != "" {
			p.warn(s.Missing(ctx))
		}
		if len(updated.Changed) == 0 {
			p.say("nothing differs: schedule %s is as it was", args[0])
		}
		return p.show(updated, render.UpdatedSchedule(p.out, updated, p.now()))
	}
	registerSchedule(command, &flags)
	asked.register(p, command)
	command.Flags().Var(textFlag(&asked.id), "id", "the `NAME` of the session that each run sends to")
	command.Flags().StringVar(&flags.TaskQueue, "task-queue", "", "the task queue's `NAME`, where workers listen; it stays unless given")
	return command
}

// scheduleChange reads all that can be told without a server, and returns what leaves a schedule as it is to be. A named
// agent takes the place of all that a run's agent is, its limits too; else what the flags name does, a model too. What is
// changed of the agent is checked by our own worker, where one would serve the task queue.
func scheduleChange(
	ctx context.Context, p *program, given func(flag string) bool, flags client.Schedule, asked *startFlags, prompts []string,
) (func(*client.Schedule) error, error) {
	argument, prompt := "", ""
	for _, argument = range prompts { // there is one, or none
		var err error
		if prompt, err = p.prompt(ctx, argument); err != nil {
			return nil, err
		}
	}
	messages, err := asked.given.onlyMessages(ctx, p, argument)
	if err != nil {
		return nil, err
	}
	definition, err := asked.overridden(p)
	if err != nil {
		return nil, err
	}
	whole, fields, limits := asked.agent != "", definition.Given(), asked.budget
	if whole && definition.Model.Provider == "" {
		return nil, usage("model: is missing; the file names none, so name one with --model")
	}
	return func(s *client.Schedule) error {
		if given("cron") || given("every") {
			s.When.Cron, s.When.Every, s.When.Offset = flags.When.Cron, flags.When.Every, 0
		}
		take(given("offset"), &s.When.Offset, flags.When.Offset)
		take(given("time-zone"), &s.When.TimeZone, flags.When.TimeZone)
		take(given("jitter"), &s.When.Jitter, flags.When.Jitter)
		take(given("start-at"), &s.When.StartAt, flags.When.StartAt)
		take(given("end-at"), &s.When.EndAt, flags.When.EndAt)
		take(given("overlap"), &s.Overlap, flags.Overlap)
		take(given("catchup-window"), &s.CatchupWindow, flags.CatchupWindow)
		take(given("pause-on-failure"), &s.PauseOnFailure, flags.PauseOnFailure)
		take(given("task-queue"), &s.TaskQueue, flags.TaskQueue)
		take(given("id"), &s.Start.ID, asked.id)
		take(given("with"), &s.Start.Trusted, asked.given.trusted)
		take(given("metadata"), &s.Start.Metadata, asked.given.metadata)
		take(given("messages"), &s.Start.Messages, messages)
		take(len(prompts) > 0, &s.Start.Prompt, prompt)
		if whole {
			s.Start.Definition, s.Start.Budget, s.Model = definition, definition.Budget.CappedBy(limits), nil
		} else {
			s.Start.Definition, s.Start.Budget = s.Start.Definition.Taking(definition, fields), s.Start.Budget.Extended(limits, nil)
		}
		here := s.Start.Definition
		take(asked.model != "", &s.Model, new(here.Model)) // the session that the runs go on with takes it too
		if !whole && len(fields) == 0 && limits.IsZero() {
			return nil
		}
		return p.machine.CheckLocally(ctx, local.Flags{TaskQueue: s.TaskQueue}, here, here.Budget.CappedBy(s.Start.Budget))
	}, nil
}

// take sets a value to what was given, where something was.
func take[T any](given bool, to *T, value T) {
	if given {
		*to = value
	}
}
