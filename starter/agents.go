package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/domain/spelling"
	"everstep/starter/agentfile"
)

func agentsCommand(p *program) *cobra.Command {
	command := &cobra.Command{
		Use:   "agents",
		Short: "List, show and check agents in files",
		Long: `An agent can be defined in a file: YAML, or Markdown whose front matter has the
keys and whose text is the system prompt. run and start take it with --agent, by
its path, or by its name where it lies in ./agents or ./.everstep/agents. What
runs is what the file said at the start: editing it changes no running agent.`,
		Example: `  starter agents list
  starter agents check agents/reviewer.md
  starter run --agent reviewer "Review the newest file"`,
		Args: func(command *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			var names []string
			for _, sub := range command.Commands() {
				names = append(names, sub.Name())
			}
			word := domain.Shorten(args[0], 100)
			if near, ok := spelling.Nearest(args[0], names); ok {
				return usage(fmt.Sprintf("%q is not a command; did you mean `%s %s`?", word, command.CommandPath(), near))
			}
			return usage(fmt.Sprintf("%q is not a command; `%s --help` lists those that there are", word, command.CommandPath()))
		},
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(agentsListCommand(p), agentsShowCommand(p), agentsCheckCommand(p), agentsSchemaCommand(p))
	return command
}

// A listedAgent is an agent's file as `agents list` gives it.
type listedAgent struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Model is provider/name; empty where the file names none.
	Model string `json:"model"`
	File  string `json:"file"`
	// Problems counts what is wrong with the file.
	Problems int `json:"problems"`
}

func agentsListCommand(p *program) *cobra.Command {
	var dir string
	command := &cobra.Command{
		Use:   "list",
		Short: "List the agents in the usual folders",
		Long: `Lists the agents in the folders agents and .everstep/agents of the current
folder. A broken file is listed with the number of its problems; check names
them.`,
		Example: `  starter agents list
  starter agents list --dir ~/work --json | jq -r '.[] | select(.problems == 0).name'`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			listed, err := p.listAgents(dir)
			if err != nil {
				return err
			}
			if p.flags.json {
				return p.json(listed)
			}
			if len(listed) == 0 {
				p.say("there is no agent's file in ./agents or ./.everstep/agents")
				return nil
			}
			t := table{head: []string{"NAME", "MODEL", "FILE", "DESCRIPTION"}}
			for _, a := range listed {
				description := a.Description
				if a.Problems > 0 {
					description = "broken: " + counted(int64(a.Problems), "problem")
				}
				t.rows = append(t.rows, []string{oneLine(a.Name), oneLine(orDash(a.Model)), oneLine(a.File), oneLine(description)})
			}
			p.out.printf("%s", t.render(p.out))
			return nil
		},
	}
	registerFolder(command, &dir)
	return command
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// listAgents lists the agents below a folder, which is the current one unless given.
func (p *program) listAgents(dir string) ([]listedAgent, error) {
	found, err := agentfile.List(p.agentsIn(dir))
	if err != nil {
		return nil, err
	}
	listed := []listedAgent{}
	for _, l := range found {
		agent := listedAgent{Name: l.File.Name, Description: l.File.Description, File: l.File.Path, Problems: len(l.Problems)}
		if model := l.File.Definition.Model; model.Provider != "" {
			agent.Model = model.String()
		}
		listed = append(listed, agent)
	}
	return listed, nil
}

func agentsSchemaCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of agents' files, for editors",
		Long: `Prints the JSON Schema of an agent's file. An editor that knows YAML completes
and checks keys with it, where the file's first line names it:

  # yaml-language-server: $schema=agent.schema.json`,
		Example: `  starter agents schema > agents/agent.schema.json`,
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			text, err := json.MarshalIndent(agentfile.Schema(), "", "  ")
			p.out.printf("%s\n", text)
			return err
		},
	}
}
