package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/contrib/envconfig"

	"everstep/starter/devserver"
	"everstep/starter/local"
	"everstep/starter/render"
	"everstep/testsuite/proof/kills"
)

// TestMain lets the test binary be what the program starts: the supervisor of the dev server, and workers.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains([]string{devserver.SupervisorCommand, kills.WorkerCommand}, os.Args[1]) {
		main()
	}
	os.Exit(m.Run())
}

// call runs a command line and returns its exit code, standard output and standard error.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err strings.Builder
	env := local.Environment{Environment: envconfig.EnvLookupOS}
	code = newProgram(env, render.Plain(&out), render.Plain(&err)).run(t.Context(), args)
	return code, out.String(), err.String()
}

// TestWrongCommandLinesAreRefused names the flag and what it takes.
func TestWrongCommandLinesAreRefused(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"chaos --kills 0":                     `"--kills" flag: is no whole number from 1`,
		"chaos --lanes 65":                    `"--lanes" flag: is no whole number from 1 to 64`,
		"chaos --boundary nowhere":            `--boundary: "nowhere" is none of before_request`,
		"chaos --plain --boundary in_summary": "no plain agent reaches in_summary; leave out --plain, or name one of before_request",
		"chaos --tools 1 --trees 1":           "[trees tools]",
		"chaos --tools 1 --kills 3":           "[tools kills]",
		"crowd --agents 1":                    `"--agents" flag: is no whole number from 2 to 2000`,
		"crowd --address 127.0.0.1:1":         "unknown flag: --address",
		"load --idle 0":                       `"--idle" flag: is no whole number from 1`,
		"load --turns -1":                     `"--turns" flag: is no whole number from 1`,
		"load more":                           `unknown command "more"`,
		"chaso":                               `unknown command "chaso"`,
	} {
		code, stdout, stderr := call(t, strings.Fields(args)...)
		require.Equal(t, exitUsage, code, args)
		require.Empty(t, stdout, args)
		require.Contains(t, stderr, want, args)
	}
}

// TestEachCommandIsExplained by a text, examples that are command lines, and what each flag means.
func TestEachCommandIsExplained(t *testing.T) {
	t.Parallel()
	p := newProgram(local.Environment{}, render.Plain(nil), render.Plain(nil))
	root := p.command()
	for _, command := range root.Commands() {
		if command.Hidden {
			continue
		}
		require.NotEmpty(t, command.Short, command.Name())
		require.NotEmpty(t, command.Long, command.Name())
		command.Flags().VisitAll(func(flag *pflag.Flag) { require.NotEmpty(t, flag.Usage, command.Name()+" --"+flag.Name) })
		for line := range strings.Lines(command.Example) {
			words := strings.Fields(line)
			require.Equal(t, []string{"go", "run", "./testsuite/proof", command.Name()}, words[:4])
			require.NoError(t, command.ParseFlags(words[4:]), line)
		}
	}
}
