package progress_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
)

// nora is an agent, and nth her n-th execution.
var nora = domain.AgentID{UUID: uuid.UUID{7}}

func nth(n int) domain.ExecutionID { return nora.Execution("chain", n) }

// A story is what happens to nora, a fact a second.
type story struct {
	progress.Agent
	seconds int
	work    int
}

func begins(in contract.SessionInput) *story {
	in.AgentID = nora
	s := &story{Agent: progress.NewAgent(nora, "chain")}
	return s.then(progress.RunBegan{Input: in, Size: 100})
}

func (s *story) then(facts ...progress.Fact) *story {
	for _, fact := range facts {
		s.seconds++
		s.Agent = s.With(fact, s.now())
	}
	return s
}

func (s *story) now() time.Time { return noon.Add(time.Duration(s.seconds) * time.Second) }

// asks is work that is asked for.
func (s *story) asks(w progress.Work) progress.Work {
	s.work++
	w.ID, w.Since = string(rune('a'+s.work)), s.now()
	s.then(progress.Asked{Work: w})
	return w
}

func (s *story) infers(n, step int) progress.Work {
	return s.asks(progress.Work{Model: &contract.ModelRequest{ExecutionID: nth(n), Step: step}})
}

func (s *story) calls(n, step, position int) progress.Work {
	return s.asks(progress.Work{Tool: &contract.ToolRequest{ExecutionID: nth(n), Step: step, Position: position, Name: "ls", Effect: domain.AtMostOnce}})
}

func (s *story) answers(n, step int, text string, calls ...domain.ToolCall) *story {
	return s.then(progress.ModelReplied{Work: s.infers(n, step), Reply: answer(text, calls...)})
}

func answer(text string, calls ...domain.ToolCall) contract.ModelReply {
	return contract.ModelReply{
		Outcome: contract.Answered, Message: &domain.Message{Parts: []domain.Part{{Type: domain.PartText, Text: text}}, ToolCalls: calls},
		Response: domain.Response{Finish: domain.FinishStop, Usage: usage(100, 10)},
	}
}

// steps are those of the newest execution.
func (s *story) steps() []progress.Step {
	steps, _ := s.Execution.Steps(len(s.Open) > 0)
	return steps
}

func outcome(n, steps int, reason domain.StopReason) contract.Outcome {
	o := contract.Outcome{AgentID: nora, ExecutionID: nth(n), Number: n, Status: domain.StatusStopped, StopReason: reason, Steps: steps}
	if reason == domain.Completed {
		o.Status = domain.StatusCompleted
	}
	return o
}

func messages(errs []domain.Error) []string {
	var all []string
	for _, err := range errs {
		all = append(all, err.Message)
	}
	return all
}

func TestAnExecutionFromItsFacts(t *testing.T) {
	t.Parallel()
	s := begins(contract.SessionInput{Budget: domain.ExecutionBudget{MaxSteps: new(int64(2))}})
	require.True(t, s.Execution.Running)
	require.Equal(t, nth(1), s.Execution.ID)
	require.Equal(t, int64(2), *s.Execution.Budget.MaxSteps)
	require.Equal(t, &domain.Spent{}, s.Execution.Prior)
	s.then(progress.Resolved{Catalog: contract.Catalog{Price: price, ContextWindow: 9}})
	s.answers(1, 1, "looking", domain.ToolCall{ID: "c", Name: "ls"}, domain.ToolCall{ID: "d", Name: "ls"})
	require.Equal(t, int64(110), s.Execution.Fill)
	w := s.calls(1, 1, 0)
	_, open := s.Execution.Steps(true)
	require.True(t, open)
	s.then(progress.ToolReplied{Work: w, Reply: contract.ToolReply{Content: "a.txt"}})
	require.Empty(t, s.Open)
	s.answers(1, 2, "done")
	_, open = s.Execution.Steps(false)
	require.False(t, open, "there is nothing left to do in it")
	s.then(progress.Ended{Outcome: outcome(1, 2, domain.StepsLimitReached)})
	require.False(t, s.Execution.Running)
	require.Equal(t, s.now(), s.Execution.EndedAt)
	steps := s.steps()
	require.Len(t, steps, 2)
	require.Equal(t, int64(200), steps[0].CostNanoUSD)
	require.Equal(t, "a.txt", steps[0].ToolExecutions[0].Value)
	require.Equal(t, domain.CodeNotRun, steps[0].ToolExecutions[1].Error.Code)
	require.Equal(t, domain.StepFinalResponse, steps[1].Type())
	require.Positive(t, steps[0].Execution().Duration())
	require.Equal(t, 2, s.Run.Steps)
	require.Equal(t, int64(100), s.Run.Base)
	require.Equal(t, []domain.StopSignal{{
		Reason: domain.StepsLimitReached, Source: progress.SourceBudget, Message: "max_steps is 2 and 2 are done; extend it with a higher max_steps to go on",
		Context: domain.Metadata{"limit": json.RawMessage(`"max_steps"`), "total": json.RawMessage("2"), "unit": json.RawMessage(`"steps"`), "used": json.RawMessage("2")},
	}}, s.Execution.Signals())
	before := s.Agent
	s.then(progress.Ended{Outcome: outcome(1, 9, domain.Completed)})
	require.Equal(t, before.Execution.Outcome, s.Execution.Outcome, "it ends once")
}

