package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"everstep/starter/render"
)

// A verdict says how a check came out.
type verdict string

const (
	verdictOK   verdict = "ok"
	verdictWarn verdict = "warn"
	verdictFail verdict = "fail"
)

// A check is one line of doctor's report.
type check struct {
	Name    string  `json:"name"`
	Verdict verdict `json:"verdict"`
	Detail  string  `json:"detail"`
	// Fix says what to do, where something is to be done.
	Fix string `json:"fix,omitzero"`

	// code is the exit code of a failure, where it is not exitOther.
	code int
}

func ok(name, format string, args ...any) check {
	return check{Name: name, Verdict: verdictOK, Detail: fmt.Sprintf(format, args...)}
}

func (c check) warn(fix string) check { c.Verdict, c.Fix = verdictWarn, fix; return c }
func (c check) fail(fix string) check { c.Verdict, c.Fix = verdictFail, fix; return c }

func doctorCommand(p *program) *cobra.Command {
	var f stackFlags
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is reachable, configured and missing",
		Long: `Looks at the configuration, the server, its search attributes, the workers, the
storage, the models' prices, and each provider's base URL and key, and says what
to do about what is missing. It starts, writes and downloads nothing, asks no
provider, and shows no key. Exits 1 where something is broken, 5 where the
configured server is not there.`,
		Example: `  starter doctor
  starter doctor --address temporal.example.com:7233
  starter doctor --json | jq '.[] | select(.verdict != "ok")'`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			checks := p.examine(command.Context(), f)
			if err := p.showChecks(checks); err != nil {
				return err
			}
			return worst(checks)
		},
	}
	command.Flags().SortFlags = false
	f.register(command)
	return command
}

// examine makes all checks, in the order in which things are needed.
func (p *program) examine(ctx context.Context, f stackFlags) []check {
	checks := []check{ok("everstep", "%s", version())}
	configuration, connection := p.checkConfiguration()
	checks = append(checks, configuration)
	if !connection.Configured {
		checks = append(checks, p.checkBinary(ctx))
	}
	serverCheck, s := p.checkServer(ctx, connection, f)
	checks = append(checks, serverCheck)
	if s != nil {
		defer s.close()
		checks = append(checks, s.checkAttributes(ctx), s.checkWorkers(ctx))
	}
	checks = append(checks, p.checkStorage(ctx, connection.Configured, s), p.checkFolder(f), p.checkModel(ctx))
	return append(append(checks, p.checkPrices()...), p.checkProviders(f)...)
}

func (p *program) showChecks(checks []check) error {
	if p.flags.json {
		return p.out.JSON(checks)
	}
	t := p.out.Theme
	for _, c := range checks {
		paint := map[verdict]func(...string) string{verdictOK: t.Good, verdictWarn: t.Warn, verdictFail: t.Bad}[c.Verdict]
		p.out.Printf("%s  %s %s\n", paint(fmt.Sprintf("%-4s", c.Verdict)), t.Head(fmt.Sprintf("%-14s", c.Name)), render.OneLine(c.Detail))
		if c.Fix != "" {
			p.out.Printf("%s%s\n", strings.Repeat(" ", 21), t.Faint("→ "+render.OneLine(c.Fix)))
		}
	}
	return nil
}

// worst is the error that stands for what failed.
func worst(checks []check) error {
	for _, c := range checks {
		if c.Verdict == verdictFail && c.code != 0 {
			return &exitError{code: c.code}
		}
	}
	for _, c := range checks {
		if c.Verdict == verdictFail {
			return &exitError{code: exitOther}
		}
	}
	return nil
}
