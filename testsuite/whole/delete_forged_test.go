package whole_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"

	"everstep/activities/record"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/testsuite/stores"
	"everstep/worker/host"
)

// spawning is a record of an agent's first execution, whose one call of one step has begun a sub-agent.
func spawning(t *testing.T, name string) (record.Record, domain.ToolExecutionID) {
	t.Helper()
	r := stores.Sample(t, name, 1)[0]
	id := r.ExecutionID.Step(1).Tool(0)
	r.Steps[0].Step.ToolExecutions = []domain.ToolExecution{{
		ID: id, Call: domain.ToolCall{ID: "a", Name: domain.SpawnSubagent, Arguments: `{"subagent":"below","prompt":"go"}`}, StartedAt: time.Unix(1, 0).UTC(),
	}}
	return r, id
}

// parentOfOne is an agent with one sub-agent.
func parentOfOne(t *testing.T, leaf string) domain.Definition {
	t.Helper()
	root := scripted(writeScript(t, "turns: [{tool_calls: [{name: spawn_subagent, arguments: {subagent: below, prompt: go}}]}, {text: done}]"))
	root.Subagents = map[string]domain.Subagent{"below": {Agent: "below"}}
	root.Agents = map[string]domain.Definition{"below": {Model: scripted(writeScript(t, leaf)).Model}}
	return root
}

// lying are records as a store would tell them that does not check them.
type lying struct {
	*record.Store
	say record.Record
}

func (l lying) Get(ctx context.Context, ref record.Ref) (record.Record, error) {
	if r, err := l.Store.Get(ctx, ref); err != nil || ref != l.say.Ref() {
		return r, err
	}
	return l.say, nil
}

// TestDeletingAForgedAgentHarmsNoOther: a file names the running sub-agent of another agent as its own. It is not imported,
// and where a record said so nevertheless, the sub-agent and what belongs to it stay as they are.
func TestDeletingAForgedAgentHarmsNoOther(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{})
	ctx := within(t)
	victim := s.starts(t, client.Start{ID: s.named("victim"), Prompt: "go", Definition: parentOfOne(t, slowLeaf)})
	call := victim.ExecutionID.Step(1).Tool(0)
	child := call.Subagent().String()
	require.Eventually(t, func() bool { return s.running(ctx, child) }, patience, 20*time.Millisecond)

	for what, imported := range map[string]time.Time{"recorded here": {}, "imported": time.Unix(1, 0).UTC()} {
		name := s.named("evil")
		honest, _ := spawning(t, name)
		forged, _ := spawning(t, name)
		forged.Steps[0].Step.ToolExecutions[0].ID = call
		forged.Imported = imported
		store := storeAt(t, filepath.Join(t.TempDir(), "records"))
		_, err := record.Import(ctx, store, inFile(t, forged), time.Now())
		require.ErrorContains(t, err, "record.steps[0].tool_executions[0].tool_execution_id: is "+call.String(), what)

		require.NoError(t, store.Record(ctx, honest))
		records := lying{store, forged}
		told, err := s.over(records).Tree(ctx, name, 0)
		require.NoError(t, err)
		for agent := range told.All() {
			require.NotEqual(t, child, agent.ID, what)
		}
		done, err := s.agents.Delete(ctx, name, client.DeleteOptions{Records: records})
		require.NoError(t, err, what)
		require.Equal(t, 1, done.Deleted.Records, what)
		require.Zero(t, done.Deleted.Runs, what)
		require.True(t, s.running(ctx, child), what)
	}
	s.stops(t, victim.ID, client.StopOptions{Mode: "now"})
}

// TestImportedRecordsDeleteNoWorkflow, not even one whose id is that of a sub-agent which they name; what remains is said.
func TestImportedRecordsDeleteNoWorkflow(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{})
	ctx, name := within(t), s.named("imported")
	r, call := spawning(t, name)
	store := storeAt(t, filepath.Join(t.TempDir(), "records"))
	_, err := record.Import(ctx, store, inFile(t, r), time.Now())
	require.NoError(t, err)
	x := s.starts(t, client.Start{ID: call.Subagent().String(), Prompt: "go", Definition: scripted(writeScript(t, slowLeaf))})
	done, err := s.agents.Delete(ctx, name, client.DeleteOptions{Records: store})
	require.NoError(t, err)
	require.Equal(t, client.Deleted{Records: 1}, done.Deleted)
	require.Contains(t, done.Remains, client.Remaining{Kind: client.RemainsUnknown, ID: x.ID, Text: x.ID + ", which is named as a sub-agent of " + name +
		", was left as it is: the server has it, and only records that were imported name it"})
	require.True(t, s.running(ctx, x.ID))
	s.stops(t, x.ID, client.StopOptions{Mode: "now"})
}

// elsewhereBorn is a server that tells of one workflow that another one has started it.
type elsewhereBorn struct {
	sdk.Client
	workflowID string
}

func (e elsewhereBorn) DescribeWorkflowExecution(ctx context.Context, workflowID, runID string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	d, err := e.Client.DescribeWorkflowExecution(ctx, workflowID, runID)
	if err == nil && workflowID == e.workflowID {
		d.WorkflowExecutionInfo.ParentExecution = &commonpb.WorkflowExecution{WorkflowId: domain.WorkflowID("somebody")}
	}
	return d, err
}

// TestSubagentsOfOthersAreLeft, by whom the server tells that has started them, whatever a history names.
func TestSubagentsOfOthersAreLeft(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Storage: noStorage})
	ctx := within(t)
	x := s.starts(t, client.Start{Prompt: "go", Definition: parentOfOne(t, "turns: [{text: found}]")})
	result := s.result(t, x.ID, 1)
	require.Equal(t, "done", result.Answer, "%v", result.Error)
	child := x.ExecutionID.Step(1).Tool(0).Subagent().String()
	c := client.New(elsewhereBorn{s.temporal, domain.WorkflowID(child)}, client.Config{TaskQueue: s.queue, Loopback: true})
	done, err := c.Delete(ctx, x.ID, client.DeleteOptions{Partly: true})
	require.NoError(t, err)
	require.Equal(t, client.Deleted{Runs: 1}, done.Deleted)
	require.Contains(t, done.Remains, client.Remaining{Kind: client.RemainsUnknown, ID: child, Text: child + ", which is named as a sub-agent of " + x.ID +
		", was left as it is: the server tells that somebody has started it"})
	s.status(t, child)
}