// What an inference came to decides how its step ended.
func TestHowStepsEnd(t *testing.T) {
	t.Parallel()
	down := domain.Errorf(domain.Unavailable, "down")
	failed := contract.ModelReply{Outcome: contract.BilledFailure, Tries: 1, Error: down}
	paused := answer("and")
	paused.Response.Finish, paused.Response.FinishWord = domain.FinishOther, domain.WordPaused
	withheld := answer("")
	withheld.Response.Finish = domain.FinishContentFilter
	bad := answer("no object")
	bad.Invalid = "no object"
	for name, c := range map[string]struct {
		replies []contract.ModelReply
		stop    contract.StopMode
		reason  domain.StopReason
		errors  []string
	}{
		"an answer":                    {replies: []contract.ModelReply{answer("yes")}, reason: domain.Completed},
		"failed too often":             {replies: []contract.ModelReply{failed, failed}, reason: domain.ErrorForbade, errors: []string{"down"}},
		"nothing left for another try": {replies: []contract.ModelReply{failed}, reason: domain.TokenLimitReached, errors: []string{string(progress.NoBudget)}},
		"stopped before another try":   {replies: []contract.ModelReply{failed}, stop: contract.StopNow, reason: domain.UserRequested, errors: []string{string(progress.StopInInference)}},
		"time was over":                {replies: []contract.ModelReply{{Outcome: contract.Interrupted, Tries: 1}}, reason: domain.TimeLimitReached, errors: []string{string(progress.StopInInference)}},
		"nothing, twice":               {replies: []contract.ModelReply{answer(""), answer(" ")}, reason: domain.ErrorForbade, errors: []string{progress.NothingTwice().Message}},
		"nothing, and a stop":          {replies: []contract.ModelReply{answer("")}, stop: contract.AfterInference, reason: domain.UserRequested, errors: []string{string(progress.StopAtNothing)}},
		"nothing, and a later stop":    {replies: []contract.ModelReply{answer("")}, stop: "later", reason: domain.UserRequested, errors: []string{string(progress.StopInInference)}},
		"nothing, and stopped later":   {replies: []contract.ModelReply{answer(""), failed}, stop: "later", reason: domain.UserRequested, errors: []string{string(progress.StopInInference)}},
		"a part, and a stop":           {replies: []contract.ModelReply{paused}, stop: contract.AfterInference, reason: domain.UserRequested, errors: []string{string(progress.StopAtPause)}},
		"a part, and the rest":         {replies: []contract.ModelReply{paused, answer("more")}, reason: domain.Completed},
		"withheld":                     {replies: []contract.ModelReply{withheld}, reason: domain.ErrorForbade, errors: []string{progress.Withheld().Message}},
		"no answer of the format":      {replies: []contract.ModelReply{bad}, reason: domain.RetryLimitReached, errors: []string{"the answer does not fit the response format: no object"}},
		"too many calls":               {replies: []contract.ModelReply{answer("", make([]domain.ToolCall, domain.MaxRequestedCalls+1)...)}, reason: domain.ErrorForbade, errors: []string{progress.TooManyCalls(domain.MaxRequestedCalls + 1).Message}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := begins(contract.SessionInput{Definition: domain.Definition{Attempts: 2}})
			if c.stop != "" && c.stop != "later" {
				s.then(progress.StopAsked{Request: contract.StopRequest{Mode: c.stop}})
			}
			for i, reply := range c.replies {
				w := s.asks(progress.Work{Model: &contract.ModelRequest{ExecutionID: nth(1), Step: 1, Attempts: i}})
				s.then(progress.ModelReplied{Work: w, Reply: reply})
			}
			if c.stop == "later" {
				s.then(progress.StopAsked{Request: contract.StopRequest{Mode: contract.StopNow}})
			}
			s.then(progress.Ended{Outcome: outcome(1, 1, c.reason)})
			require.Equal(t, c.errors, messages(s.steps()[0].Errors))
			require.Equal(t, len(c.errors) > 0 && s.steps()[0].Errors[0].Code == domain.CodeInterrupted, s.steps()[0].Interrupted)
			if c.reason == domain.ErrorForbade {
				require.Equal(t, domain.SignalOf(&s.steps()[0].Errors[0]), s.Execution.Signals()[0])
			}
		})
	}
}

