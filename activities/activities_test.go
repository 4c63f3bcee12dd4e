package activities_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"everstep/activities"
	"everstep/activities/inference"
	"everstep/activities/tool"
	"everstep/activities/transcript"
	"everstep/domain"
)

func TestNewReportsAllThatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := activities.New(activities.Config{
		Providers: map[string]inference.Provider{"none": nil},
		Tools: []tool.Tool{
			fake(domain.ReadOnly, answering("")),
			fake(domain.AtMostOnce, answering("")),
			{},
			tool.New("text", "", domain.ReadOnly, func(context.Context, string) (string, error) { return "", nil }),
		},
		Compilers:   map[string]activities.Compiler{"whole_conversation": all, "empty": nil, "Bad Name": all},
		CancelGrace: -1,
	})
	for _, want := range []string{
		"transcripts: missing", `provider "none"`, `tool "fake": name: two tools have it`, `tool "": name: use 1 to 64`,
		`tool "text": schema: its type is not "object"`, "cancel grace",
		`compiler "whole_conversation": name: Everstep has one`, `compiler "empty": it needs a name and a function`, `compiler: "Bad Name" is no name`,
	} {
		require.ErrorContains(t, err, want)
	}
}

func TestRegisterServesTheContract(t *testing.T) {
	t.Parallel()
	a, err := activities.New(activities.Config{Transcripts: &transcript.Source{}})
	require.NoError(t, err)
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(silent{})
	env := suite.NewTestWorkflowEnvironment()
	a.Register(env)
	for _, name := range []string{"agent.CallModel", "agent.CallTool", "agent.ListTools", "agent.Record", "agent.CallHook", "agent.CheckOutput"} {
		require.NotPanics(t, func() { env.OnActivity(name) }, "nothing is registered as %s", name)
	}
	require.Panics(t, func() { env.OnActivity("agent.Nothing") }, "OnActivity can tell")
}
