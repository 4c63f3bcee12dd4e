package scripted

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/domain"
)

func TestJSONAnswers(t *testing.T) {
	t.Parallel()
	path := scriptFile(t, `
turns:
  - json: {city: '{{ prompt }}', list: [1, 2.50, null, true]}
  - {json: [], finish_reason: length}
  - {text: plain, tool_calls: [{name: city, arguments: {}}]}
  - json: {a: 1}
    tool_calls: [{name: f}]
`)
	call := at(path, 0, 1)
	answer, deltas, err := play(t.Context(), call)
	require.NoError(t, err)
	const want = `{"city":"hello","list":[1,2.50,null,true]}`
	require.Equal(t, want, answer.Message.Text())
	require.Empty(t, answer.Message.ToolCalls)
	require.Equal(t, domain.FinishStop, answer.Response.Finish)
	require.Equal(t, []inference.Delta{{Text: want}}, deltas)

	call.OutputMode, call.OutputTool = domain.OutputTool, "city"
	answer, deltas, err = play(t.Context(), call)
	require.NoError(t, err)
	require.Empty(t, answer.Message.Text())
	require.Equal(t, []domain.ToolCall{{ID: "call_0_0", Name: "city", Arguments: want}}, answer.Message.ToolCalls)
	require.Equal(t, domain.FinishToolCalls, answer.Response.Finish)
	require.Equal(t, []inference.Delta{{Tool: "city"}}, deltas)

	call.Inference = 1
	answer = played(t, call)
	require.Equal(t, "[]", answer.Message.ToolCalls[0].Arguments)
	require.Equal(t, domain.FinishLength, answer.Response.Finish)

	call.Inference = 2
	answer = played(t, call)
	require.Equal(t, "plain", answer.Message.Text(), "a script may also answer as a model should not")
	require.Equal(t, "city", answer.Message.ToolCalls[0].Name)

	call.Inference = 3
	answer = played(t, call)
	require.Equal(t, []domain.ToolCall{{ID: "call_3_0", Name: "f", Arguments: "{}"}, {ID: "call_3_1", Name: "city", Arguments: `{"a":1}`}}, answer.Message.ToolCalls)
}

func TestJSONAnswersAreEitherOr(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"turns:\n  - {text: x, json: {}}":             ":2:5: turns[0]: has text and json; give one of them",
		"turns:\n  - {text: '{{ prompt }}', json: 1}": ":2:5: turns[0]: has text and json; give one of them",
		"turns:\n  - json: .nan":                      "is .nan, which JSON cannot hold",
		"turns:\n  - json: {a: 1, a: 2}":              "twice",
	} {
		path := scriptFile(t, text)
		err := New().Check(t.Context(), domain.LLMConfig{Model: path})
		require.ErrorContains(t, err, want)
	}
	path := scriptFile(t, `turns: [{json: {a: '{{ result "none" }}'}}]`)
	_, _, err := play(t.Context(), at(path, 0, 1))
	require.ErrorContains(t, err, "json: ")
}
