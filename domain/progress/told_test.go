package progress_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
)

func TestOpenWorkIsListedOnce(t *testing.T) {
	t.Parallel()
	s := begins(contract.SessionInput{}).answers(1, 1, "", domain.ToolCall{Name: "ls"}, domain.ToolCall{Name: "ls"})
	first, second := s.calls(1, 1, 0), s.calls(1, 1, 1)
	first.Attempt, second.Attempt = 1, 2
	s.then(progress.Attempted{Work: first}, progress.Attempted{Work: second})
	require.Equal(t, []progress.Work{first, second}, s.Open)
}

// TestAStopEndsAWaitBeforeItsTime: where one workflow task brings both, the workflow heeds the stop, and its history tells the
// same.
func TestAStopEndsAWaitBeforeItsTime(t *testing.T) {
	t.Parallel()
	for _, stopped := range []bool{false, true} {
		s := begins(contract.SessionInput{}).answers(1, 1, "", domain.ToolCall{Name: "ls"}, domain.ToolCall{Name: "ls"})
		asks := s.calls(1, 1, 0)
		s.then(progress.ToolReplied{Work: asks, Reply: contract.ToolReply{NotStarted: true, Question: &domain.Question{Text: "?", ExpiresIn: 1}}})
		asked, over := nth(1).Step(1), s.now().Add(2*time.Second)
		s.then(progress.Awaiting{Waiting: contract.Waiting{
			Questions: []contract.WaitingQuestion{{PendingCall: domain.PendingCall{ToolExecutionID: asked.Tool(0)}, Answer: domain.Answer{AskedAt: s.now(), ExpiresAt: over}}},
			Approvals: []domain.PendingApproval{{PendingCall: domain.PendingCall{ToolExecutionID: asked.Tool(1)}, Approval: domain.Approval{AskedAt: s.now(), ExpiresAt: over}}},
		}})
		require.Equal(t, domain.CallDigest("ls", ""), s.Execution.Questions()[0].Digest, "the memo has none")
		if stopped {
			s.then(progress.StopAsked{Request: contract.StopRequest{Mode: contract.AfterStep}})
		}
		s.seconds = 100
		s.then(progress.Awaiting{})
		calls := s.Execution.Now.ToolExecutions
		if stopped {
			require.Empty(t, calls[0].Answer.Outcome)
			require.Empty(t, calls[1].Approval.Decision)
			continue
		}
		require.Equal(t, domain.NobodyAnswered, calls[0].Answer.Outcome)
		require.Equal(t, domain.Expired, calls[1].Approval.Decision)
	}
}

func TestOnlyWorkOfTheExecutionIsCutOffByItsStop(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		work   progress.Work
		halted bool
	}{
		"its inference": {progress.Work{Model: &contract.ModelRequest{ExecutionID: nth(1), Step: 1}}, true},
		"another's":     {progress.Work{Model: &contract.ModelRequest{ExecutionID: nth(5), Step: 1}}, false},
		"of no step":    {progress.Work{Model: &contract.ModelRequest{ExecutionID: nth(1)}}, false},
		"a hook":        {progress.Work{Hook: &contract.HookRequest{ExecutionID: nth(1)}}, false},
	} {
		s := begins(contract.SessionInput{})
		s.then(progress.CancelAsked{Work: c.work})
		require.Equal(t, c.halted, s.Execution.Halted(s.now()), name)
	}
}

func TestWaitingForATurnIsQueued(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		work   progress.Work
		queued time.Duration
	}{
		"its turn":      {progress.Work{Queue: "limited", Model: &contract.ModelRequest{ExecutionID: nth(1), Step: 1}}, 2 * time.Second},
		"another queue": {progress.Work{Queue: "own", Model: &contract.ModelRequest{ExecutionID: nth(1), Step: 1}}, 0},
		"a tool":        {progress.Work{Queue: "limited", Tool: &contract.ToolRequest{ExecutionID: nth(1), Step: 1}}, 0},
	} {
		s := begins(contract.SessionInput{}).then(progress.Resolved{Catalog: contract.Catalog{RateLimit: &contract.RateLimit{TaskQueue: "limited"}}})
		w := s.asks(c.work)
		w.Attempt = 1
		s.then(progress.Attempted{Work: w})
		require.Equal(t, c.queued, s.Execution.Now.Queued, name)
	}
}

