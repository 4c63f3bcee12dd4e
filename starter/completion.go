package main

import (
	"context"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/local"
	"everstep/starter/render"
	"everstep/worker/host"
)

func completionCommand(p *program) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	command := newCommand("completion SHELL", "Print a script that completes commands in a shell", `Prints a script with which a shell completes commands, flags, and the ids of
agents where a server is up, or records are named. Shells: bash, zsh, fish, powershell.`,
		`  source <(starter completion bash)
  starter completion zsh > "${fpath[1]}/_starter"
  starter completion fish | source`, nil)
	command.ValidArgs = shells
	command.RunE = func(command *cobra.Command, args []string) error {
		root := command.Root()
		switch args[0] {
		case "bash":
			return root.GenBashCompletionV2(p.out, true)
		case "zsh":
			return root.GenZshCompletion(p.out)
		case "fish":
			return root.GenFishCompletion(p.out, true)
		case "powershell":
			return root.GenPowerShellCompletionWithDesc(p.out)
		}
		return usage("shell: %q is none of %s", domain.Shorten(args[0], 100), strings.Join(shells, ", "))
	}
	return command
}

// described has no flag's description show the quotes by which help finds the name of its value: the shell shows it as it is.
func described(command *cobra.Command) {
	bare := func(flag *pflag.Flag) { _, flag.Usage = pflag.UnquoteUsage(flag) }
	command.PersistentFlags().VisitAll(bare)
	command.LocalNonPersistentFlags().VisitAll(bare)
	for _, below := range command.Commands() {
		described(below)
	}
}

// completeMost bounds how many ids the user's shell is given.
const completeMost = 200

// completing are suggestions of what a server knows; none where it does not answer in time.
func (p *program) completing(suggest func(ctx context.Context, agents *client.Client) []string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(context.Background(), 1500*time.Millisecond) // the user's shell waits
	defer cancel()
	p.flags.quiet = true
	s, err := p.machine.Connect(ctx, local.Need{Reads: true})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer s.Close()
	return suggest(ctx, s.Agents), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

func (p *program) completeIDs(command *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return p.completing(func(ctx context.Context, agents *client.Client) (ids []string) {
		options := client.ListOptions{Limit: completeMost}
		for _, all := range []iter.Seq2[client.Listed, error]{agents.List(ctx, options), agents.ListRecorded(ctx, options)} {
			for agent, err := range all {
				if err != nil {
					break
				}
				if !agent.Foreign && strings.HasPrefix(agent.ID, prefix) && len(ids) < completeMost {
					ids = append(ids, cobra.CompletionWithDesc(render.OneLine(agent.ID), string(agent.Status)))
				}
			}
		}
		return ids
	})
}

// completeExecutions offers those of the agent that is named, by their numbers.
func (p *program) completeExecutions(command *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return p.completing(func(ctx context.Context, agents *client.Client) (numbers []string) {
		for past, err := range agents.Executions(ctx, args[0]) {
			if number := strconv.Itoa(past.Number); err == nil && strings.HasPrefix(number, prefix) {
				numbers = append(numbers, cobra.CompletionWithDesc(number, string(past.Status)))
			}
		}
		return numbers[max(len(numbers)-completeMost, 0):]
	})
}

func completeWith(command *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := command.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the flag is not this command's: a mistake of ours
	}
}

func completeTools(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var tools []string
	for _, spec := range local.BuiltinTools() {
		first, _, _ := strings.Cut(spec.Description, ".")
		tools = append(tools, cobra.CompletionWithDesc(spec.Name, first))
	}
	return tools, cobra.ShellCompDirectiveNoFileComp
}

func completeModels(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if strings.Contains(prefix, "/") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var models []string
	for _, provider := range host.ProviderNames() {
		models = append(models, provider+"/")
	}
	return models, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}
