package local

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"

	"everstep/activities/build"
	"everstep/domain"
	"everstep/domain/contract"
	"everstep/starter/client"
	"everstep/starter/devserver"
	"everstep/starter/render"
	"everstep/worker/host"
)

func (m *Machine) checkServer(ctx context.Context, connection host.Connection, f Flags) (Check, *Stack) {
	var local *devserver.Server
	if !connection.Configured {
		lease, err := m.running(ctx)
		switch {
		case err != nil:
			return broken(err, "see the dev server's state file and log"), nil
		case lease == nil:
			detail, fix := "no dev server is up", "run and watch bring one up while they last; "+m.Again("dev")+" keeps one up"
			if err := devserver.Shared(); err != nil {
				detail, fix = detail+"; one would be shared: "+sharedWith+": "+err.Error(), fix+"; "+fixShared
			}
			return ok("%s", detail).warn(fix), nil
		}
		local = &lease.Server
		_ = lease.Close() // whoever uses it sees to it that it stays; doctor tells of them
	}
	began := time.Now()
	s, err := m.dial(ctx, connection, local, f.TaskQueue)
	if err != nil {
		c := broken(err, "")
		c.Unreachable = true
		return c, nil
	}
	took := time.Since(began)
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	info, err := s.Temporal.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	if err != nil {
		return ok("%s answers, and says no version: %s", s.address, err).warn(""), s
	}
	if _, err := s.Temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: s.namespace}); err != nil {
		return ok("%s answers; namespace %s: %s", s.address, s.namespace, err).fail("create the namespace, or name another with --namespace or TEMPORAL_NAMESPACE"), s
	}
	detail := fmt.Sprintf("Temporal %s at %s, namespace %s, answers in %s", info.GetServerVersion(), s.address, s.namespace, render.Duration(took))
	if local != nil {
		detail += "; UI " + local.UIURL + "; state " + local.StateFile
		if !shut(ctx, local.UIURL) {
			return ok("%s", detail).warn(
				"web pages of others may reach agents through its UI: end what uses it, and start it again"), s
		}
		detail += "; its UI and HTTP API take no pages of others"
		if local.Shared != "" {
			return ok("%s; %s: %s", detail, sharedWith, local.Shared).warn(fixShared), s
		}
		detail += ", and nothing of it takes programs of other users"
	}
	return ok("%s", detail), s
}

const (
	sharedWith = "programs of all users of this machine reach it, and may there what you may"
	fixShared  = "have it on a machine or in a container of your own, or where your user gets a network namespace (user.max_user_namespaces, and no seccomp or AppArmor against it)"
)

// shut reports whether a UI refuses a page whose name is bound to this machine.
func shut(ctx context.Context, ui string) bool {
	request, _ := http.NewRequestWithContext(ctx, http.MethodGet, ui, nil) // the dev server's own URL
	request.Host = "another.invalid"
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return true // nobody gets in
	}
	_ = response.Body.Close() // it was not read
	return response.StatusCode == http.StatusForbidden
}

// The trusted values that list finds agents by need one more.
func (s *Stack) checkAttributes(ctx context.Context, m *Machine) Check {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	listed, err := s.Temporal.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: s.namespace})
	if err != nil {
		return ok("cannot be read: %s", err).warn("agents run without them; list then knows less")
	}
	return judgeAttributes(listed.GetCustomAttributes(), s.namespace, m.Env.Value(VariableIndexTrusted))
}

// judgeAttributes says what is missing of the attributes that a namespace has, where so many trusted values are indexed.
func judgeAttributes(registered map[string]enumspb.IndexedValueType, namespace, trusted string) Check {
	var missing, fixes []string
	want := func(attribute, flag string, kind enumspb.IndexedValueType) {
		if registered[attribute] != kind {
			missing = append(missing, attribute)
			fixes = append(fixes, "--name "+attribute+" --type "+flag)
		}
	}
	for _, attribute := range []string{contract.AttributeAgentName, contract.AttributeAgentStatus, contract.AttributeStopReason} {
		want(attribute, "Keyword", enumspb.INDEXED_VALUE_TYPE_KEYWORD)
	}
	indexed := "no trusted value is in " + contract.AttributeTrusted + ", since " + VariableIndexTrusted + " names none"
	if trusted != "" {
		want(contract.AttributeTrusted, "KeywordList", enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST)
		indexed = "of trusted values " + contract.AttributeTrusted + " has " + trusted + " (" + VariableIndexTrusted + ")"
	}
	if len(missing) > 0 {
		return ok("not registered: %s", strings.Join(missing, ", ")).warn(
			"agents run without them; to have them: temporal operator search-attribute create --namespace " + namespace + " " + strings.Join(fixes, " "))
	}
	return ok("the search attributes are registered; %s", indexed)
}

func (s *Stack) checkWorkers(ctx context.Context, m *Machine) Check {
	pollers, err := s.Agents.Pollers(ctx, s.taskQueue)
	if err != nil {
		return ok("task queue %s cannot be read: %s", s.taskQueue, err).warn("")
	}
	var seen []string
	for _, poller := range pollers {
		of := ""
		if poller.Build != "" && poller.Build != build.ID() {
			of = ", build " + poller.Build
		}
		seen = append(seen, fmt.Sprintf("%s (last heard %s ago%s)", poller.Identity, render.Duration(poller.Silent), of))
	}
	if len(seen) == 0 {
		fix := "start one on it: everstep/worker, or your own"
		if s.local != nil {
			fix = "run and watch bring one up while they last; " + m.Again("dev") + " keeps one up"
		}
		return ok("none has asked task queue %s for work in the last minute", s.taskQueue).warn(fix)
	}
	slices.Sort(seen)
	return ok("%s asked task queue %s for work in the last minute, and may have ended since: %s", render.Counted(int64(len(seen)), "worker"), s.taskQueue, strings.Join(seen, ", "))
}

// checkBuilds says which open agents none of the workers has begun; nothing, where there is none of them.
func (s *Stack) checkBuilds(ctx context.Context) []Check {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	others, err := s.Agents.OtherBuilds(ctx, s.taskQueue, s.Agents.Builds(ctx, s.taskQueue))
	if err != nil || others == "" {
		return nil // the server's own check says what is wrong with it
	}
	return []Check{ok("%s", others).warn("")}
}

// OtherBuilds says which open agents of the task queue another build than that of this program has begun; empty: none, as
// far as the server tells.
func (s *Stack) OtherBuilds(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	others, _ := s.Agents.OtherBuilds(ctx, s.taskQueue, []string{build.ID()}) // it is only a hint
	return others
}

// checkAgents says for which agents under way a worker lacks something, as far as
// workers tell soon.
func (s *Stack) checkAgents(ctx context.Context) (checks []Check) {
	const most = 50
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	for a, err := range s.Agents.List(ctx, client.ListOptions{Open: true, Limit: most}) {
		if err != nil {
			return checks // the server's own check says so
		}
		if a.Status != domain.StatusInProgress || a.Foreign {
			continue
		}
		view, err := s.Agents.Status(ctx, a.ID)
		if err == nil && view.Lacking != "" {
			checks = append(checks, ok("%s", view.Lacking).warn("give all workers of a task queue the same; it is asked of others for some minutes").of(a.ID))
		}
		if err == nil && view.History.Unstored != "" {
			checks = append(checks, ok("its transcript cannot be stored: %s", view.History.Unstored).warn(
				"mend the storage (--storage, EVERSTEP_STORAGE); the agent goes on, but not beyond what the server keeps of one run").of(a.ID))
		}
	}
	return checks
}
