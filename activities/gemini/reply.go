package gemini

import (
	"encoding/json"
	"reflect"

	"everstep/activities/inference/wire"
	"everstep/domain"
)

// reply is a piece of an answer, or a whole one: they have the same form.
type reply struct {
	Candidates []candidate `json:"candidates"`
	Feedback   *struct {
		BlockReason wire.Text `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage *usage          `json:"usageMetadata"`
	Model wire.Text       `json:"modelVersion"`
	ID    wire.Text       `json:"responseId"`
	Error json.RawMessage `json:"error"`
}

type candidate struct {
	Index   int `json:"index"`
	Content struct {
		Parts []json.RawMessage `json:"parts"`
	} `json:"content"`
	FinishReason  wire.Text `json:"finishReason"`
	FinishMessage wire.Text `json:"finishMessage"`
}

// part is a part of the model's content, as far as it is understood.
type part struct {
	Text      wire.Text  `json:"text"`
	Thought   bool       `json:"thought"`
	Signature wire.Text  `json:"thoughtSignature"`
	Call      *calledFor `json:"functionCall"`
}

type calledFor struct {
	ID           wire.Text       `json:"id"`
	Name         wire.Text       `json:"name"`
	Args         json.RawMessage `json:"args"`
	Partial      json.RawMessage `json:"partialArgs"`
	WillContinue json.RawMessage `json:"willContinue"`
}

// unfinished reports whether the arguments come in pieces.
func (c calledFor) unfinished() bool { return wire.Present(c.Partial) || wire.Present(c.WillContinue) }

// arguments are the call's as they came. A call without any has none to give.
func (c calledFor) arguments() string {
	if len(c.Args) == 0 || wire.IsNull(c.Args) {
		return "{}"
	}
	return string(c.Args)
}

// same reports whether a part as it came and as it would be written say the
// same.
func same(raw json.RawMessage, again modelPart) bool {
	encoded, err := marshal(again)
	var came, written any
	return err == nil && json.Unmarshal(raw, &came) == nil && json.Unmarshal(encoded, &written) == nil && reflect.DeepEqual(came, written)
}

// usage is what the API reports.
type usage struct {
	Prompt     wire.Count `json:"promptTokenCount"`
	ToolUse    wire.Count `json:"toolUsePromptTokenCount"`
	Cached     wire.Count `json:"cachedContentTokenCount"`
	Candidates wire.Count `json:"candidatesTokenCount"`
	Thoughts   wire.Count `json:"thoughtsTokenCount"`
	Total      wire.Count `json:"totalTokenCount"`
}

// domain normalises: what tools of the provider's own read is part of input,
// thoughts are part of output. The API counts both beside prompt and
// candidates; where a server counts them inside, its total tells.
func (u usage) domain() domain.Usage {
	input, output := u.Prompt+u.ToolUse, u.Candidates+u.Thoughts
	switch u.Total {
	case input + output:
	case u.Prompt + output:
		input = u.Prompt
	case input + u.Candidates:
		output = max(u.Candidates, u.Thoughts)
	}
	return domain.Usage{
		InputTokens: int64(input), OutputTokens: int64(output),
		CacheReadTokens: int64(u.Cached), ReasoningTokens: int64(u.Thoughts),
	}
}
