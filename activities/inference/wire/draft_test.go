package wire_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference"
	"everstep/activities/inference/wire"
	"everstep/domain"
)

func TestDraft(t *testing.T) {
	t.Parallel()
	var deltas []inference.Delta
	d := &wire.Draft{Emit: func(delta inference.Delta) { deltas = append(deltas, delta) }}
	d.ID, d.Model, d.Usage = "1", "m-1", domain.Usage{OutputTokens: 3}
	d.Flush()
	d.Text(2, "hel")
	d.Flush()
	d.Reasoning(0, "h")
	d.Reasoning(0, "m")
	opaque := []byte(`{"a":1}`)
	d.Keep(0, "sig", nil)
	d.Keep(1, "", opaque)
	opaque[2] = 'b'
	d.Text(2, "lo\xff")
	d.Call(wire.Piece{Index: 3, ID: "a", Name: "f", Arguments: `{"x"`})
	d.Call(wire.Piece{Index: 3, Arguments: `:1}`})
	d.Flush()
	require.Equal(t, []inference.Delta{{Text: "hel"}, {Text: "lo\xff", Reasoning: "hm", Tool: "f"}}, deltas)

	partial := d.Partial()
	require.True(t, partial.Partial)
	require.Equal(t, inference.PartialMessage("hm", "hello\xff"), partial.Message)
	require.Equal(t, domain.Response{ID: "1", Model: "m-1", Usage: d.Usage}, partial.Response)

	answer := d.Finished(domain.FinishToolCalls, "tool_use")
	require.Equal(t, domain.Message{
		Role: domain.RoleAssistant,
		Parts: []domain.Part{
			{Type: domain.PartReasoning, Text: "hm", Signature: "sig"},
			{Type: domain.PartReasoning, Opaque: []byte(`{"a":1}`)},
			{Type: domain.PartText, Text: "hello\uFFFD"},
		},
		ToolCalls: []domain.ToolCall{{ID: "a", Name: "f", Arguments: `{"x":1}`}},
	}, answer.Message)
	require.Equal(t, domain.Response{ID: "1", Model: "m-1", Finish: domain.FinishToolCalls, FinishWord: "tool_use", Usage: d.Usage}, answer.Response)
	require.False(t, answer.Partial)

	d.DropText(2)
	require.Empty(t, d.TextAt(2))
	require.Empty(t, d.Finished(domain.FinishStop, "stop").Response.FinishWord)
}

func TestCut(t *testing.T) {
	t.Parallel()
	cut := func(output, bound int64, arguments ...string) bool {
		d := wire.Draft{Usage: domain.Usage{OutputTokens: output}}
		for k, text := range arguments {
			d.Call(wire.Piece{Index: k, Name: "f", Arguments: text})
		}
		return d.Cut(bound)
	}
	require.True(t, cut(16, 16, `{}`, `{"x`))
	require.False(t, cut(15, 16, `{}`, `{"x`), "it had more to say it in")
	require.False(t, cut(16, 0, `{}`, `{"x`), "there is no bound")
	require.False(t, cut(16, 16, `{}`), "the last call is whole")
	require.False(t, cut(16, 16))
}

// TestPairingRewrites: ids that the API would refuse are replaced, in calls and
// their results alike, and always by the same.
func TestPairingRewrites(t *testing.T) {
	t.Parallel()
	for range 2 {
		p := wire.Pairing{Accepts: func(id string) bool { return len(id) < 5 }}
		require.Equal(t, []string{"a", "call_1_1", "call_1_2"}, p.Begin(1, []domain.ToolCall{{ID: "a"}, {ID: "too long"}, {ID: ""}}))
		require.Equal(t, "call_1_1", p.Answer("too long"))
		require.Equal(t, "a", p.Answer("a"))
		require.Equal(t, "call_1_2", p.Answer(""))
	}
}

// TestCallInManyPieces: the arguments are not gone over anew for each of their
// pieces. That would take hours here.
func TestCallInManyPieces(t *testing.T) {
	t.Parallel()
	const pieces = 1 << 20
	for name, head := range map[string]wire.Piece{
		"with an index": {Index: 0, ID: "call_1", Name: "write"},
		"with an id":    {Index: wire.NoIndex, ID: "call_1", Name: "write"},
		"with neither":  {Index: wire.NoIndex, Name: "write"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			draft, next := &wire.Draft{}, head
			next.Name = ""
			head.Arguments = `{"text":"`
			draft.Call(head)
			for range pieces {
				next.Arguments = "word "
				draft.Call(next)
			}
			next.Arguments = `"}`
			draft.Call(next)
			require.Equal(t, []domain.ToolCall{{ID: head.ID, Name: "write", Arguments: `{"text":"` + strings.Repeat("word ", pieces) + `"}`}}, draft.Calls())
		})
	}
}
