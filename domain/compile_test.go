package domain_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
)

// line makes an entry from a short form: section, speaker, then what it does.
// "u hi" speaks, "a calls x y" asks for tools, "t x" answers a call; a leading
// "1" or "2" makes it trace of that execution.
func line(text string) domain.Entry {
	section, rest, _ := strings.Cut(text, "|")
	words := strings.Fields(rest)
	var tag domain.Tag
	if n, err := strconv.Atoi(words[0]); err == nil {
		tag = domain.Tag{ExecutionID: executionID(n), Trace: true}
		words = words[1:]
	}
	m := domain.Message{Name: rest}
	switch words[0] {
	case "u":
		m.Role = domain.RoleUser
	case "a":
		m.Role = domain.RoleAssistant
		if len(words) > 1 && words[1] == "calls" {
			for _, id := range words[2:] {
				m.ToolCalls = append(m.ToolCalls, domain.ToolCall{ID: id, Name: "tool"})
			}
		}
	case "t":
		m.Role = domain.RoleTool
		m.ToolResult = &domain.ToolResult{CallID: words[1]}
	}
	return domain.Entry{Section: section, Message: tag.Apply(m)}
}

func TestCompile(t *testing.T) {
	t.Parallel()
	talk := []string{
		"|u first", "|1 a calls x", "|1 t x", "|a answer one", "|u second", "|2 a calls x y", "|2 t x", "|2 t y", "|a answer two",
		"notes|u note", "buffer|u buffered", "summary|u summed up",
	}
	for name, c := range map[string]struct {
		compiler domain.Compiler
		sections []string
		chain    []int
		entries  []string
		want     []string
	}{
		"current trace": {domain.CurrentTrace, nil, []int{2}, talk, []string{
			"u summed up", "u buffered", "u first", "a answer one", "u second", "2 a calls x y", "2 t x", "2 t y", "a answer two", "u note",
		}},
		"the zero value": {"", nil, []int{2}, talk, []string{
			"u summed up", "u buffered", "u first", "a answer one", "u second", "2 a calls x y", "2 t x", "2 t y", "a answer two", "u note",
		}},
		"no chain": {domain.CurrentTrace, nil, nil, talk, []string{
			"u summed up", "u buffered", "u first", "a answer one", "u second", "a answer two", "u note",
		}},
		"with its origins": {domain.CurrentTrace, nil, []int{3, 1}, talk, []string{
			"u summed up", "u buffered", "u first", "1 a calls x", "1 t x", "a answer one", "u second", "a answer two", "u note",
		}},
		"all sections": {domain.AllSections, nil, nil, talk, []string{
			"u summed up", "u buffered", "u first", "1 a calls x", "1 t x", "a answer one", "u second", "2 a calls x y", "2 t x", "2 t y", "a answer two", "u note",
		}},
		"selected sections":              {domain.SelectedSections, []string{"notes", "summary", "nowhere"}, []int{2}, talk, []string{"u note", "u summed up"}},
		"the default section by no name": {domain.SelectedSections, []string{""}, nil, []string{"|u a", "messages|u b", "notes|u c"}, []string{"u a", "u b"}},
		"selected twice":                 {domain.SelectedSections, []string{"notes", "notes"}, nil, []string{"notes|u a"}, []string{"u a"}},
		"nothing selected":               {domain.SelectedSections, nil, nil, talk, nil},
		"nothing":                        {domain.CurrentTrace, nil, nil, nil, nil},
		"results go with their call":     {domain.CurrentTrace, nil, []int{2}, []string{"|1 a calls x", "|2 t x", "|u hi"}, []string{"u hi"}},
		"results stay with their call":   {domain.CurrentTrace, nil, []int{2}, []string{"|2 a calls x", "|1 t x", "|u hi"}, []string{"2 a calls x", "1 t x", "u hi"}},
		"results move to their call":     {domain.AllSections, nil, nil, []string{"notes|a calls x", "|t x", "|u hi"}, []string{"u hi", "a calls x", "t x"}},
		"call in a section not selected": {domain.SelectedSections, []string{"messages"}, nil, []string{"notes|a calls x", "|t x", "|u hi"}, []string{"u hi"}},
		"a result without a call":        {domain.AllSections, nil, nil, []string{"|t x", "|u hi", "|a calls x"}, []string{"u hi", "a calls x"}},
		"an id that repeats":             {domain.CurrentTrace, nil, []int{2}, []string{"|1 a calls x", "|1 t x", "|2 a calls x", "|1 t x"}, []string{"2 a calls x", "1 t x"}},
		"an id twice in one message":     {domain.CurrentTrace, nil, []int{1}, []string{"|1 a calls x x", "|1 t x", "|1 t x"}, []string{"1 a calls x x", "1 t x", "1 t x"}},
		"results out of order":           {domain.CurrentTrace, nil, []int{1}, []string{"|1 a calls x y", "|1 a calls z", "|1 t z", "|1 t y", "|1 t x"}, []string{"1 a calls x y", "1 a calls z", "1 t z", "1 t y", "1 t x"}},
		"a late result of a hidden call": {domain.CurrentTrace, nil, []int{2}, []string{"|1 a calls x", "|2 a calls z", "|2 t z", "|2 t x"}, []string{"2 a calls z", "2 t z"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var entries []domain.Entry
			for _, text := range c.entries {
				entries = append(entries, line(text))
			}
			var chain []domain.ExecutionID
			for _, n := range c.chain {
				chain = append(chain, executionID(n))
			}
			var got []string
			for _, m := range domain.CompileEdited(c.compiler, c.sections, entries, chain, domain.Edits{}) {
				got = append(got, m.Name)
			}
			require.Equal(t, c.want, got)
		})
	}
}

