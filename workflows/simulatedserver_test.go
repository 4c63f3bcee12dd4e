package workflows_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"everstep/domain"
	"everstep/domain/contract"
)

// A server makes the activities of one workflow: it has them tried as the retry policy says, loses workers, and cuts off what is
// cancelled, all in the workflow's own coroutines and time.
type server struct {
	ownID
	sim *simulation
}

func (v *server) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &server{sim: v.sim, ownID: ownID{world: v.world, WorkflowInboundInterceptorBase: interceptor.WorkflowInboundInterceptorBase{Next: next}}}
}

func (v *server) Init(next interceptor.WorkflowOutboundInterceptor) error {
	v.WorkflowOutboundInterceptorBase.Next = next
	return v.WorkflowInboundInterceptorBase.Next.Init(v)
}

// A work is one attempt at an activity: how long it takes, what comes of it then, and what where it is cut off before.
type work struct {
	lasts time.Duration
	end   func() (any, error)
	cut   func() (any, error)
}

func (v *server) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	future, set := workflow.NewFuture(ctx)
	input, err := converter.GetDefaultDataConverter().ToPayloads(args...)
	if err != nil {
		set.SetError(err)
		return future
	}
	workflow.GoNamed(ctx, "server", func(ctx workflow.Context) { set.Set(v.serve(ctx, name, input)) })
	return future
}

// serve makes attempts until one ends the activity.
func (v *server) serve(ctx workflow.Context, name string, input *commonpb.Payloads) (any, error) {
	options := workflow.GetActivityOptions(ctx)
	for attempt := 1; ; attempt++ {
		if ctx.Err() != nil {
			return nil, ended(temporal.NewCanceledError(), enumspb.RETRY_STATE_CANCEL_REQUESTED)
		}
		w := v.begin(name, input, attempt)
		end := w.end
		if !passes(ctx, w.lasts) {
			if end = w.cut; end == nil || !options.WaitForCancellation {
				return nil, ended(temporal.NewCanceledError(), enumspb.RETRY_STATE_CANCEL_REQUESTED)
			}
		}
		reply, err := end()
		if err == nil {
			return converter.GetDefaultDataConverter().ToPayloads(reply)
		}
		pause, state := next(options.RetryPolicy, attempt, err)
		if state != enumspb.RETRY_STATE_IN_PROGRESS {
			return nil, ended(err, state)
		}
		if !passes(ctx, pause) {
			return nil, ended(temporal.NewCanceledError(), enumspb.RETRY_STATE_CANCEL_REQUESTED)
		}
	}
}

// passes lets a time pass, and reports whether it did before the activity was cancelled.
func passes(ctx workflow.Context, d time.Duration) (passed bool) {
	if d <= 0 {
		return ctx.Err() == nil
	}
	life, over := workflow.NewDisconnectedContext(ctx)
	defer over()
	workflow.NewSelector(life).
		AddFuture(workflow.NewTimer(life, d), func(workflow.Future) { passed = true }).
		AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) {}).Select(life)
	return passed
}

// next is when the server makes another attempt, or why it does not.
func next(policy *temporal.RetryPolicy, attempt int, err error) (time.Duration, enumspb.RetryState) {
	kind, pause := "", min(policy.InitialInterval<<min(attempt-1, 20), policy.MaximumInterval)
	switch cause := err.(type) { //nolint:errorlint // it was made here
	case *temporal.TimeoutError:
		kind = "TemporalTimeout:" + cause.TimeoutType().String()
	case *temporal.ApplicationError:
		if kind = cause.Type(); cause.NonRetryable() {
			return 0, enumspb.RETRY_STATE_NON_RETRYABLE_FAILURE
		}
		pause = max(pause, cause.NextRetryDelay())
	}
	for _, final := range policy.NonRetryableErrorTypes {
		if final == kind {
			return 0, enumspb.RETRY_STATE_NON_RETRYABLE_FAILURE
		}
	}
	if policy.MaximumAttempts > 0 && attempt >= int(policy.MaximumAttempts) {
		return 0, enumspb.RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED
	}
	return pause, enumspb.RETRY_STATE_IN_PROGRESS
}

// ended is how a workflow is told that an activity failed.
func ended(err error, state enumspb.RetryState) error {
	convert := temporal.GetDefaultFailureConverter()
	return convert.FailureToError(&failurepb.Failure{
		Cause:       convert.ErrorToFailure(err),
		FailureInfo: &failurepb.Failure_ActivityFailureInfo{ActivityFailureInfo: &failurepb.ActivityFailureInfo{RetryState: state}},
	})
}

func read[T any](input *commonpb.Payloads) (in T) {
	if err := converter.GetDefaultDataConverter().FromPayloads(input, &in); err != nil {
		panic(err)
	}
	return in
}

