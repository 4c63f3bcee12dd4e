package host_test

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"everstep/activities"
	"everstep/activities/inference/wire"
	"everstep/domain"
	"everstep/worker/host"
)

// variables is an environment that holds nothing but what a test puts there.
type variables map[string]string

func (v variables) LookupEnv(name string) (string, bool) {
	value, ok := v[name]
	return value, ok
}

func (v variables) Environ() []string {
	var all []string
	for name, value := range v {
		all = append(all, name+"="+value)
	}
	return all
}

// environment is one without the configuration file of whoever runs the test.
func environment(t *testing.T, values variables) variables {
	t.Helper()
	all := variables{"TEMPORAL_CONFIG_FILE": filepath.Join(t.TempDir(), "absent.toml")}
	maps.Copy(all, values)
	return all
}

// read is what a worker's command does with its arguments.
func read(t *testing.T, base host.Config, values variables, args ...string) (host.Config, error) {
	t.Helper()
	set := pflag.NewFlagSet("worker", pflag.ContinueOnError)
	connection, worker := host.ConnectionFlags(set), host.WorkerFlags(set)
	require.NoError(t, set.Parse(args))
	return host.FromEnvironment(base, environment(t, values), connection, worker)
}

func TestFromEnvironmentReadsEverything(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	prices := filepath.Join(dir, "prices.yaml")
	require.NoError(t, os.WriteFile(prices, []byte("models: {p/m: {input: 1, output: 2}}"), 0o600))
	config, err := read(t, host.Config{}, variables{
		"EVERSTEP_PRICES":  prices,
		"TEMPORAL_ADDRESS": "temporal.example.com:7233", "TEMPORAL_NAMESPACE": "agents",
		"EVERSTEP_TASK_QUEUE": "research", "EVERSTEP_DIR": dir, "EVERSTEP_STORAGE": "mem://",
		"EVERSTEP_LOG_LEVEL": "debug", "EVERSTEP_LOG_FORMAT": "json", "EVERSTEP_MAX_ACTIVITIES": "7",
		"EVERSTEP_CACHE_SIZE": "3MiB", "EVERSTEP_STOP_TIMEOUT": "1m30s",
		"EVERSTEP_PROXY": " http://user:sesame@proxy:3128", "EVERSTEP_ALLOW_BASE_URLS": "http://a/v1, http://b", "EVERSTEP_ALLOW_TOOLS": "read_file", "EVERSTEP_ALLOW_MODELS": "openai/*,scripted/x", "EVERSTEP_FINISH_OPTIONAL": "1",
		"EVERSTEP_BUILTIN_TOOLS": "http_get, http_post", "EVERSTEP_SHELL_ENV": "GOFLAGS", "EVERSTEP_HTTP_ALLOW": "10.0.0.0/8,host:8080", "EVERSTEP_HTTP_PROXY": "http://user:sesame@proxy:1",
		"EVERSTEP_CONNECT_TIMEOUT": "3s", "EVERSTEP_FIRST_BYTE_TIMEOUT": "20m", "EVERSTEP_IDLE_TIMEOUT": "90s",
	})
	require.NoError(t, err)
	c := config.Connection
	require.Equal(t, []any{"temporal.example.com:7233", "agents", true, "research"}, []any{c.Address, c.Namespace, c.Configured, config.TaskQueue})
	require.Equal(t, []any{dir, "mem://", prices, host.Log{Level: slog.LevelDebug, JSON: true}}, []any{config.Dir, config.Storage, config.Prices, config.Log})
	require.Equal(t, []any{7, int64(3 << 20), 90 * time.Second}, []any{config.MaxActivities, config.CacheBytes, config.StopTimeout})
	require.Equal(t, []string{"http://user:sesame@proxy:3128", "http://user:sesame@proxy:1"}, []string{config.Proxy.Reveal(), config.HTTPProxy.Reveal()})
	require.Equal(t, activities.Allow{Tools: &[]string{"read_file"}, Models: &[]string{"openai/*", "scripted/x"}}, config.Allow)
	require.Equal(t, [][]string{{"http://a/v1", "http://b"}, {"http_get", "http_post"}, {"GOFLAGS"}, {"10.0.0.0/8", "host:8080"}},
		[][]string{config.AllowBaseURLs, config.BuiltinTools, config.ShellEnv, config.HTTPAllow})
	require.True(t, config.FinishOptional)
	require.Equal(t, wire.Timeouts{Connect: 3 * time.Second, FirstByte: 20 * time.Minute, Idle: 90 * time.Second}, config.Timeouts)
}

