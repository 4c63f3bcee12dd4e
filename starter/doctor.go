package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"everstep/starter/local"
	"everstep/starter/render"
)

func doctorCommand(p *program) *cobra.Command {
	var f local.Flags
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is reachable, configured and missing",
		Long: `Looks at the configuration, the server, its search attributes, the workers, the
storage, the models' prices, and each provider's base URL and key, and says what
to do about what is missing. It starts, writes and downloads nothing, asks no
provider, and shows no key. It counts the open agents of the task queue that none
of its workers, or without a worker not this program, has begun: another build
need not be able to go on with them. Exits 1 where something is broken, 5 where the
configured server is not there.`,
		Example: `  starter doctor
  starter doctor --address temporal.example.com:7233
  starter doctor --json | jq '.[] | select(.verdict != "ok")'`,
		RunE: func(command *cobra.Command, _ []string) error {
			checks := p.machine.Examine(command.Context(), f, version())
			if err := p.showChecks(checks); err != nil {
				return err
			}
			return worst(checks)
		},
	}
	f.Register(command.Flags())
	return command
}

func (p *program) showChecks(checks []local.Check) error {
	t := p.out.Theme
	var text strings.Builder
	for _, c := range checks {
		paint := map[local.Verdict]func(...string) string{local.VerdictOK: t.Good, local.VerdictWarn: t.Warn, local.VerdictFail: t.Bad}[c.Verdict]
		fmt.Fprintf(&text, "%s  %s %s\n", paint(fmt.Sprintf("%-4s", c.Verdict)), t.Head(fmt.Sprintf("%-14s", c.Name)), render.OneLine(c.Detail))
		if c.Fix != "" {
			fmt.Fprintf(&text, "%s%s\n", strings.Repeat(" ", 21), t.Faint("→ "+render.OneLine(c.Fix)))
		}
	}
	return p.show(checks, text.String())
}

// worst is the error that stands for what failed.
func worst(checks []local.Check) error {
	var failed error
	for _, c := range checks {
		switch {
		case c.Verdict != local.VerdictFail:
		case c.Unreachable:
			return &exitError{code: exitUnreachable}
		default:
			failed = &exitError{code: exitOther}
		}
	}
	return failed
}
