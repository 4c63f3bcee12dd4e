package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func scheduleUpdateCommand(p *program) *cobra.Command {
	var u scheduleChanges
	command := &cobra.Command{
		Use:   `update NAME ["prompt"]`,
		Short: "Change a schedule",
		Long: `Changes a schedule, and says what is another. What is given takes the place of
what there was, and the rest stays; what is wrong is told before anything is
changed. Runs under way go on as they began. Whether it is paused stays: pause
and unpause.

--cron and --every say anew when it runs: all lines and the interval that it had
go. --agent takes the place of all that a run's agent is, limits too, with flags
over it; without it --system, --tool, --model and the others change what they
name. Limits cap what the agent's file says. --with, --metadata and --messages
each replace all of theirs. The time none takes --start-at or --end-at away.`,
		Example: `  starter schedule update digest --cron "0 8 * * MON-FRI"
  starter schedule update digest "Sum up, in five lines" --max-cost 0.10
  starter schedule update digest --agent agents/digest.md
  starter schedule update watch --every 30m --overlap BufferOne`,
		Args:              arguments(`starter schedule update digest --cron "0 9 * * *"`, "name", "[prompt]"),
		ValidArgsFunction: p.completeSchedules,
		RunE: func(command *cobra.Command, args []string) error {
			ctx := command.Context()
			u.given = command.Flags().Changed
			given := len(args) > 1
			command.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { given = given || f.Changed })
			if !given {
				return usage("nothing is given to change; give a prompt, or flags such as --cron, --every, --agent or --overlap")
			}
			if err := u.read(ctx, p, args[1:]); err != nil {
				return err
			}
			s, err := p.machine.Connect(ctx, u.flags.TaskQueue)
			if err != nil {
				return err
			}
			defer s.Close()
			updated, err := s.Agents.UpdateSchedule(ctx, args[0], func(schedule *client.Schedule) error { return u.change(ctx, p, schedule) })
			if err != nil {
				return err
			}
			if u.given("task-queue") {
				p.warn(s.Missing(ctx))
			}
			if len(updated.Changed) == 0 {
				p.say("nothing differs: schedule %s is as it was", args[0])
			}
			return p.show(updated, render.UpdatedSchedule(p.out, updated, p.now()))
		},
	}
	registerSchedule(p, command, &u.flags)
	u.asked.register(p, command)
	command.Flags().Var(textFlag(&u.asked.id), "id", "the `NAME` of the session that each run sends to")
	command.Flags().StringVar(&u.flags.TaskQueue, "task-queue", "", "the task queue's `NAME`, where workers listen; it stays unless given")
	return command
}

// scheduleChanges are what the flags and the prompt change of a schedule.
type scheduleChanges struct {
	flags client.Schedule
	asked startFlags
	// given reports whether a flag was.
	given func(name string) bool

	prompt     *string
	definition domain.Definition
	// fields are the keys of what the definition changes, that of a model included, limits aside; nil where an agent is named.
	fields   []string
	messages []domain.Entry
}

// read checks all that can be told without a server.
func (u *scheduleChanges) read(ctx context.Context, p *program, prompt []string) (err error) {
	argument := ""
	if len(prompt) > 0 {
		argument = prompt[0]
		text, err := p.prompt(ctx, argument)
		if err != nil {
			return err
		}
		u.prompt = &text
	}
	if u.messages, err = u.asked.given.onlyMessages(ctx, p, argument); err != nil {
		return err
	}
	if u.definition, err = u.asked.overridden(p); err != nil {
		return err
	}
	switch {
	case u.asked.agent != "" && u.definition.Model.Provider == "":
		return usage("model: is missing; the file names none, so name one with --model")
	case u.asked.agent == "":
		u.fields = u.definition.Given()
	}
	return nil
}

// change leaves a schedule as it is to be.
func (u *scheduleChanges) change(ctx context.Context, p *program, s *client.Schedule) error {
	when, flags := &s.When, u.flags
	if u.given("cron") || u.given("every") {
		when.Cron, when.Every, when.Offset = flags.When.Cron, flags.When.Every, 0
	}
	take(u, "offset", &when.Offset, flags.When.Offset)
	take(u, "time-zone", &when.TimeZone, flags.When.TimeZone)
	take(u, "jitter", &when.Jitter, flags.When.Jitter)
	take(u, "start-at", &when.StartAt, flags.When.StartAt)
	take(u, "end-at", &when.EndAt, flags.When.EndAt)
	take(u, "overlap", &s.Overlap, flags.Overlap)
	take(u, "catchup-window", &s.CatchupWindow, flags.CatchupWindow)
	take(u, "pause-on-failure", &s.PauseOnFailure, flags.PauseOnFailure)
	take(u, "task-queue", &s.TaskQueue, flags.TaskQueue)
	take(u, "id", &s.Start.ID, u.asked.id)
	take(u, "with", &s.Start.Trusted, u.asked.given.trusted)
	take(u, "metadata", &s.Start.Metadata, u.asked.given.metadata)
	take(u, "messages", &s.Start.Messages, u.messages)
	if u.prompt != nil {
		s.Start.Prompt = *u.prompt
	}
	return u.redefine(ctx, p, s)
}

// take sets a value to that of a flag, where the flag was given.
func take[T any](u *scheduleChanges, flag string, to *T, value T) {
	if u.given(flag) {
		*to = value
	}
}

// redefine changes what a run's agent is, and its limits: a named agent takes the place of all of it, else what the flags
// name does, a model too. What is changed is checked by our own worker, where one would serve the task queue.
func (u *scheduleChanges) redefine(ctx context.Context, p *program, s *client.Schedule) error {
	whole := u.asked.agent != ""
	switch {
	case whole:
		s.Start.Definition, s.Start.Budget, s.Model = u.definition, u.definition.Budget.CappedBy(u.asked.budget.budget), nil
	default:
		s.Start.Definition = s.Start.Definition.Taking(u.definition, u.fields)
		s.Start.Budget = s.Start.Budget.Extended(u.asked.budget.budget, nil)
	}
	if u.asked.model != "" { // the session that the runs go on with takes it too
		model := s.Start.Definition.Model
		s.Model = &model
	}
	if !whole && len(u.fields) == 0 && u.asked.budget.budget.IsZero() {
		return nil
	}
	here := s.Start.Definition
	here.Budget = here.Budget.CappedBy(s.Start.Budget)
	return p.machine.CheckLocally(ctx, local.Flags{TaskQueue: s.TaskQueue}, here)
}
