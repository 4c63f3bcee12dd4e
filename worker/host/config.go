package host

import (
	"cmp"
	"context"
	"net/url"
	"time"

	"go.temporal.io/sdk/interceptor"

	"everstep/activities"
	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
)

// Config is a worker. Its zero value is the documented defaults.
type Config struct {
	Connection Connection
	// TaskQueue is where it listens. Empty: contract.DefaultTaskQueue.
	TaskQueue string
	// Dir is the root that the file tools never leave. Empty: the worker has none of
	// them.
	Dir string
	// BuiltinTools are the names of those of OptionalTools that the worker has. Empty: none.
	BuiltinTools []string
	// HTTPAllow is what http_get and http_post may reach beyond the public network:
	// addresses, prefixes and hosts, as in 10.1.0.0/16 or intranet.example.com:8080.
	HTTPAllow []string
	// HTTPProxy is the URL of the proxy for their requests, which then finds hosts by
	// name and has to refuse those inside. It may hold a password. Empty: none,
	// whatever HTTP_PROXY says.
	HTTPProxy Secret
	// ShellEnv are the names of the worker's variables that commands of the tool shell
	// get, beside PATH, LANG, LC_ALL and TZ. No key is one of them.
	ShellEnv []string
	// ShellNetwork gives commands of the tool shell the network and the sockets of this machine. Then an agent that has it
	// can reach the server, and approve its own calls.
	ShellNetwork bool
	// ShellConfined refuses to start where commands of the tool shell cannot be confined.
	ShellConfined bool
	// MCP is a file of MCP servers, whose tools agents may name as SERVER__TOOL; see
	// package mcp. It must not be below Dir. Empty: the worker has none.
	MCP string
	// Variables looks up what ${NAME} stands for in that file. Nil: nothing;
	// FromEnvironment sets it.
	Variables func(name string) (value string, ok bool)
	// Ask asks a person for what that file has under inputs and no variable says; the answer is kept in a file beside the
	// state file. Nil: nobody is asked. Main sets it where the worker has a terminal.
	Ask func(question string) (answer string, err error)
	// Storage is where parts of long conversations go: a directory, or the URL
	// of a bucket. Empty: nowhere, so that a conversation must fit one run. All
	// workers of a task queue need the same.
	Storage string
	// Records is where executions are recorded when they have ended: a directory, the URL of a bucket, or RecordsOff for
	// nowhere, so that they last as long as the server keeps them. Empty: records/ below Storage, where there is one.
	// All workers of a task queue need the same.
	Records string

	// Tools are added to those that Everstep has, where there are any. One of the same name replaces it.
	Tools []tool.Tool
	// Providers are added to those that Everstep has, by name. One of the same
	// name replaces it.
	Providers map[string]inference.Provider
	// Vendors are where models are and with which keys, by the vendor's name:
	// openai, for openai/… and openai-chat/…, anthropic, gemini and others.
	Vendors map[string]Access
	// Allow says what the worker is for. Whoever reaches the namespace can have it do
	// that and no more; the zero value: all that it has. Workers of one task queue need
	// the same.
	Allow activities.Allow
	// Approvals hold for agents whose definition has none, as in domain.ApprovalsOf("allow"). Nil: those of
	// domain.DefaultApprovals, by which a call that does not only read waits for a person.
	Approvals *domain.Approvals
	// AllowBaseURLs are those that definitions may name, which then get the vendor's
	// key too; * is any. Nil: none.
	AllowBaseURLs []string
	// Proxy is the URL of the proxy for requests to models: http, https or socks5.
	// It may hold a password. Empty: none, whatever HTTP_PROXY says.
	Proxy Secret
	// Timeouts bound each request to a model.
	Timeouts wire.Timeouts
	// FinishOptional takes the end of a stream of openai-chat for the end of a whole
	// answer, for proxies that leave out both the finish reason and the end marker.
	FinishOptional bool
	// RateLimits hold for the models of a vendor (such as openai), or of a provider
	// in Providers, by its name. Workers of one task queue need the same.
	RateLimits map[string]RateLimit
	// Workers is how many workers share the tokens of RateLimits. Zero: one.
	Workers int
	// ToolLimits hold for tools, by their names, those of MCP servers too; they come before what a tool
	// says of itself (tool.Rate, tool.AtOnce). Workers of one task queue need the same.
	ToolLimits map[string]domain.ToolLimit
	// Hooks are what agents of this worker may list, and what all of them have,
	// also in several versions.
	Hooks []hook.Hook
	// Listeners are told of events as they happen.
	Listeners []Listener
	// Compilers choose what a model sees, beside those that Everstep has, by the
	// name that definitions use.
	Compilers map[string]activities.Compiler
	// Prices is a file of prices and windows of models, which come before those
	// that are built in; see package modelfacts. Empty: none.
	Prices string

	Log Log
	// MaxActivities bounds the inferences and tool calls at one time, those under a
	// rate limit for each limit once more. Zero: DefaultMaxActivities.
	MaxActivities int
	// CacheBytes bounds the transcripts in memory. Zero: transcript.DefaultCacheBytes.
	CacheBytes int64
	// StopTimeout is what activities have to finish when the worker is told to
	// stop. Zero: DefaultStopTimeout. What has not finished then is told to end,
	// and reports how it did: StopsWithin has the time for that too.
	StopTimeout time.Duration

	// At is called at the points where a worker can die; contract.PlaceOf says
	// where that is. It is for proofs that kill workers there, and nil otherwise.
	At func(context.Context, contract.Boundary)
	// Interceptors see the worker's workflows and activities. They are for tests, which compare what is seen there with
	// histories, and nil otherwise.
	Interceptors []interceptor.WorkerInterceptor

	// secrets are what the log hides and no conversation keeps; withDefaults makes
	// them.
	secrets *secrets
}

