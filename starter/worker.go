package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"everstep/starter/devserver"
	"everstep/starter/local"
	"everstep/worker/host"
)

// workerCommandOf is the worker that other commands start, as the same program
// again. Whoever runs workers of their own takes everstep/worker.
func workerCommandOf(p *program) *cobra.Command {
	command := host.Command(host.Config{})
	command.Use, command.Hidden = local.WorkerCommand, true
	serve := command.RunE
	bound := command.Flags().Bool(local.FlagUntilStdinEnds, false, "stop when standard input ends")
	command.RunE = func(command *cobra.Command, args []string) error {
		ctx, cancel := context.WithCancel(command.Context())
		defer cancel()
		if *bound {
			go func() {
				_, _ = io.Copy(io.Discard, p.in) // nothing is sent: it returns when the other side is gone
				cancel()
			}()
		}
		command.SetContext(ctx)
		return serve(command, args)
	}
	return command
}

// supervisorCommand runs the dev server for as long as anybody uses it. It is
// started by the commands that need one.
func supervisorCommand() *cobra.Command {
	return &cobra.Command{
		Use: devserver.SupervisorCommand, Hidden: true, DisableFlagParsing: true,
		RunE: func(command *cobra.Command, args []string) error {
			return devserver.Supervise(command.Context(), args)
		},
	}
}
