package activities_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"pgregory.net/rapid"

	"everstep/activities"
	"everstep/activities/inference"
	"everstep/domain"
	"everstep/domain/contract"
)

// summing is a bench whose conversation has one execution that ended and one
// that is in the middle.
func summing(answer string) (*modelBench, *talk, contract.ModelRequest) {
	k := &talk{execution: executionID(9)}
	k.user("what is in a?")
	k.tool("an old result")
	k.answer("a holds one")
	k.execution = executionID(1)
	k.user("and in b?")
	k.tool("b holds two")
	k.add(domain.UserMessage("a nudge"), true)
	k.tool("b holds three")
	b := answeringBench(answer, domain.Usage{InputTokens: 50, OutputTokens: 5})
	b.log = k.Log
	b.resolved.Definition.Format = domain.ResponseFormat{Type: domain.FormatJSON}
	request := b.request()
	request.MaxOutputTokens, request.Summary = 700, &domain.SummaryRequest{To: 8, MaxTokens: 300, Window: 10_000}
	return b, k, request
}

const opening, closing = "The beginning of this conversation is not shown any more. What was asked in it, word for word:\n\n", "\n\nThe summary of it:\n\n"

// sumUp asks for the summary of a whole conversation, for a window.
func sumUp(t *testing.T, b *modelBench, k *talk, request contract.ModelRequest, window int64) contract.ModelReply {
	t.Helper()
	b.log = k.Log
	request.Log, request.Summary = k.Ref(), &domain.SummaryRequest{To: k.Len(), MaxTokens: 300, Window: window}
	return b.replyTo(t, request)
}

func TestCallModelSumsUp(t *testing.T) {
	t.Parallel()
	b, k, request := summing("  they asked for b \n")
	b.at = func(ctx context.Context, _ contract.Boundary) { require.True(t, contract.PlaceOf(ctx).Summary) }
	reply := b.replyTo(t, request)
	require.Equal(t, contract.Answered, reply.Outcome)
	first := domain.Message{
		Role: domain.RoleUser,
		Parts: []domain.Part{
			{Type: domain.PartText, Text: opening + "what is in a?\n\n---\n\nand in b?" + closing},
			{Type: domain.PartText, Text: "they asked for b"},
		},
		Metadata: domain.Metadata{"summary_number": json.RawMessage("1")},
	}
	require.Equal(t, &first, reply.Message)
	encoded, err := json.Marshal(reply.Message)
	require.NoError(t, err)
	require.Equal(t, domain.DigestOf(encoded), reply.Digest)
	require.Equal(t, domain.Usage{InputTokens: 50, OutputTokens: 5}, reply.Response.Usage)
	require.Empty(t, reply.Invalid)

	require.True(t, b.called.Summary)
	require.Zero(t, b.called.Inference, "it is the first summary, whatever the inference")
	require.Empty(t, b.called.Tools)
	require.Empty(t, b.called.Format)
	require.EqualValues(t, 300, b.called.MaxOutputTokens)
	require.NotContains(t, b.called.System, "be brief")
	require.Contains(t, b.called.System, "You sum up")
	require.Len(t, b.called.Messages, 1)
	require.Equal(t, `The conversation:

[user]
what is in a?

[assistant calls read]
{"path":"a"}

[result of read]
an old result

[assistant]
a holds one

[user]
and in b?

[assistant calls read]
{"path":"a"}

[result of read]
b holds two

[user]
a nudge

[end of the conversation]

Write the summary now.`, b.called.Messages[0].Text(), "with the traces of the execution before, without what comes after")

	// The next summary is of the first and what followed.
	k.summary(first)
	k.user("and in c?")
	k.tool("c holds four")
	b.log = k.Log
	request = b.request()
	request.Edits = domain.Edits{Hidden: 8, Summary: 11, Buffered: 10}
	request.Summary = &domain.SummaryRequest{To: 12, MaxTokens: 300, Window: 10_000}
	reply = b.replyTo(t, request)
	require.Equal(t, opening+"what is in a?\n\n---\n\nand in b?\n\n---\n\nand in c?"+closing, reply.Message.Parts[0].Text)
	require.Equal(t, json.RawMessage("2"), reply.Message.Metadata["summary_number"])
	require.Equal(t, 1, b.called.Inference)
	text := b.called.Messages[0].Text()
	require.Contains(t, text, "[earlier summary]\n"+opening)
	require.Contains(t, text, "they asked for b\n\n[assistant calls read]")
	require.Contains(t, text, "b holds three\n\n[user]\nand in c?\n\n[end of")

	// One that ends before the first was made is of the first all the same.
	request.Summary.To = 10
	reply = b.replyTo(t, request)
	require.Equal(t, first.Parts[0], reply.Message.Parts[0])
	require.Contains(t, b.called.Messages[0].Text(), "they asked for b\n\n[assistant calls read]")
	require.NotContains(t, b.called.Messages[0].Text(), "and in c?")
}