func TestAnInterruptedAnswerFillsTheWindowToo(t *testing.T) {
	t.Parallel()
	for outcome, fill := range map[contract.ModelOutcome]int64{contract.Answered: 110, contract.Interrupted: 110, contract.ShutDown: 0} {
		s, reply := begins(contract.SessionInput{}), answer("some")
		reply.Outcome = outcome
		s.then(progress.ModelReplied{Work: s.infers(1, 1), Reply: reply})
		require.Equal(t, fill, s.Execution.Fill, outcome)
	}
}

func TestAnExecutionBeginsOnce(t *testing.T) {
	t.Parallel()
	s := begins(contract.SessionInput{}).answers(1, 1, "one").then(progress.Ended{Outcome: outcome(1, 1, domain.Completed)})
	s.infers(2, 1)
	began := s.Execution.StartedAt
	s.then(progress.Sent{Reply: contract.SendReply{Began: true, Number: 2}})
	require.Equal(t, began, s.Execution.StartedAt)
	require.NotNil(t, s.Execution.Now)
}

func TestHowARunEnds(t *testing.T) {
	t.Parallel()
	s := begins(contract.SessionInput{}).then(progress.RunEnded{How: progress.Continued})
	require.True(t, s.Execution.Running, "another run goes on")
	s.then(progress.RunEnded{How: progress.Completed})
	require.False(t, s.Execution.Running)
	require.Nil(t, s.Execution.Outcome, "nothing tells it")

	idle := begins(contract.SessionInput{}).answers(1, 1, "a", domain.ToolCall{Name: "ls"}).answers(1, 2, "b")
	idle.then(progress.RunEnded{How: progress.Terminated})
	require.Equal(t, 1, idle.Execution.Outcome.Steps, "the step in progress does not count")
	require.Empty(t, idle.steps()[1].Errors, "nothing was under way")

	_, told := progress.OutcomeOf(progress.RunEnded{How: progress.Continued})
	require.False(t, told)
	o, told := progress.OutcomeOf(progress.RunEnded{Outcome: new(outcome(1, 2, domain.Completed))})
	require.True(t, told)
	require.Equal(t, 2, o.Steps)
}

func TestTheModelIsTheNewestThatWasResolved(t *testing.T) {
	t.Parallel()
	of := func(model string) domain.Definition {
		return domain.Definition{Model: domain.LLMConfig{Provider: "p", Model: model}}
	}
	require.Empty(t, begins(contract.SessionInput{}).Model)
	s := begins(contract.SessionInput{Definition: of("first")})
	require.Equal(t, "p/first", s.Model)
	s.then(progress.RunBegan{Input: contract.SessionInput{AgentID: nora, Definition: of("second")}})
	require.Equal(t, "p/first", s.Model, "what a message chose is not in the definition")
	s.then(progress.RunBegan{Input: contract.SessionInput{
		AgentID: nora, Carry: &contract.Carry{Outcome: new(outcome(3, 1, domain.Completed)), Resolved: &contract.Resolved{Definition: of("third")}},
	}})
	require.Equal(t, "p/third", s.Model)
	require.Equal(t, 3, s.Execution.Outcome.Number, "it ended in an earlier run")
}

