package inference

import (
	"context"

	"everstep/domain"
)

// A Provider speaks one API of language models. It is used by many activities
// at once and keeps no state between calls that decides anything.
type Provider interface {
	// Check says whether the model can be used at all, as far as that can be
	// told without a request. It is asked before an execution begins.
	Check(ctx context.Context, config domain.LLMConfig) error
	// MinOutputTokens is the smallest bound of an answer that it accepts.
	MinOutputTokens() int64
	// Infer makes one attempt and returns when the answer is whole. Its error
	// is a *domain.Error, Billed where the attempt may have cost money. The
	// answer beside an error holds what had come: nothing, where nothing was
	// sent, else it is Partial. When ctx ends it returns soon, whatever the
	// other side does. It calls emit from one goroutine at a time and never
	// after it has returned.
	Infer(ctx context.Context, call Call, emit func(Delta)) (Answer, error)
}

// A Formatter is a provider whose API takes response formats. One that is none
// is never told of a format.
type Formatter interface {
	// CheckFormat says why the API does not take a format that can be checked,
	// beside tools where there are any; nil where it does.
	CheckFormat(config domain.LLMConfig, format domain.ResponseFormat, tools bool) error
}

// A Call is one attempt at one inference.
type Call struct {
	Config domain.LLMConfig
	System string
	// Messages is the conversation, compiled.
	Messages []domain.Message
	Tools    []domain.ToolSpec
	Format   domain.ResponseFormat
	// OutputMode says how the model is told of the format. The provider sends it
	// itself only where that is OutputNative; the zero value means no format.
	OutputMode domain.OutputMode
	// OutputTool is the one of Tools whose arguments are the answer, for
	// OutputTool: the model is to be made to call it, or another tool.
	OutputTool string
	// MaxOutputTokens bounds the answer. Zero leaves it to the provider.
	MaxOutputTokens int64
	// Summary means that the call sums up a part of the conversation and does
	// not go on with it: Messages is then one message that asks for that.
	Summary bool
	// Inference counts the inferences that the conversation has completed; of a
	// summary, the summaries.
	Inference int
	// Attempt counts the tries of this inference from 1, over all activities.
	Attempt int
	// Sent is called just before the first byte of the request may leave. It
	// may be nil.
	Sent func()
}

// An Answer is what a model said.
type Answer struct {
	Message  domain.Message
	Response domain.Response
	// Partial means that the answer was cut off: its message has text and
	// reasoning as far as they came, and no tool calls.
	Partial bool
}

// A Delta is a piece of an answer as it arrives.
type Delta struct {
	Text      string
	Reasoning string
	// Tool is the name of a tool whose call begins to arrive.
	Tool string
}

// IsEmpty reports whether nothing has arrived.
func (d Delta) IsEmpty() bool { return d == Delta{} }
