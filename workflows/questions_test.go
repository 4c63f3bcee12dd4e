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

func replies(env *testsuite.TestWorkflowEnvironment, id string, request contract.AnswerRequest) *verdict {
	v := &verdict{}
	request.By = cmp.Or(request.By, "ann")
	env.UpdateWorkflow(string(contract.UpdateAnswer), id, v, request)
	return v
}

// TestAnAnsweredQuestion waits a week, which does not count, while the others of its step run; the first answer counts, and
// the model reads it as it is.
func TestAnAnsweredQuestion(t *testing.T) {
	t.Parallel()
	const week = 7 * 24 * time.Hour
	w := &world{tools: asksTools(), model: calling(asksUser(`{"question": "Which color?"}`), look()), tool: poses}
	env := w.environment(t)
	in := input(t, "")
	in.Budget.MaxSeconds = new(60.0)
	hears(t, env, time.Hour, func(waiting []domain.Wait) {
		require.Len(t, waiting, 1)
		require.Equal(t, "Which color?", waiting[0].Ask.Text)
		require.Equal(t, domain.CallDigest("ask_user", `{"question": "Which color?"}`), waiting[0].Digest)
		status := status(t, env)
		require.Equal(t, "step 1: ask_user waits for an answer", status.Doing)
		require.InDelta(t, 60, *status.Ledger.Own().Left.MaxSeconds, 1)
		require.Len(t, w.ran, 2, "what asks nobody runs meanwhile")
	})
	var blue, red *verdict
	hears(t, env, week, func(waiting []domain.Wait) {
		blue = replies(env, "blue", contract.AnswerRequest{Verdict: domain.AnsweredByPerson, Call: waiting[0].ToolExecutionID, Digest: waiting[0].Digest, Text: "blue", Reason: "it is hers"})
		red = replies(env, "red", contract.AnswerRequest{Verdict: domain.AnsweredByPerson, Call: waiting[0].ToolExecutionID, Text: "red", By: "bob"})
	})
	execute(env, in)
	completes(t, env)
	require.NoError(t, cmp.Or(blue.rejected, blue.err))
	require.ErrorContains(t, red.rejected, "was answered already, at ")
	require.ErrorContains(t, red.rejected, " by ann")
	require.Len(t, w.ran, 2, "nothing runs for the answer")
	call := executions(t, env)[0]
	require.Equal(t, "blue", call.Value)
	require.Equal(t, "answered ann it is hers", strings.Join([]string{string(call.Wait(domain.WaitQuestion).Verdict()), call.Wait(domain.WaitQuestion).Answer.By, call.Wait(domain.WaitQuestion).Answer.Reason}, " "))
	require.Equal(t, week, call.Wait(domain.WaitQuestion).Answer.At.Sub(call.Wait(domain.WaitQuestion).Since).Round(time.Minute))
	require.Equal(t, call.Wait(domain.WaitQuestion).Answer, blue.value.(contract.AnswerReply).Wait.Answer)
	told := entriesIn(t, env)[2].Message
	require.Equal(t, "blue", told.ToolResult.Content)
	require.Equal(t, []string{`"person"`, `"ann"`}, []string{string(told.Metadata["provenance"]), string(told.Metadata["said_by"])})
	events := eventsIn(t, env, 1, domain.EventWaitOpened, domain.EventWaitClosed)
	require.Len(t, events, 2)
	require.Equal(t, "ann", events[1].Data.(domain.WaitClosed).By)
	require.Empty(t, questions(t, env))
}