// What follows from an answer with nothing in it depends on whether the budget
// has bound its length: to ask again would come to the same.
func TestNothingOfAnAnswerThatTheBudgetBound(t *testing.T) {
	t.Parallel()
	lost := usage(5, 0)
	for name, c := range map[string]struct {
		request contract.ModelRequest
		spent   domain.Usage
		finish  domain.FinishReason
		bound   bool
	}{
		"bound in length":         {contract.ModelRequest{MaxOutputTokens: 1}, domain.Usage{}, domain.FinishLength, true},
		"it ended by itself":      {contract.ModelRequest{MaxOutputTokens: 1}, domain.Usage{}, domain.FinishStop, false},
		"not bound":               {contract.ModelRequest{}, lost, domain.FinishLength, false},
		"tokens left after a try": {contract.ModelRequest{TokensLeft: 1}, lost, domain.FinishLength, true},
		"tokens left":             {contract.ModelRequest{TokensLeft: 1}, domain.Usage{}, domain.FinishLength, false},
		"money left after a try":  {contract.ModelRequest{CostLeftNanoUSD: 1}, lost, domain.FinishLength, true},
	} {
		s, reply := begins(contract.SessionInput{}), answer("")
		reply.Response.Finish, reply.Spent = c.finish, c.spent
		c.request.ExecutionID, c.request.Step = nth(1), 1
		s.then(progress.ModelReplied{Work: s.asks(progress.Work{Model: &c.request}), Reply: reply}, progress.Ended{Outcome: outcome(1, 1, domain.TokenLimitReached)})
		require.Equal(t, c.bound, len(s.steps()[0].Errors) == 0, name)
	}
}

func TestHowASummaryEndsItsStep(t *testing.T) {
	t.Parallel()
	down := domain.Errorf(domain.Unavailable, "down")
	for name, c := range map[string]struct {
		reply   contract.ModelReply
		loss    *progress.Loss
		stopped bool
		errors  []string
	}{
		"an answer":            {reply: answer("summed up")},
		"an answer and a stop": {reply: answer("summed up"), stopped: true},
		"cut off too often":    {reply: contract.ModelReply{Outcome: contract.ShutDown}, errors: []string{string(progress.StopInInference)}},
		"failed":               {reply: contract.ModelReply{Outcome: contract.BilledFailure, Error: down}, errors: []string{"down"}},
		"lost":                 {loss: &progress.Loss{Told: down}, errors: []string{"down"}},
		"lost and stopped":     {loss: &progress.Loss{Told: down}, stopped: true, errors: []string{string(progress.StopInInference)}},
	} {
		s := begins(contract.SessionInput{Definition: domain.Definition{Attempts: 1}})
		w := s.asks(progress.Work{Model: &contract.ModelRequest{ExecutionID: nth(1), Step: 1, Summary: &domain.SummaryRequest{To: 3}}})
		if c.loss != nil {
			s.then(progress.Lost{Work: w, Loss: *c.loss})
		} else {
			s.then(progress.ModelReplied{Work: w, Reply: c.reply})
		}
		if c.stopped {
			s.then(progress.StopForced{})
		}
		s.then(progress.Ended{Outcome: outcome(1, 1, domain.ErrorForbade)})
		require.Equal(t, c.errors, messages(s.steps()[0].Errors), name)
		require.Nil(t, s.steps()[0].Response, name)
	}
}

func TestWhatTheLastStepTellsOfAnEnd(t *testing.T) {
	t.Parallel()
	failed := begins(contract.SessionInput{}).answers(1, 1, "well").then(progress.Ended{Outcome: outcome(1, 1, domain.ErrorForbade)})
	require.Empty(t, failed.Execution.Signals(), "a hook's error is in no step")
	none := begins(contract.SessionInput{Budget: domain.ExecutionBudget{MaxSteps: new(int64(0))}}).then(progress.Ended{Outcome: outcome(1, 0, domain.StepsLimitReached)})
	require.Len(t, none.Execution.Signals(), 1)

	soon := noon.Add(2 * time.Second)
	late := noon.Add(time.Hour)
	for name, c := range map[string]struct {
		deadline *time.Time
		cutOff   bool
		limits   []domain.StopReason
	}{
		"its time was over":        {&late, true, []domain.StopReason{domain.TimeLimitReached}},
		"its deadline had passed":  {&soon, true, []domain.StopReason{domain.TimeLimitReached}},
		"not in the middle":        {&soon, false, nil},
		"nothing but a time limit": {nil, true, []domain.StopReason{domain.TimeLimitReached}},
	} {
		s := begins(contract.SessionInput{Budget: domain.ExecutionBudget{MaxSeconds: new(9.0), Deadline: c.deadline}})
		if w := s.infers(1, 1); c.cutOff {
			s.then(progress.CancelAsked{Work: w}, progress.Lost{Work: w, Loss: progress.Loss{How: progress.Cancelled}})
		} else {
			s.then(progress.ModelReplied{Work: w, Reply: answer("well")})
		}
		s.then(progress.Ended{Outcome: outcome(1, 1, domain.TimeLimitReached)})
		var limits []domain.StopReason
		for _, signal := range s.Execution.Signals() {
			limits = append(limits, signal.Reason)
			require.Equal(t, c.deadline == &soon, strings.HasPrefix(signal.Message, "the deadline "+soon.Format(time.RFC3339)), "%s: %s", name, signal.Message)
		}
		require.Equal(t, c.limits, limits, name)
	}
}

