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

// running holds the dev server of ours that is up; nil: none is.
func (m *Machine) running(ctx context.Context) (*devserver.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, findPatience)
	defer cancel()
	lease, err := devserver.Join(ctx, m.stateFile())
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, unreachable(err, "server: the dev server has been starting for %s; try again when it is up", findPatience)
	}
	return lease, err
}

// Connect reaches the configured server, or a dev server of ours, which then stays up until the stack is closed, also
// where who brought it up ends meanwhile. It starts nothing.
func (m *Machine) Connect(ctx context.Context, taskQueue string) (*Stack, error) {
	connection, err := m.Configured()
	if err != nil {
		return nil, err
	}
	if connection.Configured {
		return m.dial(ctx, connection, nil, taskQueue)
	}
	lease, err := m.running(ctx)
	if err != nil {
		return nil, err
	}
	if lease == nil {
		return nil, unreachable(errNoServer, "server: none is up; start one with `%s`, or name one with --address or %s", m.Again("dev"), VariableAddress)
	}
	return m.dialHeld(ctx, lease, taskQueue)
}

// dialHeld connects to a dev server that is held, and lets go of it where that fails.
func (m *Machine) dialHeld(ctx context.Context, lease *devserver.Lease, taskQueue string) (*Stack, error) {
	s, err := m.DialDev(ctx, lease.Server(), taskQueue)
	if err != nil {
		_ = lease.Close() // nothing is left to do with it
		return nil, err
	}
	s.held = lease
	return s, nil
}

// silentFor is how long a dev server may take to come back before anything is said of it.
const silentFor = 2 * time.Second

// ConnectToLook is ConnectTo for what needs no worker, with the id empty where all agents are meant. A dev server of ours
// that has been there before is brought back for as long as the stack is open, so that what run has left can be looked
// at. Nothing goes on by that: it takes a worker. Of one agent the records tell where the server does not come back.
func (m *Machine) ConnectToLook(ctx context.Context, id string) (*Stack, error) {
	own, _, err := m.ownStack(Flags{})
	file, _ := m.knownStateFile() // without one there is nothing to bring back
	if _, missing := os.Stat(file); err == nil && own && missing == nil {
		s, err := m.bringBack(ctx, file, id)
		if id == "" {
			return s, err
		}
		return m.orRecords(s, err)
	}
	if id == "" {
		return m.Connect(ctx, "")
	}
	return m.ConnectToRead(ctx, id)
}

// bringBack joins the dev server of a state file, or starts it, and waits for one that is about to stop.
func (m *Machine) bringBack(ctx context.Context, file, id string) (*Stack, error) {
	cfg, err := m.ours(devserver.Config{StateFile: file})
	if err != nil {
		return nil, m.notBack(file, id, err)
	}
	began := time.Now()
	cfg.Progress = func(text string) {
		if time.Since(began) > silentFor {
			m.Progress(text)
		}
	}
	lease, err := devserver.Acquire(ctx, cfg)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, interrupted(ctx, "interrupted")
	case err != nil:
		return nil, m.notBack(file, id, err)
	}
	return m.dialHeld(ctx, lease, "")
}

// notBack says that the dev server does not come back by itself.
func (m *Machine) notBack(file, id string, err error) error {
	brings := ""
	if id != "" {
		brings = "`" + m.Again("watch", id) + "`"
	}
	return m.down(file, ", and it does not come back: "+err.Error(), brings, err)
}

// down says of a dev server that has been there why it is not, and what else than dev brings it back.
func (m *Machine) down(file, why, brings string, err error) error {
	if full := statefile.Room(file); full != nil {
		return unreachable(full, "server: none is up; %s", full)
	}
	if brings != "" {
		brings = ", or " + brings + ","
	}
	return unreachable(err, "server: none is up%s; all executions are kept in %s: `%s`%s brings them back; or name another server with --address or %s",
		why, file, m.Again("dev"), brings, VariableAddress)
}

// errNoServer says that no server is configured and none of ours is up.
var errNoServer = errors.New("no server is up")

// ConnectTo says where the dev server is down what brings an agent back.
func (m *Machine) ConnectTo(ctx context.Context, id string) (*Stack, error) {
	return m.connectOr(ctx, "`"+m.Again("watch", id)+"`")
}

// ConnectToBegin is ConnectTo for what begins an execution, and brings up by itself what that needs where it is to --wait.
func (m *Machine) ConnectToBegin(ctx context.Context, _ string) (*Stack, error) {
	return m.connectOr(ctx, "this command with --wait")
}

// connectOr says where the dev server is down what else than dev brings it back.
func (m *Machine) connectOr(ctx context.Context, brings string) (*Stack, error) {
	s, err := m.Connect(ctx, "")
	if !errors.Is(err, errNoServer) {
		return s, err
	}
	file, _ := m.knownStateFile() // without one there is nothing to say
	if _, missing := os.Stat(file); missing != nil {
		return nil, err
	}
	return nil, m.down(file, "", brings, err)
}

// ConnectToRead is ConnectTo for what reads an agent, or all where the id is empty. Where no server can be reached, the
// records tell, where there are any. It starts nothing.
func (m *Machine) ConnectToRead(ctx context.Context, id string) (*Stack, error) {
	connect := func() (*Stack, error) { return m.ConnectTo(ctx, id) }
	if id == "" {
		connect = func() (*Stack, error) { return m.Connect(ctx, "") }
	}
	s, err := connect()
	return m.orRecords(s, err)
}

// orRecords has the records tell where no server can be reached.
func (m *Machine) orRecords(s *Stack, err error) (*Stack, error) {
	records := m.records()
	if records == nil || !client.Is(err, client.Unreachable) {
		return s, err
	}
	return &Stack{Unreached: true, Agents: client.OfRecords(client.Config{Records: records, Progress: m.Progress}, err)}, nil
}

// BringUpToRead is BringUp for one agent, whose tools the worker has to have, and of which the records tell where no server can be reached, or none of ours has
// ever run.
func (m *Machine) BringUpToRead(ctx context.Context, f Flags, id string) (*Stack, error) {
	err := m.CheckKept(id)
	switch {
	case err == nil:
		s, err := m.bringUp(ctx, f, id)
		return m.orRecords(s, err)
	case client.Is(err, client.NotFound) && m.HasRecords():
		return m.ConnectToRead(ctx, id)
	}
	return nil, err
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
	return m.dial(ctx, host.Connection{Address: s.Address, Namespace: s.Namespace, State: s.StateFile}, &s, taskQueue)
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
	config := client.Config{Namespace: s.namespace, TaskQueue: s.taskQueue, IndexTrusted: indexed, Records: m.records(), Progress: m.Progress}
	if local != nil {
		config.Serve = func(queue string) string {
			return "start your own, or `" + m.Again("dev", "--task-queue", queue) + "`"
		}
	}
	s.Agents = Client(s.Temporal, s.address, config)
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
		return interrupted(ctx, "interrupted")
	}
	if domain.AsError(err).Kind == domain.Invalid {
		return err
	}
	return unreachable(err, "%s", err)
}
