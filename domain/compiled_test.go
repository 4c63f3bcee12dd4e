package domain_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
)

// TestWhatIsKeptIsWhatIsCompiledAnew, whatever is said in between, in whatever order, and whatever a rewind, a clear, a summary, a
// fork or another model changes; and what was handed out stays as it was.
func TestWhatIsKeptIsWhatIsCompiledAnew(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var log domain.Log
		var edits domain.Edits
		var kept domain.Compiled
		var handed, copies [][]domain.Message
		model, said := "one", 0
		say := func(section string, m domain.Message) {
			said++
			log = log.Append(section, m, domain.DigestOf([]byte(fmt.Sprint(said))))
		}
		t.Repeat(map[string]func(*rapid.T){
			"step": func(t *rapid.T) {
				calls := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x", "y", "z"}), 1, 3, rapid.ID).Draw(t, "calls")
				say("", line("|1 a calls "+calls[0]).Message)
				say("", line("|1 t "+calls[0]).Message)
			},
			"anything": func(t *rapid.T) {
				e := line(rapid.SampledFrom([]string{"", "", "summary", "buffer", "notes"}).Draw(t, "section") + "|" +
					rapid.SampledFrom([]string{"u", "a", "a calls x", "a calls x y", "t x", "t y"}).Draw(t, "message"))
				say(e.Section, e.Message)
			},
			"silent": func(*rapid.T) { say("", domain.Message{Role: domain.RoleAssistant}) },
			"cut off": func(*rapid.T) {
				m := domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: "half"}}}
				say("", domain.Tag{CutOff: true}.Apply(m))
			},
			"cleared results": func(t *rapid.T) { edits.Cleared = rapid.IntRange(edits.Cleared, log.Len()).Draw(t, "cleared") },
			"summary": func(t *rapid.T) {
				to := rapid.IntRange(edits.Hidden, log.Len()).Draw(t, "to")
				say(domain.SectionSummary, domain.UserMessage("in short"))
				edits.Hidden, edits.Summary, edits.Buffered = to, log.Len(), log.Len()-1
			},
			"rewind or clear": func(t *rapid.T) {
				from := 0
				if n := len(edits.TakenBack); n > 0 {
					from = edits.TakenBack[n-1].To
				}
				from = rapid.IntRange(from, max(from, log.Len())).Draw(t, "from")
				edits = edits.WithTakenBack(domain.Span{From: from, To: log.Len(), By: 2, Cleared: rapid.Bool().Draw(t, "clear")})
			},
			"fork": func(t *rapid.T) {
				n, lost := rapid.IntRange(0, log.Len()).Draw(t, "messages"), log.Len()
				log, _ = log.Upto(n)
				edits = domain.Edits{}
				for log.Len() < lost {
					say("", domain.UserMessage("otherwise"))
				}
			},
			"another model": func(t *rapid.T) { model = rapid.SampledFrom([]string{"one", "other"}).Draw(t, "model") },
			"": func(*rapid.T) {
				filter := func(messages []domain.Message) []domain.Message {
					return slices.DeleteFunc(messages, func(m domain.Message) bool { return model == "other" && m.Role == domain.RoleUser })
				}
				entries := log.From(edits.First())
				want := filter(domain.CompileEdited(domain.WholeConversation, nil, entries, nil, edits))
				kept = kept.Extend(model, entries, edits, filter)
				require.Equal(t, len(want), len(kept.Messages()))
				tokens := int64(0)
				for i, m := range kept.Messages() {
					require.Equal(t, want[i], m)
					tokens += domain.EstimateTokens(m)
				}
				require.Equal(t, tokens, kept.Tokens())
				handed, copies = append(handed, kept.Messages()), append(copies, slices.Clone(kept.Messages()))
				require.Equal(t, copies, handed)
			},
		})
	})
}

// TestALongerTranscriptCostsWhatIsNew: the step after two thousand takes as much memory as the one after twenty.
func TestALongerTranscriptCostsWhatIsNew(t *testing.T) {
	t.Parallel()
	seen := 0
	count := func(messages []domain.Message) []domain.Message {
		seen += len(messages)
		return messages
	}
	var kept domain.Compiled
	var log domain.Log
	for step := range 2000 {
		for _, e := range []string{"|1 a calls x", "|1 t x"} {
			log = log.Append("", line(e).Message, domain.DigestOf([]byte(fmt.Sprint(step, e))))
		}
		before := seen
		kept = kept.Extend("model", log.Entries(), domain.Edits{}, count)
		require.Equal(t, 2, seen-before)
	}
	require.Len(t, kept.Messages(), 4000)
}

// BenchmarkCompileStep is what compiling costs at a step, after so many messages: anew, and from what was kept of the step before.
func BenchmarkCompileStep(b *testing.B) {
	own := func(messages []domain.Message) []domain.Message { return messages }
	for _, n := range []int{40, 4000} {
		var log domain.Log
		for _, e := range longTalk(n + 2) {
			log = log.Append("", e.Message, domain.DigestOf([]byte(fmt.Sprint(log.Len()))))
		}
		entries := log.Entries()
		kept := domain.Compiled{}.Extend("model", entries[:n], domain.Edits{}, own)
		b.Run(fmt.Sprint("anew/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				domain.Compiled{}.Extend("model", entries, domain.Edits{}, own)
			}
		})
		b.Run(fmt.Sprint("kept/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				kept.Extend("model", entries, domain.Edits{}, own)
			}
		})
	}
}
