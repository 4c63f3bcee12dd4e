package contract_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// longAnswer is as long as an answer to an approval can be.
func longAnswer(n int) contract.AnswerReply {
	answer := &domain.Answer{Verdict: domain.Approved, Reason: strings.Repeat("<", domain.MaxReason)}
	return contract.AnswerReply{Number: n, Wait: domain.Wait{Kind: domain.WaitApproval, Answer: answer}}
}

// TestAFloodOfMessagesIsRemembered: the answers to 400 messages are kept, whatever else was answered before.
func TestAFloodOfMessagesIsRemembered(t *testing.T) {
	t.Parallel()
	var answers contract.Answers
	for n := range 100 {
		answers = answers.With("agent.send", fmt.Sprint("d", n), longAnswer(n))
	}
	agent, err := domain.AgentIDOf("ann")
	require.NoError(t, err)
	for n := range 400 {
		answers = answers.With("agent.send", uuid.NewString(), contract.SendReply{
			ExecutionID: agent.Execution("run", 10_000), Number: 10_000, RunID: uuid.NewString(), Waits: agent.Waiting("run", int64(n)), Place: 10_000,
		})
	}
	sends := 0
	for _, answer := range answers {
		if !strings.HasPrefix(answer.ID, "d") || len(answer.ID) > 4 {
			sends++
		}
	}
	require.Equal(t, 400, sends)
}

// TestAnswersAreBounded in bytes, whatever ids clients choose and however long answers are: the newest stay.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	var answers contract.Answers
	long := strings.Repeat("i", 900)
	for n := range 100 {
		before := len(answers)
		answers = answers.With("agent.send", fmt.Sprint(long, n), longAnswer(n))
		require.LessOrEqual(t, len(answers), before+1)
	}
	encoded, err := json.Marshal(answers)
	require.NoError(t, err)
	require.Less(t, len(encoded), 200_000)
	require.Greater(t, len(encoded), 150_000)
	var reply contract.AnswerReply
	require.True(t, answers.Read("agent.send", long+"99", &reply))
	require.Equal(t, 99, reply.Number)
	require.False(t, answers.Read("agent.send", long+"1", &reply))
	require.Equal(t, answers, answers.With("agent.send", "huge", strings.Repeat("x", 50_000)), "it would take the place of ten others")
}
