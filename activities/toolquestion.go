package activities

import (
	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/contract"
)

func asks(err error) bool {
	_, ok := tool.Asks(err)
	return ok
}

// asks has the workflow ask people. The error is what remains of the call where a stop comes first.
func (c toolCall) asks(err error) contract.ToolReply {
	question, _ := tool.Asks(err)
	question = hidden(c.activities.config.Secrets, question)
	if wrong := question.Check(); wrong != nil {
		return c.failed(domain.AsError(wrong))
	}
	reply := c.failed(domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not answered: the execution was stopped before anybody had answered the question"))
	reply.NotStarted, reply.Question = true, &question
	return reply
}
