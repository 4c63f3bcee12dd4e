package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"everstep/domain/enum"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
)

func scheduleCommand(p *program) *cobra.Command {
	return family(newCommand("schedule", "Have agents begin by themselves, at times", `Has agents begin by themselves, on Temporal's own schedules: by lines of cron, or
at an interval. Each run is an agent of its own or, with --id, a message to one
session. The server begins the runs; a worker has to be up for them to go on.
`+"`starter help schedules`"+` tells more.`,
		`  starter schedule create digest --agent digest --cron "0 9 * * 1-5" "Sum up"
  starter schedule list
  starter schedule show digest
  starter list --schedule digest`, nil), scheduleCreateCommand(p), scheduleListCommand(p), scheduleShowCommand(p), scheduleUpdateCommand(p), schedulePauseCommand(p), scheduleUnpauseCommand(p),
		scheduleTriggerCommand(p), scheduleDeleteCommand(p))
}

func scheduleCreateCommand(p *program) *cobra.Command {
	var asked startFlags
	schedule := client.Schedule{}
	command := newCommand(`create NAME "prompt"`, "Create a schedule", `Creates a schedule, and shows when it runs next. What is wrong is told before
anything is created: an agent's file that is broken, a line of cron that never
comes. --cron may be given several times, and beside --every.

A line of cron has 5 fields: minute, hour, day of month, month, day of week; 6
with the year after them, 7 with the second before them; or it is @hourly, @daily,
@weekly, @monthly, @yearly. All fields have to match, those of the day too.

--overlap says what becomes of a run that is due while another is under way:
Skip leaves it out, BufferOne and BufferAll have one or all wait, CancelOther
stops the one under way first, TerminateOther ends it by force, AllowAll runs
beside it. Limits hold for each run. The prompt - is read from standard input.`, `  starter schedule create digest --agent digest --cron "0 9 * * MON" "Sum up"
  starter schedule create late --agent late --cron @daily --jitter 10m "Check"
  starter schedule create watch --id watcher --every 15m --max-cost 0.05 "Look"
  starter schedule create am --cron "30 8 * * *" --time-zone Europe/Paris "Go"
  starter schedule create one --every 1h --with customer=4711 "Check the books"`, func(ctx context.Context, args []string) error {
		var err error
		if schedule.Start, err = asked.request(ctx, p, args[1]); err != nil {
			return err
		}
		schedule.Name = args[0]
		here := schedule.Start.Definition
		if here.Model.Provider == "" {
			return usage("model: is missing; name one with --model or " + local.VariableModel + ": a run opens the session where none is open")
		}
		if asked.model != "" {
			schedule.Model = &here.Model
		}
		if err := schedule.Check(p.now()); err != nil {
			return err
		}
		need := local.Need{Flags: local.Flags{TaskQueue: schedule.TaskQueue}}
		if err := p.machine.CheckLocally(ctx, need.Flags, here, schedule.Start.Budget); err != nil {
			return err
		}
		s, err := p.machine.Connect(ctx, need)
		if err != nil {
			return err
		}
		defer s.Close()
		p.warn(s.Missing(ctx))
		created, err := s.Agents.CreateSchedule(ctx, schedule)
		if err != nil {
			return err
		}
		return p.show(created, render.Schedule(p.out, created, p.now()))
	})
	command.Args = arguments(`starter schedule create digest --cron "0 9 * * *" "Sum up"`, "name", "prompt")
	registerSchedule(command, &schedule)
	command.Flags().BoolVar(&schedule.Paused, "paused", false, "begin nothing until unpause")
	asked.register(p, command)
	command.Flags().Var(textFlag(&asked.id), "id", "the `NAME` of a session that each run sends to, once it is idle, and that is opened where none is open; without one each run is an agent of its own")
	command.Flags().StringVar(&schedule.TaskQueue, "task-queue", "", "the task queue's `NAME`, where workers listen ("+local.VariableTaskQueue+")")
	return command
}