// TestNothingAllowedIsSaid: none is a list of nothing, and not all.
func TestNothingAllowedIsSaid(t *testing.T) {
	t.Parallel()
	config, err := read(t, host.Config{}, variables{"EVERSTEP_ALLOW_TOOLS": "none", "EVERSTEP_ALLOW_MODELS": "none"})
	require.NoError(t, err)
	require.Equal(t, activities.Allow{Tools: new([]string), Models: new([]string)}, config.Allow)
	require.False(t, config.Allow.Tool("read_file"))
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "temporal.toml")
	require.NoError(t, os.WriteFile(file, []byte(`
[profile.default]
address = "default.example.com:7233"
[profile.other]
address = "other.example.com:7233"
namespace = "others"
`), 0o600))
	base := host.Config{TaskQueue: "program", Connection: host.Connection{Address: "program.example.com:7233"}}
	for name, test := range map[string]struct {
		values, flags string // with blanks between them
		want          string // address, namespace and task queue
	}{
		"the program alone":            {"", "", "program.example.com:7233||program"},
		"a profile before the program": {"TEMPORAL_CONFIG_FILE=" + file, "", "default.example.com:7233||program"},
		"a named profile":              {"TEMPORAL_PROFILE=other TEMPORAL_CONFIG_FILE=" + file, "", "other.example.com:7233|others|program"},
		"a profile by flag":            {"TEMPORAL_PROFILE=default TEMPORAL_CONFIG_FILE=" + file, "--profile other", "other.example.com:7233|others|program"},
		"a variable before a profile":  {"TEMPORAL_ADDRESS=variable:1 EVERSTEP_TASK_QUEUE=variable TEMPORAL_PROFILE=other TEMPORAL_CONFIG_FILE=" + file, "", "variable:1|others|variable"},
		"a flag before a variable":     {"TEMPORAL_ADDRESS=variable:1 EVERSTEP_TASK_QUEUE=variable", "--address=flag:2 --task-queue=flag --namespace=flag", "flag:2|flag|flag"},
		"an empty variable is none":    {"TEMPORAL_ADDRESS= EVERSTEP_TASK_QUEUE=", "", "program.example.com:7233||program"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			values := variables{}
			for _, pair := range strings.Fields(test.values) {
				variable, value, _ := strings.Cut(pair, "=")
				values[variable] = value
			}
			config, err := read(t, base, values, strings.Fields(test.flags)...)
			require.NoError(t, err)
			require.Equal(t, test.want, strings.Join([]string{config.Connection.Address, config.Connection.Namespace, config.TaskQueue}, "|"))
			require.True(t, config.Connection.Configured)
		})
	}
	own := base
	own.Connection.Profile = "other"
	for profile, address := range map[string]string{"": "other.example.com:7233", "default": "default.example.com:7233"} {
		config, err := read(t, own, variables{"TEMPORAL_CONFIG_FILE": file, "TEMPORAL_PROFILE": profile})
		require.NoError(t, err)
		require.Equal(t, address, config.Connection.Address, "a variable before the profile that the program names")
	}
}

func TestNothingConfigured(t *testing.T) {
	t.Parallel()
	config, err := read(t, host.Config{}, nil)
	require.NoError(t, err)
	require.False(t, config.Connection.Configured)
	require.Empty(t, config.Connection.Address)
}

