package host

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// settingAttributes is a workflow task of two commands that set attributes.
func settingAttributes(names ...string) *workflowservice.RespondWorkflowTaskCompletedRequest {
	fields := func() *commonpb.SearchAttributes {
		all := map[string]*commonpb.Payload{}
		for _, name := range names {
			all[name] = &commonpb.Payload{}
		}
		return &commonpb.SearchAttributes{IndexedFields: all}
	}
	return &workflowservice.RespondWorkflowTaskCompletedRequest{Commands: []*commandpb.Command{
		{Attributes: &commandpb.Command_UpsertWorkflowSearchAttributesCommandAttributes{
			UpsertWorkflowSearchAttributesCommandAttributes: &commandpb.UpsertWorkflowSearchAttributesCommandAttributes{SearchAttributes: fields()},
		}},
		{Attributes: &commandpb.Command_ContinueAsNewWorkflowExecutionCommandAttributes{
			ContinueAsNewWorkflowExecutionCommandAttributes: &commandpb.ContinueAsNewWorkflowExecutionCommandAttributes{SearchAttributes: fields()},
		}},
		{},
	}}
}

// TestLostAttributesAreLeftOut, those that the server named, for a while.
func TestLostAttributesAreLeftOut(t *testing.T) {
	t.Parallel()
	const refusal = "BadSearchAttributes: Namespace default has no mapping defined for search attribute AgentStatus"
	for name, test := range map[string]struct {
		sets    []string
		refusal string
		want    [][]string
	}{
		"one of two":     {[]string{"AgentName", "AgentStatus"}, refusal, [][]string{{"AgentName"}, {"AgentName"}, nil}},
		"the only one":   {[]string{"AgentStatus"}, refusal, [][]string{{"BatcherUser"}, nil, nil}},
		"no name":        {[]string{"AgentName", "AgentStatus"}, "BadSearchAttributes: no", [][]string{{"BatcherUser"}, nil, nil}},
		"the SDK's own":  {[]string{"AgentStatus", "TemporalChangeVersion"}, "BadSearchAttributes: no", [][]string{{"TemporalChangeVersion"}, {"TemporalChangeVersion"}, nil}},
		"only the SDK's": {[]string{"TemporalChangeVersion"}, "BadSearchAttributes: no", [][]string{{"TemporalChangeVersion"}, {"TemporalChangeVersion"}, nil}},
		"part of a name": {[]string{"Agent", "AgentStatus"}, refusal, [][]string{{"Agent"}, {"Agent"}, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var lost lostAttributes
				task := settingAttributes(test.sets...)
				require.Same(t, task, lost.without(task))
				lost.learn(task, test.refusal, time.Now())
				require.Equal(t, test.want, setBy(lost.without(task)))
				require.Len(t, setBy(task)[0], len(test.sets), "it is the SDK's")
				time.Sleep(refusedFor + time.Second)
				require.Same(t, task, lost.without(task), "it may be back")
			})
		})
	}
}

func setBy(task *workflowservice.RespondWorkflowTaskCompletedRequest) (all [][]string) {
	for _, command := range task.GetCommands() {
		all = append(all, slices.Sorted(maps.Keys(attributesOf(command).GetIndexedFields())))
	}
	return all
}