// TestHowAQuestionEnds that nobody answers: the model gets to read why.
func TestHowAQuestionEnds(t *testing.T) {
	t.Parallel()
	stops := func(stop contract.StopRequest) func(*testsuite.TestWorkflowEnvironment) {
		return func(env *testsuite.TestWorkflowEnvironment) {
			env.RegisterDelayedCallback(func() { signalStop(env, stop) }, time.Hour)
		}
	}
	const stopped = "not answered: the execution was stopped before anybody had answered the question"
	for name, test := range map[string]struct {
		question string
		budget   domain.ExecutionBudget
		does     func(*testsuite.TestWorkflowEnvironment)
		outcome  domain.Verdict
		says     string
		reason   domain.StopReason
	}{
		"expired": {`{"question": "?", "expires_in": 3600}`, domain.ExecutionBudget{}, nil, domain.Expired,
			"Nobody had answered by 2000-01-01T01:00:00Z. Go on without an answer, or ask again.", domain.Completed},
		"default": {`{"question": "?", "choices": ["a", "b"], "default": "b", "expires_in": 3600}`, domain.ExecutionBudget{}, nil, domain.AnsweredByDefault,
			"Nobody had answered by 2000-01-01T01:00:00Z, so your default holds:\nb", domain.Completed},
		"default in JSON": {`{"question": "?", "schema": {"type": "object"}, "default": {"n": 1}, "expires_in": 3600}`, domain.ExecutionBudget{}, nil, domain.AnsweredByDefault,
			"so your default holds:\n{\"n\":1}", domain.Completed},
		"after the step":   {`{"question": "?"}`, domain.ExecutionBudget{}, stops(contract.StopRequest{}), "", stopped, domain.UserRequested},
		"after the answer": {`{"question": "?"}`, domain.ExecutionBudget{}, stops(contract.StopRequest{Mode: contract.AfterInference}), "", stopped, domain.UserRequested},
		"now":              {`{"question": "?"}`, domain.ExecutionBudget{}, stops(contract.StopRequest{Mode: contract.StopNow}), "", stopped, domain.UserRequested},
		"the deadline": {`{"question": "?", "expires_in": 7200}`, domain.ExecutionBudget{Deadline: new(time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC))}, nil,
			"", stopped, domain.TimeLimitReached},
		"what no worker lets pass": {`{"question": "?", "expires_in": 99999999}`, domain.ExecutionBudget{}, nil, "", "expires_in: is 99999999 seconds", domain.Completed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{tools: asksTools(), model: calling(asksUser(test.question), look()), tool: poses}
			env := w.environment(t)
			env.SetStartTime(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
			if test.does != nil {
				test.does(env)
			}
			in := input(t, "")
			in.Budget = test.budget
			in.Budget.MaxSeconds = new(600.0)
			execute(env, in)
			require.Equal(t, test.reason, outcome(t, env).StopReason)
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
		ask(contract.AnswerRequest{Verdict: domain.AnsweredByPerson, Call: text, Text: "x", Reason: strings.Repeat("x", domain.MaxReason+1)}, "reason: has")
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
			require.NoError(t, cmp.Or(word.rejected, word.err))
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

// TestTwoAnswersAtOnce: while a worker checks the first, the time is over, or another person answers. Who comes second is told.
func TestTwoAnswersAtOnce(t *testing.T) {
	t.Parallel()
	w := &world{tools: asksTools(), model: calling(asksUser(`{"question": "how many?", "schema": {"type": "integer"}}`)), tool: poses}
	env := w.environment(t)
	checking(env, "never")
	var first, second *verdict
	hears(t, env, time.Minute, func(waiting []domain.Wait) {
		first = replies(env, "first", contract.AnswerRequest{Verdict: domain.AnsweredByPerson, Value: json.RawMessage(`1`)})
		second = replies(env, "second", contract.AnswerRequest{Verdict: domain.AnsweredByPerson, Value: json.RawMessage(`2`), By: "bob"})
	})
	execute(env, input(t, ""))
	completes(t, env)
	winner, loser, name := first, second, "ann"
	if executions(t, env)[0].Value == "2" {
		winner, loser, name = second, first, "bob"
	}
	require.NoError(t, cmp.Or(winner.rejected, winner.err))
	require.ErrorContains(t, cmp.Or(loser.rejected, loser.err), "was answered already, at ")
	require.ErrorContains(t, cmp.Or(loser.rejected, loser.err), " by "+name)
}
