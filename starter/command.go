package main

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"everstep/domain"
	"everstep/domain/spelling"
	"everstep/starter/client"
	"everstep/starter/help"
	"everstep/starter/local"
)

// flagError says what is wrong with a flag: its name, what was given, the fix.
func flagError(command *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return unknownFlag(command, unknown)
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return usage("--%s: needs a value; `%s --help` says which", missing.GetFlag().Name, command.CommandPath())
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		flag, cause := invalid.GetFlag(), invalid.Unwrap().Error()
		if flag.Value.Type() == "bool" {
			cause = "is neither true nor false"
		}
		return usage("--%s: %q %s", flag.Name, domain.Shorten(invalid.GetValue(), 100), cause)
	}
	return usage("%s; see `%s --help`", err, command.CommandPath())
}

// givenTogether names the flags of a command that exclude each other, as cobra has noted of them, and were given.
func givenTogether(command *cobra.Command) error {
	var names []string
	command.Flags().Visit(func(flag *pflag.Flag) {
		if len(flag.Annotations["cobra_annotation_mutually_exclusive"]) > 0 {
			names = append(names, "--"+flag.Name)
		}
	})
	return usage("%s: exclude each other; give one of them", strings.Join(names, ", "))
}

func unknownFlag(command *cobra.Command, unknown *pflag.NotExistError) error {
	if words := command.Flags().Args(); command.HasSubCommands() && len(words) > 0 { // it may be a flag of what is meant
		return notACommand(command, words[0])
	}
	if group := unknown.GetSpecifiedShortnames(); group != "" {
		return usage("-%s: there is no such flag; `%s --help` lists those that there are, and a prompt that begins with a dash goes after --", group, command.CommandPath())
	}
	var names []string
	command.Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			names = append(names, flag.Name)
		}
	})
	name := unknown.GetSpecifiedName()
	if near, ok := spelling.Nearest(name, names); ok {
		return usage("--%s: there is no such flag; did you mean --%s?", name, near)
	}
	return usage("--%s: there is no such flag; `%s --help` lists those that there are", name, command.CommandPath())
}

func notACommand(above *cobra.Command, word string) error {
	word = domain.Shorten(word, 100)
	if topic, ok := help.Named(word); ok {
		return usage("%q is not a command; did you mean `%s help %s`?", word, above.Root().Name(), topic.Name)
	}
	if near, ok := spelling.Nearest(word, commandNames(above)); ok {
		return usage("%q is not a command; did you mean `%s %s`?", word, above.CommandPath(), near)
	}
	return usage("%q is not a command; `%s --help` lists those that there are", word, above.CommandPath())
}

// newCommand is a command with its help: how it is used, what it does in a line and at length, and examples. do is what it does
// with its arguments; nil: whoever calls says.
func newCommand(use, short, long, example string, do func(ctx context.Context, args []string) error) *cobra.Command {
	command := &cobra.Command{Use: use, Short: short, Long: long, Example: example}
	if do != nil {
		command.RunE = func(command *cobra.Command, args []string) error { return do(command.Context(), args) }
	}
	return command
}

// family completes a command that is there for those below it alone.
func family(above *cobra.Command, below ...*cobra.Command) *cobra.Command {
	above.Args = func(command *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return notACommand(command, args[0])
	}
	above.RunE = func(command *cobra.Command, _ []string) error { return command.Help() }
	above.AddCommand(below...)
	return above
}

func commandNames(above *cobra.Command) []string {
	var names []string
	for _, command := range above.Commands() {
		if !command.Hidden {
			names = append(names, command.Name())
		}
	}
	return names
}

// finish completes a command and those below it: it is called as the program was, takes the arguments that its usage names
// before its flags, as in its first example, and has an id completed.
func (p *program) finish(command *cobra.Command) {
	command.Long, command.Example = p.named(command.Long), p.named(command.Example)
	var names []string
	usage, _, _ := strings.Cut(strings.NewReplacer(`"`, "", " [flags]", "").Replace(strings.ToLower(command.Use)), " --")
	if words := strings.Fields(usage); len(words) > 1 {
		names = words[1:]
	}
	if command.Args == nil && command.RunE != nil && !command.Hidden {
		like, _, _ := strings.Cut(strings.TrimSpace(command.Example), "\n")
		command.Args = arguments(like, names...)
	}
	if command.ValidArgsFunction == nil && len(names) > 0 && strings.Trim(names[0], "[]") == "id" {
		command.ValidArgsFunction = p.completeIDs
	}
	for _, below := range command.Commands() {
		p.finish(below)
	}
}

