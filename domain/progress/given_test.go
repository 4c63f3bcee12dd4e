package progress_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
)

// TestWhatAnExecutionIsGiven is told by its beginning: a run that takes over one that is open does not know it.
func TestWhatAnExecutionIsGiven(t *testing.T) {
	t.Parallel()
	given := &domain.Given{
		Messages: []domain.Entry{{Message: domain.UserMessage("one")}, {Message: domain.UserMessage("two")}},
		Metadata: domain.Metadata{"b": []byte("1"), "a": []byte("2")},
	}
	told := &progress.Given{Messages: 2, Metadata: []string{"a", "b"}}
	require.Equal(t, &progress.Given{}, begins(contract.SessionInput{}).Execution.Given)
	s := begins(contract.SessionInput{Given: given})
	require.Equal(t, told, s.Execution.Given)
	send := func(number int, given *domain.Given) {
		s.then(progress.Sent{Request: &contract.SendRequest{Given: given}, Reply: contract.SendReply{Began: true, Number: number}})
	}
	send(2, nil)
	require.Equal(t, &progress.Given{}, s.Execution.Given)
	s.infers(3, 1)
	require.Nil(t, s.Execution.Given, "the message that began it is not answered yet")
	send(3, given)
	require.Equal(t, told, s.Execution.Given)
	send(4, nil)
	require.Equal(t, &progress.Given{}, s.Execution.Given)
	s.then(progress.Extended{Reply: contract.ExtendReply{Began: true, Number: 5}})
	require.Equal(t, &progress.Given{}, s.Execution.Given, "it goes on")
	s.then(progress.Sent{Reply: contract.SendReply{Began: true, Number: 6}})
	require.Nil(t, s.Execution.Given, "what was sent cannot be read")
}
