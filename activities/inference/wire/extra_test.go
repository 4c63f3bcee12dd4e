package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

// TestUnread: what is not known by name and says something is kept, however it is written.
func TestUnread(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"content": true, "tool_calls": true}
	for object, unread := range map[string]string{
		`{"content":"a","tool_calls":[{"x":1}]}`: `null`,
		`{}`:                                     `null`,
		`null`:                                   `null`,
		`[{"x":1}]`:                              `null`,
		`{ "content" : "\"x\":1,{" , "x" : { "y" : [ 1, {"z":"}"} ] } , "w":2 }`: `{"x":{"y":[1,{"z":"}"}]},"w":2}`,
		`{"empty":"","none":null,"list":[],"object":{"a":[0]},"x":"\\\""}`:       `{"x":"\\\""}`,
		`{"caf\u00e9":1}`: `{"café":1}`,
	} {
		got, err := json.Marshal(wire.Unread([]byte(object), known))
		require.NoError(t, err)
		require.JSONEq(t, unread, string(got), object)
	}
}

// TestUsageIn: a usage is found below any name, the nearest first, and a text that only speaks of tokens is none.
func TestUsageIn(t *testing.T) {
	t.Parallel()
	for answer, usage := range map[string]domain.Usage{
		`{"usage":{"tokens":{"input_tokens":5,"output_tokens":2},"billed_units":{"input_tokens":1}}}`:  {InputTokens: 5, OutputTokens: 2},
		`{"timings":{"prompt_n":1,"predicted_n":2},"usage":{"prompt_tokens":5,"completion_tokens":2}}`: {InputTokens: 5, OutputTokens: 2},
		`{"choices":[{"message":{"usage":{"prompt_tokens":5,"completion_tokens":2}}}]}`:                {InputTokens: 5, OutputTokens: 2},
		`{"choices":[{"delta":{"content":"\"prompt_tokens\":5 tokens"}}]}`:                             {},
	} {
		require.Equal(t, usage, wire.UsageIn([]byte(answer)), answer)
	}
}

// TestPiecesAreLookedThroughForNothing: what is known, and a piece without a usage, allocate nothing.
func TestPiecesAreLookedThroughForNothing(t *testing.T) {
	known := map[string]bool{"role": true, "content": true}
	piece := []byte(`{"role":"assistant","content":"so many tokens"}`)
	require.Zero(t, testing.AllocsPerRun(10, func() { wire.Unread(piece, known) }))
	piece = []byte(`{"role":"assistant","content":"so many tokens, and more"}`)
	require.Zero(t, testing.AllocsPerRun(10, func() { wire.UsageIn(piece) }))
}