func TestCallModelSummaryWithOwnCompiler(t *testing.T) {
	t.Parallel()
	b, _, request := summing("x")
	b.resolved.Definition.Compiler = "mine"
	b.compilers = map[string]activities.Compiler{"mine": func(entries []domain.Entry) []domain.Message {
		return []domain.Message{entries[0].Message, entries[len(entries)-1].Message}
	}}
	b.replyTo(t, request)
	require.Contains(t, b.called.Messages[0].Text(), "what is in a?\n\n[user]\na nudge\n\n[end")
}

func TestCallModelEmptySummary(t *testing.T) {
	t.Parallel()
	b, _, request := summing(" \n")
	reply := b.replyTo(t, request)
	require.Equal(t, contract.Answered, reply.Outcome)
	require.Len(t, reply.Message.Parts, 2)
	require.Empty(t, reply.Message.Parts[1].Text)
}

// TestCallModelSummaryCutOff: half a summary is none, and what it cost counts.
func TestCallModelSummaryCutOff(t *testing.T) {
	t.Parallel()
	b, _, request := summing("")
	cancel := b.cancellable()
	b.model = waits("half a sum", func() { cancel(temporal.NewCanceledError()) })
	reply := b.replyTo(t, request)
	require.Equal(t, contract.Interrupted, reply.Outcome)
	require.Nil(t, reply.Message)
	require.Positive(t, reply.Response.Usage.OutputTokens)

	b, _, request = summing("")
	cut := domain.CodedErrorf(domain.Unavailable, domain.CodeMalformed, "cut off")
	cut.Billed = true
	b.model = returning(inference.Answer{Message: inference.PartialMessage("", "half"), Partial: true}, cut)
	reply = b.replyTo(t, request)
	require.Equal(t, contract.BilledFailure, reply.Outcome)
	require.Nil(t, reply.Message)
	require.Positive(t, reply.Spent.OutputTokens)
}

func TestCallModelSummaryWithoutRoom(t *testing.T) {
	t.Parallel()
	b, _, request := summing("x")
	request.Summary.Window = 10
	_, err := b.call(t, request)
	require.ErrorContains(t, err, "leave no room for the conversation")
	require.False(t, b.called.Summary, "nothing was asked")

	for request.Summary.Window = 301; !b.called.Summary; request.Summary.Window++ {
		_, err = b.call(t, request)
	}
	require.NoError(t, err)
	framed := b.called
	framed.Messages = []domain.Message{domain.UserMessage("The conversation:\n\n\n\n[end of the conversation]\n\nWrite the summary now.")}
	room := request.Summary.Window - 1 - framed.MaxOutputTokens - framed.InputTokens()
	require.EqualValues(t, 256/4, room, "the least that is worth a summary")
}

// TestSummariesAreCounted: by the note in the one before, and one whose note
// cannot be read was the first.
func TestSummariesAreCounted(t *testing.T) {
	t.Parallel()
	for note, want := range map[string]string{`1`: "2", `2`: "3", `41`: "42", `"x"`: "2", `-4`: "2", ``: "2"} {
		t.Run(note, func(t *testing.T) {
			t.Parallel()
			b, k, request := summing("x")
			earlier := domain.Message{Role: domain.RoleUser} // it has no parts either
			if note != "" {
				earlier.Metadata = domain.Metadata{"summary_number": json.RawMessage(note)}
			}
			k.summary(earlier)
			b.log, request.Log = k.Log, k.Ref()
			request.Edits = domain.Edits{Hidden: 8, Summary: k.Len(), Buffered: k.Len() - 1}
			reply := b.replyTo(t, request)
			require.Equal(t, want, string(reply.Message.Metadata["summary_number"]))
		})
	}
}

// TestSummaryFits: whatever the conversation, what is sent and what may be
// answered fit the window, and the same conversation is the same text.
func TestSummaryFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		b, k, request := summing("x")
		say := func(most int) string {
			return strings.Repeat(rapid.SampledFrom([]string{"x", "é", "日本", "\n"}).Draw(rt, "word"), rapid.IntRange(0, most).Draw(rt, "length"))
		}
		for range rapid.IntRange(0, 60).Draw(rt, "steps") {
			switch rapid.IntRange(0, 2).Draw(rt, "what") {
			case 0:
				k.tool(say(30_000))
			case 1:
				k.user(say(3000))
			case 2:
				k.answer(say(3000))
			}
		}
		window := rapid.Int64Range(1000, 20_000).Draw(rt, "window")
		sumUp(t, b, k, request, window)
		text := b.called.Messages[0].Text()
		require.LessOrEqual(rt, b.called.InputTokens()+b.called.MaxOutputTokens, window)
		require.True(rt, utf8.ValidString(text))
		require.True(rt, strings.HasSuffix(text, "Write the summary now."))
		sumUp(t, b, k, request, window)
		require.Equal(rt, text, b.called.Messages[0].Text())
	})
}

