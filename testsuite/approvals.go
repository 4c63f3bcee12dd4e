package testsuite

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"everstep/domain/account"
	"everstep/domain/contract"
)

// ApproveAt lets a tool call run that waits for a person, some time after the agent began: the first that waits of the
// tool. Where none does the test ends.
func ApproveAt(after time.Duration, tool string) Event {
	return wordAt(after, tool, func(call account.Wait) (string, any) {
		return string(contract.UpdateApprove), contract.ApproveRequest{Call: call.ToolExecutionID, Digest: call.Digest, By: "the test"}
	})
}

// DenyAt does not let it run, with a reason that the model gets to read.
func DenyAt(after time.Duration, tool, reason string) Event {
	return wordAt(after, tool, func(call account.Wait) (string, any) {
		return string(contract.UpdateDeny), contract.DenyRequest{Call: call.ToolExecutionID, Digest: call.Digest, By: "the test", Reason: reason}
	})
}

func wordAt(after time.Duration, tool string, word func(account.Wait) (string, any)) Event {
	return Event{after: after, word: func(s *stage) (string, any, error) {
		calls, err := s.waits(account.WaitApproval)
		if err != nil {
			return "", nil, err
		}
		for _, call := range calls {
			if call.Tool == tool {
				update, request := word(call)
				return update, request, nil
			}
		}
		return "", nil, fmt.Errorf("no call of %s waits for approval", tool)
	}}
}

// AnswerAt answers a question that waits for a person, some time after the agent began: the first that waits. Where none
// does, or the answer is refused, as one that is none of the choices, the test ends.
func AnswerAt(after time.Duration, text string) Event {
	return answerAt(after, contract.AnswerRequest{Text: text})
}

// AnswerValueAt is AnswerAt of a question with a schema: the answer is a JSON value.
func AnswerValueAt(after time.Duration, value string) Event {
	return answerAt(after, contract.AnswerRequest{Value: json.RawMessage(value)})
}

func answerAt(after time.Duration, request contract.AnswerRequest) Event {
	return Event{after: after, word: func(s *stage) (string, any, error) {
		questions, err := s.waits(account.WaitQuestion)
		if err == nil && len(questions) == 0 {
			err = errors.New("no question waits for an answer")
		}
		if err != nil {
			return "", nil, err
		}
		asked := questions[0]
		request.Call, request.Digest, request.By = asked.ToolExecutionID, asked.Digest, "the test"
		return string(contract.UpdateAnswer), request, nil
	}}
}
