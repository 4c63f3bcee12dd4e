package activities_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/domain"
	"everstep/domain/contract"
)

// TestCallModelAnswersThatCannotBeRecorded: they have been paid for, and are not
// asked for again as if they had not.
func TestCallModelAnswersThatCannotBeRecorded(t *testing.T) {
	t.Parallel()
	empty, err := json.Marshal(inference.AssistantMessage(nil, "x", nil))
	require.NoError(t, err)
	brim := domain.MaxMessage - len(empty) + 1
	for name, test := range map[string]struct {
		text     string
		metadata domain.Metadata
		kind     domain.Kind
		says     string
	}{
		"as long as may be": {text: strings.Repeat("x", brim)},
		"too long":          {strings.Repeat("x", brim+1), nil, domain.TooLarge, "the model's answer has 1000001 bytes; at most 1000000 are allowed"},
		"no JSON":           {"x", domain.Metadata{"k": json.RawMessage("{")}, domain.Internal, "the model's answer cannot be recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := says(test.text, domain.Usage{InputTokens: 7, OutputTokens: 8})
			answer.Message.Metadata = test.metadata
			reply := modelBenchOf(returning(answer, nil)).reply(t)
			if test.says == "" {
				require.Equal(t, contract.Answered, reply.Outcome)
				require.Nil(t, reply.Error)
				return
			}
			require.Equal(t, contract.BilledFailure, reply.Outcome)
			require.Equal(t, test.kind, reply.Error.Kind)
			require.Equal(t, test.says, reply.Error.Message)
			require.EqualValues(t, 15, reply.Spent.TotalTokens())
		})
	}
}

// TestWrappedCalls: calls in a wrapper that the model invented are recorded as those that it means.
func TestWrappedCalls(t *testing.T) {
	t.Parallel()
	answer := says("look", domain.Usage{})
	answer.Message.ToolCalls = []domain.ToolCall{
		{ID: "1", Name: "multi_tool_use.parallel", Arguments: `{"tool_uses":[{"recipient_name":"functions.f","parameters":{"x":1}},{"recipient_name":"functions.f","parameters":{}}]}`},
		{ID: "2", Name: "functions.f", Arguments: "{}"}, {ID: "3", Name: "functions.g", Arguments: "{}"},
	}
	reply := modelBenchOf(returning(answer, nil)).reply(t)
	require.Equal(t, []domain.ToolCall{
		{ID: "1", Name: "f", Arguments: `{"x":1}`}, {ID: "1_2", Name: "f", Arguments: "{}"}, {ID: "2", Name: "f", Arguments: "{}"}, {ID: "3", Name: "functions.g", Arguments: "{}"},
	}, reply.Message.ToolCalls)
}