// arguments are what a command takes, each by its name; those in brackets, at the end, may be left out.
func arguments(example string, what ...string) cobra.PositionalArgs {
	needed := len(what)
	for needed > 0 && strings.HasPrefix(what[needed-1], "[") {
		needed--
	}
	return func(command *cobra.Command, args []string) error {
		example := command.Root().Name() + strings.TrimPrefix(example, "starter")
		switch more := len(args) > len(what); {
		case len(args) < needed:
			return usage("%s: is missing; write it as in: %s", what[len(args)], example)
		case more && len(what) == 0:
			return usage("%q: `%s` takes no argument", domain.Shorten(args[0], 100), command.CommandPath())
		case more:
			return usage("%q: is one argument too many; put texts in quotes, as in: %s", domain.Shorten(args[len(what)], 100), example)
		}
		return nil
	}
}

func (p *program) called() string { return cmp.Or(p.name, "starter") }

// named has the commands of a help carry the name by which the program was called.
func (p *program) named(text string) string {
	return usualName.ReplaceAllString(text, "${1}"+p.called()+" ")
}

var usualName = regexp.MustCompile("(?m)(^|[ `(<])starter ")

// An agentWork is what a command does with the agent that its argument names, or the schedule.
type agentWork func(ctx context.Context, s *local.Stack, id string) error

// looks is the need of a command that needs no worker. The dev server that has been there is brought back for it; where no server
// is up, the records are read.
func looks() local.Need { return local.Need{Back: true, Reads: true} }

// withAgent is newCommand of one that does something with the agent that its argument names. Flags may change the need.
func (p *program) withAgent(need *local.Need, use, short, long, example string, do agentWork) *cobra.Command {
	return newCommand(use, short, long, example, func(ctx context.Context, args []string) error { return p.onAgent(ctx, args, *need, do) })
}

// leastToAct is the shortest beginning of an id by which a command changes an agent: a shorter one is too easily that of another.
const leastToAct = 4

// onAgent does something with the agent that the first argument means. Without one it is that which the need names, by its whole id
// that was checked, or none. What only looks takes any beginning of an id. Where the records have told, since no server was up, that is said.
func (p *program) onAgent(ctx context.Context, args []string, need local.Need, do agentWork) error {
	if len(args) > 0 {
		need.ID = args[0]
		if err := client.CheckID(need.ID); err != nil {
			return err
		}
	}
	s, err := p.machine.Connect(ctx, need)
	if err != nil {
		return err
	}
	defer s.Close()
	id := need.ID
	if len(args) > 0 {
		if id, err = p.idOf(ctx, s, need.ID); err != nil {
			return err
		}
		if looks := need.Back || need.Reads; !looks && id != need.ID && len(need.ID) < leastToAct {
			return usage("id: %q is short for a command that changes an agent; write at least %d characters of %s, or all of it", need.ID, leastToAct, id)
		}
	}
	err = do(ctx, s, id)
	if s.Unreached && !client.Is(err, client.Unreachable) {
		p.say("no server is up: this is what the records tell")
	}
	return err
}

// changing is withAgent of a command that changes it.
func (p *program) changing(use, short, long, example string, do agentWork) *cobra.Command {
	return p.withAgent(&local.Need{}, use, short, long, example, do)
}

// change is onAgent for what changes it.
func (p *program) change(ctx context.Context, args []string, do agentWork) error {
	return p.onAgent(ctx, args, local.Need{}, do)
}

// looking is withAgent of a command that only looks.
func (p *program) looking(use, short, long, example string, do agentWork) *cobra.Command {
	return p.withAgent(new(looks()), use, short, long, example, do)
}

// idOf is the id of the agent that an argument means, which may be the beginning of one. It is shown then.
func (p *program) idOf(ctx context.Context, s *local.Stack, argument string) (string, error) {
	id, err := s.Agents.Find(ctx, argument)
	if err == nil && id != argument {
		p.say("%s is %s", argument, id)
	}
	return id, err
}
