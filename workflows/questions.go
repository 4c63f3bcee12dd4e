package workflows

import (
	"cmp"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// An askedQuestion is one that a call asks.
type askedQuestion struct {
	domain.PendingQuestion
	position int
	// content is what somebody has answered.
	content string
	// checks counts how often an answer was held against the schema.
	checks int
}

func (q *askedQuestion) answered(content, by, reason string, at time.Time) {
	q.content, q.Answer = content, q.Answered(by, reason, at)
}

func (q *askedQuestion) expire(at time.Time) { q.Answer = q.Expired(q.Question, at) }

func (q *askedQuestion) check() { q.checks++ }

func (q *askedQuestion) bound() domain.Digest { return q.Digest }

func (q *askedQuestion) place() int { return q.position }

// mostChecks bounds how often people try to answer a question with a schema: each time takes some of the history.
const mostChecks = 50

// awaitAnswer waits in the coroutine of a call until somebody has answered its question, or its time is over, and returns
// what came of it. Nothing of the call is under way meanwhile.
func (b *toolBatch) awaitAnswer(ctx workflow.Context, i int, call domain.ToolCall, reply contract.ToolReply) contract.ToolReply {
	if wrong := reply.Question.Check(); wrong != nil { // no worker of ours lets it pass
		return contract.Unanswered(domain.AsError(wrong))
	}
	asked := b.pose(i, call, *reply.Question)
	defer b.release()
	answered := b.mail.AwaitWord(ctx, asked.ExpiresAt, func() bool { return !asked.Waits() }, func() bool { return b.halted })
	b.questions.over(asked)
	b.publishLater()
	if !answered {
		b.cutOff[i] = b.mail.CutOff()
		return reply
	}
	if asked.Waits() {
		asked.expire(b.now())
	}
	b.answerChanged(i, asked.Answer)
	b.emit(domain.EventQuestionAnswered, domain.UserQuestionAnswered{
		EventCall: eventCall(asked.ToolExecutionID, asked.Tool),
		Digest:    asked.Digest, Outcome: asked.Outcome, By: asked.By,
	})
	said := asked.Answer.Says(asked.Question, asked.content)
	return contract.ToolReply{Content: said, Digest: domain.DigestOf([]byte(said))}
}

// pose asks people what a call wants to know.
func (b *toolBatch) pose(i int, call domain.ToolCall, question domain.Question) *askedQuestion {
	answer := domain.Answer{Digest: domain.CallDigest(call.Name, call.Arguments), AskedAt: b.now()}
	if question.ExpiresIn > 0 {
		answer.ExpiresAt = b.now().Add(time.Duration(question.ExpiresIn) * time.Second)
	}
	asked := &askedQuestion{PendingQuestion: domain.PendingQuestion{PendingCall: b.pendingCall(i, call), Question: question, Answer: answer}, position: i}
	b.questions.ask(asked)
	b.answerChanged(i, answer)
	b.emit(domain.EventQuestionAsked, domain.CallAsked{
		EventCall: eventCall(asked.ToolExecutionID, call.Name),
		Digest:    answer.Digest, ExpiresAt: answer.ExpiresAt,
	})
	b.holdForPeople()
	return asked
}

// publishWaiting tells those who list agents, and those who read the history, what waits.
func (b *toolBatch) publishWaiting() {
	b.unpublished = false
	waiting := contract.WaitingFor(b.pendingApprovals(), b.pendingQuestions(), b.asGiven)
	if err := workflow.UpsertMemo(b.root, map[string]any{contract.MemoWaiting: waiting}); err != nil {
		workflow.GetLogger(b.root).Error("upsert memo", "error", err)
	}
}

// waitingNote says in one line what waits for people; empty: nothing does.
func (b *toolBatch) waitingNote() string {
	return waitingNote(b.pendingApprovals(), b.pendingQuestions())
}

// checkAnswer refuses what is no answer to a question that waits.
func (s session) checkAnswer(request contract.AnswerRequest) error {
	asked, err := s.questionOf(request.Call, request.Digest)
	switch {
	case err != nil:
		return err
	case len(asked.Schema) > 0 && asked.checks >= mostChecks:
		return domain.Errorf(domain.Denied, "answer: somebody has tried %d times to answer call %s, which is as often as may be; stop the execution, or wait until the question expires", asked.checks, asked.ToolExecutionID)
	case len(asked.Schema) > 0 && (s.nearBounds() || s.mail.Updates.Full()):
		return domain.Errorf(domain.Denied, "answer: the run has no room to check it; stop the execution, and extend it")
	}
	_, err = asked.Content(request.Text, request.Value)
	return cmp.Or(s.inTime("answer", asked.PendingCall, asked.ExpiresAt), err, checkWord(request.By, request.Reason))
}

// answerQuestion writes down somebody's answer, once a worker says that it fits the schema where there is one. Meanwhile
// somebody else may answer, and is then the first. The call takes it from there.
func (s session) answerQuestion(ctx workflow.Context, request contract.AnswerRequest) (contract.AnswerReply, error) {
	asked, err := s.questionOf(request.Call, request.Digest)
	if err != nil {
		return contract.AnswerReply{}, err
	}
	request.Call = asked.ToolExecutionID
	content, err := asked.Content(request.Text, request.Value)
	if err == nil && len(asked.Schema) > 0 {
		asked.check()
		if err = s.checkAgainst(ctx, asked.Schema, content); err == nil {
			_, err = s.questionOf(request.Call, request.Digest)
		}
		if err != nil && !asked.Waits() { // what came of that may have cut the check off
			err = s.noQuestion(request.Call)
		}
	}
	if err != nil {
		return contract.AnswerReply{}, err
	}
	asked.answered(content, request.By, request.Reason, s.now())
	return contract.AnswerReply{
		ExecutionID: asked.ExecutionID, Number: s.state.ExecutionCount, Step: asked.Step,
		ToolExecutionID: asked.ToolExecutionID, Tool: asked.Tool, Answer: asked.Answer,
	}, nil
}

// questionOf finds the question that somebody answers, or says why there is none.
func (s session) questionOf(id domain.ToolExecutionID, digest domain.Digest) (*askedQuestion, error) {
	return s.questions.find("answer", id, digest, func() error { return s.noQuestion(id) })
}

// noQuestion says why nobody is asked what a call wanted to know.
func (s session) noQuestion(id domain.ToolExecutionID) error {
	if id.IsZero() {
		return domain.Errorf(domain.Denied, "answer: no question of this agent waits")
	}
	if question, ok := s.questions.byID(id); ok { // answered a moment ago
		return alreadyAnswered(id, question.Answer)
	}
	if call, ok := s.toolExecution(id); ok && !call.Answer.IsZero() {
		return alreadyAnswered(id, call.Answer)
	}
	return domain.Errorf(domain.Denied, "answer: no question of call %s waits", id)
}

func alreadyAnswered(id domain.ToolExecutionID, answer domain.Answer) error {
	at := answer.At.Format(time.RFC3339)
	switch answer.Outcome {
	case domain.AnsweredByPerson:
		return domain.Errorf(domain.Denied, "answer: the question of call %s was answered already, at %s%s", id, at, byWhom(answer.By))
	case domain.AnsweredByDefault:
		return domain.Errorf(domain.Denied, "answer: the time for the question of call %s was over at %s, so its default holds", id, at)
	case domain.NobodyAnswered:
		return domain.Errorf(domain.Denied, "answer: the question of call %s expired at %s", id, at)
	}
	return domain.Errorf(domain.Denied, "answer: the execution was stopped before anybody had answered the question of call %s", id)
}

// shownQuestions are what waits as it fits into a status.
func shownQuestions(pending []domain.PendingQuestion) []domain.PendingQuestion {
	for i := range pending {
		pending[i] = pending[i].Cut(min(32<<10, domain.MaxPage/4/len(pending)))
	}
	return pending
}

// waitingNote says in one line what waits for people; empty: nothing does.
func waitingNote(pending []domain.PendingApproval, questions []domain.PendingQuestion) string {
	switch n := len(pending) + len(questions); {
	case n == 0:
		return ""
	case n == 1 && len(pending) == 1:
		return fmt.Sprintf("step %d: %s waits for approval", pending[0].Step, domain.Shorten(pending[0].Tool, 64))
	case n == 1:
		return fmt.Sprintf("step %d: %s waits for an answer", questions[0].Step, domain.Shorten(questions[0].Tool, 64))
	case len(questions) == 0:
		return fmt.Sprintf("step %d: %d calls wait for approval", pending[0].Step, n)
	case len(pending) == 0:
		return fmt.Sprintf("step %d: %d calls wait for answers", questions[0].Step, n)
	default:
		return fmt.Sprintf("step %d: %d calls wait for people", questions[0].Step, n)
	}
}
