package local

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"everstep/domain/contract"
	"everstep/starter/devserver"
	"everstep/starter/render"
	"everstep/worker/host"
)

// Examine makes all checks, in the order in which things are needed.
func (m *Machine) Examine(ctx context.Context, f Flags, version string) []Check {
	checks := []Check{ok("everstep", "%s", version)}
	configuration, connection := m.checkConfiguration()
	checks = append(checks, configuration)
	if !connection.Configured {
		checks = append(checks, m.checkBinary(ctx))
	}
	serverCheck, s := m.checkServer(ctx, connection, f)
	checks = append(checks, serverCheck)
	if s != nil {
		defer s.Close()
		checks = append(checks, s.checkAttributes(ctx), s.checkWorkers(ctx))
	}
	checks = append(checks, m.checkStorage(ctx, connection.Configured, s), m.checkFolder(f), m.checkModel(ctx))
	return append(append(checks, m.checkPrices()...), m.checkProviders(f)...)
}

const (
	// askPatience bounds each question of doctor to the server.
	askPatience = 5 * time.Second
	// pollSpan is for how long a worker may have been silent: a poll lasts a
	// minute where there is nothing to do.
	pollSpan = 75 * time.Second
)

func (m *Machine) checkConfiguration() (Check, host.Connection) {
	connection, err := m.Configured()
	switch {
	case err != nil:
		return ok("configuration", "%s", err).fail("mend the flag, variable or profile that it names"), connection
	case connection.Configured:
		if connection.Address == "" {
			return ok("configuration", "a profile without an address: the local server"), connection
		}
		return ok("configuration", "the server at %s, namespace %s", connection.Address, namespaceOf(connection)), connection
	}
	return ok("configuration", "no server is named: a dev server on this machine is used"), connection
}

func namespaceOf(c host.Connection) string {
	if c.Namespace == "" {
		return "default"
	}
	return c.Namespace
}

// checkBinary says which dev server would be started, without getting one.
func (m *Machine) checkBinary(ctx context.Context) Check {
	const name = "dev server"
	configured := m.Env.Value(VariableTemporal)
	candidates := []string{configured}
	if configured == "" {
		candidates = cachedServers()
		if path, err := exec.LookPath("temporal"); err == nil {
			candidates = slices.Insert(candidates, 0, path)
		}
	}
	var wrong []string
	for _, path := range candidates {
		found, err := devserver.Find(ctx, devserver.Config{Binary: path})
		if err == nil {
			return ok(name, "Temporal %s in %s", found.Version, found.Path)
		}
		wrong = append(wrong, err.Error())
	}
	switch {
	case configured != "":
		return ok(name, "%s", strings.Join(wrong, "; ")).fail("set " + VariableTemporal + " to a temporal CLI that works, or unset it to have one found")
	case len(wrong) > 0:
		return ok(name, "%s", strings.Join(wrong, "; ")).warn("run and dev fetch or build one, once; or install a newer temporal CLI")
	}
	return ok(name, "no temporal CLI on PATH or in the cache").warn("run and dev fetch or build one, once; or install the temporal CLI")
}

// cachedServers are those that starter/devserver has fetched or built, the
// newest name first.
func cachedServers() []string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil
	}
	found, err := filepath.Glob(filepath.Join(cache, "everstep", "temporal", "*", "temporal"))
	if err != nil {
		return nil
	}
	slices.Reverse(found)
	return found
}

func (m *Machine) checkServer(ctx context.Context, connection host.Connection, f Flags) (Check, *Server) {
	const name = "server"
	var local *devserver.Server
	if !connection.Configured {
		found, up, err := m.running(ctx)
		switch {
		case err != nil:
			return ok(name, "%s", err).fail("see the dev server's state file and log"), nil
		case !up:
			return ok(name, "no dev server is up").warn("run and watch bring one up while they last; starter dev keeps one up"), nil
		}
		connection, local = host.Connection{Address: found.Address, Namespace: found.Namespace}, &found
	}
	began := time.Now()
	s, err := m.dial(ctx, connection, local, f.TaskQueue)
	if err != nil {
		c := ok(name, "%s", err).fail("")
		c.Unreachable = true
		return c, nil
	}
	took := time.Since(began)
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	info, err := s.Temporal.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	if err != nil {
		return ok(name, "%s answers, and says no version: %s", s.address, err).warn(""), s
	}
	if _, err := s.Temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: s.namespace}); err != nil {
		return ok(name, "%s answers; namespace %s: %s", s.address, s.namespace, err).fail("create the namespace, or name another with --namespace or TEMPORAL_NAMESPACE"), s
	}
	detail := fmt.Sprintf("Temporal %s at %s, namespace %s, answers in %s", info.GetServerVersion(), s.address, s.namespace, render.Duration(took))
	if local != nil {
		detail += "; UI " + local.UIURL + "; state " + local.StateFile
		if !shut(ctx, local.UIURL) {
			return ok(name, "%s", detail).warn(
				"web pages of others may reach agents through its UI: an earlier version started it; end what uses it, and start it again"), s
		}
		detail += "; its UI and HTTP API take no pages of others"
	}
	return ok(name, "%s", detail), s
}

// shut reports whether a UI refuses a page whose name is bound to this machine.
func shut(ctx context.Context, ui string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, ui, nil)
	if err != nil {
		return false
	}
	request.Host = "another.invalid"
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return true // nobody gets in
	}
	_ = response.Body.Close() // it was not read
	return response.StatusCode == http.StatusForbidden
}

func (s *Server) checkAttributes(ctx context.Context) Check {
	const name = "attributes"
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	listed, err := s.Temporal.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: s.namespace})
	if err != nil {
		return ok(name, "cannot be read: %s", err).warn("agents run without them; list then knows less")
	}
	var missing, fixes []string
	for _, attribute := range []string{contract.AttributeAgentName, contract.AttributeAgentStatus, contract.AttributeStopReason} {
		if listed.GetCustomAttributes()[attribute] != enumspb.INDEXED_VALUE_TYPE_KEYWORD {
			missing = append(missing, attribute)
			fixes = append(fixes, "--name "+attribute+" --type Keyword")
		}
	}
	if len(missing) > 0 {
		return ok(name, "not registered: %s", strings.Join(missing, ", ")).warn(
			"agents run without them; to have them: temporal operator search-attribute create --namespace " + s.namespace + " " + strings.Join(fixes, " "))
	}
	return ok(name, "the three search attributes are registered")
}

func (s *Server) checkWorkers(ctx context.Context) Check {
	const name = "workers"
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	described, err := s.Temporal.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: s.namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: s.taskQueue},
		TaskQueueType: enumspb.TASK_QUEUE_TYPE_WORKFLOW,
	})
	if err != nil {
		return ok(name, "task queue %s cannot be read: %s", s.taskQueue, err).warn("")
	}
	var seen []string
	for _, poller := range described.GetPollers() {
		silent := time.Since(poller.GetLastAccessTime().AsTime())
		if silent < pollSpan {
			seen = append(seen, fmt.Sprintf("%s (%s ago)", poller.GetIdentity(), render.Duration(silent)))
		}
	}
	if len(seen) == 0 {
		fix := "start one on it: everstep/worker, or your own"
		if s.local != nil {
			fix = "run and watch bring one up while they last; starter dev keeps one up"
		}
		return ok(name, "none has asked task queue %s for work in the last minute", s.taskQueue).warn(fix)
	}
	slices.Sort(seen)
	return ok(name, "%s on task queue %s: %s", render.Counted(int64(len(seen)), "worker"), s.taskQueue, strings.Join(seen, ", "))
}
