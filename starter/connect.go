package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"
	sdk "go.temporal.io/sdk/client"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/devserver"
	"everstep/worker/host"
	"everstep/worker/host/codec"
)

// findPatience bounds how long a dev server that is just starting is waited for.
const findPatience = 8 * time.Second

// A server is a Temporal server that answers, and the agents on it.
type server struct {
	temporal  sdk.Client
	agents    *client.Client
	address   string
	namespace string
	taskQueue string
	// local is the dev server, where it is ours.
	local *devserver.Server
}

// close ends the connection. The server goes on.
func (s *server) close() { s.temporal.Close() }

// ui is where a person looks at an agent, or at one run of it; empty where
// that is not known.
func (s *server) ui(id, runID string) string {
	if s.local == nil || s.local.UIURL == "" {
		return ""
	}
	workflows := fmt.Sprintf("%s/namespaces/%s/workflows", s.local.UIURL, url.PathEscape(s.namespace))
	if runID == "" {
		return workflows + "?query=" + url.QueryEscape(fmt.Sprintf("WorkflowId=%q", domain.WorkflowID(id)))
	}
	return workflows + "/" + url.PathEscape(domain.WorkflowID(id)) + "/" + url.PathEscape(runID)
}

// configured is the server that flags, variables or a profile name. Its field
// Configured is false where none of them does.
func (p *program) configured() (host.Connection, error) {
	return host.ConnectionFromEnvironment(host.Connection{}, p.env, p.flags.connection)
}

// stateFile is the state file of the dev server; empty is the default one.
func (p *program) stateFile() string { return p.env.or(p.flags.state, variableState) }

// running finds the dev server of ours that is up.
func (p *program) running(ctx context.Context) (devserver.Server, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, findPatience)
	defer cancel()
	found, up, err := devserver.Running(ctx, p.stateFile())
	if errors.Is(err, context.DeadlineExceeded) {
		return found, false, &exitError{code: exitUnreachable, text: fmt.Sprintf(
			"server: the dev server has been starting for %s; try again when it is up", findPatience), cause: err}
	}
	return found, up, err
}

// connect reaches the configured server, or a dev server of ours that is up. It
// starts nothing.
func (p *program) connect(ctx context.Context, taskQueue string) (*server, error) {
	connection, err := p.configured()
	if err != nil {
		return nil, err
	}
	if connection.Configured {
		return p.dial(ctx, connection, nil, taskQueue)
	}
	found, up, err := p.running(ctx)
	if err != nil {
		return nil, err
	}
	if !up {
		return nil, &exitError{code: exitUnreachable, text: "server: none is up; start one with `starter dev`, or name one with --address or " + variableAddress, cause: errNoServer}
	}
	return p.dial(ctx, ofDevServer(found), &found, taskQueue)
}

// errNoServer says that no server is configured and none of ours is up.
var errNoServer = errors.New("no server is up")

// connectTo is connect for an agent: where the dev server is down, it says
// where what began on it is kept, and what brings it back.
func (p *program) connectTo(ctx context.Context, id string) (*server, error) {
	s, err := p.connect(ctx, "")
	if !errors.Is(err, errNoServer) {
		return s, err
	}
	file := p.stateFile()
	if file == "" {
		file, _ = devserver.DefaultStateFile() // without one there is nothing to say
	}
	if _, missing := os.Stat(file); file == "" || missing != nil {
		return nil, err
	}
	return nil, &exitError{code: exitUnreachable, cause: err, text: fmt.Sprintf(
		"server: none is up; all executions are kept in %s: `%s`, or `%s`, brings them back; or name another server with --address or %s",
		file, p.again("dev"), p.again("watch", id), variableAddress)}
}

// ofAgent makes a command of what it does with the agent that its argument
// names, on a server that is up.
func (p *program) ofAgent(run func(ctx context.Context, s *server, id string) error) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, args []string) error {
		if err := checkID(args[0]); err != nil {
			return err
		}
		s, err := p.connectTo(command.Context(), args[0])
		if err != nil {
			return err
		}
		defer s.close()
		return run(command.Context(), s, args[0])
	}
}

func ofDevServer(s devserver.Server) host.Connection {
	return host.Connection{Address: s.Address, Namespace: s.Namespace}
}

// dial connects to a server; local says that it is ours.
func (p *program) dial(ctx context.Context, connection host.Connection, local *devserver.Server, taskQueue string) (*server, error) {
	if connection.Address == "" {
		connection.Address = sdk.DefaultHostPort
	}
	if connection.Namespace == "" {
		connection.Namespace = sdk.DefaultNamespace
	}
	queue, err := p.env.taskQueue(taskQueue)
	if err != nil {
		return nil, err
	}
	temporal, err := host.Dial(ctx, connection)
	if err != nil {
		return nil, notConnected(ctx, err)
	}
	compress, err := codec.New()
	if err != nil {
		return nil, err
	}
	s := &server{
		temporal: temporal, address: connection.Address, namespace: connection.Namespace,
		taskQueue: queue, local: local,
	}
	s.agents = client.New(temporal, client.Config{
		Namespace: s.namespace, TaskQueue: s.taskQueue,
		Loopback: host.Loopback(s.address), Timing: host.Timing(s.address), WorkflowTaskTimeout: host.TaskTimeout(s.address),
		Converter: compress.DataConverter(), Progress: func(text string) { p.say("%s", text) },
	})
	return s, nil
}

// notConnected gives the error of a connection its exit code: a server that
// refuses to talk is as far away as one that is not there.
func notConnected(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &exitError{code: exitDetached, text: "interrupted", cause: ctx.Err()}
	}
	if domain.AsError(err).Kind == domain.Invalid {
		return err
	}
	return &exitError{code: exitUnreachable, text: err.Error(), cause: err}
}
