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

// TestDraftOfManyKinds: what adapters ask of a draft while it arrives.
func TestDraftOfManyKinds(t *testing.T) {
	t.Parallel()
	var told []inference.Delta
	d := &wire.Draft{Emit: func(delta inference.Delta) { told = append(told, delta) }}
	d.Flush()
	require.False(t, d.Told())
	d.Identify("", "m")
	d.Identify("1", "n")
	require.Equal(t, []string{"1", "m"}, []string{d.ID, d.Model})
	d.Report(domain.Usage{InputTokens: 1})
	d.Report(domain.Usage{})
	require.Equal(t, domain.Usage{InputTokens: 1}, d.Usage)
	d.Text(0, "")
	d.Reasoning(0, "")
	require.Zero(t, d.Held(), "nothing came")
	d.Text(0, "said")
	d.Reasoning(0, "hm")
	require.Equal(t, 2<<10+6, d.Held())
	d.Keep(0, "sig", []byte("{}"))
	d.Hold(10)
	require.Equal(t, 2<<10+21, d.Held())
	require.Equal(t, "said", d.TextAt(0))
	require.Empty(t, d.TextAt(1))
	require.False(t, d.Called())
	d.Call(wire.Piece{Index: 0, ID: "a", Name: "f", Arguments: "{}"})
	d.Call(wire.Piece{Index: 1, ID: "b", Name: "g", Arguments: "{"})
	d.Flush()
	require.True(t, d.Called() && d.Told())
	require.Equal(t, []inference.Delta{{Text: "said", Reasoning: "hm", Tool: "f"}, {Tool: "g"}}, told, "one delta tells of one call")
	require.Equal(t, 4<<10+28, d.Held())
	partial := d.Partial()
	require.Empty(t, partial.Message.ToolCalls)
	require.Equal(t, domain.Usage{InputTokens: 1, OutputTokens: 10, Estimated: true}, partial.Response.Usage, "calls are counted")
	d.Usage.OutputTokens = 2
	require.Equal(t, d.Usage, d.Partial().Response.Usage)
	silent := &wire.Draft{}
	silent.Text(0, "x")
	silent.Flush()
	require.False(t, silent.Told())
}

// TestCallsFromPieces: which pieces are one call, and in which order they stand.
func TestCallsFromPieces(t *testing.T) {
	t.Parallel()
	none := wire.NoIndex
	for name, test := range map[string]struct {
		pieces []wire.Piece
		want   []domain.ToolCall
	}{
		"by index":                  {[]wire.Piece{{Index: 1, ID: "b", Name: "g"}, {Index: 0, ID: "a", Name: "f"}, {Index: 1, Arguments: "2"}, {Index: 0, Arguments: "1"}}, []domain.ToolCall{{ID: "a", Name: "f", Arguments: "1"}, {ID: "b", Name: "g", Arguments: "2"}}},
		"an index for two":          {[]wire.Piece{{ID: "b", Name: "g", Arguments: "2"}, {ID: "a", Name: "f", Arguments: "1"}}, []domain.ToolCall{{ID: "b", Name: "g", Arguments: "2"}, {ID: "a", Name: "f", Arguments: "1"}}},
		"an index for two, whole":   {[]wire.Piece{{Name: "f", Arguments: "{}"}, {Name: "f", Arguments: `{"a":1}`}}, []domain.ToolCall{{Name: "f", Arguments: "{}"}, {Name: "f", Arguments: `{"a":1}`}}},
		"a name with each":          {[]wire.Piece{{ID: "a", Name: "f", Arguments: "{"}, {ID: "a", Name: "f", Arguments: "}"}}, []domain.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}}},
		"a name with each, no id":   {[]wire.Piece{{Name: "f", Arguments: "{"}, {Name: "f", Arguments: `"a":1`}, {Name: "f", Arguments: "}"}}, []domain.ToolCall{{Name: "f", Arguments: `{"a":1}`}}},
		"a name in two":             {[]wire.Piece{{ID: "a", Name: "fa"}, {Name: "st"}}, []domain.ToolCall{{ID: "a", Name: "fast"}}},
		"an id later":               {[]wire.Piece{{Name: "f"}, {ID: "a", Arguments: "1"}}, []domain.ToolCall{{ID: "a", Name: "f", Arguments: "1"}}},
		"by id":                     {[]wire.Piece{{Index: none, ID: "b", Name: "g"}, {Index: none, ID: "a", Name: "f"}, {Index: none, ID: "b", Arguments: "2"}}, []domain.ToolCall{{ID: "b", Name: "g", Arguments: "2"}, {ID: "a", Name: "f"}}},
		"by id, whole":              {[]wire.Piece{{Index: none, ID: "a", Name: "f", Arguments: "{}"}, {Index: none, ID: "a", Name: "f", Arguments: `{"a":1}`}}, []domain.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}, {ID: "a", Name: "f", Arguments: `{"a":1}`}}},
		"by place":                  {[]wire.Piece{{Index: none, Name: "f"}, {Index: none, Arguments: "1"}, {Index: none, Arguments: "2"}}, []domain.ToolCall{{Name: "f", Arguments: "12"}}},
		"by place, whole":           {[]wire.Piece{{Index: none, Name: "f", Arguments: " {} "}, {Index: none, Name: "g"}}, []domain.ToolCall{{Name: "f", Arguments: " {} "}, {Name: "g"}}},
		"by place, not the last":    {[]wire.Piece{{Index: 0, ID: "a", Name: "f"}, {Index: 1, ID: "b", Name: "g"}, {Index: none, Arguments: "1"}}, []domain.ToolCall{{ID: "a", Name: "f"}, {ID: "b", Name: "g", Arguments: "1"}}},
		"whole with an id":          {[]wire.Piece{{ID: "a", Name: "f", Arguments: "{}"}, {ID: "a", Name: "f"}}, []domain.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}}},
		"without an index for some": {[]wire.Piece{{Index: 1, ID: "b", Name: "g"}, {Index: none, ID: "a", Name: "f"}}, []domain.ToolCall{{ID: "b", Name: "g"}, {ID: "a", Name: "f"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &wire.Draft{}
			for _, piece := range test.pieces {
				d.Call(piece)
			}
			require.Equal(t, test.want, d.Calls())
		})
	}
}

