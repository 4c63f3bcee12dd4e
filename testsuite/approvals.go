package testsuite

import (
	"fmt"
	"time"

	"everstep/domain"
	"everstep/domain/contract"
)

// ApproveAt lets a tool call run that waits for a person, some time after the agent began: the first that waits of the
// tool. Where none does the test ends.
func ApproveAt(after time.Duration, tool string) Event {
	return wordAt(after, tool, func(call domain.PendingApproval) (string, any) {
		return string(contract.UpdateApprove), contract.ApproveRequest{Call: call.ToolExecutionID, Digest: call.Digest, By: "the test"}
	})
}

// DenyAt does not let it run, with a reason that the model gets to read.
func DenyAt(after time.Duration, tool, reason string) Event {
	return wordAt(after, tool, func(call domain.PendingApproval) (string, any) {
		return string(contract.UpdateDeny), contract.DenyRequest{Call: call.ToolExecutionID, Digest: call.Digest, By: "the test", Reason: reason}
	})
}

func wordAt(after time.Duration, tool string, word func(domain.PendingApproval) (string, any)) Event {
	return Event{after: after, word: func(s *stage) (string, any, error) {
		status, err := ask(s.env, contract.QueryStatus, contract.StatusRequest{})
		if err != nil {
			return "", nil, err
		}
		for _, call := range status.PendingApprovals {
			if call.Tool == tool {
				update, request := word(call)
				return update, request, nil
			}
		}
		return "", nil, fmt.Errorf("no call of %s waits for approval", tool)
	}}
}
