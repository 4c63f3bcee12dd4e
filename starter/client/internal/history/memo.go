package history

import (
	"cmp"

	"github.com/google/uuid"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"everstep/domain"
	"everstep/domain/contract"
)

// Builds reads the memo field that says which builds have run the workflow; zero: none has, or nobody can read it.
func Builds(c converter.DataConverter, memo *commonpb.Memo) (all contract.Builds) {
	if field, ok := memo.GetFields()[contract.MemoBuild]; !ok || c.FromPayload(field, &all) != nil {
		return contract.Builds{}
	}
	return contract.Builds{Begun: domain.Shorten(all.Begun, maxBuild), Last: domain.Shorten(all.Last, maxBuild)}
}

// maxBuild bounds what is shown of a build's name.
const maxBuild = 200

// EndedRun reads the memo field that names the run that ended, in a workflow that has only resolved a call since.
func EndedRun(c converter.DataConverter, memo *commonpb.Memo) (ended contract.EndedRun, ok bool) {
	field, ok := memo.GetFields()[contract.MemoResolution]
	ok = ok && c.FromPayload(field, &ended) == nil && uuid.Validate(ended.RunID) == nil // the server refuses another
	return ended, ok
}

// Outcome reads the memo field that says how the newest execution ended.
func Outcome(c converter.DataConverter, memo *commonpb.Memo) (contract.Outcome, error) {
	var outcome contract.Outcome
	err := c.FromPayload(memo.GetFields()[contract.MemoOutcome], &outcome)
	if err == nil && outcome.Number < 1 {
		err = domain.Errorf(domain.Invalid, "execution_number: is %d; executions are counted from 1", outcome.Number)
	}
	return outcome, cmp.Or(err, domain.CheckRecorded(outcome))
}

// Head reads the memo field that says where an agent stands. Without one the first execution is the newest.
func Head(c converter.DataConverter, memo *commonpb.Memo) (head contract.HeadMemo) {
	if field, ok := memo.GetFields()[contract.MemoHead]; !ok || c.FromPayload(field, &head) != nil || head.Number < 1 {
		return contract.HeadMemo{Number: 1}
	}
	return head
}

// Waiting reads the memo field that says what waits for people; zero: nothing ever has, or nobody can read it.
func Waiting(c converter.DataConverter, memo *commonpb.Memo) (waiting contract.Waiting) {
	if field, ok := memo.GetFields()[contract.MemoWaiting]; !ok || c.FromPayload(field, &waiting) != nil {
		return contract.Waiting{}
	}
	return waiting
}
