package host

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/pflag"
	"go.temporal.io/sdk/contrib/envconfig"

	"everstep/activities/inference/wire"
	"everstep/activities/mcp"
	"everstep/activities/modelfacts"
	"everstep/activities/web"
	"everstep/domain"
	"everstep/worker/host/statefile"
)

// An Environment is where variables are read from; envconfig.EnvLookupOS is the
// process's own.
type Environment = envconfig.EnvLookup

// Flags are the values that a command line gave.
type Flags struct{ given map[string]string }

// ConnectionFlags adds the flags that name a server.
func ConnectionFlags(set *pflag.FlagSet) *Flags {
	return newFlags(set, new(Config).connectionSettings())
}

// WorkerFlags adds the flags of a worker, those that name a server aside.
func WorkerFlags(set *pflag.FlagSet) *Flags {
	return newFlags(set, new(Config).ownSettings())
}

func newFlags(set *pflag.FlagSet, settings []setting) *Flags {
	flags := &Flags{given: make(map[string]string)}
	for _, s := range settings {
		if s.flag != "" {
			flag := set.VarPF(&flagValue{flags, s}, s.flag, "", fmt.Sprintf("%s (%s)", s.help, s.variable))
			if s.kind == kindBool {
				flag.NoOptDefVal = "true"
			}
		}
	}
	return flags
}

// flagValue keeps what was given; it is read together with the environment.
type flagValue struct {
	*Flags
	setting
}

func (v *flagValue) String() string { return "" }
func (v *flagValue) Type() string   { return v.kind }
func (v *flagValue) Set(text string) error {
	v.Flags.given[v.flag] = text
	return nil
}

// FromEnvironment completes a configuration: a flag comes before a variable, a
// variable before a profile of Temporal's configuration file, and that before
// what the program has set. Its errors are of kind Invalid and name the flag or
// variable, and what to give instead.
func FromEnvironment(config Config, environment Environment, flags ...*Flags) (Config, error) {
	if err := config.read(environment, flags); err != nil {
		return config, err
	}
	connection, err := ConnectionFromEnvironment(config.Connection, environment, flags...)
	config.Connection = connection
	return config, err
}

// read is FromEnvironment for all but the connection.
func (c *Config) read(environment Environment, flags []*Flags) error {
	if err := apply(c.ownSettings(), environment, flags); err != nil {
		return err
	}
	all := map[string]Access{} // the program's own stays as it is
	maps.Copy(all, c.Vendors)
	for _, v := range vendors() {
		var err error
		if all[v.Name], _, err = v.fromEnvironment(all[v.Name], environment); err != nil {
			return err
		}
	}
	c.Vendors = all
	if c.Variables == nil {
		c.Variables = environment.LookupEnv
	}
	return nil
}

// A setting is one value that a flag or a variable gives. The table below is
// all that there is.
type setting struct {
	// flag is empty for secrets: they are never arguments.
	flag, variable, kind, help string
	read                       func(text string) error
}