// TestEachLimitIsTold: history alone tells by which limit an execution ended, and what one that goes on has spent.
func TestEachLimitIsTold(t *testing.T) {
	t.Parallel()
	call := domain.ToolExecution{StartedAt: noon, CompletedAt: noon}
	failed := call
	failed.Error = domain.Errorf(domain.Invalid, "no such file")
	step := domain.AgentStep{Usage: domain.Usage{InputTokens: 9}, CostNanoUSD: 8, ToolExecutions: []domain.ToolExecution{call, failed}}
	for _, rule := range domain.LimitRules() {
		if rule.Unit.OfTime() {
			continue // TestWhatTheLastStepTellsOfAnEnd
		}
		used := rule.Used(step.Spent(), noon)
		require.Positive(t, used.Int(), "nobody counts for %s: AgentStep.Spent does", rule.Limit)
		e := progress.Execution{Budget: new(rule.With(domain.Unlimited(), used)), Prior: &domain.Spent{}, Done: []*progress.Step{{AgentStep: step}}}
		e.Outcome = &contract.Outcome{StopReason: rule.Reason, Steps: 1, Usage: step.Usage, CostNanoUSD: step.CostNanoUSD}
		require.Equal(t, rule.Exhausts, len(e.Signals()) == 1, rule.Limit)
		after := e.SpentAfter(nil)
		require.Equal(t, used, rule.Used(*after, noon), rule.Limit)
	}
}

func TestOneOfTwoCallsIsMadeAgain(t *testing.T) {
	t.Parallel()
	s := begins(contract.SessionInput{}).answers(1, 1, "", domain.ToolCall{Name: "ls"}, domain.ToolCall{Name: "ls"})
	busy := contract.ToolReply{NotStarted: true, Error: domain.Errorf(domain.Unavailable, "busy")}
	for i := range 2 {
		s.then(progress.ToolReplied{Work: s.calls(1, 1, i), Reply: busy})
	}
	s.calls(1, 1, 1)
	s.then(progress.Ended{Outcome: outcome(1, 1, domain.UserRequested)})
	calls := s.steps()[0].ToolExecutions
	require.Equal(t, "busy", calls[0].Error.Message)
	require.Nil(t, calls[1].Error, "nobody told what became of it")
}

// Facts of what a step knows nothing of leave it as it is.
func TestFactsOfWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	summary := inference(1)
	summary.Model = &contract.ModelRequest{Step: 3, Summary: &domain.SummaryRequest{To: 1}}
	require.Empty(t, begun().With(progress.ModelReplied{Work: summary, Reply: answer("summed up")}, at(1)).Compactions)
	require.Empty(t, begun().With(progress.ToolReplied{Work: call(0, domain.AtMostOnce)}, at(1)).ToolExecutions)
	once := call(0, domain.AtMostOnce)
	once.Attempt = 1
	s := begun().With(progress.Asked{Work: once}, at(1)).With(progress.Lost{Work: once}, at(2))
	require.Zero(t, s.ToolExecutions[0].Attempts, "one alone is not worth noting")
}

