package domain

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// encodedLen is how many bytes a text takes as JSON, its quotes aside: up to six times its length.
func encodedLen(text string) int {
	n := len(text) + 3*(strings.Count(text, "\u2028")+strings.Count(text, "\u2029"))
	for i := range len(text) {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' {
			continue
		}
		switch c {
		case '"', '\\', '\n', '\r', '\t', '\b', '\f':
			n++
		default:
			n += 5
		}
	}
	return n
}

// Size is about how many bytes the message takes when encoded.
func (m Message) Size() int {
	n := 200 + encodedLen(m.Name)
	for _, p := range m.Parts {
		n += 32 + encodedLen(p.Text) + len(p.Data)*4/3 + len(p.Opaque) + encodedLen(p.Signature) + encodedLen(p.URL) + encodedLen(p.Filename)
	}
	for _, c := range m.ToolCalls {
		n += c.Size()
	}
	if r := m.ToolResult; r != nil {
		n += 64 + encodedLen(r.CallID) + encodedLen(r.Name) + encodedLen(r.Content)
	}
	return n + m.Metadata.size()
}

func (m Metadata) size() int {
	n := 0
	// A sum has no order.
	//workflowcheck:ignore
	for k, v := range m {
		n += 8 + len(k) + len(v)
	}
	return n
}

// Size is about how many bytes the call takes when encoded.
func (c ToolCall) Size() int {
	return 64 + encodedLen(c.ID) + encodedLen(c.Name) + encodedLen(c.Arguments)
}

// Size is about how many bytes the step takes when encoded.
func (s AgentStep) Size() int {
	n := 1024
	for _, m := range s.Output {
		n += m.Size()
	}
	for _, t := range s.ToolExecutions {
		n += 256 + t.Call.Size() + encodedLen(t.Value)
		for _, w := range t.Waits {
			if n += 256 + encodedLen(w.Arguments) + encodedLen(w.AskedBy); w.Answer != nil {
				n += encodedLen(w.Answer.Reason)
			}
		}
	}
	for _, e := range s.AllErrors() {
		n += 96 + encodedLen(e.Message) + encodedLen(e.Source)
	}
	return n
}

// CheckFits refuses what takes more than a number of bytes when encoded.
func CheckFits(what string, value any, limit int) error {
	var size byteCount
	if err := json.NewEncoder(&size).Encode(value); err != nil {
		return Errorf(Internal, "%s: encode: %v", what, err)
	}
	if size--; int(size) > limit { // without the end of the line
		return TooLargef("%s: takes %d bytes; at most %d fit", what, size, limit)
	}
	return nil
}

// A byteCount counts what is written to it.
type byteCount int

func (n *byteCount) Write(text []byte) (int, error) {
	*n += byteCount(len(text))
	return len(text), nil
}

// HeadAndTail is a text without its middle, where it takes more than a number of bytes when encoded.
func HeadAndTail(text string, limit int) string {
	for most := limit; ; most = most * 3 / 4 {
		if short := WithoutMiddle(text, most); encodedLen(short) <= limit || most == 0 {
			return short
		}
	}
}

// leftOut is as long as the longest line in the place of a middle.
const leftOut = "\n[… 1234567890 of 1234567890 bytes left out …]\n"

// WithoutMiddle is a text without its middle, where it has more than a number of bytes: of what is left three quarters are its
// head. Where that is little more than the line which says so, it is the head alone.
func WithoutMiddle(text string, most int) string {
	room := most - len(leftOut)
	if len(text) <= most || room < len(leftOut) {
		return Shorten(text, max(most, 0))
	}
	head, tail := Shorten(text, room*3/4), Ending(text, room-room*3/4)
	return fmt.Sprintf("%s\n[… %d of %d bytes left out …]\n%s", head, len(text)-len(head)-len(tail), len(text), tail)
}

// Ending cuts a text to at most its last n bytes, at the edge of a character.
func Ending(text string, n int) string {
	at := max(len(text)-n, 0)
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return text[at:]
}

// Shorten cuts a text to at most n bytes, at the edge of a character.
func Shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// EstimateText is about how many tokens a text takes: close for English prose, too high for most code.
func EstimateText(text string) int64 { return (int64(len(text)) + 3) / 4 }

// EstimateTokens is about how many tokens a message takes in a request.
func EstimateTokens(m Message) int64 {
	tokens := int64(4) // of its role and separators
	for _, p := range m.Parts {
		if m.Role == RoleTool {
			// About what vendors count for an image of a usual size, however many bytes it has.
			tokens += 1600
			continue
		}
		tokens += EstimateText(p.Text) + int64(len(p.Data)+len(p.Opaque)+3)/4
	}
	for _, c := range m.ToolCalls {
		tokens += EstimateText(c.Name) + EstimateText(c.Arguments)
	}
	if m.ToolResult != nil {
		tokens += EstimateText(m.ToolResult.Content)
	}
	return tokens
}

// Sizes, in bytes. The server refuses payloads of 2 MiB and messages of 4 MiB, so these come first.
const (
	// MaxPayload bounds one input, result, heartbeat or carry when encoded.
	MaxPayload = 1_500_000
	// MaxMessage bounds one message: a prompt, or an answer of a model.
	MaxMessage = 1_000_000
	// MaxPrompt bounds a prompt when encoded: markup and control characters take more.
	MaxPrompt = 1_400_000
	// MaxResolved bounds a definition with its tools: it fits beside a message on one page.
	MaxResolved = 600_000
	// MaxSystemPrompt bounds a system prompt.
	MaxSystemPrompt = 256 << 10
	// MaxToolResult is what a model reads of a result; longer ones are cut to head and tail.
	MaxToolResult = 64 << 10
	// MaxResultParts bounds the images of a result that are recorded with it, by their number, and
	// MaxResultData by their bytes in all: with the longest text they still fit into a message.
	MaxResultParts = 10
	MaxResultData  = 384 << 10
	// MaxStepImages bounds the images that are recorded with all results of a step: as much as a run has room for
	// once it is near the server's bounds. Its calls share it.
	MaxStepImages = 6 << 20
	// MaxToolOutput is the longest result that a tool may return at all.
	MaxToolOutput = 16 << 20
	// MaxEnd bounds what a workflow's result tells in words.
	MaxEnd = 64 << 10
	// MaxInlineArguments is up to where a call's arguments travel by value.
	MaxInlineArguments = 4 << 10
	// MaxCarriedMessages bounds what a run without storage hands to the next one.
	MaxCarriedMessages = 1_000_000
	// MaxCarriedState bounds the state that a run hands to the next one where room is short.
	MaxCarriedState = 250_000
	// MaxPage bounds a page of a query, unless one entry alone is longer.
	MaxPage = 900_000
	// MaxLargePage bounds one that comes compressed: nearly all texts are below a server's 2 MiB then, and
	// all of them below the 4 MiB of a message. Where one is not, its asker asks for a page.
	MaxLargePage = 4_000_000
	// MaxReason bounds the text of a stop's reason.
	MaxReason = 4 << 10
	// MaxStepCalls bounds the calls of one step that are run.
	MaxStepCalls = 256
	// MaxRequestedCalls bounds the calls of one answer; one with more has lost its way.
	MaxRequestedCalls = 1000
)