func (c *Config) workerSettings() []setting {
	return []setting{
		{"task-queue", "EVERSTEP_TASK_QUEUE", "name", "where the worker listens", into(&c.TaskQueue, checked(CheckName))},
		{"dir", "EVERSTEP_DIR", "directory", "the root that file tools never leave", into(&c.Dir, checked(checkDirectory))},
		{"builtin-tools", "EVERSTEP_BUILTIN_TOOLS", "names", "the tools that it has beside those for files, of " + strings.Join(OptionalNames(), ", ") + "; none unless given", into(&c.BuiltinTools, listed(checkOptional))},
		{"http-allow", "EVERSTEP_HTTP_ALLOW", "hosts", "what http_get and http_post may reach beyond the public network: addresses, prefixes, hosts, as in 10.1.0.0/16,wiki.example.com:8080; nothing unless given", into(&c.HTTPAllow, listed(refusal(web.ParseAllow)))},
		// No flag: it may hold a password.
		{"", "EVERSTEP_HTTP_PROXY", "url", "the proxy that requests of http_get and http_post go through", into(&c.HTTPProxy, readProxy)},
		{"shell-env", "EVERSTEP_SHELL_ENV", "names", "the variables that commands of shell get beside PATH, LANG, LC_ALL and TZ; none unless given", into(&c.ShellEnv, listed(checkShellEnv))},
		{"shell-network", "EVERSTEP_SHELL_NETWORK", kindBool, "give commands of shell the network and the sockets of this machine, by which an agent can approve its own calls", into(&c.ShellNetwork, readBool)},
		{"shell-confined", "EVERSTEP_SHELL_CONFINED", "word", "required: do not start where commands of shell cannot be confined; preferred unless given", into(&c.ShellConfined, among([]string{"preferred", "required"}, false, true))},
		{"mcp", MCPVariable, "file", "a file of MCP servers whose tools agents may name, as in SERVER__TOOL; no tools of theirs unless given", into(&c.MCP, checked(refusal(mcp.Load)))},
		{"storage", "EVERSTEP_STORAGE", "directory|url", "where parts of long conversations go; the same for all workers of a task queue", into(&c.Storage, checked(refusal(storagePath)))},
		{"records", RecordsVariable, "directory|url|off", "where executions are recorded when they have ended; records/ below the storage unless given; the same for all workers of a task queue", into(&c.Records, checked(refusal(storagePath)))},
		// No flag: it names a server only for the commands of starter beside it.
		{"", "EVERSTEP_STATE", "path", "the state file of a dev server of starter, which is meant where no server is named", into(&c.Connection.State, statefile.Resolve)},
		{"seat", "EVERSTEP_SEAT", "file", "a file by which a worker that takes the place of one that was killed says so to the server, so that its agents go on at once, or none; beside the state file of starter's dev server unless given", into(&c.Connection.Seat, checked(checkSeat))},
		{"prices", "EVERSTEP_PRICES", "file", "prices and windows of models, in dollars for a million tokens; they come before those built in", into(&c.Prices, checked(refusal(modelfacts.Table{}.With)))},
		{"allow-tools", "EVERSTEP_ALLOW_TOOLS", "names", "the tools that the worker runs, or none; all that it has unless given", into(&c.Allow.Tools, readAllowed)},
		{"allow-models", "EVERSTEP_ALLOW_MODELS", "models", "the models that it asks, as in openai/*,anthropic/claude-haiku-4-5, or none; all unless given", into(&c.Allow.Models, readAllowed)},
		{"approvals", "EVERSTEP_APPROVALS", "word", "which tool calls run by themselves of agents that say nothing of it: " + strings.Join(domain.ApprovalWords(), ", ") + "; writes, by which those wait for a person that do not only read, unless given", into(&c.Approvals, among(domain.ApprovalWords(), ofEach(domain.ApprovalWords(), domain.ApprovalsOf)...))},
		{"tool-limits", "EVERSTEP_TOOL_LIMITS", "limits", "how often a tool is called, over all workers, and how many calls of it run at once on each, as in refund=5/m+2,http_get=10/s; the same for all workers of a task queue", into(&c.ToolLimits, readToolLimits)},
		{"log-level", "EVERSTEP_LOG_LEVEL", "level", "debug, info, warn or error", into(&c.Log.Level, among([]string{"debug", "info", "warn", "error"}, slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError))},
		{"log-format", "EVERSTEP_LOG_FORMAT", "format", "console or json", into(&c.Log.JSON, among([]string{"console", "json"}, false, true))},
		{"max-activities", "EVERSTEP_MAX_ACTIVITIES", "count", "inferences and tool calls at one time", into(&c.MaxActivities, readCount)},
		{"cache-size", "EVERSTEP_CACHE_SIZE", "size", "memory for conversations, as in 256MiB", into(&c.CacheBytes, readSize)},
		{"stop-timeout", "EVERSTEP_STOP_TIMEOUT", "duration", "what work in progress has to finish when the worker stops, as in 10s", into(&c.StopTimeout, upTo(time.Hour))},
	}
}

// ownSettings are all but those of the connection.
func (c *Config) ownSettings() []setting { return append(c.workerSettings(), c.modelSettings()...) }

// readAlone is what an environment says of the settings of a worker with these flags, and of no others.
func readAlone(environment Environment, flags ...string) (config Config, err error) {
	config.Variables = environment.LookupEnv
	err = apply(slices.DeleteFunc(config.workerSettings(), func(s setting) bool { return !slices.Contains(flags, s.flag) }), environment, nil)
	return config, err
}

func into[T any](field *T, read func(string) (T, error)) func(string) error {
	return func(text string) (err error) {
		*field, err = read(text)
		return err
	}
}

// checked takes a text as it is, unless something is wrong with it.
func checked(check func(string) error) func(string) (string, error) {
	return func(text string) (string, error) { return text, check(text) }
}

// refusal is what a reader says is wrong with a text, without what it reads.
func refusal[In, Out any](read func(In) (Out, error)) func(In) error {
	return func(text In) error {
		_, err := read(text)
		return err
	}
}

// among reads one of some words, each for a value.
func among[T any](words []string, values ...T) func(string) (T, error) {
	return func(text string) (value T, err error) {
		i := slices.Index(words, text)
		if i < 0 {
			return value, fmt.Errorf("%q is none of %s", text, strings.Join(words, ", "))
		}
		return values[i], nil
	}
}

// apply reads settings from the flags, else from the environment, where there is one. An empty
// variable counts as none, but in a list of what is allowed: there none may be everything.
func apply(settings []setting, environment Environment, flags []*Flags) error {
	for _, s := range settings {
		name, text, ok := "--"+s.flag, "", false
		for _, f := range flags {
			if text, ok = f.given[s.flag]; ok {
				break
			}
		}
		if !ok && environment != nil {
			name = s.variable
			text, ok = environment.LookupEnv(s.variable)
			ok = ok && (text != "" || strings.HasPrefix(s.flag, "allow-"))
		}
		if ok {
			if err := s.read(text); err != nil {
				return invalid("%s: %s", name, err)
			}
		}
	}
	return nil
}