// begin begins an attempt.
func (v *server) begin(name string, input *commonpb.Payloads, attempt int) work {
	s := v.sim
	always := func(reply any) work {
		end := func() (any, error) { return reply, nil }
		return work{end: end, cut: end}
	}
	switch name {
	case string(contract.CallModel):
		return s.infer(v.id, read[contract.ModelRequest](input), attempt)
	case string(contract.CallTool):
		return s.call(v.id, read[contract.ToolRequest](input))
	case string(contract.VerifyCall):
		return always(s.verify(read[contract.ToolRequest](input)))
	case string(contract.ListTools):
		return always(s.resolve(read[contract.ResolveRequest](input)))
	case string(contract.Record):
		return s.record(read[contract.RecordRequest](input))
	case string(contract.CheckOutput):
		reply := contract.OutputReply{}
		if strings.Contains(read[contract.OutputRequest](input).Text, "five") {
			reply.Invalid = "/order: must be a number"
		}
		return always(reply)
	}
	panic("nobody makes " + name)
}

func (s *simulation) record(r contract.RecordRequest) work {
	return work{lasts: time.Millisecond, end: func() (any, error) {
		if now := s.now(); s.down <= now && now < s.up {
			s.tell("store", "is down")
			return nil, temporal.NewApplicationError("the store is down", string(domain.Unavailable))
		}
		return stores(r)
	}}
}

// who names an agent in the story.
func (s *simulation) who(id string) string {
	if id == s.input.WorkflowID() {
		return "agent"
	}
	for i, child := range s.children {
		if child == id {
			return fmt.Sprint("sub-agent ", i+1)
		}
	}
	return "sub-agent"
}

func timedOut(beat ...any) error { return temporal.NewHeartbeatTimeoutError(beat...) }

func refuses(kind domain.Kind, code domain.Code, final bool) error {
	own := domain.CodedErrorf(kind, code, "it failed")
	return temporal.NewApplicationErrorWithOptions(own.Message, string(kind), temporal.ApplicationErrorOptions{NonRetryable: final, Details: []any{own}})
}

// infer makes an attempt at an inference. A provider keeps to the clamp, and reads no more than was estimated.
func (s *simulation) infer(agent string, r contract.ModelRequest, attempt int) work {
	a := modelAttempt{ending: goesWell, input: 50, output: 50}
	if turn := s.turns[agent] + first(s, agent); turn < len(s.modelAttempts) {
		a = s.modelAttempts[turn]
	}
	s.turns[agent]++
	if agent == s.input.WorkflowID() && attempt == 1 {
		s.outgrown()
	}
	most := r.MaxOutputTokens
	if most == 0 {
		most = 40
	}
	used := domain.Usage{InputTokens: r.Reserved.InputTokens * a.input / 100, OutputTokens: min(most, 200) * a.output / 100}
	if s.lies && a.ending != diesAfter {
		used.InputTokens *= 3
	}
	nothing := a.ending == isRefused || a.ending == isBusy || a.ending == dies
	if nothing {
		used = domain.Usage{}
	}
	s.asked = append(s.asked, asked{at: s.now(), seq: s.next(), attempt: attempt, agent: agent, request: r, used: used})
	at := len(s.asked) - 1
	s.tell(s.who(agent), "step %d: the model is asked with %d messages (%d tokens left) and %s", r.Step, r.Log.Length, r.TokensLeft, a.ending)
	reply := func() (any, error) {
		s.asked[at].heard = true
		return s.modelReply(r, a, used)
	}
	return work{lasts: a.lasts, end: reply, cut: func() (any, error) {
		s.asked[at].heard = true
		s.tell(s.who(agent), "step %d: the inference is cut off", r.Step)
		if nothing {
			return nil, temporal.NewCanceledError()
		}
		cut := says("half")
		cut.Outcome, cut.Response.Usage = contract.Interrupted, used
		cut.Response.Finish = domain.FinishOther
		return cut, nil
	}}
}

// first is where among the answers an agent begins: each elsewhere, whoever is asked first.
func first(s *simulation, agent string) int {
	if agent == s.input.WorkflowID() || len(s.modelAttempts) == 0 {
		return 0
	}
	return int(uuid.NewSHA1(uuid.Nil, []byte(agent))[0]) % len(s.modelAttempts)
}

func (s *simulation) modelReply(r contract.ModelRequest, a modelAttempt, used domain.Usage) (any, error) {
	var calls []domain.ToolCall
	if !r.WithoutTools {
		calls = a.calls
	}
	reply := says(fmt.Sprint("words ", s.next()), calls...)
	if r.Summary != nil {
		reply = says(fmt.Sprint("a summary ", s.next()))
		reply.Message.Role = domain.RoleUser
	}
	reply.Response.Usage = used
	bills := func(kind domain.Kind) {
		reply.Outcome, reply.Message, reply.Error = contract.BilledFailure, nil, domain.Errorf(kind, "it failed")
		reply.Spent, reply.Response = used, domain.Response{}
	}
	switch a.ending {
	case goesWell, fails, notStarted, stopsAgent, isUnknown:
	case isEmpty:
		reply.Message = nil
	case isInvalid:
		if r.Summary == nil && len(calls) == 0 && s.input.Definition.Format.Type != "" {
			reply.Invalid = "no JSON"
		}
	case isCut:
		reply.Response.Finish = domain.FinishLength
	case isBilled:
		bills(domain.Unavailable)
	case waitsLong:
		bills(domain.Throttled)
		reply.RetryAfterMillis = time.Hour.Milliseconds()
	case shutDown:
		reply.Outcome, reply.Spent, reply.Response, reply.Message = contract.ShutDown, used, domain.Response{}, nil
	case isRefused:
		return nil, refuses(domain.Invalid, domain.CodeModelNotFound, true)
	case isBusy:
		return nil, refuses(domain.Unavailable, "", false)
	case dies:
		return nil, timedOut(contract.Heartbeat{ExecutionID: r.ExecutionID, Step: r.Step, Phase: contract.PhaseWaiting, Attempt: r.Attempts + 1})
	case diesAfter:
		return nil, timedOut(contract.Heartbeat{
			ExecutionID: r.ExecutionID, Step: r.Step, Phase: contract.PhaseStreaming, Attempt: r.Attempts + 1, Reserved: r.Reserved, Length: int(4 * used.OutputTokens),
		})
	}
	return reply, nil
}

