package activities

import (
	"cmp"
	"slices"
	"strings"

	"everstep/activities/output"
	"everstep/domain"
)

// tell makes the call one that tells the model of the response format, in the mode that was resolved for it.
func (c *modelCall) tell(format domain.ResponseFormat, mode domain.OutputMode) {
	if format.Type == "" || format.Type == domain.FormatText {
		return
	}
	call := &c.call
	call.Format, call.OutputMode = format, mode
	switch {
	case mode == domain.OutputTool:
		tool := output.Tool(format, call.Tools)
		call.OutputTool = tool.Name
		call.Tools = append(slices.Clip(call.Tools), tool)
	case mode == domain.OutputInstruction, format.Type == domain.FormatJSON:
		// APIs that can be asked for any JSON object want the prompt to say so too.
		call.System = output.Instruct(call.System, format)
	}
}

// formatted returns a model's message as it is recorded, and what is wrong with
// it as an answer: a call of the tool that stands for the format is the answer
// itself, unless the model called other tools too.
func (c *modelCall) formatted(message domain.Message, response *domain.Response) (m domain.Message, invalid string) {
	if c.call.Format.Type == "" {
		return message, ""
	}
	message, given := c.unwrapped(message, response)
	if len(message.ToolCalls) > 0 || strings.TrimSpace(message.Text()) == "" {
		return message, ""
	}
	checker, err := c.activities.outputs.of(c.call.Format)
	if err != nil {
		return message, domain.AsError(err).Message
	}
	invalid = checker.Check(message.Text())
	switch {
	case invalid != "" && response.Finish == domain.FinishLength:
		invalid = output.Truncated(invalid)
	case invalid == "" && given > 1:
		invalid = "the answer was given more than once, in calls that differ; call " + c.call.OutputTool + " once"
	}
	return message, invalid
}

// unwrapped takes the calls of the tool that stands for the format out of a
// message. Where there are no others, the first one's arguments are its text.
// Given counts the answers that differ.
func (c *modelCall) unwrapped(message domain.Message, response *domain.Response) (m domain.Message, given int) {
	var answers []string
	var others []domain.ToolCall
	for _, call := range message.ToolCalls {
		switch {
		case c.call.OutputTool == "" || call.Name != c.call.OutputTool:
			others = append(others, call)
		case !slices.Contains(answers, call.Arguments):
			answers = append(answers, call.Arguments)
		}
	}
	if len(answers) == 0 {
		return message, 0
	}
	message.ToolCalls = others
	if len(others) > 0 {
		return message, 0
	}
	message.Parts = slices.DeleteFunc(slices.Clone(message.Parts), func(p domain.Part) bool { return p.Type == domain.PartText })
	if answers[0] != "" {
		message.Parts = append(message.Parts, domain.Part{Type: domain.PartText, Text: answers[0]})
	}
	if response.Finish == domain.FinishToolCalls {
		response.FinishWord = cmp.Or(response.FinishWord, string(response.Finish))
		response.Finish = domain.FinishStop
	}
	return message, len(answers)
}
