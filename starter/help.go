package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/domain/spelling"
	"everstep/starter/help"
)

func helpCommand(p *program) *cobra.Command {
	command := newCommand("help [TOPIC | COMMAND]", "Read about a topic or a command", `Shows a page about a topic, or the help of a command. Without an argument it
lists both. On a terminal a page is laid out for its width; into a file or a
pipe it is written as it is, in Markdown.`,
		`  starter help budgets
  starter help stop
  starter help configuration > configuration.md`, nil)
	command.ValidArgsFunction = completeHelp
	command.RunE = func(command *cobra.Command, args []string) error {
		root := command.Root()
		if len(args) == 0 {
			return root.Help()
		}
		if topic, ok := help.Named(args[0]); ok && len(args) == 1 {
			return p.page(topic)
		}
		found, rest, err := root.Find(args)
		if err != nil || found == root || len(rest) > 0 {
			return unknownTopic(root, args)
		}
		found.InitDefaultHelpFlag()
		return found.Help()
	}
	return command
}

func (p *program) page(topic help.Topic) error {
	topic.Text = p.named(topic.Text)
	text := topic.Text
	if p.out.Terminal {
		var err error
		if text, err = topic.Render(p.out.Width()); err != nil {
			return fmt.Errorf("help %s: %w", topic.Name, err)
		}
	}
	p.out.Printf("%s", text)
	return nil
}

// listTopics has the help of the whole program end with the topics.
func listTopics(p *program, root *cobra.Command) {
	usual := root.HelpFunc()
	root.SetHelpFunc(func(command *cobra.Command, args []string) {
		command.Long = p.out.Paragraphs(command.Long)
		usual(command, args)
		if command != root {
			return
		}
		p.out.Printf("\nTopics, as in `%s help budgets`:\n", root.Name())
		width := 0
		for _, topic := range help.Topics() {
			width = max(width, len(topic.Name))
		}
		for _, topic := range help.Topics() {
			p.out.Print(fmt.Sprintf("  %-*s  %s\n", width, topic.Name, topic.Title))
		}
	})
}

// unknownTopic says which topic or command may have been meant.
func unknownTopic(root *cobra.Command, args []string) error {
	asked := domain.Shorten(strings.Join(args, " "), 100)
	var names []string
	for _, topic := range help.Topics() {
		names = append(names, topic.Name)
	}
	names = append(names, commandNames(root)...)
	if near, ok := spelling.Nearest(asked, names); ok {
		return usage("%q is neither a topic nor a command; did you mean `%s help %s`?", asked, root.Name(), near)
	}
	return usage("%q is neither a topic nor a command; `%s help` lists both", asked, root.Name())
}

// completeHelp offers topics, then commands, then what is below them.
func completeHelp(command *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	var found []string
	offer := func(name, what string) {
		if strings.HasPrefix(name, prefix) {
			found = append(found, cobra.CompletionWithDesc(name, what))
		}
	}
	if len(args) == 0 {
		for _, topic := range help.Topics() {
			offer(topic.Name, topic.Title)
		}
	}
	if above, rest, err := command.Root().Find(args); err == nil && len(rest) == 0 {
		for _, below := range above.Commands() {
			if !below.Hidden {
				offer(below.Name(), below.Short)
			}
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}