// Each bad value is one line that names what gave it and what to give instead.
func TestBadValues(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, test := range []struct{ flag, values, says string }{
		{"task-queue", "a b|a\x1b[2J|" + strings.Repeat("q", 256), ""},
		{"dir", file + "/absent|/absent", "give a directory that exists"},
		{"dir", file, "is no directory"},
		{"storage", "s3://bucket|nonsense://x", "is linked into this worker"},
		{"storage", "file://relative/dir|file:///dir?metadata=skip|file://|http://a b/| ", "give a directory"},
		{"prices", file + "/absent|" + file + "|" + filepath.Dir(file), "file"},
		{"log-level", "INFO|trace", "is none of debug, info, warn, error"},
		{"log-format", "xml", "is none of console, json"},
		{"max-activities", "0|-1|1.5|many|10001|99999999999999999999", "from 1 to 10000"},
		{"cache-size", "0|-1MiB|1.5GiB|MiB|9223372036854775807KiB|10TiB", "as in 256MiB"},
		{"stop-timeout", "0s|-1s|10|2h|soon", "as in 10s"},
		{"allow-base-urls", "a,,b|,", "names nothing at its place"},
		{"builtin-tools", "curl|http_get,,http_post|HTTP_GET", "n"},
		{"shell-env", "A=b|1|OPENAI_API_KEY|GOOGLE_API_KEY|ANTHROPIC_API_KEY_FILE|TEMPORAL_API_KEY|EVERSTEP_PROXY", ""},
		{"http-allow", "*|10.0.0.0/99|http://host/", "is no address, prefix or host"},
		{"finish-optional", "2", "is neither true nor false"},
		{"connect-timeout", "0s|2h", "up to 1h"},
		{"first-byte-timeout", "-1s|25h", "up to 24h"},
		{"idle-timeout", "10|25h", "up to 24h"},
		{"address", "127.0.0.1|http://127.0.0.1:7233|::1|host:", "host:port, as in 127.0.0.1:7233"},
		{"profile", "absent", "unable to find profile absent"},
	} {
		variable := "EVERSTEP_" + strings.ToUpper(strings.ReplaceAll(test.flag, "-", "_"))
		if test.flag == "address" || test.flag == "profile" {
			variable = "TEMPORAL_" + strings.ToUpper(test.flag)
		}
		for value := range strings.SplitSeq(test.values, "|") {
			t.Run(test.flag+" "+value, func(t *testing.T) {
				t.Parallel()
				_, err := read(t, host.Config{}, nil, "--"+test.flag+"="+value)
				requireInvalid(t, err, test.flag, test.says)
				_, err = read(t, host.Config{}, variables{variable: value})
				requireInvalid(t, err, variable, test.says)
			})
		}
	}
	for _, list := range []string{"tools", "models", "base-urls"} {
		t.Run("empty list of "+list, func(t *testing.T) {
			t.Parallel()
			variable := "EVERSTEP_ALLOW_" + strings.ToUpper(strings.ReplaceAll(list, "-", "_"))
			_, err := read(t, host.Config{}, variables{variable: ""})
			requireInvalid(t, err, variable+": is empty", "unset")
			_, err = read(t, host.Config{}, nil, "--allow-"+list+"=")
			requireInvalid(t, err, "--allow-"+list+": is empty", "leave it out")
		})
	}
	for _, flag := range []string{"namespace", "task-queue", "dir", "storage", "log-level", "max-activities", "prices"} {
		t.Run("empty "+flag, func(t *testing.T) {
			t.Parallel()
			_, err := read(t, host.Config{}, nil, "--"+flag+"=")
			requireInvalid(t, err, flag, "")
		})
	}
}

func TestNoSecretIsAnArgument(t *testing.T) {
	t.Parallel()
	set := pflag.NewFlagSet("worker", pflag.ContinueOnError)
	host.ConnectionFlags(set)
	host.WorkerFlags(set)
	var names []string
	set.VisitAll(func(f *pflag.Flag) {
		names = append(names, f.Name)
		require.NotContains(t, f.Usage, "_API_KEY")
		require.NotContains(t, f.Usage, "EVERSTEP_PROXY")
	})
	require.False(t, slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, "key") }))
}

func requireInvalid(t *testing.T, err error, names, says string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, domain.Invalid, domain.AsError(err).Kind)
	require.Contains(t, err.Error(), names)
	require.Contains(t, err.Error(), says)
	require.NotContains(t, err.Error(), "\n")
	require.NotContains(t, err.Error(), "\x1b")
}