// registerSchedule adds the flags that say when a schedule runs, and how.
func registerSchedule(command *cobra.Command, schedule *client.Schedule) {
	set, when := command.Flags(), &schedule.When
	set.StringArrayVar(&when.Cron, "cron", nil, "a `LINE` of cron, such as \"0 9 * * MON-FRI\"; once for each")
	every := durationFlag((*time.Duration)(&when.Every))
	set.Var(flagValue{every.kind, "", func(text string) error {
		if err := every.set(text); err != nil || when.Every > 0 {
			return err
		}
		return errors.New("is no interval; give whole seconds from 1s on, such as 15m")
	}}, "every", "an interval in whole seconds, such as 15m, from 1970 on: 24h is each midnight UTC")
	set.Var(durationFlag((*time.Duration)(&when.Offset)), "offset", "how long after the beginning of each interval")
	set.StringVar(&when.TimeZone, "time-zone", "", "the `ZONE` of --cron, such as Europe/Berlin; UTC unless given")
	set.Var(durationFlag((*time.Duration)(&when.Jitter)), "jitter", "begin each run later by up to so much, by chance")
	set.Var(timeFlag(&when.StartAt), "start-at", "run from then on, such as 2030-01-31T12:00:00Z; none is at once")
	set.Var(timeFlag(&when.EndAt), "end-at", "run until then; none is for good")
	schedule.Overlap = client.OverlapSkip
	overlaps := enum.Known[client.Overlap]()
	set.Var(choiceFlag(&schedule.Overlap, overlaps), "overlap", "the `POLICY` for a run that is due while another is under way: "+enum.Names(overlaps, ", ")+"; Skip unless given")
	set.Var(durationFlag(&schedule.CatchupWindow), "catchup-window", "how late a run may begin that was due while the server was away; a year unless given")
	set.BoolVar(&schedule.PauseOnFailure, "pause-on-failure", false, "pause when an execution fails")
	completeWith(command, "overlap", completeWords(overlaps))
}

// timeFlag takes a time, and no duration; none is no time.
func timeFlag(target *time.Time) flagValue {
	return flagValue{"time|none", "", func(text string) error {
		at, err := time.Parse(time.RFC3339, text)
		if text == noLimit {
			at, err = time.Time{}, nil
		}
		if err != nil {
			return errors.New("is no time; write it like 2030-01-31T12:00:00Z, or none")
		}
		*target = at
		return nil
	}}
}

func scheduleListCommand(p *program) *cobra.Command {
	return newCommand("list", "List the schedules of agents", `Lists the schedules of agents that the server knows, those of other workflows
aside. It needs no worker. What was created a moment ago may be missing.`, `  starter schedule list
  starter schedule list --json | jq -r '.[] | select(.paused) | .name'`, func(ctx context.Context, _ []string) error {
		s, err := p.machine.Connect(ctx, local.Need{Back: true})
		if err != nil {
			return err
		}
		defer s.Close()
		listed, err := gathered(s.Agents.Schedules(ctx))
		if err != nil {
			return err
		}
		return p.table(listed, render.Schedules(listed, p.now()), "there is no schedule; `"+p.again("schedule", "create")+"` creates one")
	})
}

// withSchedule is newCommand of one that does something with the schedule that its argument names.
func (p *program) withSchedule(use, short, long, example string, run agentWork) *cobra.Command {
	command := newCommand(use, short, long, example, func(ctx context.Context, args []string) error {
		s, err := p.machine.Connect(ctx, local.Need{Back: true})
		if err != nil {
			return err
		}
		defer s.Close()
		return run(ctx, s, args[0])
	})
	command.Args = arguments("starter schedule "+command.Name()+" digest", "name")
	command.ValidArgsFunction = p.completeSchedules
	return command
}

func (p *program) completeSchedules(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return p.completing(func(ctx context.Context, agents *client.Client) (names []string) {
		for one, err := range agents.Schedules(ctx) {
			if err != nil || len(names) == completeMost {
				break
			}
			if strings.HasPrefix(one.Name, prefix) {
				names = append(names, render.OneLine(one.Name))
			}
		}
		return names
	})
}

