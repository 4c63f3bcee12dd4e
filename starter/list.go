package main

import (
	"time"

	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/starter/client"
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
			s, err := p.connect(ctx, "")
			if err != nil {
				return err
			}
			defer s.close()
			listed := []client.Listed{}
			for agent, err := range s.agents.List(ctx, options) {
				if err != nil {
					return err
				}
				listed = append(listed, agent)
			}
			if p.flags.json {
				return p.json(listed)
			}
			if len(listed) == 0 {
				p.say("there is no agent; `%s \"…\"` starts one", p.again("run"))
				return nil
			}
			p.out.printf("%s", listing(listed, p.now()).render(p.out))
			return nil
		},
	}
	command.Flags().SortFlags = false
	command.Flags().BoolVar(&options.Open, "open", false, "leave out agents that have ended")
	command.Flags().Var(ranged{&options.Limit, 1, 1 << 30}, "limit", "at most so many; all unless given")
	return command
}

// listing is the table of a list, what matters least on the right.
func listing(agents []client.Listed, now time.Time) table {
	t := table{head: []string{"ID", "STATUS", "SESSION", "STEPS", "AGE", "EXECUTION", "WHY"}}
	for _, a := range agents {
		steps, session, age := "-", "ended", "-"
		if a.Steps != nil {
			steps = grouped(int64(*a.Steps))
		}
		switch {
		case a.Foreign:
			session = "foreign"
		case a.Open && a.Status.Terminal():
			session = "idle"
		case a.Open:
			session = "running"
		}
		if !a.StartedAt.IsZero() {
			age = duration(now.Sub(a.StartedAt))
		}
		why := ""
		switch {
		case a.Foreign:
			why = "not started by Everstep"
		case a.Code != "":
			why = string(a.Code)
		case a.StopReason != domain.Completed:
			why = string(a.StopReason)
		}
		t.rows = append(t.rows, []string{
			oneLine(a.ID), string(a.Status), session, steps, age, grouped(int64(a.Number)), oneLine(why),
		})
	}
	return t
}
