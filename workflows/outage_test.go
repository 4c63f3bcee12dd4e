package workflows_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"everstep/domain/contract"
)

func bucketGone() error {
	return temporal.NewApplicationErrorWithOptions("the bucket is gone", "unavailable", temporal.ApplicationErrorOptions{})
}

// promptsHourly gives a session one more prompt each hour, and ends it an hour after the last.
func promptsHourly(t *testing.T, env *testsuite.TestWorkflowEnvironment, prompts int) {
	t.Helper()
	for h := 1; h <= prompts; h++ {
		env.RegisterDelayedCallback(func() {
			env.UpdateWorkflow(string(contract.UpdateSend), fmt.Sprint("u", h), callback[contract.SendReply](t, nil), contract.SendRequest{Prompt: "more"})
		}, time.Duration(h)*time.Hour)
	}
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Duration(prompts+1)*time.Hour)
}

// TestAnOutageThatAnOlderWorkerMet is tried before each execution of the run, as that worker did: its history
// says so, also where the run goes on under a newer one.
func TestAnOutageThatAnOlderWorkerMet(t *testing.T) {
	t.Parallel()
	w := steady(19, true)
	w.tool = func(contract.ToolRequest) (contract.ToolReply, error) {
		return contract.ToolReply{Content: strings.Repeat("x", 60_000)}, nil
	}
	env := w.environment(t)
	begun := env.Now()
	var tried []int
	w.record = func(contract.RecordRequest) (contract.Segment, error) {
		tried = append(tried, int(env.Now().Sub(begun)/time.Hour))
		return contract.Segment{}, bucketGone()
	}
	outgrows(env, 19)
	env.OnGetVersion("storage-outage", workflow.DefaultVersion, workflow.Version(1)).Return(workflow.DefaultVersion).Maybe()
	promptsHourly(t, env, 5)
	env.ExecuteWorkflow(string(contract.Execute), input(t, "ann"))
	require.Equal(t, []int{0, 1, 2, 3, 4, 5}, slices.Compact(tried))
	require.Equal(t, 19, len(w.asked), "each further execution fails before its first step")
}
