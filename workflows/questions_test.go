package workflows_test

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"everstep/domain"
	"everstep/domain/contract"
)

// asksUser is a call that asks what its arguments say.
func asksUser(arguments string) domain.ToolCall {
	return domain.ToolCall{ID: "q", Name: "ask_user", Arguments: arguments}
}

func asksTools() []domain.ToolSpec {
	return []domain.ToolSpec{{Name: "ask_user", Effect: domain.ReadOnly}, {Name: "look", Effect: domain.ReadOnly}}
}

// poses is the worker of tools that ask.
func poses(r contract.ToolRequest) (contract.ToolReply, error) {
	if r.Name != "ask_user" {
		return saw(r)
	}
	var question domain.Question
	if err := json.Unmarshal([]byte(r.Arguments), &question); err != nil {
		return contract.ToolReply{}, err
	}
	reply := contract.Unanswered(domain.CodedErrorf(domain.Denied, domain.CodeNotRun, "not answered: the execution was stopped before anybody had answered the question"))
	reply.NotStarted, reply.Question = true, &question
	return reply, nil
}

func questions(t *testing.T, env *testsuite.TestWorkflowEnvironment) []domain.Wait {
	t.Helper()
	return waitsOf(t, env, domain.WaitQuestion)
}

func hears(t *testing.T, env *testsuite.TestWorkflowEnvironment, at time.Duration, do func(waiting []domain.Wait)) {
	t.Helper()
	env.RegisterDelayedCallback(func() { do(questions(t, env)) }, at)
}

// TestAnAnsweredQuestion waits a week, which does not count; the first answer counts, and the model reads it as it is.
func TestAnAnsweredQuestion(t *testing.T) {
	t.Parallel()
	const week = 7 * 24 * time.Hour
	color := asksUser(`{"question": "Which color?"}`)
	w := &world{tools: asksTools(), model: calling(color, look()), tool: poses}
	env := w.environment(t)
	var blue, red *verdict
	hears(t, env, week, func(waiting []domain.Wait) {
		require.Len(t, w.ran, 2, "what asks nobody runs meanwhile")
		require.Equal(t, domain.CallDigest(color.Name, color.Arguments), waiting[0].Digest)
		blue = replies(env, "blue", contract.AnswerRequest{Verdict: domain.AnsweredByPerson, Call: waiting[0].ToolExecutionID, Text: "blue"})
		red = replies(env, "red", contract.AnswerRequest{Verdict: domain.AnsweredByPerson, Call: waiting[0].ToolExecutionID, Text: "red", By: "bob"})
	})
	execute(env, input(t, "", budgeted(secondsOf(60))))
	completes(t, env)
	blue.succeeds(t)
	red.refused(t, "was answered already, at ")
	red.refused(t, " by ann")
	told := entriesIn(t, env)[2].Message
	require.Equal(t, "blue", told.ToolResult.Content)
	require.JSONEq(t, `"ann"`, string(told.Metadata["said_by"]))
}

// TestHowAQuestionEnds that nobody answers: the model gets to read why.
func TestHowAQuestionEnds(t *testing.T) {
	t.Parallel()
	const stopped = "not answered: the execution was stopped before anybody had answered the question"
	for name, test := range map[string]struct {
		question string
		budget   domain.ExecutionBudget
		outcome  domain.Verdict
		says     string
		reason   domain.StopReason
	}{
		"expired": {`{"question": "?", "expires_in": 3600}`, domain.ExecutionBudget{}, domain.Expired,
			"Nobody had answered by 2000-01-01T01:00:00Z. Go on without an answer, or ask again.", domain.Completed},
		"default": {`{"question": "?", "choices": ["a", "b"], "default": "b", "expires_in": 3600}`, domain.ExecutionBudget{}, domain.AnsweredByDefault,
			"Nobody had answered by 2000-01-01T01:00:00Z, so your default holds:\nb", domain.Completed},
		"default in JSON": {`{"question": "?", "schema": {"type": "object"}, "default": {"n": 1}, "expires_in": 3600}`, domain.ExecutionBudget{}, domain.AnsweredByDefault,
			"so your default holds:\n{\"n\":1}", domain.Completed},
		"the deadline": {`{"question": "?", "expires_in": 7200}`, domain.ExecutionBudget{Deadline: new(time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC))},
			"", stopped, domain.TimeLimitReached},
		"what no worker lets pass": {`{"question": "?", "expires_in": 99999999}`, domain.ExecutionBudget{}, "", "expires_in: is 99999999 seconds", domain.Completed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: asksTools(), model: calling(asksUser(test.question), look()), tool: poses}
			env := w.environment(t)
			env.SetStartTime(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
			in := input(t, "")
			in.Budget = test.budget
			in.Budget.MaxSeconds = new(600.0)
			execute(env, in)
			endsFor(t, env, test.reason)
			call := executions(t, env)[0]
			require.Equal(t, test.outcome, call.Wait(domain.WaitQuestion).Verdict())
			require.Equal(t, test.says != stopped, call.Outcome().Ran(), "one that a stop ended uses up no budget")
			told := entriesIn(t, env)[2].Message
			require.Contains(t, told.ToolResult.Content, test.says)
			require.NotContains(t, told.Metadata, "provenance", "no person has said it")
			require.Empty(t, questions(t, env))
		})
	}
}

