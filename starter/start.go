package main

import (
	"github.com/spf13/cobra"

	"everstep/starter/local"
	"everstep/starter/render"
)

func startCommand(p *program) *cobra.Command {
	var asked startFlags
	var taskQueue string
	command := &cobra.Command{
		Use:   `start [flags] "prompt"`,
		Short: "Start an execution and return",
		Long: `Starts an execution, prints the agent's id, and returns. The server must be up;
a worker may come later. The prompt - is read from standard input.`,
		Example: `  id=$(starter start --model openai-chat/gpt-5-mini "Write a haiku")
  starter start --id notes --json "What is new?"
  starter start --agent reviewer "Review the newest file"
  starter result "$id"`,
		Args: argument("prompt", `starter start "Write a haiku"`),
		RunE: func(command *cobra.Command, args []string) error {
			ctx := command.Context()
			request, err := asked.request(p, args[0])
			if err != nil {
				return err
			}
			if err := p.machine.CheckLocally(ctx, local.Flags{TaskQueue: taskQueue}, request.Definition); err != nil {
				return err
			}
			s, err := p.machine.Connect(ctx, taskQueue)
			if err != nil {
				return err
			}
			defer s.Close()
			execution, err := begin(ctx, s.Agents, request)
			if err != nil {
				return err
			}
			return p.show(execution, render.OneLine(execution.ID)+"\n")
		},
	}
	asked.register(p, command)
	command.Flags().StringVar(&taskQueue, "task-queue", "", "the task queue's `NAME`, where workers listen ("+local.VariableTaskQueue+")")
	return command
}
