package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	sdk "go.temporal.io/sdk/client"

	"everstep/domain"
	"everstep/starter/client"
	"everstep/starter/devserver"
	"everstep/worker/host"
	"everstep/worker/host/statefile"
)

// findPatience bounds how long a dev server that is just starting is waited for.
const findPatience = 8 * time.Second

// UI is where a person looks at an agent, a run's id aside; empty where it is not known.
func (s *Stack) UI(id string) string {
	if s.local == nil || s.local.UIURL == "" {
		return ""
	}
	called, _, _ := strings.Cut(id, client.SessionMark)
	return fmt.Sprintf("%s/namespaces/%s/workflows/%s/", s.local.UIURL, url.PathEscape(s.namespace), url.PathEscape(domain.WorkflowID(called)))
}

// running finds the dev server of ours that is up.
func (m *Machine) running(ctx context.Context) (devserver.Server, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, findPatience)
	defer cancel()
	found, up, err := statefile.Running(ctx, m.stateFile())
	if errors.Is(err, context.DeadlineExceeded) {
		return found, false, &client.Error{Class: client.Unreachable, Message: fmt.Sprintf(
			"server: the dev server has been starting for %s; try again when it is up", findPatience), Err: err}
	}
	return found, up, err
}

// Connect reaches the configured server, or a dev server of ours. It starts nothing.
func (m *Machine) Connect(ctx context.Context, taskQueue string) (*Stack, error) {
	connection, err := m.Configured()
	if err != nil {
		return nil, err
	}
	if connection.Configured {
		return m.dial(ctx, connection, nil, taskQueue)
	}
	found, up, err := m.running(ctx)
	if err != nil {
		return nil, err
	}
	if !up {
		return nil, &client.Error{Class: client.Unreachable, Message: "server: none is up; start one with `" + m.Again("dev") + "`, or name one with --address or " + VariableAddress, Err: errNoServer}
	}
	return m.DialDev(ctx, found, taskQueue)
}

// errNoServer says that no server is configured and none of ours is up.
var errNoServer = errors.New("no server is up")

// ConnectTo says where the dev server is down what brings an agent back.
func (m *Machine) ConnectTo(ctx context.Context, id string) (*Stack, error) {
	s, err := m.Connect(ctx, "")
	if !errors.Is(err, errNoServer) {
		return s, err
	}
	file, _ := m.knownStateFile() // without one there is nothing to say
	if _, missing := os.Stat(file); missing != nil {
		return nil, err
	}
	if full := statefile.Room(file); full != nil {
		return nil, &client.Error{Class: client.Unreachable, Err: full, Message: "server: none is up; " + full.Error()}
	}
	return nil, &client.Error{Class: client.Unreachable, Err: err, Message: fmt.Sprintf(
		"server: none is up; all executions are kept in %s: `%s`, or `%s`, brings them back; or name another server with --address or %s",
		file, m.Again("dev"), m.Again("watch", id), VariableAddress)}
}

// ConnectToRead is ConnectTo for what reads an agent, or all where the id is empty. Where no server can be reached, the
// records tell, where the environment names any. It starts nothing.
func (m *Machine) ConnectToRead(ctx context.Context, id string) (*Stack, error) {
	connect := func() (*Stack, error) { return m.ConnectTo(ctx, id) }
	if id == "" {
		connect = func() (*Stack, error) { return m.Connect(ctx, "") }
	}
	s, err := connect()
	records := m.records()
	if records == nil || !errors.Is(err, &client.Error{Class: client.Unreachable}) {
		return s, err
	}
	return &Stack{unreached: true, Agents: client.OfRecords(client.Config{Records: records, Progress: m.Progress}, err)}, nil
}

// CheckKept refuses to bring up a dev server for an agent where none has ever run.
func (m *Machine) CheckKept(id string) error {
	own, _, err := m.ownStack(Flags{})
	err = cmp.Or(err, host.CheckWorker(m.Env))
	file, _ := m.knownStateFile() // without one what brings it up says why
	if _, missing := os.Stat(file); err == nil && own && os.IsNotExist(missing) {
		err = &client.Error{Class: client.NotFound, Message: fmt.Sprintf("id: there is no agent %q: %s, where the dev server would keep it, is not there", id, file)}
	}
	return err
}

// DialDev connects to a dev server of ours.
func (m *Machine) DialDev(ctx context.Context, s devserver.Server, taskQueue string) (*Stack, error) {
	return m.dial(ctx, host.Connection{Address: s.Address, Namespace: s.Namespace}, &s, taskQueue)
}

// dial connects to a server; local says that it is ours.
func (m *Machine) dial(ctx context.Context, connection host.Connection, local *devserver.Server, taskQueue string) (*Stack, error) {
	connection.Address = cmp.Or(connection.Address, sdk.DefaultHostPort)
	connection.Namespace = cmp.Or(connection.Namespace, sdk.DefaultNamespace)
	queue, err := m.Env.taskQueue(taskQueue)
	if err != nil {
		return nil, err
	}
	indexed, err := m.Env.indexTrusted()
	if err != nil {
		return nil, err
	}
	s := &Stack{address: connection.Address, namespace: connection.Namespace, taskQueue: queue, local: local}
	m.reached = s
	if s.Temporal, err = host.Dial(ctx, connection); err != nil {
		return nil, notConnected(ctx, err)
	}
	s.Agents = Client(s.Temporal, s.address, client.Config{Namespace: s.namespace, TaskQueue: s.taskQueue, IndexTrusted: indexed, Records: m.records(), Progress: m.Progress})
	return s, nil
}

// Client is a client as the commands use one, for the server at an address: one on
// this machine is asked more often.
func Client(temporal sdk.Client, address string, config client.Config) *client.Client {
	config.Server, config.Loopback = address, host.Loopback(address)
	return client.New(temporal, config)
}

// notConnected: a server that refuses to talk is as far away as one that is not there.
func notConnected(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &client.Error{Class: client.Cancelled, Message: "interrupted", Err: ctx.Err()}
	}
	if domain.AsError(err).Kind == domain.Invalid {
		return err
	}
	return &client.Error{Class: client.Unreachable, Message: err.Error(), Err: err}
}