// TestSummaryFitsManyShortResults: what frames results counts too. They once came
// to a token more than the window.
func TestSummaryFitsManyShortResults(t *testing.T) {
	t.Parallel()
	b, k, request := summing("x")
	for _, text := range append(make([]string, 14), strings.Repeat("é", 16), strings.Repeat("é", 32), "xxxxxxxx", strings.Repeat("x", 15), strings.Repeat("x", 63)) {
		k.tool(text)
	}
	sumUp(t, b, k, request, 1000)
	require.LessOrEqual(t, b.called.InputTokens()+b.called.MaxOutputTokens, int64(1000))
}

// TestSummaryCutsResultsFirst: the longest results lose their middles, the rest
// stays word for word.
func TestSummaryCutsResultsFirst(t *testing.T) {
	t.Parallel()
	b, k, request := summing("x")
	k.user("head " + strings.Repeat("u", 10_000) + " tail")
	k.tool("first " + strings.Repeat("r", 50_000) + " last")
	k.tool("short")
	k.tool(strings.Repeat("s", 3000))
	sumUp(t, b, k, request, 5000)
	text := b.called.Messages[0].Text()
	require.Contains(t, text, "head "+strings.Repeat("u", 10_000)+" tail", "it is longer than what is left of the results")
	require.Contains(t, text, "\nfirst rrr")
	require.Contains(t, text, "rrr last\n")
	require.Contains(t, text, "\nshort\n")
	require.Contains(t, text, strings.Repeat("s", 3000), "it is not the longest")
	require.Equal(t, 1, strings.Count(text, "bytes left out"))
	require.Greater(t, b.called.InputTokens()+300, int64(5000-50), "what there is room for is used")

	sumUp(t, b, k, request, 1500)
	text = b.called.Messages[0].Text()
	require.Contains(t, text, "what is in a?")
	require.Contains(t, text, "\nhead uuu", "when the results are not enough, all that is long is cut")
	require.Contains(t, text, "uuu tail\n")
	require.Equal(t, 3, strings.Count(text, "bytes left out"))

	sumUp(t, b, k, request, 0)
	require.Contains(t, b.called.Messages[0].Text(), "first "+strings.Repeat("r", 50_000)+" last", "an unknown window bounds nothing")
}

// TestSummaryKeepsTheFirstPrompts: of more than there is room for, the first and
// the last stay, also when it is summed up again and again.
func TestSummaryKeepsTheFirstPrompts(t *testing.T) {
	t.Parallel()
	b, k, request := summing("x")
	for n := range 8 {
		for i := range 10 {
			k.user(fmt.Sprintf("prompt %d.%d %s", n, i, strings.Repeat("é", 500)))
		}
		reply := sumUp(t, b, k, request, 10_000)
		asked := reply.Message.Parts[0].Text
		require.LessOrEqual(t, len(asked), 10_000, "a quarter of the window")
		require.True(t, utf8.ValidString(asked))
		require.True(t, strings.HasPrefix(asked, opening+"what is in a?\n\n---\n\nand in b?\n\n---\n\nprompt 0.0 "))
		require.Contains(t, asked, fmt.Sprintf("prompt %d.9", n))
		require.True(t, strings.HasSuffix(asked, closing))
		require.LessOrEqual(t, strings.Count(asked, "bytes left out"), 1)
		k.summary(*reply.Message)
		request.Edits = domain.Edits{Hidden: k.Len() - 1, Summary: k.Len(), Buffered: k.Len() - 1}
	}
}

func TestSummaryNamesWhatIsNoText(t *testing.T) {
	t.Parallel()
	b, k, request := summing("x")
	k.add(domain.Message{Role: domain.RoleUser, Parts: []domain.Part{
		{Type: domain.PartText, Text: "look: "}, {Type: domain.PartImage, MediaType: "image/png", Data: []byte("data"), Filename: "a.png"},
		{Type: domain.PartFile, URL: "https://example.com/b"},
	}}, false)
	k.add(domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{
		{Type: domain.PartReasoning, Text: "thinking", Opaque: json.RawMessage(`"secret"`)}, {Type: domain.PartText, Text: "seen"},
	}}, false)
	failed := resultOf("c20", "no such file")
	failed.ToolResult.IsError = true
	k.add(asking("c20"), true)
	k.add(failed, true)
	reply := sumUp(t, b, k, request, 10_000)
	require.Contains(t, b.called.Messages[0].Text(), "[user]\nlook: [image image/png a.png][file https://example.com/b]\n\n[assistant]\nseen\n\n"+
		"[assistant calls read]\n{\"path\":\"a\"}\n\n[result of read: it failed]\nno such file\n")
	require.Contains(t, reply.Message.Parts[0].Text, "look: [image image/png a.png]")
}

func BenchmarkSummary(b *testing.B) {
	b.ReportAllocs()
	bench, k, request := summing("x")
	for k.Len() < 2000 {
		k.user("go on")
		k.tool(strings.Repeat("r", 2000))
	}
	bench.log = k.Log
	request.Log, request.Summary.To = k.Ref(), k.Len()
	request.Summary.Window = 100_000
	for b.Loop() {
		_, err := bench.call(b, request)
		require.NoError(b, err)
	}
}