func scheduleShowCommand(p *program) *cobra.Command {
	return p.withSchedule("show NAME", "Show a schedule: when it runs, what, and what came of it", `Shows when a schedule runs, what each run begins with, and what came of the newest
runs, ten at most. It needs no worker. A run that waits for a worker is pending.`, `  starter schedule show digest
  starter schedule show digest --json | jq -r '.runs[-1].id'`, func(ctx context.Context, s *local.Stack, name string) error {
		view, err := s.Agents.Schedule(ctx, name)
		if err != nil {
			return err
		}
		return p.show(view, render.Schedule(p.out, view, p.now()))
	})
}

func schedulePauseCommand(p *program) *cobra.Command {
	return p.pausingSchedule(true, "pause NAME", "Have a schedule begin nothing until unpause", `Has a schedule begin nothing until unpause, but for trigger. Runs under way go on;
what is due meanwhile is left out.`,
		`  starter schedule pause digest --reason "holidays"`)
}

func scheduleUnpauseCommand(p *program) *cobra.Command {
	return p.pausingSchedule(false, "unpause NAME", "Have a paused schedule run again", `Has a paused schedule run again, from its next time on.`,
		`  starter schedule unpause digest`)
}

// pausingSchedule is newCommand of one that pauses a schedule, or ends its pause.
func (p *program) pausingSchedule(on bool, use, short, long, example string) *cobra.Command {
	var reason string
	command := p.withSchedule(use, short, long, example, func(ctx context.Context, s *local.Stack, name string) error {
		done, err := s.Agents.PauseSchedule(ctx, name, on, reason)
		now, before := "runs again", "was not paused"
		if done.Paused {
			now, before = "begins nothing until `"+p.again("schedule", "unpause", name)+"`", "was paused already"
		}
		return p.switched(done, err, done.Changed, name, now, before)
	})
	command.Flags().StringVar(&reason, "reason", "", "a `TEXT` that show and list tell")
	return command
}

func scheduleTriggerCommand(p *program) *cobra.Command {
	var overlap client.Overlap
	command := p.withSchedule("trigger NAME", "Have a schedule run now", `Has a schedule run now, paused or not, and prints the agent's id once a worker
has begun it. Where another run is under way its overlap policy holds: one that
leaves this one out is refused (exit 6).`, `  id=$(starter schedule trigger digest)
  starter schedule trigger digest --overlap AllowAll`, func(ctx context.Context, s *local.Stack, name string) error {
		run, err := s.Agents.TriggerSchedule(ctx, name, overlap)
		switch {
		case err != nil:
			return err
		case run.WorkflowID == "":
			p.say("the run waits for the one under way; `%s` tells of both", p.again("schedule", "show", name))
		case run.ID == "":
			p.say("the run waits for a worker; `%s` tells when it has begun", p.again("schedule", "show", name))
		}
		return p.show(run, render.Within("", render.OneLine(run.ID), "\n"))
	})
	overlaps := enum.Known[client.Overlap]()
	command.Flags().Var(choiceFlag(&overlap, overlaps), "overlap", "the `POLICY` for this run, of "+enum.Names(overlaps, ", ")+"; the schedule's own unless given")
	completeWith(command, "overlap", completeWords(overlaps))
	return command
}

func scheduleDeleteCommand(p *program) *cobra.Command {
	return p.withSchedule("delete NAME", "Delete a schedule", `Deletes a schedule. Its agents stay, and those under way go on: their ids are
told, for stop.`, `  starter schedule delete digest`, func(ctx context.Context, s *local.Stack, name string) error {
		deleted, err := s.Agents.DeleteSchedule(ctx, name)
		if err != nil {
			return err
		}
		for _, id := range deleted.Running {
			p.say("%s goes on; `%s` ends it", id, p.again("stop", id))
		}
		return p.done(deleted, "schedule %s is deleted", name)
	})
}

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
