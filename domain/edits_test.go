package domain_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
)

// transcript makes entries whose results hold 200 bytes.
func transcript(from int, lines ...string) []domain.Entry {
	entries := make([]domain.Entry, len(lines))
	for i, text := range lines {
		entries[i] = line(text)
		entries[i].Index = from + i
		if r := entries[i].Message.ToolResult; r != nil {
			r.Content = strings.Repeat("x", 200)
		}
	}
	return entries
}

func namesOf(messages []domain.Message) []string {
	var names []string
	for _, m := range messages {
		names = append(names, m.Name)
	}
	return names
}

func TestCompileEdited(t *testing.T) {
	t.Parallel()
	talk := []string{
		"|u ask", "|2 a calls x", "|2 t x", "|2 a calls y", "|2 t y", "notes|u note", "summary|1 u old sum", "summary|1 u sum", "|u more", "|2 a calls x", "|2 t x",
	}
	recent := []string{"u more", "2 a calls x", "2 t x"}
	for name, c := range map[string]struct {
		compiler domain.Compiler
		sections []string
		edits    domain.Edits
		want     []string
	}{
		"the summary stands for what is hidden, and for its trace": {
			edits: domain.Edits{Hidden: 6, Summary: 8},
			want:  append([]string{"1 u sum"}, recent...),
		},
		"a summary that itself lies among the hidden": {
			edits: domain.Edits{Hidden: 9, Summary: 8},
			want:  []string{"1 u sum", "2 a calls x", "2 t x"},
		},
		"a buffer": {
			edits: domain.Edits{Hidden: 3, Summary: 8, Buffered: 6},
			want:  append([]string{"1 u sum", "2 a calls y", "2 t y", "u note"}, recent...),
		},
		"selected: the buffer is a section of its own": {
			compiler: domain.SelectedSections, sections: []string{"buffer", "messages"},
			edits: domain.Edits{Hidden: 3, Summary: 8, Buffered: 5},
			want:  append([]string{"2 a calls y", "2 t y"}, recent...),
		},
		"selected: nothing else": {
			compiler: domain.SelectedSections, sections: []string{"messages"},
			edits: domain.Edits{Hidden: 3, Summary: 8, Buffered: 5},
			want:  recent,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entries := transcript(0, talk...)
			require.NoError(t, c.edits.Check(len(entries)))
			require.Equal(t, c.want, namesOf(domain.CompileEdited(c.compiler, c.sections, entries, []domain.ExecutionID{executionID(2)}, c.edits)))
		})
	}
}

func TestClearedResults(t *testing.T) {
	t.Parallel()
	entries := transcript(40, "|u hi", "|a calls x y z", "|t x", "|t y", "|t z")
	entries[3].Message.ToolResult.Content = "[cleared: 18 bytes"
	entries[3].Message.ToolResult.IsError = true
	for i := range entries[2:] {
		entries[2+i].Message.Parts = []domain.Part{{Type: domain.PartImage, Data: []byte("x")}}
	}
	before := encoded(t, entries)
	shown := domain.CompileEdited(domain.WholeConversation, nil, entries, nil, domain.Edits{Cleared: 44})
	for i, images := range []int{0, 0, 1} {
		require.Len(t, shown[2+i].Parts, images)
	}
	var contents []string
	for _, m := range shown[2:] {
		contents = append(contents, m.ToolResult.Content)
	}
	require.Equal(t, []string{"[cleared: 200 bytes]", "[cleared: 18 bytes", strings.Repeat("x", 200)}, contents)
	require.True(t, shown[3].ToolResult.IsError)
	require.Equal(t, "x", shown[2].ToolResult.CallID)
	require.Equal(t, before, encoded(t, entries), "never in place")
	again := domain.CompileEdited(domain.WholeConversation, nil, entries, nil, domain.Edits{Cleared: 45})
	require.Equal(t, shown[:4], again[:4], "what was cleared stays the same bytes")
	none := transcript(0, "|a calls x", "|t x")
	none[1].Message.ToolResult.Content = ""
	require.Empty(t, domain.CompileEdited(domain.WholeConversation, nil, none, nil, domain.Edits{Cleared: 2})[1].ToolResult.Content)
}

func TestEditsCheck(t *testing.T) {
	t.Parallel()
	for fault, edits := range map[string]domain.Edits{
		"":                         {Cleared: 5, Hidden: 5, Summary: 5, Buffered: 5},
		"edits.cleared: is 6":      {Cleared: 6},
		"edits.hidden: is -1":      {Hidden: -1},
		"has 5 messages":           {Summary: 6},
		"edits.buffered: is 9":     {Buffered: 9},
		"edits.buffered: is 2, be": {Hidden: 3, Buffered: 2},
	} {
		err := edits.Check(5)
		if fault == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, fault)
	}
	require.NoError(t, domain.Edits{}.Check(0))
	require.NoError(t, domain.Edits{Hidden: 3}.Check(3), "no buffer at all")
}

