package main

import (
	"github.com/spf13/cobra"

	"everstep/starter/local"
)

func runCommand(p *program) *cobra.Command {
	var asked startFlags
	var f local.Flags
	command := &cobra.Command{
		Use:   `run [flags] "prompt"`,
		Short: "Start an execution and follow it to the end",
		Long: `Starts an execution and follows it to the end: the answer goes to standard
output, everything else to standard error.

Where no server is configured, a dev server is joined or started, and a worker
runs for as long as this command does. An execution that is left in the middle
goes on when a worker runs again: watch, run and dev bring one up.

Ctrl-C leaves the execution as it is; stop ends it. extend raises a limit at which
it stopped, and goes on from there; explain says why it ended, and what it cost.
The prompt - is read from standard input.`,
		Example: `  starter run --model scripted/hello.yaml "Say hello"
  starter run --model openai-chat/gpt-5-mini --tool list_files,read_file "What is in this folder?"
  starter run --id notes --max-tokens 20000 --deadline 5m "Sum up the newest file"
  starter run --agent agents/reviewer.md --max-cost 0.25 "Review the newest file"
  git diff | starter run --system "You review Go code." - > review.txt`,
		Args: argument("prompt", `starter run "What is in this folder?"`),
		RunE: func(command *cobra.Command, args []string) error {
			ctx := command.Context()
			request, err := asked.request(p, args[0])
			if err != nil {
				return err
			}
			if err := p.machine.CheckLocally(ctx, f, request.Definition); err != nil {
				return err
			}
			s, err := p.machine.BringUp(ctx, f)
			if err != nil {
				return err
			}
			defer s.Close()
			execution, err := begin(ctx, s.Agents, request)
			if err != nil {
				return err
			}
			v := p.newView(execution.ID, s.UI(execution.ID, execution.RunID))
			return p.follow(ctx, followed{stack: s, view: v}, execution)
		},
	}
	asked.register(p, command)
	f.Register(command.Flags())
	return command
}
