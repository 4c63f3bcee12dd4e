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
	"everstep/starter/client/internal/history"
)

// A Poller is a worker that has asked a task queue for the work of agents.
type Poller struct {
	Identity string
	// Build is that of Everstep in it.
	Build string
	// Silent is how long ago it has asked.
	Silent time.Duration
}

// pollSpan is how long a worker may be silent: a poll lasts a minute.
const pollSpan = 75 * time.Second

// Pollers are the workers of a task queue in the last minute, as the server knows them: some may have ended.
func (c *Client) Pollers(ctx context.Context, queue string) (seen []Poller, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	described, err := c.temporal.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: c.cfg.Namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: queue}, TaskQueueType: enumspb.TASK_QUEUE_TYPE_WORKFLOW,
	})
	for _, p := range described.GetPollers() {
		if silent := time.Since(p.GetLastAccessTime().AsTime()); silent < pollSpan {
			seen = append(seen, Poller{
				Identity: p.GetIdentity(), Silent: silent,
				Build: p.GetWorkerVersionCapabilities().GetBuildId(), //nolint:staticcheck // the newer field is for versioned deployments
			})
		}
	}
	return seen, err
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

// Builds are those of the workers that serve a task queue or, where none does, that of this program, which may bring one
// up. Of a server that does not tell there are none.
func (c *Client) Builds(ctx context.Context, queue string) (all []string) {
	pollers, err := c.Pollers(ctx, queue)
	if err != nil {
		return nil
	}
	for _, p := range pollers {
		if p.Build != "" && !p.Ended() {
			all = append(all, p.Build)
		}
	}
	if len(all) == 0 {
		return []string{build.ID()}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// buildIn is the build that has begun a run; empty: none has yet.
func (c *Client) buildIn(info *workflowpb.WorkflowExecutionInfo) string {
	return history.Build(c.cfg.Converter, info.GetMemo())
}

// servedBy names the builds that serve a task queue where all of them are others than the one that has begun what is open
// there. Empty: they are not, or nobody knows.
func (c *Client) servedBy(ctx context.Context, queue, begun string) string {
	if begun == "" { // no worker has begun it yet
		return ""
	}
	builds := c.Builds(ctx, queue)
	if slices.Contains(builds, begun) {
		return ""
	}
	return strings.Join(builds, ", ")
}

// OtherBuild says what to do about what was begun by another build than this one. Empty: it was not.
func OtherBuild(begun, this string) string {
	if begun == "" || this == "" || begun == this {
		return ""
	}
	return fmt.Sprintf("begun by build %s, this is %s: %s", begun, this, finishThere)
}

const finishThere = "finish it there, or export and fork"

// OtherBuilds says which open agents of a task queue were begun by none of the builds, and what to do. Empty: none was.
func (c *Client) OtherBuilds(ctx context.Context, queue string, builds []string) (string, error) {
	const shown = 5
	count, first := 0, []string{}
	var failed error
	for l, info := range c.listable(ctx, ListOptions{Open: true}, &failed) {
		begun := c.buildIn(info)
		if info.GetTaskQueue() != queue || begun == "" || len(builds) == 0 || slices.Contains(builds, begun) {
			continue
		}
		if count++; count <= shown {
			first = append(first, fmt.Sprintf("%s begun by build %s", l.ID, begun))
		}
	}
	if count == 0 {
		return "", failed
	}
	if count > shown {
		first = append(first, "…")
	}
	return fmt.Sprintf("open agents of another build: %d (%s), this is %s: %s", count, strings.Join(first, ", "), strings.Join(builds, ", "), strings.Replace(finishThere, "it", "them", 1)), failed
}
