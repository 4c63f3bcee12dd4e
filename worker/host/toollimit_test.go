package host

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"

	"everstep/activities"
	"everstep/activities/mcp"
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
)

func TestReadToolLimits(t *testing.T) {
	t.Parallel()
	requireReads(t, readToolLimits, map[string]map[string]domain.ToolLimit{
		"refund=5/m":                 {"refund": {Calls: 5, Per: time.Minute}},
		"refund=5/m+2, shop__x=10/s": {"refund": {Calls: 5, Per: time.Minute, AtOnce: 2}, "shop__x": {Calls: 10, Per: time.Second}},
		"shell=+1":                   {"shell": {AtOnce: 1}},
		"refund=20/h":                {"refund": {Calls: 20, Per: time.Hour}},
	}, map[string]string{
		"":              `"" is no limit; write it like refund=5/m (a rate), refund=+2`,
		"=5/m":          `"=5/m" is no limit`,
		"refund=5":      `refund: "5" is neither a rate, as in 5/m`,
		"refund=5/d":    `refund: "5/d" is neither`,
		"refund=0/m":    `refund: "0/m" is neither`,
		"refund=-5/m":   `refund: "-5/m" is neither`,
		"refund=1.5/m":  `refund: "1.5/m" is neither`,
		"refund=":       `refund: "" is neither`,
		"refund=5/m+":   `refund: "5/m+" is neither`,
		"refund=+0":     `refund: "+0" is neither`,
		"refund=+99999": "refund: limit: 99999 at once; at most 10000 are",
	})
}

// TestToolLimits: what the worker says comes before what the tool says, and no limit is for a tool that is not there.
func TestToolLimits(t *testing.T) {
	t.Parallel()
	run := func(context.Context, struct{}) (string, error) { return "", nil }
	tools := []tool.Tool{
		tool.New("refund", "Pays back.", domain.AtMostOnce, run, tool.Rate(5, time.Minute), tool.AtOnce(2)),
		tool.New("look", "Looks.", domain.ReadOnly, run),
		tool.New("send", "Sends.", domain.AtMostOnce, run, tool.AtOnce(3)),
		tool.New("off", "Is off.", domain.AtMostOnce, run, tool.AtOnce(3)),
	}
	config := Config{TaskQueue: "q", ToolLimits: map[string]domain.ToolLimit{"look": {Calls: 1, Per: time.Second}, "send": {}}}
	config.Allow.Tools = &[]string{"refund", "look", "send"}
	got, err := config.toolLimits(tools, nil)
	require.NoError(t, err)
	require.Equal(t, map[string]contract.ToolLimit{
		"refund": {TaskQueue: "q/tool/refund", ToolLimit: domain.ToolLimit{Calls: 5, Per: time.Minute, AtOnce: 2}},
		"look":   {TaskQueue: "q/tool/look", ToolLimit: domain.ToolLimit{Calls: 1, Per: time.Second}},
	}, got)

	options := limitedTool(got["refund"], worker.Options{MaxConcurrentActivityExecutionSize: 9, MaxConcurrentEagerActivityExecutionSize: 9})
	require.Equal(t, 2, options.MaxConcurrentActivityExecutionSize)
	require.InDelta(t, 5.0/60, options.TaskQueueActivitiesPerSecond, 1e-9)
	require.True(t, options.DisableWorkflowWorker)
	require.Equal(t, 9, limitedTool(got["look"], worker.Options{MaxConcurrentActivityExecutionSize: 9}).MaxConcurrentActivityExecutionSize)

	servers := mcp.Open([]mcp.Server{{Name: "shop", Command: "shop", Stateful: true}, {Name: "files", Command: "files"}}, mcp.Options{})
	t.Cleanup(servers.Close)
	require.NoError(t, checkBound(servers, map[string]contract.ToolLimit{"look": {}, "files__read": {}}))
	require.EqualError(t, checkBound(servers, map[string]contract.ToolLimit{"shop__pay": {}}),
		"tool limits: shop__pay is of a stateful MCP server, whose calls go to the worker that has the agent's session; leave its limit out")

	for want, wrong := range map[string]map[string]domain.ToolLimit{
		`tool limits: this worker has no tool "refnd"; name one that it has (--tool-limits, EVERSTEP_TOOL_LIMITS)`:   {"refnd": {AtOnce: 1}},
		`tool limits: this worker has no tool "shop__*"; name one that it has (--tool-limits, EVERSTEP_TOOL_LIMITS)`: {"shop__*": {AtOnce: 1}},
		"tool limits: look: limit: a number of it is negative; zero is none":                                         {"look": {AtOnce: -1}},
	} {
		_, err := Config{ToolLimits: wrong}.toolLimits(tools, activities.Toolbox(nil))
		require.EqualError(t, err, want)
	}
}