// CheckName says what is wrong with the name of a task queue, a namespace or a
// profile.
func CheckName(text string) error {
	control := func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }
	switch {
	case text == "":
		return errors.New("is empty; give a name")
	case len(text) > 255:
		return fmt.Errorf("has %d bytes; at most 255 are allowed", len(text))
	case strings.ContainsFunc(text, control):
		return fmt.Errorf("%q has spaces or control characters; leave them out", text)
	}
	return nil
}

func checkDirectory(path string) error {
	info, err := os.Stat(path)
	switch {
	case path == "":
		return errors.New("is empty; give a directory")
	case err != nil:
		return fmt.Errorf("%q cannot be used: %w; give a directory that exists", path, errors.Unwrap(err))
	case !info.IsDir():
		return fmt.Errorf("%q is no directory; give one", path)
	}
	return nil
}

// checkSeat wants a file, a place for one, or none.
func checkSeat(path string) error {
	if path == NoSeat {
		return nil
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%q is no file; give one, or a path for one", path)
	}
	if err := checkDirectory(filepath.Dir(path)); err != nil {
		return fmt.Errorf("its directory: %w", err)
	}
	return nil
}

func readCount(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 10_000 {
		return 0, fmt.Errorf("%q is no whole number from 1 to 10000", text)
	}
	return n, nil
}

// readList reads what commas part.
func readList(text string) ([]string, error) {
	if text == "" {
		return nil, errors.New("is empty; name at least one, or leave it out (unset the variable)")
	}
	list := strings.Split(text, ",")
	for i := range list {
		if list[i] = strings.TrimSpace(list[i]); list[i] == "" {
			return nil, fmt.Errorf("%q names nothing at its place %d; part names by single commas", text, i+1)
		}
	}
	return list, nil
}

// listed is readList, unless something is wrong with the list.
func listed(check func([]string) error) func(string) ([]string, error) {
	return func(text string) ([]string, error) {
		list, err := readList(text)
		if err == nil {
			err = check(list)
		}
		return list, err
	}
}

// readProxy reads the URL of a proxy, which may hold a password.
func readProxy(text string) (Secret, error) {
	_, err := wire.ParseProxy(text)
	return Secret(strings.TrimSpace(text)), err
}

// readAllowed is readList, and none for the list of nothing.
func readAllowed(text string) (*[]string, error) {
	if text == "none" {
		return new([]string), nil
	}
	list, err := readList(text)
	return &list, err
}

// upTo reads a duration above zero.
func upTo(most time.Duration) func(string) (time.Duration, error) {
	return func(text string) (time.Duration, error) {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 || d > most {
			return 0, fmt.Errorf("%q is no duration above 0 and up to %s, as in 10s", text, most)
		}
		return d, nil
	}
}

func readSize(text string) (int64, error) {
	unit := strings.TrimLeft(text, "0123456789 ")
	bytes := map[string]int64{"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit]
	n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(text, unit)), 10, 64)
	if err != nil || bytes == 0 || n < 1 || n > math.MaxInt64/bytes {
		return 0, fmt.Errorf("%q is no size above 0, as in 256MiB", text)
	}
	return n * bytes, nil
}

// kindBool is the kind of a setting whose flag needs no value.
const kindBool = "bool"

// modelSettings are those that all requests to models share. Base URLs and keys
// are the vendors'.
func (c *Config) modelSettings() []setting {
	return []setting{
		// No flag: it may hold a password.
		{"", "EVERSTEP_PROXY", "url", "the proxy that requests to models go through", into(&c.Proxy, readProxy)},
		{"allow-base-urls", "EVERSTEP_ALLOW_BASE_URLS", "urls", "what agents may name as base_url, which then gets the key; * is any, none unless given", into(&c.AllowBaseURLs, readList)},
		{"finish-optional", "EVERSTEP_FINISH_OPTIONAL", kindBool, "take the end of a stream of openai-chat/… for the end of its answer: some proxies leave out the finish reason and [DONE]", into(&c.FinishOptional, readBool)},
		{"rate-limits", "EVERSTEP_RATE_LIMITS", "limits", "requests and tokens a minute that a vendor's key allows, as in openai=600rpm/200000tpm; the same for all workers of a task queue", into(&c.RateLimits, readRateLimits)},
		{"workers", "EVERSTEP_WORKERS", "count", "how many workers share the tokens of --rate-limits; 1 unless given", into(&c.Workers, readCount)},
		{"connect-timeout", "EVERSTEP_CONNECT_TIMEOUT", "duration", "what a model's server has to accept a connection; 10s unless given", into(&c.Timeouts.Connect, upTo(time.Hour))},
		{"first-byte-timeout", "EVERSTEP_FIRST_BYTE_TIMEOUT", "duration", "what a model has to begin its answer; 5m unless given", into(&c.Timeouts.FirstByte, upTo(24*time.Hour))},
		{"idle-timeout", "EVERSTEP_IDLE_TIMEOUT", "duration", "how long a model may pause inside an answer; 2m unless given", into(&c.Timeouts.Idle, upTo(24*time.Hour))},
	}
}

func readBool(text string) (bool, error) {
	value, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%q is neither true nor false", text)
	}
	return value, nil
}
