package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/domain/contract"
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
		Args: func(command *cobra.Command, args []string) error {
			return arguments(`starter schedule update digest --cron "0 9 * * *"`, []string{"name", "prompt"}[:max(1, min(len(args), 2))]...)(command, args)
		},
		ValidArgsFunction: func(command *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return p.completeSchedules(command, args, prefix)
		},
		RunE: func(command *cobra.Command, args []string) error {
			ctx := command.Context()
			u.given = command.Flags().Changed
			if err := u.read(ctx, p, args[1:]); err != nil {
				return err
			}
			s, err := p.machine.Connect(ctx, u.queue)
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
	u.when.register(p, command)
	u.asked.register(p, command)
	command.Flags().Var(textFlag(&u.asked.id), "id", "the `NAME` of the session that each run sends to")
	command.Flags().StringVar(&u.queue, "task-queue", "", "the task queue's `NAME`, where workers listen; it stays unless given")
	return command
}

// scheduleChanges are what the flags and the prompt change of a schedule.
type scheduleChanges struct {
	when  scheduleFlags
	asked startFlags
	queue string
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
	if u.prompt == nil && len(u.fields) == 0 && !slices.ContainsFunc(scheduleUpdateFlags, u.given) && u.asked.budget.budget.IsZero() {
		return usage("nothing is given to change; give a prompt, or flags such as --cron, --every, --agent or --overlap")
	}
	return nil
}

// scheduleUpdateFlags are those that change something by being given, beside what the definition and limits tell.
var scheduleUpdateFlags = []string{
	"cron", "every", "offset", "time-zone", "jitter", "start-at", "end-at", "overlap", "catchup-window", "pause-on-failure",
	"agent", "id", "task-queue", "with", "metadata", "messages",
}

// change leaves a schedule as it is to be.
func (u *scheduleChanges) change(ctx context.Context, p *program, s *client.Schedule) error {
	u.rewhen(s)
	u.policies(s)
	if u.prompt != nil {
		s.Start.Prompt = *u.prompt
	}
	if u.given("id") {
		s.Start.ID = u.asked.id
	}
	if u.given("task-queue") {
		s.TaskQueue = u.queue
	}
	if u.given("with") {
		s.Start.Trusted = u.asked.given.trusted
	}
	if u.given("metadata") {
		s.Start.Metadata = u.asked.given.metadata
	}
	if u.given("messages") {
		s.Start.Messages = u.messages
	}
	return u.redefine(ctx, p, s)
}

// rewhen changes when it runs.
func (u *scheduleChanges) rewhen(s *client.Schedule) {
	f, when := &u.when, &s.When
	if u.given("cron") || u.given("every") {
		when.Cron, when.Every, when.Offset = f.schedule.When.Cron, contract.Span(f.every), 0
	}
	if u.given("offset") {
		when.Offset = contract.Span(f.offset)
	}
	if u.given("time-zone") {
		when.TimeZone = f.schedule.When.TimeZone
	}
	if u.given("jitter") {
		when.Jitter = contract.Span(f.jitter)
	}
	if u.given("start-at") {
		when.StartAt = f.schedule.When.StartAt
	}
	if u.given("end-at") {
		when.EndAt = f.schedule.When.EndAt
	}
}

// policies changes what becomes of runs that meet others, are late, or fail.
func (u *scheduleChanges) policies(s *client.Schedule) {
	if u.given("overlap") {
		s.Overlap = u.when.schedule.Overlap
	}
	if u.given("catchup-window") {
		s.CatchupWindow = u.when.schedule.CatchupWindow
	}
	if u.given("pause-on-failure") {
		s.PauseOnFailure = u.when.schedule.PauseOnFailure
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