// TestCompileLaws: it never fails, invents, repeats or changes a message, and
// never separates a call from its result.
func TestCompileLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return rapid.SampledFrom([]string{"", "", "summary", "notes"}).Draw(t, "section") + "|" +
				rapid.SampledFrom([]string{"", "1 ", "2 "}).Draw(t, "trace") +
				rapid.SampledFrom([]string{"u", "a", "a calls x", "a calls x y", "a calls y x x", "t x", "t y", "t z"}).Draw(t, "message")
		}), 0, 30).Draw(t, "lines")
		entries := make([]domain.Entry, len(lines))
		at := map[string]int{}
		for i, text := range lines {
			entries[i] = line(text)
			entries[i].Message.Name = strconv.Itoa(i)
			at[entries[i].Message.Name] = i
		}
		compiler := rapid.SampledFrom(domain.Compilers()).Draw(t, "compiler")
		sections := rapid.SliceOf(rapid.SampledFrom([]string{"", "summary", "notes", "none"})).Draw(t, "sections")
		shown := map[int]int{}
		for place, m := range domain.CompileEdited(compiler, sections, entries, []domain.ExecutionID{executionID(1)}, domain.Edits{}) {
			i := at[m.Name]
			require.NotContains(t, shown, i, "once")
			require.Equal(t, entries[i].Message, m)
			shown[i] = place
		}
		for i, e := range entries {
			place, isShown := shown[i]
			if e.Message.ToolResult == nil {
				continue
			}
			call := callOf(entries, i)
			if call < 0 {
				require.False(t, isShown, "a result without its call")
				continue
			}
			callPlace, callShown := shown[call]
			require.Equal(t, callShown, isShown, "the call at %d and its result at %d", call, i)
			require.True(t, !isShown || callPlace < place, "the call comes first")
		}
	})
}

// callOf finds the nearest call before a result, the slow and plain way.
func callOf(entries []domain.Entry, i int) int {
	for k := i - 1; k >= 0; k-- {
		for _, call := range entries[k].Message.ToolCalls {
			if call.ID == entries[i].Message.ToolResult.CallID {
				return k
			}
		}
	}
	return -1
}

// TestCompileAllocates little, however long the transcript is.
func TestCompileAllocates(t *testing.T) {
	entries := longTalk(2000)
	chain := []domain.ExecutionID{executionID(1)}
	require.LessOrEqual(t, testing.AllocsPerRun(5, func() { domain.CompileEdited(domain.CurrentTrace, nil, entries, chain, domain.Edits{}) }), 10.0)
}

func longTalk(n int) []domain.Entry {
	entries := make([]domain.Entry, 0, n)
	for i := 0; len(entries) < n; i++ {
		entries = append(entries, line(fmt.Sprintf("|1 a calls %d", i)), line(fmt.Sprintf("|1 t %d", i)))
	}
	return entries
}

func BenchmarkCompile(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		entries := longTalk(n)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				domain.CompileEdited(domain.CurrentTrace, nil, entries, []domain.ExecutionID{executionID(1)}, domain.Edits{})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/entry")
		})
	}
}