// TestALossThatNothingFollows: where it was to be made again it waited, and a stop or a
// limit has kept what it said; else the execution failed, whoever asked to stop meanwhile.
func TestALossThatNothingFollows(t *testing.T) {
	t.Parallel()
	lost := progress.Loss{How: progress.TimedOut, Beat: &contract.Heartbeat{Attempt: 1, Tail: "half", Length: 4}}
	lacks, moved := domain.Errorf(domain.Unavailable, "no hook"), domain.CodedErrorf(domain.Denied, domain.CodeRerouted, "elsewhere")
	lacks.Lacking = true
	final := lost
	final.Exhausted = true
	for name, c := range map[string]struct {
		loss  progress.Loss
		end   domain.StopReason
		want  string
		keeps bool
	}{
		"made again, and a stop":      {lost, domain.UserRequested, string(progress.StopInInference), true},
		"made again, and a limit":     {lost, domain.TokenLimitReached, string(progress.NoBudget), true},
		"the server's last try":       {final, domain.ErrorForbade, "no worker finished it in time", false},
		"a worker that lacks it":      {progress.Loss{Told: lacks}, domain.UserRequested, string(progress.StopInInference), false},
		"which was a failure once":    {progress.Loss{Told: lacks}, domain.ErrorForbade, "no hook", false},
		"another queue":               {progress.Loss{Told: moved}, domain.UserRequested, string(progress.StopInInference), false},
		"queues that never come true": {progress.Loss{Told: moved}, domain.ErrorForbade, "elsewhere", false},
	} {
		s := begins(contract.SessionInput{Definition: domain.Definition{Attempts: 3}})
		w := s.asks(progress.Work{Model: &contract.ModelRequest{ExecutionID: nth(1), Step: 1, Tries: 3}})
		ended := outcome(1, 1, c.end)
		if c.end == domain.ErrorForbade {
			ended.Status = domain.StatusFailed
		}
		s.then(progress.Lost{Work: w, Loss: c.loss}, progress.StopAsked{Request: contract.StopRequest{Mode: contract.AfterStep}}, progress.Ended{Outcome: ended})
		step := s.steps()[0]
		require.Equal(t, []string{c.want}, messages(step.Errors), name)
		require.Equal(t, c.keeps, step.Response != nil, name)
	}
}

// TestWhatIsSaidOfAPendingCallIsItsEnd, also that it did not begin: a stop that comes then has not cut it off. One that
// comes while it is asked about does not either, since it is taken back.
func TestWhatIsSaidOfAPendingCallIsItsEnd(t *testing.T) {
	t.Parallel()
	none := progress.Unanswered(domain.CodedErrorf(domain.Unavailable, domain.CodeNotRun, "the other side knows nothing of it"))
	none.NotStarted = true
	for name, ends := range map[string]func(s *story, w progress.Work){
		"it did not begin": func(s *story, w progress.Work) {
			s.then(progress.ToolReplied{Work: w, Reply: none}, progress.StopAsked{Request: contract.StopRequest{Mode: contract.StopNow}})
		},
		"it is taken back, done": func(s *story, w progress.Work) {
			s.then(progress.StopAsked{Request: contract.StopRequest{Mode: contract.StopNow}}, progress.CancelAsked{Work: w})
			w.CutOff = true
			s.then(progress.Lost{Work: w, Loss: progress.Loss{How: progress.Cancelled}})
			back := *w.Tool
			back.TakeBack, back.Stopped = true, true
			s.then(progress.ToolReplied{Work: s.asks(progress.Work{Tool: &back}), Reply: contract.ToolReply{Content: "done"}})
		},
	} {
		s := begins(contract.SessionInput{}).answers(1, 1, "", domain.ToolCall{Name: "ls"})
		call := contract.ToolRequest{ExecutionID: nth(1), Step: 1, Name: "ls", Effect: domain.ReadOnly}
		s.then(progress.ToolReplied{Work: s.asks(progress.Work{Tool: &call}), Reply: contract.ToolReply{Pending: &contract.Pending{}}})
		about := call
		about.Pending = &contract.Pending{}
		ends(s, s.asks(progress.Work{Tool: &about}))
		s.then(progress.Ended{Outcome: outcome(1, 1, domain.UserRequested)})
		require.False(t, s.Execution.Done[0].Interrupted, name)
	}
}
