package progress

import (
	"slices"

	"everstep/domain"
	"everstep/domain/contract"
)

// A Replied says that somebody has answered a question. Request is nil where it cannot be read.
type Replied struct {
	Request *contract.AnswerRequest
	Reply   contract.AnswerReply
}

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

// asks notes that a call waits for a person's answer. When exactly it began to, and until when, the memo tells.
func (s Step) asks(f unmade, at At) Step {
	i := f.Tool.Position
	if i >= len(s.ToolExecutions) {
		return s
	}
	s.ToolExecutions = slices.Clone(s.ToolExecutions)
	call := &s.ToolExecutions[i]
	call.Answer = domain.Answer{Digest: domain.CallDigest(call.Call.Name, call.Call.Arguments), AskedAt: at.Time}
	return s
}

// question is what a call asks that waits.
func (s Step) question(i int) (domain.Question, bool) {
	for _, u := range s.unmade {
		if u.Tool.Position == i && u.Reply.Question != nil {
			return *u.Reply.Question, true
		}
	}
	return domain.Question{}, false
}

// awaits notes which questions wait. One that is no longer asked, and whose time is over, nobody has answered, unless a stop
// had ended the wait by then.
func (s Step) awaits(f Awaiting, at At) Step {
	s.ToolExecutions = slices.Clone(s.ToolExecutions)
	for i, call := range s.ToolExecutions {
		question, asked := s.question(i)
		if !asked || !call.Answer.Waits() {
			continue
		}
		named := slices.IndexFunc(f.Waiting.Questions, func(q contract.WaitingQuestion) bool { return q.ToolExecutionID == call.ID })
		switch was := call.Answer; {
		case named >= 0:
			answer := f.Waiting.Questions[named].Answer
			answer.Digest = was.Digest // memos have none
			s.ToolExecutions[i].Answer = answer
		case !at.StopAsked && !was.ExpiresAt.IsZero() && !at.Time.Before(was.ExpiresAt):
			s = s.answered(i, question, was.Expired(question, at.Time), "", at)
		}
	}
	return s
}

// answered ends a call that asked people.
func (s Step) answered(i int, question domain.Question, answer domain.Answer, content string, at At) Step {
	s = s.called(i, AnswerOf(question, answer, content), false, at)
	s.ToolExecutions[i].Answer = answer
	s.unmade = slices.DeleteFunc(slices.Clone(s.unmade), func(u unmade) bool { return u.Tool.Position == i })
	return s
}

// taught takes somebody's answer to a call's question.
func (s Step) taught(f Replied, at At) Step {
	i := slices.IndexFunc(s.ToolExecutions, func(t domain.ToolExecution) bool { return t.ID == f.Reply.ToolExecutionID })
	if i < 0 {
		return s
	}
	question, asked := s.question(i)
	if !asked {
		return s
	}
	content := ""
	if f.Request != nil {
		content, _ = question.Content(f.Request.Text, f.Request.Value) // the workflow has taken it
	}
	return s.answered(i, question, f.Reply.Answer, content, at)
}
