package client

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	workflowpb "go.temporal.io/api/workflow/v1"

	"everstep/activities/build"
	"everstep/domain/contract"
)

func buildMemo(begun, last string) *commonpb.Memo {
	return &commonpb.Memo{Fields: map[string]*commonpb.Payload{contract.MemoBuild: payloads(contract.Builds{Begun: begun, Last: last}).Payloads[0]}}
}

// TestOtherBuildsAreCounted, and the first few of their agents named.
func TestOtherBuildsAreCounted(t *testing.T) {
	t.Parallel()
	f := newFake(newRun("run-1", nil))
	list := func(id, queue, begun, last string) {
		f.listed = append(f.listed, &workflowpb.WorkflowExecutionInfo{
			Execution: &commonpb.WorkflowExecution{WorkflowId: "agent/" + id, RunId: "run-" + id}, Type: &commonpb.WorkflowType{Name: string(contract.Execute)},
			TaskQueue: queue, Memo: buildMemo(begun, last),
		})
	}
	told := func() string {
		text, err := f.client().OtherBuilds(t.Context(), "everstep", []string{"v2"})
		require.NoError(t, err)
		return text
	}
	list("own", "everstep", "v2", "")
	list("elsewhere", "research", "v1", "")
	list("waits", "everstep", "", "")
	list("taken-over", "everstep", "v1", "v2")
	require.Empty(t, told())
	list("notes", "everstep", "v1", "")
	require.Equal(t, "open agents of another build: 1 (notes begun by build v1), the workers are of v2: finish them there, or export and fork", told())
	for n := range 9 {
		list(fmt.Sprint("more-", n), "everstep", "v1", "")
	}
	require.Contains(t, told(), "open agents of another build: 10 (notes begun by build v1, ")
	require.Contains(t, told(), "more-3 begun by build v1, …), the workers are of v2")
}

// TestOtherBuild names who has to carry an agent on.
func TestOtherBuild(t *testing.T) {
	t.Parallel()
	require.Equal(t, "begun by build v1, the workers are of v2: finish it there, or export and fork", OtherBuild(contract.Builds{Begun: "v1"}, "v2"))
	require.Equal(t, "begun by build v1, carried on by build v3, the workers are of v1: finish it there, or export and fork", OtherBuild(contract.Builds{Begun: "v1", Last: "v3"}, "v1"))
	require.Empty(t, OtherBuild(contract.Builds{Begun: "v1", Last: "v2"}, "v2"))
	require.Empty(t, OtherBuild(contract.Builds{}, "v2"))
	require.Equal(t, "begun by build v1, this is "+build.ID()+": finish it there, or export and fork", OtherBuild(contract.Builds{Begun: "v1"}, build.ID()))
}