// TestAnswersThatAreRefused say why, and the questions wait as they were.
func TestAnswersThatAreRefused(t *testing.T) {
	t.Parallel()
	w := &world{tools: asksTools(), model: calling(
		asksUser(`{"question": "text?"}`), asksUser(`{"question": "which?", "choices": ["a", "b"]}`), asksUser(`{"question": "how many?", "schema": {"type": "integer"}}`),
	), tool: poses}
	env := w.environment(t)
	checking(env, "five")
	type word struct {
		*verdict
		says string
	}
	var words []word
	ask := func(request contract.AnswerRequest, says string) {
		words = append(words, word{replies(env, says, request), says})
	}
	hears(t, env, time.Minute, func(waiting []domain.Wait) {
		require.Len(t, waiting, 3)
		text, choice, value := waiting[0].ToolExecutionID, waiting[1].ToolExecutionID, waiting[2].ToolExecutionID
		ask(contract.AnswerRequest{Verdict: domain.AnsweredByPerson, Text: "x"}, "3 calls wait for that; name one of them: "+text.String()+" (ask_user), ")
		ask(contract.AnswerRequest{Verdict: domain.AnsweredByPerson, Call: domain.StepID{}.Tool(3), Text: "x"}, "does not wait for an answer")
		ask(contract.AnswerRequest{Verdict: domain.AnsweredByPerson, Call: text, Digest: waiting[1].Digest, Text: "x"}, "waits with something else")
		ask(contract.AnswerRequest{Verdict: domain.AnsweredByPerson, Call: text, Text: " \n"}, "answer: is empty")
		ask(contract.AnswerRequest{Verdict: domain.AnsweredByPerson, Call: text, Value: json.RawMessage(`1`)}, "asks for a text alone")
		ask(contract.AnswerRequest{Verdict: domain.AnsweredByPerson, Call: text, Text: strings.Repeat("x", domain.MaxAnswer+1)}, "answer: has 16385 bytes")
		ask(contract.AnswerRequest{Verdict: domain.AnsweredByPerson, Call: choice, Text: "c"}, `"c" is none of the choices: ["a" "b"]`)
		ask(contract.AnswerRequest{Verdict: domain.AnsweredByPerson, Call: value, Text: "5"}, "answer: is missing; the question asks for a JSON value")
		ask(contract.AnswerRequest{Verdict: domain.AnsweredByPerson, Call: value, Value: json.RawMessage(`"five"`)}, "answer: does not fit the question's schema, so the call waits as it was: /amount")
		ask(contract.AnswerRequest{Verdict: domain.AnsweredByPerson, Call: choice, Text: "b"}, "")
	})
	hears(t, env, time.Hour, func(waiting []domain.Wait) {
		require.Len(t, waiting, 2)
		status := status(t, env)
		require.Equal(t, "step 1: 2 calls wait for an answer", status.Doing)
		replies(env, "text", contract.AnswerRequest{Verdict: domain.AnsweredByPerson, Call: waiting[0].ToolExecutionID, Text: "words"})
		replies(env, "value", contract.AnswerRequest{Verdict: domain.AnsweredByPerson, Call: waiting[1].ToolExecutionID, Value: json.RawMessage(` 5 `)})
	})
	execute(env, input(t, ""))
	completes(t, env)
	for _, word := range words {
		if word.says == "" {
			word.succeeds(t)
			continue
		}
		require.ErrorContains(t, cmp.Or(word.rejected, word.err), word.says)
	}
	var said []string
	for _, call := range executions(t, env) {
		said = append(said, call.Value)
	}
	require.Equal(t, []string{"words", "b", "5"}, said)
}
