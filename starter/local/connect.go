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
	if s.local == nil {
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

// A Need says how a command comes to a server.
type Need struct {
	Flags
	// ID is the agent that the command is about; empty: it is about none that may be there.
	ID string
	// Up brings up what is missing, and Back a dev server that has been there before, for as long as the stack is open, so that what
	// run has left can be looked at. Nothing goes on by that: it takes a worker.
	Up, Back bool
	// Reads says that the agent is but read: where no server can be reached, or none of ours has ever run, the records tell, and a worker
	// that lacks the agent's tools is not brought up.
	Reads bool
	// Brings names what else than dev brings back what a dev server has kept. Empty: to watch the agent.
	Brings string
}

// Connect reaches the configured server, or a dev server of ours, which then stays up until the stack is closed, also
// where who brought it up ends meanwhile. It starts what the need says, and nothing else.
func (m *Machine) Connect(ctx context.Context, n Need) (s *Stack, err error) {
	configured, worker, err := m.ownWorker(n.Flags)
	if err != nil {
		return nil, err
	}
	file, _ := m.knownStateFile() // without one what brings the server up says why
	_, missing := os.Stat(file)
	unkept := n.Up && n.ID != "" && os.IsNotExist(missing)
	switch {
	case configured.Configured:
		s, err = m.dial(ctx, configured, nil, n.TaskQueue)
	case unkept && !m.HasRecords():
		err = &client.Error{Class: client.NotFound, Message: fmt.Sprintf("id: there is no agent %q: %s, where the dev server would keep it, is not there", n.ID, file)}
	case n.Up && (!unkept || !n.Reads):
		s, err = m.bringUp(ctx, n, devserver.Config{}, worker, nil)
	case n.Back && missing == nil:
		s, err = m.bringBack(ctx, n, file)
	default:
		s, err = m.join(ctx, n, file, missing == nil)
	}
	if records := m.records(); n.Reads && records != nil && client.Is(err, client.Unreachable) {
		return &Stack{Unreached: true, Agents: client.OfRecords(client.Config{Records: records, Progress: m.Progress}, err)}, nil
	}
	return s, err
}

// join connects to a dev server of ours that is up.
func (m *Machine) join(ctx context.Context, n Need, file string, kept bool) (*Stack, error) {
	lease, err := m.running(ctx)
	switch {
	case err != nil:
		return nil, err
	case lease != nil:
		return m.dialHeld(ctx, lease, n.TaskQueue)
	case kept && n.ID != "":
		return nil, m.down(n, file, "", nil)
	}
	return nil, unreachable(nil, "server: none is up; start one with `%s`, or name one with --address or %s", m.Again("dev"), VariableAddress)
}

// dialHeld connects to a dev server that is held, and lets go of it where that fails.
func (m *Machine) dialHeld(ctx context.Context, lease *devserver.Lease, taskQueue string) (*Stack, error) {
	s, err := m.DialDev(ctx, lease.Server, taskQueue)
	if err != nil {
		_ = lease.Close() // nothing is left to do with it
		return nil, err
	}
	s.held = lease
	return s, nil
}

// silentFor is how long a dev server may take to come back before anything is said of it.
const silentFor = 2 * time.Second

// bringBack joins the dev server of a state file, or starts it, and waits for one that is about to stop.
func (m *Machine) bringBack(ctx context.Context, n Need, file string) (*Stack, error) {
	began := time.Now()
	lease, err := m.Acquire(ctx, devserver.Config{StateFile: file, Progress: func(text string) {
		if time.Since(began) > silentFor {
			m.Progress(text)
		}
	}})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, interrupted(ctx, "interrupted")
	case err != nil:
		return nil, m.down(n, file, ", and it does not come back: "+err.Error(), err)
	}
	return m.dialHeld(ctx, lease, "")
}

// down says of a dev server that has been there why it is not, and what brings it back.
func (m *Machine) down(n Need, file, why string, err error) error {
	if full := statefile.Room(file); full != nil {
		return unreachable(full, "server: none is up; %s", full)
	}
	brings := ""
	if n.ID != "" {
		brings = ", or " + cmp.Or(n.Brings, "`"+m.Again("watch", n.ID)+"`") + ","
	}
	return unreachable(err, "server: none is up%s; all executions are kept in %s: `%s`%s brings them back; or name another server with --address or %s",
		why, file, m.Again("dev"), brings, VariableAddress)
}

// DialDev connects to a dev server of ours.
func (m *Machine) DialDev(ctx context.Context, s devserver.Server, taskQueue string) (*Stack, error) {
	return m.dial(ctx, host.Connection{}, &s, taskQueue)
}

// dial connects to a dev server of ours, or where local is nil to another server.
func (m *Machine) dial(ctx context.Context, connection host.Connection, local *devserver.Server, taskQueue string) (*Stack, error) {
	if local != nil {
		connection = host.Connection{Address: local.Address, Namespace: local.Namespace, State: local.StateFile}
	}
	connection.Address = cmp.Or(connection.Address, sdk.DefaultHostPort)
	connection.Namespace = cmp.Or(connection.Namespace, sdk.DefaultNamespace)
	queue, err := m.Env.taskQueue(taskQueue)
	if err != nil {
		return nil, err
	}
	indexed := m.Env.list(VariableIndexTrusted)
	for _, name := range indexed {
		if err := domain.CheckTrustedName(name); err != nil {
			return nil, invalid("%s: %s", VariableIndexTrusted, err)
		}
	}
	s := &Stack{address: connection.Address, namespace: connection.Namespace, taskQueue: queue, local: local}
	m.reached = s
	switch s.Temporal, err = host.Dial(ctx, connection); {
	case err == nil:
	case ctx.Err() != nil:
		return nil, interrupted(ctx, "interrupted")
	case domain.AsError(err).Kind == domain.Invalid:
		return nil, err
	default: // a server that refuses to talk is as far away as one that is not there
		return nil, unreachable(err, "%s", err)
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
