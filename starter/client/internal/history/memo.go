package history

import (
	"github.com/google/uuid"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"everstep/domain"
	"everstep/domain/contract"
)

// A Memo is that of a workflow, with what reads it.
type Memo struct {
	Converter converter.DataConverter
	*commonpb.Memo
}

// inMemo reads a field of a memo; false: it is absent, or nobody can read it.
func inMemo[T any](m Memo, name string) (value T, ok bool) {
	field, ok := m.GetFields()[name]
	if !ok || m.Converter.FromPayload(field, &value) != nil {
		var none T
		return none, false
	}
	return value, true
}

// Builds are those which have run the workflow; zero: none has, or nobody can read it.
func (m Memo) Builds() contract.Builds {
	all, _ := inMemo[contract.Builds](m, contract.MemoBuild)
	return contract.Builds{Begun: domain.Shorten(all.Begun, maxBuild), Last: domain.Shorten(all.Last, maxBuild)}
}

// maxBuild bounds what is shown of a build's name.
const maxBuild = 200

// EndedRun is the run that ended, in a workflow that has only resolved a call since.
func (m Memo) EndedRun() (ended contract.EndedRun, ok bool) {
	ended, ok = inMemo[contract.EndedRun](m, contract.MemoResolution)
	return ended, ok && uuid.Validate(ended.RunID) == nil // the server refuses another
}

// Outcome says how the newest execution ended; nil: none has, or nobody can read it.
func (m Memo) Outcome() *contract.Outcome {
	outcome, ok := inMemo[contract.Outcome](m, contract.MemoOutcome)
	if !ok || outcome.Number < 1 || domain.CheckRecorded(outcome) != nil {
		return nil
	}
	return &outcome
}

// Head says where an agent stands. Without one the first execution is the newest.
func (m Memo) Head() contract.HeadMemo {
	head, ok := inMemo[contract.HeadMemo](m, contract.MemoHead)
	if !ok || head.Number < 1 {
		return contract.HeadMemo{Number: 1}
	}
	return head
}

// Scheduled says what a run of a schedule has begun; false: nothing, or nobody can read it.
func (m Memo) Scheduled() (contract.ScheduledRun, bool) {
	return inMemo[contract.ScheduledRun](m, contract.MemoScheduled)
}

// Waiting says what waits for people; zero: nothing ever has, or nobody can read it.
func (m Memo) Waiting() contract.Waiting {
	waiting, _ := inMemo[contract.Waiting](m, contract.MemoWaiting)
	return waiting
}