// call makes an attempt at a call. What a worker that was lost has done is done.
func (s *simulation) call(agent string, r contract.ToolRequest) work {
	f := toolAttempt{ending: goesWell}
	if s.made < len(s.toolAttempts) {
		f = s.toolAttempts[s.made]
	}
	s.made++
	s.ran = append(s.ran, called{at: s.now(), seq: s.next(), agent: agent, request: r})
	it := &s.ran[len(s.ran)-1]
	at := len(s.ran) - 1
	s.tell(s.who(agent), "step %d: %s is called with %s and %s", r.Step, r.Name, domain.Shorten(r.Arguments, 40), f.ending)
	it.begun = f.ending != notStarted && r.Name != "ask_user" && f.ending != waitsLong
	it.lost = f.ending == dies || f.ending == diesAfter || f.ending == isBusy || f.ending == isUnknown
	return work{lasts: f.lasts, end: func() (any, error) {
		s.ran[at].effect = s.ran[at].begun && f.ending != dies && f.ending != isBusy && f.ending != isUnknown && f.ending != fails
		return toolReply(r, f)
	}, cut: func() (any, error) {
		s.tell(s.who(agent), "step %d: %s is cut off", r.Step, r.Name)
		if !s.ran[at].begun {
			return contract.NotRun(domain.Denied, "not run: stopped"), nil
		}
		if s.ran[at].lost = true; r.Effect.Repeatable() {
			return contract.Unanswered(domain.CodedErrorf(domain.Unavailable, domain.CodeInterrupted, "interrupted")), nil
		}
		return contract.Unanswered(domain.CodedErrorf(domain.Unavailable, domain.CodeOutcomeUnknown, "outcome unknown: stopped while it ran")), nil
	}}
}

func toolReply(r contract.ToolRequest, f toolAttempt) (any, error) {
	if r.Name == "ask_user" && f.ending != dies && f.ending != diesAfter && f.ending != isBusy {
		return poses(r)
	}
	reply := contract.ToolReply{Content: "seen " + r.ID().String()}
	reply.Digest = domain.DigestOf([]byte(reply.Content))
	reply.ResultDigest = reply.Digest
	switch f.ending {
	case goesWell, isEmpty, isInvalid, isCut, isBilled, isRefused, shutDown:
	case fails:
		return contract.Unanswered(domain.Invalidf("it is wrong")), nil
	case notStarted:
		reply = contract.NotMade(r, domain.Throttled, "not run: busy")
		reply.NotStarted = true
	case waitsLong:
		reply = contract.NotMade(r, domain.Unavailable, "not run: too early")
		if reply.NotStarted = true; r.WaitUntil.IsZero() {
			reply.WaitUntil = time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
		}
	case stopsAgent:
		reply.Stop = &domain.StopSignal{Reason: domain.StopRequested, Message: "enough"}
	case isUnknown:
		if !r.Effect.Repeatable() {
			return contract.Unanswered(domain.CodedErrorf(domain.Unavailable, domain.CodeOutcomeUnknown, "outcome unknown: the line broke")), nil
		}
	case isBusy:
		return nil, refuses(domain.Unavailable, "", false)
	case dies, diesAfter:
		return nil, timedOut()
	}
	return reply, nil
}

// verify knows of a call whatever its tool has seen, every other time.
func (s *simulation) verify(r contract.ToolRequest) contract.VerifyReply {
	if s.made%2 == 1 {
		return contract.VerifyReply{Reason: "the bank is closed"}
	}
	for _, one := range s.ran {
		if one.request.ID() == r.ID() && one.effect {
			s.verified[r.ID()] = domain.VerdictDone
			s.tell("tool", "%s says that its call is done", r.Name)
			return contract.VerifyReply{Verdict: domain.VerdictDone, Result: "paid", Reason: "the bank has it"}
		}
	}
	s.verified[r.ID()] = domain.VerdictNotDone
	s.tell("tool", "%s says that its call is not done", r.Name)
	return contract.VerifyReply{Verdict: domain.VerdictNotDone, Reason: "the bank has fenced it"}
}
