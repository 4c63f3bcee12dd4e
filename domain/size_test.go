package domain_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
)

// TestSizeCountsEachText: whatever holds much makes a message or a step as long.
func TestSizeCountsEachText(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 3000)
	part := func(p domain.Part) domain.Message {
		return domain.Message{Role: domain.RoleUser, Parts: []domain.Part{p}}
	}
	result := domain.ToolMessage
	for name, c := range map[string]struct {
		message domain.Message
		bytes   int
	}{
		"name":        {domain.Message{Name: text}, 3000},
		"text":        {part(domain.Part{Text: text}), 3000},
		"data":        {part(domain.Part{Data: []byte(text)}), 4000},
		"opaque":      {part(domain.Part{Opaque: []byte(text)}), 3000},
		"signature":   {part(domain.Part{Signature: text}), 3000},
		"address":     {part(domain.Part{URL: text}), 3000},
		"file":        {part(domain.Part{Filename: text}), 3000},
		"call":        {result(domain.ToolResult{CallID: text}), 3000},
		"tool":        {result(domain.ToolResult{Name: text}), 3000},
		"content":     {result(domain.ToolResult{Content: text}), 3000},
		"new lines":   {part(domain.Part{Text: strings.Repeat("\n", 3000)}), 6000},
		"separators":  {part(domain.Part{Text: strings.Repeat("\u2028\u2029", 500)}), 6000},
		"other bytes": {part(domain.Part{Text: strings.Repeat("<", 500)}), 3000},
	} {
		size := c.message.Size()
		require.GreaterOrEqual(t, size, c.bytes+200, name)
		require.LessOrEqual(t, size, c.bytes+300, name)
	}
	empty := domain.AgentStep{}.Size()
	for name, step := range map[string]domain.AgentStep{
		"value":  {ToolExecutions: []domain.ToolExecution{{Value: text}}},
		"call":   {ToolExecutions: []domain.ToolExecution{{Call: domain.ToolCall{Arguments: text}}}},
		"error":  {Errors: []domain.Error{{Message: text}}},
		"source": {Errors: []domain.Error{{Source: text}}},
	} {
		require.Greater(t, step.Size(), empty+3000, name)
		require.LessOrEqual(t, step.Size(), empty+3400, name)
	}
}

func TestEstimates(t *testing.T) {
	t.Parallel()
	for length, tokens := range map[int]int64{0: 0, 1: 1, 4: 1, 5: 2, 400: 100} {
		require.Equal(t, tokens, domain.EstimateText(strings.Repeat("x", length)), length)
	}
	text := strings.Repeat("x", 40)
	for name, c := range map[string]struct {
		message domain.Message
		tokens  int64
	}{
		"nothing":       {domain.Message{}, 4},
		"text":          {domain.UserMessage(text), 14},
		"data":          {domain.Message{Parts: []domain.Part{{Text: text, Data: []byte(text), Opaque: []byte("xxxxx")}}}, 4 + 10 + 12},
		"calls":         {domain.Message{ToolCalls: []domain.ToolCall{{Name: text, Arguments: text}, {Name: "look"}}}, 4 + 21},
		"tool's result": {domain.ToolMessage(domain.ToolResult{Name: text, Content: text}), 14},
		"its images":    {domain.Message{Role: domain.RoleTool, ToolResult: &domain.ToolResult{Content: text}, Parts: []domain.Part{{Type: domain.PartImage, Data: make([]byte, 300_000)}, {Type: domain.PartImage}}}, 14 + 2*1600},
	} {
		require.Equal(t, c.tokens, domain.EstimateTokens(c.message), name)
	}
}

// TestALongResultWithImagesFits: where its text is all control characters, too.
func TestALongResultWithImagesFits(t *testing.T) {
	t.Parallel()
	m := domain.ToolMessage(domain.ToolResult{Content: strings.Repeat("\x01", domain.MaxToolResult)})
	for range domain.MaxResultParts {
		m.Parts = append(m.Parts, domain.Part{Type: domain.PartImage, MediaType: "image/jpeg", Data: make([]byte, domain.MaxResultData/domain.MaxResultParts)})
	}
	require.Less(t, m.Size(), domain.MaxMessage)
	require.NoError(t, domain.CheckFits("message", m, domain.MaxMessage))
}

func TestNotesOfParts(t *testing.T) {
	t.Parallel()
	for want, part := range map[string]domain.Part{
		"[image image/png 34 KB]":               {Type: domain.PartImage, MediaType: "image/png", Data: make([]byte, 34_000)},
		"[image image/png 1 KB]":                {Type: domain.PartImage, MediaType: "image/png; charset=x", Data: []byte("x")},
		"[image]":                               {Type: domain.PartImage, URL: "https://host/a.png"},
		"[file application/pdf 2 KB a  b .pdf]": {Type: domain.PartFile, MediaType: "application/pdf", Filename: "a\n[b].pdf", Data: make([]byte, 1001)},
		"[audio audio/xsystem]":                 {Type: domain.PartAudio, MediaType: "audio/x]\n[system"},
	} {
		require.Equal(t, want, part.Note())
	}
}

func TestCheckFits(t *testing.T) {
	t.Parallel()
	require.NoError(t, domain.CheckFits("text", "abc", 5))
	require.ErrorContains(t, domain.CheckFits("text", "abc", 4), "text: takes 5 bytes; at most 4 fit")
	require.ErrorContains(t, domain.CheckFits("channel", make(chan int), 5), "channel: encode: ")
}

// TestWithoutMiddle: of a text that is too long its head and its tail stay, and what
// is said to be left out is what is left out.
func TestWithoutMiddle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.SampledFrom([]string{"x", "é", "日本"}).Draw(t, "word"), rapid.IntRange(0, 1000).Draw(t, "times"))
		n := rapid.IntRange(0, 2000).Draw(t, "n")
		cut := domain.WithoutMiddle(text, n)
		require.LessOrEqual(t, len(cut), n)
		require.True(t, utf8.ValidString(cut))
		if len(text) <= n {
			require.Equal(t, text, cut)
			return
		}
		head, note, found := strings.Cut(cut, "\n[… ")
		require.True(t, strings.HasPrefix(text, head) || !found)
		require.Equal(t, n >= 2*len("\n[… 1234567890 of 1234567890 bytes left out …]\n"), found, "there has to be room for more than the note")
		if found {
			number, tail, _ := strings.Cut(note, fmt.Sprintf(" of %d bytes left out …]\n", len(text)))
			require.True(t, strings.HasSuffix(text, tail))
			require.Equal(t, strconv.Itoa(len(text)-len(head)-len(tail)), number)
		}
	})
}