func TestTooManyPausesEndAStep(t *testing.T) {
	t.Parallel()
	paused := answer("and")
	paused.Response.Finish, paused.Response.FinishWord = domain.FinishOther, domain.WordPaused
	s := begins(contract.SessionInput{})
	for range progress.MaxPauses + 1 {
		s.then(progress.ModelReplied{Work: s.infers(1, 1), Reply: paused})
	}
	require.Equal(t, []string{progress.TooManyPauses(progress.MaxPauses + 1).Message}, messages(s.steps()[0].Errors))
}

func TestStopsThatMeanTheExecution(t *testing.T) {
	t.Parallel()
	s := begins(contract.SessionInput{})
	s.then(progress.StopAsked{Request: contract.StopRequest{Mode: contract.StopNow, ExecutionID: nth(2)}})
	require.Empty(t, s.Execution.Stops)
	s.then(progress.StopAsked{Request: contract.StopRequest{Reason: "soon", Within: contract.Span(time.Minute), Source: "ci"}})
	require.Equal(t, []domain.StopSignal{{Reason: domain.UserRequested, Message: "soon", Source: "ci"}}, s.Execution.Stops)
	require.False(t, s.Execution.Halted(s.now()))
	require.True(t, s.Execution.Halted(s.now().Add(time.Minute)))
	s.then(progress.StopForced{})
	require.True(t, s.Execution.Halted(s.now()))
	require.Equal(t, "server", s.Execution.Stops[1].Source)
	for range domain.MaxStops {
		s.then(progress.StopAsked{Request: contract.StopRequest{Reason: "again"}})
	}
	require.Len(t, s.Execution.Stops, domain.MaxStops)

	s = begins(contract.SessionInput{})
	w := s.infers(1, 1)
	s.then(progress.CancelAsked{Work: w}, progress.Lost{Work: w, Loss: progress.Loss{How: progress.Cancelled}}, progress.Ended{Outcome: outcome(1, 1, domain.TimeLimitReached)})
	require.True(t, s.steps()[0].Interrupted, "what was cut off was cut off by a stop")
}

func TestReadingAStop(t *testing.T) {
	t.Parallel()
	require.Equal(t, contract.StopRequest{Mode: contract.AfterStep}, progress.ReadStop(nil))
	require.Equal(t, contract.StopRequest{Mode: contract.StopNow, Reason: "x"}, progress.ReadStop([]byte(`{"mode":"now","reason":"x"}`)))
	require.Equal(t, "the stop's payload could not be read; taken as after_step", progress.ReadStop([]byte(`{"mode":"at once"}`)).Reason)
	require.Equal(t, contract.AfterStep, progress.ReadStop([]byte(`[`)).Mode)
}

