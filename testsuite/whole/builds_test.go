package whole_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"everstep/activities/build"
	"everstep/domain"
	"everstep/domain/contract"
	agents "everstep/starter/client"
	"everstep/worker/host"
)

// otherBuild is the same user with a starter of another build.
func (c *cli) otherBuild() *cli {
	c.t.Helper()
	program, err := os.ReadFile(c.bin)
	require.NoError(c.t, err)
	other := *c
	other.bin = filepath.Join(filepath.Dir(c.dir), "starter")
	require.NoError(c.t, os.WriteFile(other.bin, append(program, "another build"...), 0o700))
	return &other
}

// build is the one that the user's starter names.
func (c *cli) build() string {
	c.t.Helper()
	found := regexp.MustCompile(`^starter (devel\+[0-9a-f]{12}/sdk-v[0-9.]+) \(go`).FindStringSubmatch(c.ok("--version"))
	require.Len(c.t, found, 2)
	return found[1]
}

// TestBuildsAreToldApart: whoever looks with another build at what is open is told so, the workers' build counts where some are
// up, and what one build has saved the other reads.
func TestBuildsAreToldApart(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	other := c.otherBuild()
	one, two := c.build(), other.build()
	require.NotEqual(t, one, two)
	model := c.script("say.yaml", "turns:\n  - text: done\n  - text: done again\n")
	c.ok("run", "--id", "notes", "--model", model, "hello")
	told := other.json("status", "notes")
	require.Equal(t, []any{one, two}, []any{told["build"], told["served_by"]})
	require.Contains(t, oneLined(other.ok("status", "notes")), "begun by build "+one+", this is "+two+": finish it there, or export and fork")
	require.NotContains(t, c.ok("status", "notes"), "build")
	require.Contains(t, other.ok("list", "--columns", "id,build"), one)
	dev := other.dev()
	dev.untilErr("open agents of another build: 1 (notes begun by build " + one + "), this is " + two + ": finish them there, or export and fork")
	for who, said := range map[*cli]string{c: "the workers are of " + two, other: "this is " + two} {
		require.Contains(t, oneLined(who.ok("status", "notes")), "begun by build "+one+", "+said+": finish it there, or export and fork")
		require.Contains(t, oneLined(who.do("doctor").out), "open agents of another build: 1 (notes begun by build "+one+"), "+said)
	}
	other.ok("send", "notes", "again", "--wait")
	require.Equal(t, two, c.json("status", "notes")["carried_by"])
	require.NotContains(t, other.ok("status", "notes"), "begun by build")
	other.ok("run", "--messages", other.file("state.json", c.ok("export", "notes", "--session")), "--id", "copy", "--model", model, "go on")
	require.Equal(t, two, c.json("status", "copy")["build"])
	c.ok("export", "notes", "-o", "notes.jsonl.zst")
	other.on("EVERSTEP_RECORDS="+filepath.Join(filepath.Dir(c.state), "kept")).ok("import", "notes.jsonl.zst")
	dev.interrupt().wait()
	c.dev().untilErr("copy begun by build " + two).untilErr("notes begun by build " + one + ", carried on by build " + two)
}

// TestAWorkerThatCannotReplayAnotherBuild: the status names both builds and what to do, beside what went wrong.
func TestAWorkerThatCannotReplayAnotherBuild(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	s.irreplayable = "another build has begun it"
	const older = "v9.8.7/sdk-v9.0.0"
	want := "a worker of another build cannot carry it on (begun by build " + older + ", this is " + build.ID() + ": finish it there, or export and fork), and tries again: "
	for tells := false; !tells; {
		id := s.begunByBuild(t, older)
		ours := s.work(t, host.Config{})
		require.NoError(t, s.temporal.SignalWorkflow(within(t), domain.WorkflowID(id), "", string(contract.SignalStop), contract.StopRequest{}))
		lost := false
		require.Eventually(t, func() bool {
			v, err := s.agents.Status(within(t), id)
			tells = err == nil && strings.HasPrefix(v.Doing, want)
			// A poll whose end the server has not seen yet may take the task. Then its first attempt ends by time, and history keeps
			// the reason of no later one: another agent shows it.
			lost = slices.ContainsFunc(s.historyNow(t, domain.WorkflowID(id), "").GetEvents(), func(e *historypb.HistoryEvent) bool {
				return e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT
			})
			return tells || lost
		}, patience, 100*time.Millisecond)
		require.NoError(t, s.temporal.TerminateWorkflow(within(t), domain.WorkflowID(id), "", "the test is over"))
		ours.Stop()
	}
}

// begunByBuild begins an agent with a worker of another build, whose workflow is another, and ends that worker.
func (s *stack) begunByBuild(t *testing.T, older string) (id string) {
	t.Helper()
	other := worker.New(s.temporal, s.queue, worker.Options{BuildID: older}) //nolint:staticcheck // as host does
	other.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ contract.SessionInput) (contract.Outcome, error) {
		err := workflow.UpsertMemo(ctx, map[string]any{contract.MemoBuild: contract.Builds{Begun: workflow.GetInfo(ctx).GetCurrentBuildID()}})
		if err == nil {
			err = workflow.Sleep(ctx, time.Hour)
		}
		return contract.Outcome{}, err
	}, workflow.RegisterOptions{Name: string(contract.Execute)})
	require.NoError(t, other.Start())
	defer other.Stop()
	id = s.named("replayed-" + uuid.NewString()[:8])
	_, err := s.agents.Start(within(t), agents.Start{ID: id, Prompt: "go", Definition: scripted(longScript(t, 1, 1))})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		v, err := s.agents.Status(within(t), id)
		return err == nil && v.Server.Builds.Begun == older
	}, patience, 20*time.Millisecond)
	return id
}
