package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"everstep/activities"
	"everstep/activities/build"
	"everstep/activities/inference"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/hook"
)

// nobody is an address where nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		code int
		says string
	}{
		"an argument":        {[]string{"extra"}, exitUsage, `argument "extra": a worker takes flags only`},
		"an unknown flag":    {[]string{"--colour"}, exitUsage, "unknown flag: --colour; see --help"},
		"what it was called": {[]string{"--allow-base-url"}, exitUsage, "unknown flag: --allow-base-url; did you mean --allow-base-urls?"},
		"a bad value":        {[]string{"--max-activities=none"}, exitUsage, "--max-activities: "},
		"no value":           {[]string{"--dir"}, exitUsage, "--dir"},
		"no server":          {[]string{"--address", nobody(t)}, exitUnreachable, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := Command(Config{})
			command.SetArgs(test.args)
			err := command.ExecuteContext(t.Context())
			require.ErrorContains(t, err, test.says)
			require.Equal(t, test.code, exitCode(err))
		})
	}
	require.Equal(t, exitError, exitCode(errors.New("anything else")))
}

// printed is what a command writes.
func printed(t *testing.T, command *cobra.Command, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetArgs(args)
	require.NoError(t, command.ExecuteContext(t.Context()))
	return out.String()
}

func TestHelp(t *testing.T) {
	t.Parallel()
	command := Command(Config{})
	help := printed(t, command, "--help")
	require.Contains(t, help, "Examples:")
	command.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && f.Name != "version" {
			require.Regexp(t, `--`+f.Name+`( \S+)? .* \((EVERSTEP|TEMPORAL)_[A-Z_]+\)`, help)
		}
	})
	require.Equal(t, fmt.Sprintf("worker %s (%s)\n", build.ID(), runtime.Version()), printed(t, Command(Config{}), "--version"), "without a server")
}

// TestHelpNamesTheProgram: a worker of one's own is called by its own name, and its flags fit the terminal.
func TestHelpNamesTheProgram(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--help"}, {"codec", "--help"}} {
		command := called(Command(Config{}), "weather")
		fit(command, 80)
		help := printed(t, command, args...)
		require.Contains(t, help, "Usage:\n  weather")
		require.Contains(t, help, "Examples:\n  weather")
		require.NotRegexp(t, `(?m)^( |.* )worker -`, help)
		for line := range strings.Lines(help) {
			require.LessOrEqual(t, utf8.RuneCountInString(line), 81, "%s", line)
		}
	}
}

func TestHelpSaysWhatAWorkerDoesWithoutAFolder(t *testing.T) {
	t.Parallel()
	require.Contains(t, Command(Config{Dir: "."}).Flags().Lookup("dir").Usage, "never leave; . unless given (EVERSTEP_DIR)")
	require.Contains(t, Command(Config{}).Flags().Lookup("dir").Usage, "never leave; without one there are no file tools (EVERSTEP_DIR)")
}

func named(name, description string) tool.Tool {
	return tool.New(name, description, domain.ReadOnly, func(context.Context, struct{}) (string, error) { return "", nil })
}

// configured is what an environment says of a worker.
func configured(t *testing.T, base Config, values variableMap) Config {
	t.Helper()
	config, err := FromEnvironment(base, values)
	require.NoError(t, err)
	return config
}

// gathered is what a worker has of a configuration.
func gathered(t *testing.T, config Config) *Worker {
	t.Helper()
	m, err := ready(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.close()) })
	return m
}

func TestGather(t *testing.T) {
	t.Parallel()
	own := openAI{}
	m := gathered(t, Config{
		Dir: t.TempDir(), Storage: "mem://",
		Tools:     []tool.Tool{named("greet", "greets"), named("read_file", "reads otherwise")},
		Providers: map[string]inference.Provider{"mine": own, "openai-chat": own},
	})
	described := map[string]string{}
	for _, t := range m.tools {
		described[t.Spec().Name] = t.Spec().Description
	}
	require.Len(t, m.tools, 6)
	require.Len(t, described, 6)
	require.Equal(t, "greets", described["greet"])
	require.Equal(t, "reads otherwise", described["read_file"])
	require.Len(t, m.providers, len(ProviderNames())+1)
	require.Equal(t, own, m.providers["openai-chat"])
	require.NotNil(t, m.storage)
	require.Contains(t, m.describe(), strings.Join(slices.Sorted(maps.Keys(m.providers)), " "))
}

