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
		} else {
			m.Parts = []domain.Part{{Type: domain.PartText, Text: "said"}}
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
		"with its origins": {domain.CurrentTrace, nil, []int{3, 1}, talk, []string{
			"u summed up", "u buffered", "u first", "1 a calls x", "1 t x", "a answer one", "u second", "a answer two", "u note",
		}},
		"the whole conversation": {domain.WholeConversation, nil, nil, talk, []string{
			"u summed up", "u buffered", "u first", "1 a calls x", "1 t x", "a answer one", "u second", "2 a calls x y", "2 t x", "2 t y", "a answer two", "u note",
		}},
		"selected sections":              {domain.SelectedSections, []string{"notes", "summary", "nowhere"}, []int{2}, talk, []string{"u note", "u summed up"}},
		"the default section by no name": {domain.SelectedSections, []string{""}, nil, []string{"|u a", "messages|u b", "notes|u c"}, []string{"u a", "u b"}},
		"results move to their call":     {domain.CurrentTrace, nil, nil, []string{"notes|a calls x", "|t x", "|u hi"}, []string{"u hi", "a calls x", "t x"}},
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

func longTalk(n int) []domain.Entry {
	entries := make([]domain.Entry, 0, n)
	for i := 0; len(entries) < n; i++ {
		entries = append(entries, line(fmt.Sprintf("|1 a calls %d", i)), line(fmt.Sprintf("|1 t %d", i)))
	}
	return entries
}

// TestWhatWasCutOffIsShownAsThat: its text with the note, without its reasoning; what is left of nothing is left out. What
// is shown of a whole answer is as it came.
func TestWhatWasCutOffIsShownAsThat(t *testing.T) {
	t.Parallel()
	text := func(text string) domain.Part { return domain.Part{Type: domain.PartText, Text: text} }
	thought := domain.Part{Type: domain.PartReasoning, Text: "hm", Signature: "signed"}
	image := domain.Part{Type: domain.PartImage, URL: "u"}
	call := []domain.ToolCall{{ID: "x", Name: "tool"}}
	for name, c := range map[string]struct {
		cutOff bool
		parts  []domain.Part
		calls  []domain.ToolCall
		want   []domain.Part
		gone   bool
	}{
		"a text":                    {true, []domain.Part{thought, text("It is")}, nil, []domain.Part{text("It is\n\n" + domain.CutOffNote)}, false},
		"an image":                  {true, []domain.Part{image}, nil, []domain.Part{image, text(domain.CutOffNote)}, false},
		"reasoning alone":           {true, []domain.Part{thought}, nil, nil, true},
		"whole, and nothing":        {false, []domain.Part{text("")}, nil, nil, true},
		"whole, and bare reasoning": {false, []domain.Part{{Type: domain.PartReasoning, Text: "hm"}}, nil, nil, true},
		"with calls":                {true, []domain.Part{thought}, call, []domain.Part{thought}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tag := domain.Tag{ExecutionID: executionID(1), Trace: true, CutOff: c.cutOff}
			m := tag.Apply(domain.Message{Role: domain.RoleAssistant, Parts: c.parts, ToolCalls: c.calls})
			require.Equal(t, tag, domain.TagOf(m))
			user := domain.UserMessage("hi")
			log := domain.Log{}.Append("", user, domain.Digest{}).Append("", m, domain.Digest{})
			before := encoded(t, log.Entries())
			for _, entries := range [][]domain.Entry{log.Entries(), {{Message: user}, {Index: 1, Message: m}}} {
				for _, edits := range []domain.Edits{{}, {Cleared: 1}} {
					shown := domain.CompileEdited("", nil, entries, nil, edits)
					require.Equal(t, c.gone, len(shown) == 1)
					require.Equal(t, c.gone, !entries[1].Shown("", nil))
					if c.gone {
						require.Zero(t, entries[1].Tokens())
						continue
					}
					require.Equal(t, c.want, shown[1].Parts)
					require.Equal(t, domain.EstimateTokens(shown[1]), entries[1].Tokens())
				}
			}
			require.Equal(t, before, encoded(t, log.Entries()), "never in place")
		})
	}
}

// TestRequestsOfTheWholeConversationGrowAtTheirEnd: what is shown of a longer transcript begins with what is shown of a
// shorter one, whatever sections, traces and ends there are, where no result is missing and the edits stay the same.
func TestRequestsOfTheWholeConversationGrowAtTheirEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var log domain.Log
		ends := []int{0}
		for turn := range rapid.IntRange(1, 12).Draw(t, "turns") {
			said := [][]string{{"u"}, {"a"}, {"a calls x", "t x"}, {"a calls x y", "t x", "t y"}, {"a calls x x", "t x", "t x"}}
			section := rapid.SampledFrom([]string{"", "", "messages", "notes", "zeta"}).Draw(t, "section")
			of := rapid.SampledFrom([]string{"", "1 ", "2 "}).Draw(t, "trace")
			for _, words := range rapid.SampledFrom(said).Draw(t, "said") {
				m := line(section + "|" + of + words).Message
				if len(m.ToolCalls) == 0 && m.Role == domain.RoleAssistant {
					tag := domain.TagOf(m)
					tag.CutOff = rapid.Bool().Draw(t, "cut off")
					m = tag.Apply(m)
					m.Parts[0].Text = rapid.SampledFrom([]string{"", "said"}).Draw(t, "text")
				}
				log = log.Append(section, m, domain.DigestOf([]byte{byte(turn)}))
			}
			ends = append(ends, log.Len())
		}
		bound := rapid.IntRange(0, log.Len())
		edits := domain.Edits{Cleared: bound.Draw(t, "cleared"), Hidden: bound.Draw(t, "hidden")}
		before := []domain.Message{}
		for _, end := range ends {
			if end < max(edits.Cleared, edits.Hidden) {
				continue
			}
			shown := domain.CompileEdited("", nil, log.Entries()[:end], []domain.ExecutionID{executionID(1)}, edits)
			require.GreaterOrEqual(t, len(shown), len(before))
			require.Equal(t, before, shown[:len(before)])
			before = shown
		}
	})
}

// TestBlank: what nobody can see is no answer, however many characters it has.
func TestBlank(t *testing.T) {
	t.Parallel()
	for text, blank := range map[string]bool{
		"": true, "\n\t": true, "\u200b\u2060\ufeff": true, "\u00ad\u200e": true, "\u2800\u3164\u115f": true, "\ufe0f\u034f": true, "\U000e0041": true, "\x00\x1b": true,
		"\u200bx": false, "0": false, ".": false, "\u00a0é": false, "\U0001f468\u200d": false, "\ufffd": false, "\u0301": false,
	} {
		require.Equal(t, blank, domain.UserMessage(text).Blank(), "%+q", text)
	}
}
