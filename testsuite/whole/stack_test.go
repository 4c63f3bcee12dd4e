package whole_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/testsuite/internal/accountcheck"
	"everstep/worker/host"
)

// A stack is a real server, a worker in this process and a client.
type stack struct {
	temporal sdk.Client
	agents   *client.Client
	queue    string
	address  string
	worker   *host.Worker
	// ran are executions that were waited for; irreplayable says
	// why they are not replayed.
	ran          []client.Execution
	irreplayable string
	// log is what its workers have logged.
	log workerLog
	// accounts has noted what the stack's workers would have told of their agents after each workflow task; nil: nothing is.
	// compared counts those that were compared with a replay.
	accounts *accountcheck.Recorder
	compared int
}

// noStorage as a worker's storage means none; empty is a folder of the test's.
const noStorage = "none"

// patience bounds every wait of these tests; none of them is about speed. A machine on which others build and test
// takes minutes for what takes seconds else, and what is there ends the wait at once.
const patience = 5 * time.Minute

// continuing is a server that suggests continue-as-new after a few steps.
var continuing = map[string]string{"limit.historyCount.suggestContinueAsNew": "60"}

// start brings up a stack on a task queue of its own.
func start(t testing.TB, config host.Config) *stack {
	t.Helper()
	return startOn(t, "plain", nil, config)
}

func startOn(t testing.TB, server string, dynamic map[string]string, config host.Config) *stack {
	t.Helper()
	return connect(t, server, dynamic).served(t, config)
}

// startCompared is start for a test at whose end the accounts of its agents are compared: those that the worker had after each
// workflow task with those of a replay.
func startCompared(t testing.TB, config host.Config) *stack {
	t.Helper()
	s := connect(t, "plain", nil)
	s.accounts = &accountcheck.Recorder{}
	return s.served(t, config)
}

// served starts the stack's own worker.
func (s *stack) served(t testing.TB, config host.Config) *stack {
	t.Helper()
	s.worker = s.work(t, config)
	t.Cleanup(s.worker.Stop)
	return s
}

// connect makes a stack without a worker.
func connect(t testing.TB, server string, dynamic map[string]string) *stack {
	t.Helper()
	at := servers.server(t, server, dynamic)
	temporal, err := host.Dial(context.Background(), host.Connection{Address: at.Address, State: at.StateFile})
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	s := &stack{temporal: temporal, queue: "test-" + uuid.NewString(), address: at.Address}
	s.agents = client.New(temporal, client.Config{TaskQueue: s.queue, Loopback: true})
	s.replaysAtItsEnd(t)
	t.Cleanup(func() { s.tellsWhy(t) })
	return s
}

// work starts a worker in this process on the stack's queue.
func (s *stack) work(t testing.TB, config host.Config) *host.Worker {
	t.Helper()
	config.Connection.Address = s.address
	config.TaskQueue = s.queue
	if s.accounts != nil {
		config.Interceptors = append(config.Interceptors, s.accounts)
	}
	config.Approvals = cmp.Or(config.Approvals, domain.ApprovalsOf("allow"))
	if config.Dir == "" {
		config.Dir = t.TempDir()
	}
	switch config.Storage {
	case "":
		config.Storage = t.TempDir()
	case noStorage:
		config.Storage = ""
	}
	config.Log.Level = slog.LevelError
	config.Log.Writer = &s.log
	w, err := host.Start(context.Background(), s.temporal, config)
	require.NoError(t, err)
	return w
}

// named makes an agent's name the stack's own: tests share servers, and may run
// more than once.
func (s *stack) named(name string) string { return name + "-" + s.queue[len(s.queue)-12:] }

// within bounds a test's waiting.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// waits waits for an execution, however long a machine with much to do keeps the server from
// answering.
func (s *stack) waits(ctx context.Context, id string, number int) (client.Result, error) {
	for {
		result, err := s.agents.Wait(ctx, id, number)
		if !errors.Is(err, &client.Error{Class: client.Unreachable}) || ctx.Err() != nil {
			return result, err
		}
	}
}

// collect reads a sequence to its end.
func collect[T any](t testing.TB, seq func(func(T, error) bool)) []T {
	t.Helper()
	var all []T
	for value, err := range seq {
		require.NoError(t, err)
		all = append(all, value)
	}
	return all
}

// scripted is the definition of an agent that plays a script.
func scripted(path string, tools ...string) domain.Definition {
	return domain.Definition{Model: domain.LLMConfig{Provider: "scripted", Model: path}, Tools: tools}
}