// A worker with storage records there, unless its configuration names another place or says off.
func TestAWorkerWithStorageRecords(t *testing.T) {
	t.Parallel()
	storage, other := t.TempDir(), t.TempDir()
	for want, config := range map[string]Config{
		filepath.Join(storage, "records"): {Storage: storage},
		other:                             {Storage: storage, Records: other},
		"none":                            {Storage: storage, Records: RecordsOff},
	} {
		m := gathered(t, config)
		require.Contains(t, m.describe(), want)
		require.Equal(t, want != "none", m.records != nil)
		if m.records != nil {
			require.Equal(t, want, m.records.Name())
		}
	}
}

// What is wrong with the configuration is said before the server is asked for anything.
func TestWrongConfigurationNeedsNoServer(t *testing.T) {
	t.Parallel()
	err := Run(t.Context(), Config{Connection: Connection{Address: "127.0.0.1:1"}, Dir: t.TempDir(), Allow: activities.Allow{Tools: &[]string{"read_fiel"}}})
	require.ErrorContains(t, err, "read_fiel")
	require.Equal(t, exitUsage, exitCode(err))
}

// A program's own worker reads and writes no file unless it asks for that.
func TestNoFileToolsUnlessAskedFor(t *testing.T) {
	t.Parallel()
	m := gathered(t, Config{Tools: []tool.Tool{named("greet", "greets")}})
	require.Len(t, m.tools, 1)
	require.Contains(t, m.describe(), "none")
	require.Contains(t, m.describe(), noStorage, "a worker that lacks it is told")
}

// Tools that reach out are there only where the configuration names them.
func TestOptionalToolsAreOffUnlessNamed(t *testing.T) {
	t.Parallel()
	for names, want := range map[string][]string{"": {}, "http_get": {"http_get"}, "http_post,http_get": {"http_get", "http_post"}} {
		config := Config{}
		if names != "" {
			config.BuiltinTools = strings.Split(names, ",")
		}
		m := gathered(t, config)
		require.Equal(t, want, ofEach(m.tools, func(t tool.Tool) string { return t.Spec().Name }))
	}
}

type openAI struct{ inference.Provider }

func TestGatherSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config Config
		says   string
	}{
		"no dir":     {Config{Dir: filepath.Join(t.TempDir(), "absent")}, "--dir (EVERSTEP_DIR)"},
		"no storage": {Config{Dir: t.TempDir(), Storage: "s3://bucket"}, "--storage (EVERSTEP_STORAGE)"},
		"no URL":     {Config{Dir: t.TempDir(), Vendors: map[string]Access{"openai": {BaseURL: "localhost"}}}, "OPENAI_BASE_URL"},
		"a password": {Config{Dir: t.TempDir(), Vendors: map[string]Access{"openai": {BaseURL: "http://u:pass@host/"}}}, "OPENAI_BASE_URL"},
		"no prices":  {Config{Dir: t.TempDir(), Prices: filepath.Join(t.TempDir(), "absent.yaml")}, "absent.yaml: cannot be read"},
		"a hook":     {Config{Dir: t.TempDir(), Hooks: []hook.Hook{hook.BeforeStep("", nil)}}, "hooks: hook at before_step: name: is empty"},
		"a tool":     {Config{BuiltinTools: []string{"curl"}}, "there is no \"curl\"; there are http_get, http_post, shell"},
		"no folder":  {Config{BuiltinTools: []string{"shell"}}, "shell needs a folder"},
		"no keeper":  {Config{BuiltinTools: []string{"shell"}, Dir: t.TempDir()}, "main does not begin with host.Begin"},
		"a variable": {Config{BuiltinTools: []string{"shell"}, Dir: t.TempDir(), ShellEnv: []string{"OPENAI_API_KEY"}}, "OPENAI_API_KEY may hold a key"},
		"a host":     {Config{HTTPAllow: []string{"http://a"}}, "--http-allow (EVERSTEP_HTTP_ALLOW)"},
		"no key":     {Config{Dir: t.TempDir(), Vendors: map[string]Access{"openai": {Key: "sk with spaces"}}}, "OPENAI_API_KEY"},
		"two keys":   {Config{Dir: t.TempDir(), Vendors: map[string]Access{"gemini": {Key: "sk with", KeyFile: "key"}}}, "GEMINI_API_KEY and GEMINI_API_KEY_FILE: both"},
		"no file":    {Config{Dir: t.TempDir(), Vendors: map[string]Access{"anthropic": {KeyFile: "sk with"}}}, "ANTHROPIC_API_KEY_FILE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ready(t.Context(), test.config)
			require.Error(t, err)
			require.Equal(t, exitUsage, exitCode(err))
			require.Contains(t, err.Error(), test.says)
			require.NotContains(t, err.Error(), "sk with")
			require.NotContains(t, err.Error(), "pass@")
		})
	}
}
