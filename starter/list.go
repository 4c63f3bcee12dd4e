package main

import (
	"github.com/spf13/cobra"

	"everstep/starter/client"
	"everstep/starter/render"
)

func listCommand(p *program) *cobra.Command {
	var options client.ListOptions
	command := &cobra.Command{
		Use:   "list",
		Short: "List the agents",
		Long: `Lists the agents that the server knows, the open ones first, then the newest.
It needs no worker. What was started a moment ago may be missing. What others
started on the server as if it were an agent is named by its workflow id, and
foreign: workers refuse it.`,
		Example: `  starter list
  starter list --open --json | jq -r '.[].id'`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx := command.Context()
			s, err := p.machine.Connect(ctx, "")
			if err != nil {
				return err
			}
			defer s.Close()
			listed := []client.Listed{}
			for agent, err := range s.Agents.List(ctx, options) {
				if err != nil {
					return err
				}
				listed = append(listed, agent)
			}
			if p.flags.json {
				return p.out.JSON(listed)
			}
			if len(listed) == 0 {
				p.say("there is no agent; `%s \"…\"` starts one", p.again("run"))
				return nil
			}
			p.out.Printf("%s", render.List(listed, p.now()).Render(p.out))
			return nil
		},
	}
	command.Flags().BoolVar(&options.Open, "open", false, "leave out agents that have ended")
	command.Flags().Var(numberFlag{&options.Limit, 1, 1 << 30}, "limit", "at most so many; all unless given")
	return command
}
