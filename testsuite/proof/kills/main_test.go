package kills

import (
	"context"
	"fmt"
	"os"
	"testing"

	"everstep/starter/devserver"
)

// TestMain lets the test binary be what the proof starts: the supervisor of the dev server, and the workers that are killed.
func TestMain(m *testing.M) {
	commands := map[string]func(context.Context, []string) error{
		devserver.SupervisorCommand: devserver.Supervise,
		WorkerCommand:               Worker(nil),
	}
	if len(os.Args) > 1 && commands[os.Args[1]] != nil {
		if err := commands[os.Args[1]](context.Background(), os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
