package whole_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	agents "everstep/starter/client"
	"everstep/worker/host"
)

const questionScript = `
turns:
  - text: asking
    tool_calls:
      - {name: ask_user, arguments: {question: "Where to?"}}
      - {name: ask_user, arguments: {question: "How?", choices: [by train, by car]}}
      - {name: ask_user, arguments: {question: "How many?", schema: {type: integer, minimum: 1}}}
      - {name: ask_user, arguments: {question: "When?", default: now, expires_in: 2}}
      - {name: ask_user, arguments: {question: "Why?", choices: [a, a]}}
  - text: We go.
`

// questionsOf waits until so many questions of an agent wait.
func (s *stack) questionsOf(t *testing.T, id string, n int) []agents.WaitingCall {
	t.Helper()
	return s.waitingOf(t, id, n)
}

// startQuestions begins an execution of which three questions wait for people; the fourth has expired.
func (s *stack) startQuestions(t *testing.T, id string) (agents.Execution, []agents.WaitingCall) {
	t.Helper()
	begun, err := s.agents.Start(within(t), agents.Start{ID: id, Prompt: "go", Definition: scripted(writeScript(t, questionScript), "ask_user")})
	require.NoError(t, err)
	for event, err := range s.agents.Events(within(t), begun.ID, agents.FollowOptions{}) {
		require.NoError(t, err)
		if _, expired := event.Data.(domain.WaitClosed); expired { // the three wait since before it
			break
		}
	}
	return begun, s.questionsOf(t, begun.ID, 3)
}

// TestQuestions has questions of one step answered in words, by a choice, by a JSON value and by a default; the first
// answer counts, what fits no schema is refused, and all is told the same with a worker and without.
func TestQuestions(t *testing.T) {
	t.Parallel()
	s := connect(t, "plain", nil)
	first := s.work(t, host.Config{BuiltinTools: []string{"ask_user"}})
	begun, questions := s.startQuestions(t, s.named("questions"))
	first.Stop() // the questions wait without any worker
	status, err := s.agents.Status(within(t), begun.ID)
	require.NoError(t, err)
	require.NotEqual(t, contract.FromWorkflow, status.Server.Source)
	require.Equal(t, "step 1: 3 calls wait for answers", status.Doing)
	require.Len(t, status.Waits, 3)
	for i, question := range status.Waits {
		require.Equal(t, questions[i].Wait, question, "history tells what is asked")
	}
	t.Cleanup(s.work(t, host.Config{BuiltinTools: []string{"ask_user"}}).Stop)
	ctx := within(t)
	require.Eventually(t, func() bool { // what the server lists may be a moment old
		for l, err := range s.agents.List(ctx, agents.ListOptions{Waiting: true}) {
			if err == nil && l.ID == begun.ID {
				return l.Waiting == 3 && l.Questions == 3
			}
		}
		return false
	}, patience, 50*time.Millisecond)

	require.Eventually(t, func() bool { // the new worker learns of the one that has expired with its first task
		_, err = s.agents.Answer(ctx, begun.ID, agents.Word{Verdict: domain.AnsweredByPerson, Text: "Berlin"})
		return err != nil && strings.Contains(err.Error(), "3 calls wait for that; name one of them")
	}, patience, 50*time.Millisecond, "%v", err)
	answered, err := s.agents.Answer(ctx, begun.ID, agents.Word{Verdict: domain.AnsweredByPerson, Call: questions[0].ToolExecutionID, Digest: questions[0].Digest, Text: "Berlin", By: "ann", Reason: "asked her"})
	require.NoError(t, err)
	require.Equal(t, "ask_user", answered.Wait.Tool)
	_, err = s.agents.Answer(ctx, begun.ID, agents.Word{Verdict: domain.AnsweredByPerson, Call: questions[0].ToolExecutionID, Text: "Paris", By: "bob"})
	require.ErrorIs(t, err, &agents.Error{Class: agents.Refused})
	require.ErrorContains(t, err, "was answered already")
	require.ErrorContains(t, err, "by ann", "who is second is told who was first")
	_, err = s.agents.Answer(ctx, begun.ID, agents.Word{Verdict: domain.AnsweredByPerson, Call: questions[1].ToolExecutionID, Text: "on foot"})
	require.ErrorContains(t, err, `is none of the choices: ["by train" "by car"]`)
	_, err = s.agents.Answer(ctx, begun.ID, agents.Word{Verdict: domain.AnsweredByPerson, Call: questions[1].ToolExecutionID, Text: "by train"})
	require.NoError(t, err)
	_, err = s.agents.Answer(ctx, begun.ID, agents.Word{Verdict: domain.AnsweredByPerson, Value: json.RawMessage(`0`)})
	require.ErrorContains(t, err, "does not fit the question's schema, so the call waits as it was")
	_, err = s.agents.Answer(ctx, begun.ID, agents.Word{Verdict: domain.AnsweredByPerson, Value: json.RawMessage(`2`)})
	require.NoError(t, err, "the one that is left need not be named")
	result, err := s.agents.Wait(ctx, begun.ID, 1)
	require.NoError(t, err)
	require.Equal(t, domain.StatusCompleted, result.Outcome.Status)
	view, err := s.agents.Explain(ctx, begun.ID, 1)
	require.NoError(t, err)
	var said []string
	for _, call := range view.Steps[0].Tools {
		if len(call.Waits) == 0 {
			require.Contains(t, call.Error.Message, `choices: "a" is there twice`)
			continue
		}
		a := call.Waits[0].Answer
		said = append(said, strings.TrimSpace(string(a.Verdict)+" "+a.By+" "+a.Reason+": "+a.Content))
	}
	require.Len(t, said, 4)
	require.Equal(t, "answered ann asked her: Berlin", said[0])
	require.Contains(t, said[3], "so your default holds:\nnow")
}
