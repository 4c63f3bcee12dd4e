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
	"everstep/starter/help"
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
