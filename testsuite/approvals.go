package testsuite

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"everstep/domain"
	"everstep/domain/account"
	"everstep/domain/contract"
)

// ApproveAt lets a tool call run that waits for a person, some time after the agent began: the first that waits of the
// tool. Where none does the test ends.
func ApproveAt(after time.Duration, tool string) Event {
	return decideAt(after, tool, contract.AnswerRequest{Verdict: domain.Approved})
}

// ApproveEditedAt is ApproveAt with other arguments, which are exactly what runs.
func ApproveEditedAt(after time.Duration, tool, arguments string) Event {
	return decideAt(after, tool, contract.AnswerRequest{Verdict: domain.Approved, Arguments: arguments})
}

// ApproveAlwaysAt is ApproveAt that lets calls of the tool with exactly these arguments run from then on, too.
func ApproveAlwaysAt(after time.Duration, tool string) Event {
	return decideAt(after, tool, contract.AnswerRequest{Verdict: domain.Approved, Always: true})
}

// DenyAt does not let it run, with a reason that the model gets to read.
func DenyAt(after time.Duration, tool, reason string) Event {
	return decideAt(after, tool, contract.AnswerRequest{Verdict: domain.WasDenied, Reason: reason})
}

func decideAt(after time.Duration, tool string, request contract.AnswerRequest) Event {
	return wordAt(after, tool, request, fmt.Errorf("no call of %s waits for approval", tool))
}

// wordAt says something about the first call of the tool, or of any where that is empty, which waits for it; none is why that
// fails where there is none.
func wordAt(after time.Duration, tool string, request contract.AnswerRequest, none error) Event {
	return Event{after: after, word: func(s *stage) (string, any, error) {
		all, err := s.account(account.HeadOf)
		if err != nil {
			return "", nil, err
		}
		at := slices.IndexFunc(all.Head.Waits, func(w domain.Wait) bool { return request.Fits(w.Kind) && (tool == "" || w.Tool == tool) })
		if at < 0 {
			return "", nil, none
		}
		waits, asked := all.Head.Waits[at], request
		asked.Call, asked.Digest, asked.By = waits.ToolExecutionID, waits.Digest, "the test"
		return string(contract.UpdateAnswer), asked, nil
	}}
}

// AnswerAt answers a question that waits for a person, some time after the agent began: the first that waits. Where none
// does, or the answer is refused, as one that is none of the choices, the test ends.
func AnswerAt(after time.Duration, text string) Event {
	return answerAt(after, contract.AnswerRequest{Text: text, Verdict: domain.AnsweredByPerson})
}

// AnswerValueAt is AnswerAt of a question with a schema: the answer is a JSON value.
func AnswerValueAt(after time.Duration, value string) Event {
	return answerAt(after, contract.AnswerRequest{Value: json.RawMessage(value), Verdict: domain.AnsweredByPerson})
}

func answerAt(after time.Duration, request contract.AnswerRequest) Event {
	return wordAt(after, "", request, errors.New("no question waits for an answer"))
}