const (
	// DefaultMaxActivities is enough for one step with all the parallel calls
	// that are allowed.
	DefaultMaxActivities = domain.MaxStepCalls
	// DefaultStopTimeout is what activities have to finish.
	DefaultStopTimeout = 10 * time.Second
)

// StopsWithin is how long a worker of a stop time-out takes to stop at the most: whoever
// kills what does not stop by itself waits longer. Zero is DefaultStopTimeout.
func StopsWithin(timeout time.Duration) time.Duration {
	timeout = cmp.Or(timeout, DefaultStopTimeout)
	return timeout + Config{StopTimeout: timeout}.cancelGrace() + reportTime
}

// reportTime is what remains to report how an activity has ended.
const reportTime = 2 * time.Second

// cancelGrace is how long a tool may go on after it was told to end.
func (c Config) cancelGrace() time.Duration { return min(c.StopTimeout, 5*time.Second) }

func (c Config) withDefaults() Config {
	c.Connection = c.Connection.withDefaults()
	if c.secrets == nil {
		c.secrets = &secrets{}
	}
	for _, v := range vendors() {
		c.secrets.fix(c.Vendors[v.Name].Key.Reveal())
	}
	for _, proxy := range []Secret{c.Proxy, c.HTTPProxy} {
		c.secrets.fix(proxy.Reveal())
		if u, err := url.Parse(proxy.Reveal()); err == nil {
			password, _ := u.User.Password()
			c.secrets.fix(password)
		}
	}
	for _, text := range c.Connection.credentials.secrets {
		c.secrets.fix(text)
	}
	if c.Variables == nil {
		c.Variables = func(string) (string, bool) { return "", false }
	}
	c.TaskQueue = cmp.Or(c.TaskQueue, contract.DefaultTaskQueue)
	c.MaxActivities = cmp.Or(c.MaxActivities, DefaultMaxActivities)
	c.StopTimeout = cmp.Or(c.StopTimeout, DefaultStopTimeout)
	return c
}
