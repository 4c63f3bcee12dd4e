package main

import (
	"github.com/spf13/cobra"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/local"
)

func sendCommand(p *program) *cobra.Command {
	var model string
	var wait bool
	var l budgetFlags
	command := &cobra.Command{
		Use:   `send ID "message"`,
		Short: "Give an idle agent its next message",
		Long: `Gives a named agent a message, which begins its next execution. It is refused
while one is in progress. The message - is read from standard input.`,
		Example: `  starter send notes "And which file is the newest?" --wait
  starter send notes --model openai-chat/gpt-5 --max-steps 5 "Think again"`,
		Args: arguments([]string{"id", "message"}, `starter send notes "And then?"`),
		RunE: func(command *cobra.Command, args []string) error {
			ctx := command.Context()
			options := client.SendOptions{Budget: l.budget}
			if err := checkID(args[0]); err != nil {
				return err
			}
			if model != "" {
				chosen, err := local.ReadModel("model", model)
				if err != nil {
					return err
				}
				options.Model = &chosen
				if err := p.machine.CheckLocally(ctx, local.Flags{}, domain.Definition{Model: chosen}); err != nil {
					return err
				}
			}
			var err error
			if options.Prompt, err = p.prompt(args[1]); err != nil {
				return err
			}
			s, err := p.machine.ConnectTo(ctx, args[0])
			if err != nil {
				return err
			}
			defer s.Close()
			execution, err := s.Agents.Send(ctx, args[0], options)
			switch {
			case err != nil:
				return err
			case wait:
				v := p.newView(execution.ID, s.UI(execution.ID, execution.RunID))
				return p.follow(ctx, followed{stack: &local.Stack{Server: s}, view: v}, execution)
			}
			return p.done(execution, "execution %d of %s has begun", execution.Number, execution.ID)
		},
	}
	command.Flags().BoolVar(&wait, "wait", false, "follow the execution to its end, as run does")
	command.Flags().StringVar(&model, "model", "", "`PROVIDER/MODEL`: who answers from now on")
	l.register(command.Flags(), p.now)
	command.ValidArgsFunction = p.completeIDs
	p.completeWith(command, "model", completeModels)
	return command
}
