package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/starter/agentfile"
)

func agentsShowCommand(p *program) *cobra.Command {
	var dir string
	command := &cobra.Command{
		Use:   "show FILE|NAME",
		Short: "Show an agent as it would run",
		Long: `Shows an agent as it would run, with the defaults of all that its file leaves
out, as YAML that is an agent's file itself. What only a worker knows is not
there, such as the price of a model that the file gives none.`,
		Example: `  starter agents show reviewer
  starter agents show agents/reviewer.md --json | jq .budget`,
		Args:              argument("agent", "starter agents show agents/reviewer.md"),
		ValidArgsFunction: p.completeAgents,
		RunE: func(_ *cobra.Command, args []string) error {
			file, err := p.loadAgent(dir, args[0])
			if err != nil {
				return err
			}
			from := ""
			if file.Definition.Model.Provider == "" && p.env.value(variableModel) != "" {
				timeouts := file.Definition.Model.Timeouts
				if file.Definition.Model, err = readModel(variableModel, p.env.value(variableModel)); err != nil {
					return err
				}
				file.Definition.Model.Timeouts = timeouts
				from = "# model: from " + variableModel + "\n"
			}
			resolved := file.Resolve()
			if p.flags.json {
				return p.json(resolved)
			}
			text, err := resolved.YAML()
			if err != nil {
				return fmt.Errorf("%s: write YAML: %w", file.Path, err)
			}
			if resolved.Model == nil {
				from = "# model: none; name one with --model or " + variableModel + "\n"
			}
			p.out.printf("# %s, as it would run\n%s%s", oneLine(file.Path), from, clean(string(text)))
			return nil
		},
	}
	registerFolder(command, &dir)
	return command
}

func registerFolder(command *cobra.Command, dir *string) {
	command.Flags().StringVar(dir, "dir", "", "the `FOLDER` in which to look for agents and .everstep/agents; the current one unless given")
}

// agentsIn is the folder in which agents are looked for by name.
func (p *program) agentsIn(dir string) string {
	if dir != "" {
		return dir
	}
	return p.here
}

// loadAgent reads an agent that is named by its file or its name. Its error
// holds all that is wrong with the file.
func (p *program) loadAgent(dir, named string) (agentfile.File, error) {
	path, err := agentfile.Find(p.agentsIn(dir), named)
	if err != nil {
		return agentfile.File{}, usage("agent: " + err.Error())
	}
	file, err := agentfile.Load(path)
	if err != nil {
		return agentfile.File{}, &exitError{code: exitUsage, text: err.Error(), cause: err}
	}
	return file, nil
}

// completeAgents offers the names of agents in files; the shell offers files
// where there is none.
func (p *program) completeAgents(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return p.agentNames(args), cobra.ShellCompDirectiveDefault
}

func (p *program) agentNames(besides []string) []string {
	listed, err := p.listAgents("")
	if err != nil || len(besides) > 0 {
		return nil
	}
	var names []string
	for _, a := range listed {
		names = append(names, cobra.CompletionWithDesc(oneLine(a.Name), domain.Shorten(oneLine(a.Description), 60)))
	}
	return names
}