// TestEditsLaws: whatever the edits, nothing is invented, repeated or changed
// beside cleared results; nothing hidden is shown but the summary; a call and
// its results stay together; and what is edited is seen from any suffix that
// holds all that is shown.
func TestEditsLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return rapid.SampledFrom([]string{"", "", "", "summary", "notes"}).Draw(t, "section") + "|" +
				rapid.SampledFrom([]string{"", "1 ", "2 "}).Draw(t, "trace") +
				rapid.SampledFrom([]string{"u", "a", "a calls x", "a calls x y", "t x", "t y"}).Draw(t, "message")
		}), 1, 30).Draw(t, "lines")
		entries := transcript(0, lines...)
		for i := range entries {
			entries[i].Message.Name = strconv.Itoa(i)
		}
		bound := rapid.IntRange(0, len(entries))
		edits := domain.Edits{Cleared: bound.Draw(t, "cleared"), Hidden: bound.Draw(t, "hidden"), Summary: bound.Draw(t, "summary")}
		edits.Buffered = rapid.IntRange(edits.Hidden, len(entries)).Draw(t, "buffered")
		require.NoError(t, edits.Check(len(entries)))
		compiler := rapid.SampledFrom([]domain.Compiler{domain.CurrentTrace, domain.WholeConversation}).Draw(t, "compiler")
		chain := []domain.ExecutionID{executionID(1)}
		messages := domain.CompileEdited(compiler, nil, entries, chain, edits)
		shown := map[int]bool{}
		for _, m := range messages {
			i, err := strconv.Atoi(m.Name)
			require.NoError(t, err)
			require.False(t, shown[i], "once")
			shown[i] = true
			require.True(t, i >= edits.Hidden || i == edits.Summary-1, "%d is hidden", i)
			if m.ToolResult == nil || i >= edits.Cleared {
				require.Equal(t, entries[i].Message, m)
			} else {
				require.Equal(t, "[cleared: 200 bytes]", m.ToolResult.Content)
			}
		}
		for i, e := range entries {
			if e.Message.ToolResult == nil {
				continue
			}
			call := callOf(entries, i)
			require.Equal(t, call >= 0 && shown[call], shown[i], "the call at %d and its result at %d", call, i)
			require.Len(t, e.Message.ToolResult.Content, 200, "never in place")
		}
		grown := domain.CompileEdited(compiler, nil, slices.Concat(entries, transcript(len(entries), "|1 a calls z", "|1 t z")), chain, edits)
		require.Len(t, grown, len(messages)+2)
		if !strings.Contains(strings.Join(lines, ""), "notes") { // sections of one's own follow the conversation
			require.Equal(t, namesOf(messages), namesOf(grown[:len(messages)]), "what is sent grows at its end, so that a provider's cache holds it")
		}
		first := edits.Hidden
		if edits.Summary > 0 {
			first = min(first, edits.Summary-1)
		}
		from := rapid.IntRange(0, first).Draw(t, "from")
		require.Equal(t, namesOf(messages), namesOf(domain.CompileEdited(compiler, nil, entries[from:], chain, edits)))
	})
}

func BenchmarkCompileEdited(b *testing.B) {
	entries := longTalk(10000)
	for i := range entries {
		entries[i].Index = i
	}
	edits := domain.Edits{Cleared: 9900, Hidden: 9000, Buffered: 9800}
	b.ReportAllocs()
	for b.Loop() {
		domain.CompileEdited(domain.CurrentTrace, nil, entries, []domain.ExecutionID{executionID(1)}, edits)
	}
}

// TestTakenBack: rewinds hide what they took back, a call with its results, and spans that meet become one.
func TestTakenBack(t *testing.T) {
	t.Parallel()
	e := domain.Edits{Hidden: 1}
	first := e.WithTakenBack(domain.Span{From: 2, To: 4, By: 4})
	both := first.WithTakenBack(domain.Span{From: 6, To: 8, By: 8})
	require.Equal(t, []domain.Span{{From: 2, To: 4, By: 4}, {From: 6, To: 8, By: 8}}, both.TakenBack)
	require.Equal(t, []domain.Span{{From: 2, To: 6, By: 6}}, first.WithTakenBack(domain.Span{From: 4, To: 6, By: 6}).TakenBack)
	require.Equal(t, []domain.Span{{From: 2, To: 4, By: 4}}, first.TakenBack, "the one before stays as it was")
	require.Equal(t, first, first.WithTakenBack(domain.Span{From: 4, To: 4, By: 4}))
	require.True(t, both.TookBack(7))
	require.False(t, both.TookBack(4))
	require.NoError(t, both.Check(8))
	for _, wrong := range [][]domain.Span{{{From: 4, To: 4}}, {{From: 4, To: 9}}, {{From: 4, To: 6}, {From: 5, To: 7}}, {{From: -1, To: 2}}, {{To: 2, By: -1}}, {{To: 2, AfterStep: -1}}} {
		require.ErrorContains(t, domain.Edits{TakenBack: wrong}.Check(8), "edits.taken_back[")
	}
	require.ErrorContains(t, domain.Edits{TakenBack: make([]domain.Span, domain.MaxTakenBack+1)}.Check(8), "at most 256")
	talk := transcript(0, "|u ask", "|2 a calls x", "|2 t x", "|u more", "|2 a calls x", "|2 t x", "|u last")
	shown := domain.CompileEdited(domain.WholeConversation, nil, talk, nil, domain.Edits{TakenBack: []domain.Span{{From: 1, To: 4}}})
	require.Equal(t, []string{"u ask", "2 a calls x", "2 t x", "u last"}, namesOf(shown))
	shown = domain.CompileEdited(domain.WholeConversation, nil, talk, nil, domain.Edits{TakenBack: []domain.Span{{From: 4, To: 5}}})
	require.Equal(t, []string{"u ask", "2 a calls x", "2 t x", "u more", "u last"}, namesOf(shown), "a result goes with its call")
}