func TestExecutionsFollowOneAnother(t *testing.T) {
	t.Parallel()
	s := begins(contract.SessionInput{Definition: domain.Definition{Budget: domain.ExecutionBudget{MaxSteps: new(int64(5))}}})
	s.answers(1, 1, "one").then(progress.Ended{Outcome: outcome(1, 1, domain.Completed)})
	s.infers(2, 1) // recorded before the answer to the message
	require.Equal(t, 2, s.Execution.Number)
	s.then(progress.Sent{
		Request: &contract.SendRequest{Budget: domain.ExecutionBudget{MaxSteps: new(int64(9))}, Model: &domain.LLMConfig{Provider: "p", Model: "m"}},
		Reply:   contract.SendReply{Began: true, Number: 2},
	})
	require.Equal(t, int64(5), *s.Execution.Budget.MaxSteps, "the smaller counts")
	require.Equal(t, "p/m", s.Model)
	s.then(progress.Sent{Reply: contract.SendReply{Number: 7}})
	require.Equal(t, 2, s.Execution.Number, "it began none")
	s.then(progress.Extended{Reply: contract.ExtendReply{Number: 2, Budget: domain.ExecutionBudget{MaxSteps: new(int64(8))}}})
	require.Equal(t, int64(8), *s.Execution.Budget.MaxSteps)
	require.NotNil(t, s.Execution.Prior)
	s.then(progress.Ended{Outcome: outcome(2, 1, domain.StepsLimitReached)}, progress.Extended{Reply: contract.ExtendReply{Number: 3, Began: true}})
	require.Equal(t, 3, s.Execution.Number)
	require.Equal(t, nth(2), s.Execution.Origin)
	require.Nil(t, s.Execution.Prior, "how long the one before waited for people is not known")
	s.then(progress.Ended{Outcome: outcome(3, 1, domain.StepsLimitReached)})
	s.infers(4, 1)
	s.then(progress.Extended{Reply: contract.ExtendReply{Number: 4, Began: true}})
	require.Equal(t, nth(3), s.Execution.Origin, "also where its work is recorded before the answer")
	s.then(progress.Ended{Outcome: outcome(6, 2, domain.Completed)})
	require.Equal(t, 6, s.Execution.Number, "what came between was not read")
}

func TestRunsTakeOver(t *testing.T) {
	t.Parallel()
	carry := func(status domain.ExecutionStatus) *contract.Carry {
		state, err := json.Marshal(map[string]any{"execution_count": 2, "execution": map[string]any{
			"execution_id": nth(2), "status": status, "started_at": noon, "budget": map[string]any{"max_steps": 9},
			"origin": domain.Origin{ExecutionID: nth(1)}, "folded": map[string]any{"steps": 3}, "step_executions": []any{1},
		}})
		require.NoError(t, err)
		return &contract.Carry{State: state, Runs: 4, Prior: domain.Spent{Steps: 1}, Outcome: &contract.Outcome{Number: 1, ExecutionID: nth(1)}}
	}
	midst := begins(contract.SessionInput{Carry: carry(domain.StatusInProgress)})
	e := midst.Execution
	require.True(t, e.Running)
	require.Equal(t, []any{2, nth(2), 4, nth(1), noon, int64(9), int64(1)}, []any{e.Number, e.ID, e.Step, e.Origin, e.StartedAt, *e.Budget.MaxSteps, e.Prior.Steps})
	require.Equal(t, 4, midst.Run.Before)

	idle := begins(contract.SessionInput{Carry: carry(domain.StatusStopped)})
	require.False(t, idle.Execution.Running)
	require.Equal(t, 2, idle.Execution.Number)
	o, ok := progress.OutcomeOf(progress.RunBegan{Input: contract.SessionInput{Carry: carry(domain.StatusStopped)}})
	require.True(t, ok)
	require.Equal(t, 1, o.Number)

	on := begins(contract.SessionInput{Carry: carry(domain.StatusStopped), GoOn: &contract.GoOn{RunID: "before"}})
	require.Equal(t, 3, on.Execution.Number)
	require.Equal(t, nth(2), on.Execution.Origin)
	require.Equal(t, "before", progress.RunBegan{Input: contract.SessionInput{GoOn: &contract.GoOn{RunID: "before"}}}.Previous())

	// Steps of both runs are those of one execution.
	both := begins(contract.SessionInput{}).answers(1, 1, "a", domain.ToolCall{Name: "ls"})
	state, err := json.Marshal(map[string]any{"execution_count": 1, "execution": map[string]any{"execution_id": nth(1), "status": "in_progress"}})
	require.NoError(t, err)
	both.then(progress.RunEnded{How: progress.Continued}, progress.RunBegan{Input: contract.SessionInput{AgentID: nora, Carry: &contract.Carry{State: state}}}).answers(1, 2, "b")
	require.Len(t, both.steps(), 2)
}

