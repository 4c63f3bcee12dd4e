package inference

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"everstep/domain"
)

// A Provider speaks one API of language models, to many at once, without state that decides.
type Provider interface {
	// Check says whether the model can be used, as far as can be told without a request.
	Check(ctx context.Context, config domain.LLMConfig) error
	// MinOutputTokens is the smallest bound of an answer that it accepts.
	MinOutputTokens() int64
	// Infer makes one attempt and returns when the answer is whole. Its error
	// is a *domain.Error, Billed where the attempt may have cost money; an
	// Adapted holds one where the same call may be made again at once. The
	// answer beside an error holds what had come: nothing, where nothing was
	// sent, else it is Partial. When ctx ends it returns soon, whatever the
	// other side does. It calls emit from one goroutine at a time and never
	// after it has returned.
	Infer(ctx context.Context, call Call, emit func(Delta)) (Answer, error)
}

// A Formatter is a provider whose API takes response formats. Others are never told of one.
type Formatter interface {
	// CheckFormat says why the API does not take a format, beside tools where there are any, or nil.
	CheckFormat(config domain.LLMConfig, format domain.ResponseFormat, tools bool) error
}

// A Call is one attempt at one inference.
type Call struct {
	Config domain.LLMConfig
	System string
	// Messages is the conversation, compiled. A provider must not change it: later calls have the same messages.
	Messages []domain.Message
	// MessageTokens estimates the messages; zero: nobody has.
	MessageTokens int64
	Tools         []domain.ToolSpec
	Format        domain.ResponseFormat
	// OutputMode says how the model is told of the format. The provider sends it
	// itself only where that is OutputNative; the zero value means no format.
	OutputMode domain.OutputMode
	// OutputTool is the one of Tools whose arguments are the answer, for
	// OutputTool: the model is to be made to call it, or another tool.
	OutputTool string
	// MaxOutputTokens bounds the answer. Zero leaves it to the provider.
	MaxOutputTokens int64
	// Summary means that Messages is one message that asks to sum up a part of the conversation.
	Summary bool
	// Inference counts the completed inferences of the conversation; of a summary, the summaries.
	Inference int
	// Attempt counts the tries of this inference from 1, over all activities, without
	// those whose worker was lost.
	Attempt int
	// Sent is called just before the first byte of the request may leave. It may be nil.
	Sent func()
}

// An Answer is what a model said.
type Answer struct {
	Message  domain.Message
	Response domain.Response
	// Partial means that the answer was cut off: it has text and reasoning as far as they
	// came, and no calls.
	Partial bool
}

// A Delta is a piece of an answer as it arrives.
type Delta struct {
	Text      string
	Reasoning string
	// Tool is the name of a tool whose call begins to arrive.
	Tool string
}

// AssistantMessage returns a model's message of the parts that are not empty, in valid UTF-8, its calls without halves of
// characters.
func AssistantMessage(reasoning []domain.Part, text string, calls []domain.ToolCall) domain.Message {
	m := domain.Message{Role: domain.RoleAssistant}
	for _, p := range reasoning {
		p.Text = clean(p.Text)
		m.Parts = append(m.Parts, p)
	}
	if text != "" {
		m.Parts = append(m.Parts, domain.Part{Type: domain.PartText, Text: clean(text)})
	}
	for _, c := range calls {
		m.ToolCalls = append(m.ToolCalls, domain.ToolCall{ID: clean(c.ID), Name: clean(c.Name), Arguments: whole(clean(c.Arguments))})
	}
	return m
}

// PartialMessage returns the message of an answer that was cut off: without calls, none of
// which may run, and what a provider wants back, which is only good when whole.
func PartialMessage(reasoning, text string) domain.Message {
	var parts []domain.Part
	if reasoning != "" {
		parts = []domain.Part{{Type: domain.PartReasoning, Text: reasoning}}
	}
	return AssistantMessage(parts, text, nil)
}

// WithoutImages is a tool's message without the images of its result, and says so. It is for APIs and models that
// take none there.
func WithoutImages(m domain.Message) domain.Message {
	if m.ToolResult == nil || len(m.Parts) == 0 {
		return m
	}
	result := *m.ToolResult
	result.Content += "\n[images that are named here are not shown to you]"
	m.ToolResult, m.Parts = &result, nil
	return m
}

// Halves finds where in some JSON half a character stands alone, which has an escape of six bytes.
func Halves(data []byte) (places []int) {
	for i := 0; i < len(data); {
		switch r := escaped(data[i:]); {
		case data[i] != '\\':
			i++
		case !utf16.IsSurrogate(r):
			i += len(`\n`)
		case utf16.DecodeRune(r, escaped(data[i+len(`\uD83D`):])) != utf8.RuneError:
			i += len(`\uD83D\uDE00`)
		default:
			places = append(places, i)
			i += len(`\uD83D`)
		}
	}
	return places
}

// escaped is the number that an escape at the beginning of some JSON has, or none that is half a character.
func escaped(data []byte) rune {
	if len(data) < len(`\uD83D`) || data[0] != '\\' || data[1] != 'u' {
		return utf8.RuneError
	}
	number, _ := strconv.ParseUint(string(data[len(`\u`):len(`\uD83D`)]), 16, 16) // zero where it is none
	return rune(number)
}

// whole is JSON in which no half of a character stands alone: each program reads that in its own way, and many refuse it.
// What is not JSON stays as it is.
func whole(arguments string) string {
	if !json.Valid([]byte(arguments)) {
		return arguments
	}
	mended := []byte(arguments)
	for _, at := range Halves(mended) {
		copy(mended[at:], `\uFFFD`)
	}
	return string(mended)
}

func clean(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// InputTokens estimates what the call's request takes.
func (c Call) InputTokens() int64 {
	tokens := domain.EstimateText(c.System) + c.MessageTokens
	if c.OutputMode == domain.OutputNative {
		tokens += domain.EstimateText(string(c.Format.Schema))
	}
	if c.MessageTokens == 0 {
		for _, m := range c.Messages {
			tokens += domain.EstimateTokens(m)
		}
	}
	for _, t := range c.Tools {
		tokens += domain.EstimateText(t.Name) + domain.EstimateText(t.Description) + domain.EstimateText(string(t.Schema))
	}
	return tokens
}

// OutputTokens estimates what a message took to write.
func OutputTokens(m domain.Message) int64 {
	if len(m.Parts) == 0 && len(m.ToolCalls) == 0 {
		return 0
	}
	return domain.EstimateTokens(m)
}

// CompleteUsage completes a usage that was reported in part or not at all: estimated, not zero.
func (c Call) CompleteUsage(usage domain.Usage, m domain.Message) domain.Usage {
	if usage.Estimated && usage.TotalTokens() == 0 {
		return usage // somebody has estimated it, at nothing
	}
	if usage.InputTokens == 0 {
		usage.InputTokens, usage.Estimated = c.InputTokens(), true
	}
	if written := OutputTokens(m); usage.OutputTokens == 0 && written > 0 {
		usage.OutputTokens, usage.Estimated = written, true
	}
	return usage
}