// TestOneCallIsReadOnce: each of these lists of pieces is one call of f with an empty object, but where more are wanted.
func TestOneCallIsReadOnce(t *testing.T) {
	t.Parallel()
	none := wire.NoIndex
	whole := wire.Piece{ID: "a", Name: "f", Arguments: "{}"}
	bare := wire.Piece{Name: "f", Arguments: "{}"}
	unnumbered := wire.Piece{Index: none, ID: "a", Name: "f", Arguments: "{}"}
	one := []domain.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}}
	nameless := []domain.ToolCall{{Name: "f", Arguments: "{}"}}
	two := []domain.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}, {ID: "b", Name: "f", Arguments: "{}"}}
	for name, test := range map[string]struct {
		lists [][]wire.Piece
		want  []domain.ToolCall
	}{
		"its name again":                            {[][]wire.Piece{{whole}, {{Name: "f"}}}, one},
		"its id again":                              {[][]wire.Piece{{whole}, {{ID: "a"}}}, one},
		"its name and id again":                     {[][]wire.Piece{{whole}, {{ID: "a", Name: "f"}}}, one},
		"its name again, no index":                  {[][]wire.Piece{{unnumbered}, {{Index: none, Name: "f"}}}, one},
		"its id again, no index":                    {[][]wire.Piece{{unnumbered}, {{Index: none, ID: "a"}}}, one},
		"its name again, neither index nor id":      {[][]wire.Piece{{{Index: none, Name: "f", Arguments: "{}"}}, {{Index: none, Name: "f"}}}, nameless},
		"its id under another index":                {[][]wire.Piece{{whole}, {{Index: 1, ID: "a"}}}, one},
		"its name and id under another index":       {[][]wire.Piece{{whole}, {{Index: 1, ID: "a", Name: "f"}}}, one},
		"its name under another index":              {[][]wire.Piece{{whole}, {{Index: 1, Name: "f"}}}, one},
		"all of it again":                           {[][]wire.Piece{{whole}, {whole}}, one},
		"all of it again, no index":                 {[][]wire.Piece{{unnumbered}, {unnumbered}}, one},
		"all of it again, no id":                    {[][]wire.Piece{{bare}, {bare}}, nameless},
		"all of it again, spelled otherwise":        {[][]wire.Piece{{bare}, {{Name: "f", Arguments: " { } "}}}, nameless},
		"its arguments again":                       {[][]wire.Piece{{whole}, {{Arguments: "{}"}}}, one},
		"its arguments again, by id":                {[][]wire.Piece{{unnumbered}, {{Index: none, ID: "a", Arguments: "{}"}}}, one},
		"white space behind it":                     {[][]wire.Piece{{whole}, {{ID: "a", Name: "f", Arguments: " "}}}, one},
		"others after its end, as of a second call": {[][]wire.Piece{{whole}, {{ID: "a", Name: "f", Arguments: `{"x":2}`}}}, one},
		"the id is late":                            {[][]wire.Piece{{bare}, {{ID: "a"}}}, one},
		"the id is late, no index":                  {[][]wire.Piece{{{Index: none, Name: "f", Arguments: "{}"}}, {{Index: none, ID: "a"}}}, one},
		"the id is late, with all of it":            {[][]wire.Piece{{bare}, {whole}}, one},
		"the name is late":                          {[][]wire.Piece{{{ID: "a", Arguments: "{}"}}, {{Name: "f"}}}, one},
		"the id at each piece":                      {[][]wire.Piece{{{Index: none, ID: "a", Name: "f"}}, {{Index: none, ID: "a", Arguments: "{"}}, {{Index: none, ID: "a", Arguments: "}"}}}, one},
		"another id at each piece":                  {[][]wire.Piece{{{ID: "a", Name: "f", Arguments: "{"}}, {{ID: "b", Arguments: "}"}}}, one},
		"another index at each piece":               {[][]wire.Piece{{{ID: "a", Name: "f", Arguments: "{"}}, {{Index: 1, Arguments: "}"}}}, one},
		"another index at each piece, by id":        {[][]wire.Piece{{{ID: "a", Name: "f", Arguments: "{"}}, {{Index: 1, ID: "a", Arguments: "}"}}}, one},
		"its name so far at each piece":             {[][]wire.Piece{{{ID: "a", Name: "f"}}, {{Name: "fa"}}, {{Name: "fast", Arguments: "{}"}}}, []domain.ToolCall{{ID: "a", Name: "fast", Arguments: "{}"}}},
		"an id and nothing more":                    {[][]wire.Piece{{whole}, {{Index: 1, ID: "b"}}}, one},
		"two ids":                                   {[][]wire.Piece{{whole}, {{ID: "b", Name: "f", Arguments: "{}"}}}, two},
		"two ids in one list":                       {[][]wire.Piece{{whole, {ID: "b", Name: "f", Arguments: "{}"}}}, two},
		"two ids, no arguments":                     {[][]wire.Piece{{{ID: "a", Name: "f"}}, {{ID: "b", Name: "f"}}}, []domain.ToolCall{{ID: "a", Name: "f"}, {ID: "b", Name: "f"}}},
		"two indices":                               {[][]wire.Piece{{bare}, {{Index: 1, Name: "f", Arguments: "{}"}}}, append(nameless, nameless...)},
		"two indices, one id":                       {[][]wire.Piece{{whole}, {{Index: 1, ID: "a", Name: "f", Arguments: "{}"}}}, append(one, one...)},
		"two indices, no arguments yet":             {[][]wire.Piece{{{Name: "f"}}, {{Index: 1, Name: "f"}}, {{Arguments: "{}"}}, {{Index: 1, Arguments: "{}"}}}, append(nameless, nameless...)},
		"two indices, one id, in pieces":            {[][]wire.Piece{{whole}, {{Index: 1, ID: "a", Name: "f"}}, {{Index: 1, Arguments: "{}"}}}, append(one, one...)},
		"two places in one list":                    {[][]wire.Piece{{bare, bare}}, append(nameless, nameless...)},
		"two names under one id":                    {[][]wire.Piece{{whole}, {{ID: "a", Name: "g", Arguments: "{}"}}}, []domain.ToolCall{{ID: "a", Name: "f", Arguments: "{}"}, {ID: "a", Name: "g", Arguments: "{}"}}},
		"numbers that only look alike":              {[][]wire.Piece{{{Name: "f", Arguments: `{"n":9007199254740993}`}}, {{Name: "f", Arguments: `{"n":9007199254740992}`}}}, []domain.ToolCall{{Name: "f", Arguments: `{"n":9007199254740993}`}, {Name: "f", Arguments: `{"n":9007199254740992}`}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &wire.Draft{}
			for _, list := range test.lists {
				d.Call(list...)
			}
			require.Equal(t, test.want, d.Calls())
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
