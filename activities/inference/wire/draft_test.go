package wire_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

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

// TestRepetitionsCostWhatTheyBring: a server that repeats a long call over and over makes nobody read it anew each time.
func TestRepetitionsCostWhatTheyBring(t *testing.T) {
	t.Parallel()
	d := &wire.Draft{}
	long := `{"text":"` + strings.Repeat("{}", 1<<20) + `"}`
	d.Call(wire.Piece{Name: "f", Arguments: `{"text":"`})
	for range 1 << 20 {
		d.Call(wire.Piece{Name: "f", Arguments: "{}"})
	}
	d.Call(wire.Piece{Arguments: `"}`})
	for range 1 << 20 {
		d.Call(wire.Piece{Name: "f"})
	}
	require.Equal(t, []domain.ToolCall{{Name: "f", Arguments: long}}, d.Calls())
	d = &wire.Draft{}
	d.Call(wire.Piece{Name: "f", Arguments: "{}"})
	for range 1 << 18 {
		d.Call(wire.Piece{Arguments: "        "})
	}
	require.Len(t, d.Calls()[0].Arguments, 2+8<<18)
	many := make([]wire.Piece, 1<<14)
	for k := range many {
		many[k] = wire.Piece{Index: k, Name: "f"}
	}
	d = &wire.Draft{}
	d.Call(many...)
	require.Less(t, len(d.Calls()), 5000, "more are refused, and not compared with each other before")
}

// TestWhatIsKeptCanBeReadAgain: a record of it is a few levels deeper, and JSON is read to 10,000.
func TestWhatIsKeptCanBeReadAgain(t *testing.T) {
	t.Parallel()
	var d wire.Draft
	for at, depth := range []int{9990, 9000} {
		d.Keep(at, "", []byte(strings.Repeat("[", depth)+strings.Repeat("]", depth)))
	}
	parts := d.Finished(domain.FinishStop, "").Message.Parts
	require.Len(t, parts, 1)
	require.Len(t, parts[0].Opaque, 2*9000)
}

// TestPairing: each call has an id of its own, each result that of its call.
func TestPairing(t *testing.T) {
	t.Parallel()
	var p wire.Pairing
	require.Nil(t, p.Begin(0, nil))
	require.Equal(t, "x", p.Answer("x"), "nothing was called")
	calls := []domain.ToolCall{{ID: "a"}, {ID: "a"}, {ID: "call_1_1"}}
	require.Equal(t, []string{"a", "call_1_1", "call_1_2"}, p.Begin(1, calls))
	require.Equal(t, []int{0, 1, 2, -1}, []int{p.Next("a"), p.Next("a"), p.Next("a"), p.Next("a")})
	require.Equal(t, []string{"call_2_0"}, p.Begin(2, calls[:1]))
	require.Equal(t, []string{"call_2_0_1"}, p.Begin(2, calls[:1]))
	require.Equal(t, "call_2_0_1", p.Answer("unknown"))
	p.Await(calls[1:], []string{"x", "y"})
	require.Equal(t, "y", p.Answer("call_1_1"))
	require.Equal(t, "x", p.Answer("call_1_1"), "the one that has none")
	require.Equal(t, "call_1_1", p.Answer("call_1_1"))
}
