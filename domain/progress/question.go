package progress

import (
	"everstep/domain"
	"everstep/domain/contract"
)

// AnswerOf is what came of a call that asked people, once the wait is over: the model reads the answer itself, and nothing
// beside it.
func AnswerOf(question domain.Question, answer domain.Answer, content string) contract.ToolReply {
	said := answer.Says(question, content)
	return contract.ToolReply{Content: said, Digest: domain.DigestOf([]byte(said))}
}

// NotAnswered is what the model gets to read of a question that a stop ended.
func NotAnswered() *domain.Error {
	return domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not answered: the execution was stopped before anybody had answered the question")
}
