package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"everstep/activities/build"
	"everstep/domain/contract"
)

// A Poller is a worker that has asked a task queue for the work of agents.
type Poller struct {
	Identity string
	// Build is that of Everstep in it.
	Build string
	// Silent is how long ago it has asked.
	Silent time.Duration
}

// Pollers are the workers of a task queue in the last minute, as the server knows them: some may have ended.
func (c *Client) Pollers(ctx context.Context, queue string) (seen []Poller, err error) {
	pollers, err := c.pollers(ctx, queue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	for _, p := range pollers {
		if silent := time.Since(p.GetLastAccessTime().AsTime()); silent < 75*time.Second { // a poll lasts a minute
			seen = append(seen, Poller{
				Identity: p.GetIdentity(), Silent: silent,
				Build: p.GetWorkerVersionCapabilities().GetBuildId(), //nolint:staticcheck // the newer field is for versioned deployments
			})
		}
	}
	return seen, err
}

// pollers are those who have asked a task queue for work of a kind, as the server lists them: for some minutes after they ended.
func (c *Client) pollers(ctx context.Context, queue string, kind enumspb.TaskQueueType) ([]*taskqueuepb.PollerInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	described, err := c.temporal.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: c.cfg.Namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: queue}, TaskQueueType: kind,
	})
	return described.GetPollers(), err
}

// served reports whether a worker asks a task queue for activities, as far as the server says.
func (c *Client) served(ctx context.Context, queue string) bool {
	pollers, err := c.pollers(ctx, queue, enumspb.TASK_QUEUE_TYPE_ACTIVITY)
	return err != nil || len(pollers) > 0
}

// PID is the number of its process, where that is one of this machine.
func (p Poller) PID() (pid int, ok bool) {
	number, rest, _ := strings.Cut(p.Identity, "@")
	machine, _ := os.Hostname()
	pid, err := strconv.Atoi(number)
	return pid, err == nil && (rest == machine || strings.HasPrefix(rest, machine+"@"))
}

// Ended reports whether it is a process of this machine that has ended.
func (p Poller) Ended() bool {
	pid, ok := p.PID()
	if !ok {
		return false
	}
	process, err := os.FindProcess(pid)
	return err != nil || errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// NoWorker says, in words, that none answers on a task queue, and what mends that.
func (c *Client) NoWorker(queue string) string {
	return fmt.Sprintf("no worker answers on %s; %s", c.cfg.place(queue), c.cfg.Serve(queue))
}

// saysNoWorker tells that no worker serves a task queue, where none does, and what waits for one.
func (c *Client) saysNoWorker(ctx context.Context, queue, what string) {
	if !c.hasWorker(ctx, queue) {
		c.cfg.Progress(c.NoWorker(queue) + "; " + what)
	}
}

// hasWorker reports whether a worker may be there that serves a task queue.
func (c *Client) hasWorker(ctx context.Context, queue string) bool {
	pollers, err := c.Pollers(ctx, queue)
	return err != nil || slices.ContainsFunc(pollers, func(p Poller) bool { return !p.Ended() })
}

// Builds are those of the workers that serve a task queue or, where none does, that of this program, which may bring one
// up. There are none where the server does not tell.
func (c *Client) Builds(ctx context.Context, queue string) (all []string) {
	pollers, err := c.Pollers(ctx, queue)
	if err != nil {
		return nil
	}
	pollers = slices.DeleteFunc(pollers, Poller.Ended)
	if len(pollers) == 0 {
		return []string{build.ID()}
	}
	for _, p := range pollers {
		if p.Build == "" {
			return nil
		}
		all = append(all, p.Build)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// OtherBuild says what to do about what another build than this one has to carry on. Empty: it is this one.
func OtherBuild(of contract.Builds, this string) string {
	if newest := of.Newest(); newest == "" || this == "" || newest == this {
		return ""
	}
	return fmt.Sprintf("%s, %s: %s", ranBy(of), whose(this), finishThere)
}

// whose says of builds whether they are this program's or those of the workers.
func whose(builds ...string) string {
	if slices.Equal(builds, []string{build.ID()}) {
		return "this is " + builds[0]
	}
	return "the workers are of " + strings.Join(builds, ", ")
}

// ranBy says which builds have run a workflow.
func ranBy(of contract.Builds) string {
	if of.Last != "" {
		return fmt.Sprintf("begun by build %s, carried on by build %s", of.Begun, of.Last)
	}
	return "begun by build " + of.Begun
}

const finishThere = "finish it there, or export and fork"

// OtherBuilds says which open agents of a task queue none of the builds has to carry on, and what to do. Empty: there is none.
func (c *Client) OtherBuilds(ctx context.Context, queue string, builds []string) (string, error) {
	const shown = 5
	count, first := 0, []string{}
	failed := c.list(ctx, ListOptions{Open: true}, func(l Listed, info *workflowpb.WorkflowExecutionInfo) bool {
		of := c.memo(info).Builds()
		if info.GetTaskQueue() == queue && of.Newest() != "" && len(builds) > 0 && !slices.Contains(builds, of.Newest()) {
			if count++; count <= shown {
				first = append(first, l.ID+" "+ranBy(of))
			}
		}
		return true
	})
	if count == 0 {
		return "", failed
	}
	if count > shown {
		first = append(first, "…")
	}
	return fmt.Sprintf("open agents of another build: %d (%s), %s: %s", count, strings.Join(first, ", "), whose(builds...), strings.Replace(finishThere, "it", "them", 1)), failed
}
