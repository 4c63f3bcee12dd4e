package main

import (
	"github.com/spf13/cobra"

	"everstep/starter/devserver"
)

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