func TestTheServerEndsAWorkflow(t *testing.T) {
	t.Parallel()
	for end, code := range map[progress.RunEnd]domain.Code{
		progress.Terminated: domain.CodeTerminated, progress.RanOut: domain.CodeTimedOut, progress.Aborted: "", progress.CancelledByServer: "",
	} {
		s := begins(contract.SessionInput{}).answers(1, 1, "a", domain.ToolCall{Name: "ls"})
		s.calls(1, 1, 0)
		s.then(progress.RunEnded{How: end})
		require.Equal(t, code, s.Execution.Outcome.Code)
		require.Equal(t, nth(1), s.Execution.Outcome.ExecutionID)
		step := s.steps()[0]
		require.Equal(t, []string{string(progress.WorkflowEnded)}, messages(step.Errors))
		require.Equal(t, domain.ToolUnknown, step.ToolExecutions[0].Outcome())
	}
	s := begins(contract.SessionInput{})
	s.then(progress.RunEnded{How: progress.Completed, Outcome: new(outcome(1, 0, domain.Completed))})
	require.Equal(t, domain.StatusCompleted, s.Execution.Outcome.Status)
}

func TestWhatCannotBeReadIsKept(t *testing.T) {
	t.Parallel()
	s := begins(contract.SessionInput{}).then(progress.Unreadable{What: "event 7", Why: "it is new"}).answers(1, 1, "all the same")
	require.Equal(t, "event 7 cannot be read: it is new", s.Unread[0].String())
	require.Len(t, s.steps(), 1)
	s.then(progress.RunBegan{})
	require.Equal(t, 1, s.Execution.Number, "a run that cannot be read takes nothing over")
}

// An agent may go on in two ways, and neither sees the other.
func TestAgentsFork(t *testing.T) {
	t.Parallel()
	s := begins(contract.SessionInput{}).answers(1, 1, "", domain.ToolCall{Name: "ls"})
	one, two := *s, *s
	one.then(progress.ToolReplied{Work: one.calls(1, 1, 0), Reply: contract.ToolReply{Content: "one"}})
	two.answers(1, 2, "two")
	require.Len(t, one.steps(), 1)
	require.Len(t, two.steps(), 2)
	require.Empty(t, s.steps()[0].ToolExecutions[0].Value)
	require.Equal(t, "one", one.steps()[0].ToolExecutions[0].Value)
}

func TestCompactionsAreToldOnce(t *testing.T) {
	t.Parallel()
	s := begins(contract.SessionInput{}).answers(1, 1, "", domain.ToolCall{Name: "ls"})
	request := contract.ModelRequest{ExecutionID: nth(1), Step: 2, Edits: domain.Edits{Cleared: 7}, Summary: &domain.SummaryRequest{To: 9}}
	s.then(progress.ModelReplied{Work: s.asks(progress.Work{Model: &request}), Reply: answer("summed up")})
	require.Nil(t, s.Execution.Now.Response, "a summary is no answer")
	after := contract.ModelRequest{ExecutionID: nth(1), Step: 2, Edits: domain.Edits{Cleared: 9, Hidden: 9}}
	s.then(progress.ModelReplied{Work: s.asks(progress.Work{Model: &after}), Reply: answer("done")})
	require.Equal(t, []progress.Compaction{{Before: 7}, {Summary: true, Before: 9, Usage: usage(100, 10)}}, s.steps()[1].Compactions)
}

// TestAnOutageOfTheStorageIsTold until the storage takes the transcript.
func TestAnOutageOfTheStorageIsTold(t *testing.T) {
	t.Parallel()
	s := begins(contract.SessionInput{Prompt: "hello"})
	record := progress.Work{Activity: string(contract.Record)}
	s.then(progress.Lost{Work: s.asks(record), Loss: progress.Loss{How: progress.Cancelled}})
	require.Nil(t, s.Run.Unstored, "a stop is no outage")
	s.then(progress.Lost{Work: s.asks(record), Loss: progress.Loss{Told: domain.Errorf(domain.Unavailable, "the bucket is gone")}})
	require.Equal(t, "the bucket is gone", s.Run.Unstored.Message)
	s.then(progress.Finished{Work: s.asks(record)})
	require.Nil(t, s.Run.Unstored)
}
