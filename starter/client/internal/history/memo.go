package history

import (
	"cmp"

	"github.com/google/uuid"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"everstep/domain"
	"everstep/domain/contract"
)

// inMemo reads a field of a memo; false: it is absent, or nobody can read it.
func inMemo[T any](c converter.DataConverter, memo *commonpb.Memo, name string) (value T, ok bool) {
	field, ok := memo.GetFields()[name]
	if !ok || c.FromPayload(field, &value) != nil {
		var none T
		return none, false
	}
	return value, true
}

// Builds reads the memo field that says which builds have run the workflow; zero: none has, or nobody can read it.
func Builds(c converter.DataConverter, memo *commonpb.Memo) contract.Builds {
	all, _ := inMemo[contract.Builds](c, memo, contract.MemoBuild)
	return contract.Builds{Begun: domain.Shorten(all.Begun, maxBuild), Last: domain.Shorten(all.Last, maxBuild)}
}

// maxBuild bounds what is shown of a build's name.
const maxBuild = 200

// EndedRun reads the memo field that names the run that ended, in a workflow that has only resolved a call since.
func EndedRun(c converter.DataConverter, memo *commonpb.Memo) (ended contract.EndedRun, ok bool) {
	ended, ok = inMemo[contract.EndedRun](c, memo, contract.MemoResolution)
	return ended, ok && uuid.Validate(ended.RunID) == nil // the server refuses another
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
func Head(c converter.DataConverter, memo *commonpb.Memo) contract.HeadMemo {
	head, ok := inMemo[contract.HeadMemo](c, memo, contract.MemoHead)
	if !ok || head.Number < 1 {
		return contract.HeadMemo{Number: 1}
	}
	return head
}

// Waiting reads the memo field that says what waits for people; zero: nothing ever has, or nobody can read it.
func Waiting(c converter.DataConverter, memo *commonpb.Memo) contract.Waiting {
	waiting, _ := inMemo[contract.Waiting](c, memo, contract.MemoWaiting)
	return waiting
}
