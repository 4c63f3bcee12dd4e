package workflows_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
	"pgregory.net/rapid"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/progress"
)

// A stenographer writes down what a history would hold of a workflow that runs
// in memory: its requests, what became of them, and what came from outside.
type stenographer struct {
	interceptor.WorkerInterceptorBase
	mu    sync.Mutex
	agent progress.Agent
	asked int
	// early are the stops that the environment delivers before the beginning.
	early []progress.Fact
}

func (s *stenographer) fact(ctx workflow.Context, fact progress.Fact) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.agent.Execution.Number == 0 {
		if _, begins := fact.(progress.RunBegan); !begins {
			s.early = append(s.early, fact)
			return
		}
	}
	s.agent = s.agent.With(fact, workflow.Now(ctx))
	for _, early := range s.early {
		s.agent = s.agent.With(early, workflow.Now(ctx))
	}
	s.early = nil
}

func (s *stenographer) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	in := &noting{s: s}
	in.Next = next
	return in
}

type noting struct {
	interceptor.WorkflowInboundInterceptorBase
	s *stenographer
}

func (n *noting) Init(next interceptor.WorkflowOutboundInterceptor) error {
	out := &notingOut{s: n.s}
	out.Next = next
	return n.Next.Init(out)
}

func (n *noting) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	input := *in.Args[0].(*contract.SessionInput)
	n.s.agent = progress.NewAgent(input.AgentID, workflow.GetInfo(ctx).FirstRunID)
	n.s.fact(ctx, progress.RunBegan{Input: input})
	return n.Next.ExecuteWorkflow(ctx, in)
}

func (n *noting) HandleSignal(ctx workflow.Context, in *interceptor.HandleSignalInput) error {
	var data []byte
	if list := in.Arg.GetPayloads(); len(list) > 0 {
		data = list[0].GetData()
	}
	n.s.fact(ctx, progress.StopAsked{Request: progress.ReadStop(data)})
	return n.Next.HandleSignal(ctx, in)
}

// ExecuteUpdate writes down what people have decided.
func (n *noting) ExecuteUpdate(ctx workflow.Context, in *interceptor.UpdateInput) (any, error) {
	reply, err := n.Next.ExecuteUpdate(ctx, in)
	if decided, ok := reply.(contract.DecisionReply); ok && err == nil {
		request, _ := in.Args[0].(contract.EditRequest)
		n.s.fact(ctx, progress.Decided{Reply: decided, Edited: request.Arguments})
	}
	if answered, ok := reply.(contract.AnswerReply); ok && err == nil {
		request, _ := in.Args[0].(contract.AnswerRequest)
		n.s.fact(ctx, progress.Replied{Request: &request, Reply: answered})
	}
	if revoked, ok := reply.(contract.RevokeReply); ok && err == nil {
		n.s.fact(ctx, progress.Revoked{Standing: revoked.Standing})
	}
	return reply, err
}

type notingOut struct {
	interceptor.WorkflowOutboundInterceptorBase
	s *stenographer
}

// ExecuteActivity writes down what becomes of an activity before the workflow
// hears of it, as a history does.
func (n *notingOut) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	future := n.Next.ExecuteActivity(ctx, name, args...)
	if ctx.Err() != nil {
		return future // nothing is scheduled
	}
	n.s.asked++
	w := progress.Work{ID: fmt.Sprint(n.s.asked), Activity: name, Attempt: 1, Since: workflow.Now(ctx)}
	switch in := args[0].(type) {
	case contract.ModelRequest:
		w.Model = &in
	case contract.ToolRequest:
		w.Tool = &in
	}
	n.s.fact(ctx, progress.Asked{Work: w})
	apart, _ := workflow.NewDisconnectedContext(ctx)
	settled, settle := workflow.NewFuture(apart)
	workflow.GoNamed(apart, "stenographer", func(apart workflow.Context) {
		n.s.fact(apart, n.came(apart, w, future))
		settle.Chain(future)
	})
	return settled
}

// came is what became of an activity.
func (n *notingOut) came(ctx workflow.Context, w progress.Work, future workflow.Future) progress.Fact {
	var model contract.ModelReply
	var tool contract.ToolReply
	var catalog contract.Catalog
	var bound contract.Bound
	var err error
	switch {
	case w.Activity == string(contract.Bind):
		err = future.Get(ctx, &bound)
	case w.Model != nil:
		err = future.Get(ctx, &model)
	case w.Tool != nil:
		err = future.Get(ctx, &tool)
	default:
		err = future.Get(ctx, &catalog)
	}
	switch {
	case err != nil:
		loss := lossIn(err)
		if loss.How == progress.Cancelled {
			w.CutOff = true
			n.s.fact(ctx, progress.CancelAsked{Work: w})
		}
		return progress.Lost{Work: w, Loss: loss}
	case w.Model != nil:
		return progress.ModelReplied{Work: w, Reply: model}
	case w.Tool != nil:
		return progress.ToolReplied{Work: w, Reply: tool}
	case w.Activity == string(contract.Bind):
		return progress.BoundTo{Work: w, Bound: bound}
	}
	return progress.Resolved{Work: w, Catalog: catalog}
}

// lossIn reads an error as a history holds it.
func lossIn(err error) progress.Loss {
	var loss progress.Loss
	if timeout, ok := errors.AsType[*temporal.TimeoutError](err); ok {
		loss.How = progress.TimedOut
		loss.Untaken = timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START
		var beat contract.Heartbeat
		if timeout.HasLastHeartbeatDetails() && timeout.LastHeartbeatDetails(&beat) == nil {
			loss.Beat = &beat
		}
	}
	if temporal.IsCanceledError(err) {
		loss.How = progress.Cancelled
	}
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		loss.Told, loss.Final = progress.Told(app.Message()), app.NonRetryable()
	}
	return loss
}

func (n *notingOut) UpsertMemo(ctx workflow.Context, memo map[string]any) error {
	if waiting, ok := memo[contract.MemoWaiting]; ok {
		n.s.fact(ctx, progress.Awaiting{Waiting: waiting.(contract.Waiting)})
	}
	if outcome, ok := memo[contract.MemoOutcome].(contract.Outcome); ok {
		n.s.fact(ctx, progress.Ended{Outcome: outcome})
	}
	if calls, ok := memo[contract.MemoUnknown].([]domain.UnknownCall); ok {
		n.s.fact(ctx, progress.Unsettled{Calls: calls})
	}
	return n.Next.UpsertMemo(ctx, memo)
}

// TestTheLaw: whatever models, tools and people do, in whatever order, what
// requests and replies alone tell is what the workflow has kept: steps, usage,
// cost, tries, errors, calls, and the stops.
func TestTheLaw(t *testing.T) {
	t.Parallel()
	beats := rapid.Custom(func(t *rapid.T) contract.Heartbeat {
		beat := contract.Heartbeat{Step: 1, Phase: rapid.SampledFrom(contract.InferencePhases()).Draw(t, "phase"), Spent: domain.Usage{InputTokens: rapid.Int64Range(0, 9).Draw(t, "spent")}, Reserved: domain.Usage{InputTokens: 5, OutputTokens: 3}}
		if rapid.Bool().Draw(t, "text") {
			beat.Tail, beat.Length = "so far", rapid.IntRange(6, 60).Draw(t, "length")
		}
		return beat
	})
	rapid.Check(t, func(draw *rapid.T) {
		replies := rapid.SliceOfN(modelReplies(), 1, 8).Draw(draw, "model")
		tools := rapid.SliceOfN(toolReplies(), 1, 5).Draw(draw, "tool")
		lost := rapid.SliceOfN(rapid.IntRange(0, 5), 8, 8).Draw(draw, "lost")
		beat := beats.Draw(draw, "beat")
		budget := domain.ExecutionBudget{MaxSteps: limits().Draw(draw, "steps"), MaxToolCalls: limits().Draw(draw, "calls")}
		if tokens := limits().Draw(draw, "tokens"); tokens != nil {
			budget.MaxTokens = number(*tokens * 60)
		}
		if rapid.IntRange(0, 4).Draw(draw, "timed") == 0 {
			budget.MaxSeconds = new(float64(rapid.IntRange(1, 4).Draw(draw, "seconds")))
		}
		notes := &stenographer{}
		w := &world{
			tools: []domain.ToolSpec{{Name: "look", Effect: domain.ReadOnly}, {Name: "once", Effect: domain.AtMostOnce}}, notes: notes, loses: true,
		}
		w.list = func(contract.CatalogRequest) (contract.Catalog, error) {
			return contract.Catalog{
				Tools: w.tools, MinOutputTokens: 1, Price: &domain.Price{Input: 3_000_001, Output: 15_000_000}, Digest: domain.DigestOf([]byte("resolved")),
			}, nil
		}
		w.model = func(contract.ModelRequest) (contract.ModelReply, error) {
			n := len(w.asked) - 1
			switch {
			case n >= len(replies):
				return says("the end"), nil
			case lost[n] == 0:
				return contract.ModelReply{}, temporal.NewHeartbeatTimeoutError(beat)
			}
			return replies[n], nil
		}
		asked := rapid.SliceOfN(rapid.IntRange(0, 3), 3, 3).Draw(draw, "asked about")
		env := w.environment(t)
		w.tool = func(r contract.ToolRequest) (contract.ToolReply, error) {
			most := asked[(r.Step+r.Position)%len(asked)]
			if p := r.Pending; !r.TakeBack && (p == nil && most > 0 || p != nil && env.Now().Sub(p.Since) < time.Duration(most)*time.Second) {
				return goesOn(r, env.Now(), env.Now().Add(700*time.Millisecond), ""), nil
			}
			reply, err := tools[(r.Step*7+r.Position)%len(tools)]()
			if r.Pending != nil && !r.TakeBack && err != nil && env.Now().Sub(r.Pending.Since) > 10*time.Second {
				return saw(r)
			}
			return reply, err
		}
		for i := range rapid.IntRange(0, 2).Draw(draw, "stops") {
			request := contract.StopRequest{
				Mode:   rapid.SampledFrom(contract.StopModes()).Draw(draw, "mode"),
				Within: contract.Span(rapid.SampledFrom([]time.Duration{0, time.Millisecond, time.Second}).Draw(draw, "within")),
			}
			at := time.Duration(rapid.IntRange(0, 4000).Draw(draw, fmt.Sprint("at ", i))) * time.Millisecond
			env.RegisterDelayedCallback(func() { env.SignalWorkflow(string(contract.SignalStop), request) }, at)
		}
		env.ExecuteWorkflow(string(contract.Execute), input(t, "", func(in *contract.SessionInput) {
			in.Budget, in.Definition.Attempts = budget, rapid.IntRange(1, 4).Draw(draw, "attempts")
		}))

		out := outcome(t, env)
		at := notes.agent.Execution
		require.Equal(draw, out.ExecutionID, at.ID)
		require.NotNil(draw, at.Outcome)
		state := stateIn(t, env)
		require.Len(draw, notes.agent.Unsettled, len(state.Unsettled()))
		for i, unsettled := range state.Unsettled() {
			require.Equal(draw, unsettled.Brief(), notes.agent.Unsettled[i])
		}
		var stops []domain.StopSignal
		for _, signal := range state.StopSignals() {
			if signal.Reason == domain.UserRequested {
				stops = append(stops, signal)
			}
		}
		require.Subset(draw, at.Stops, stops)
		for _, signal := range at.Signals() {
			if signal.Reason != domain.UserRequested && signal.Reason == out.StopReason {
				kept, _ := state.StopSignal()
				require.Equal(draw, kept.Message, signal.Message)
				require.Equal(draw, kept.Source, signal.Source)
				if signal.Context != nil {
					require.Equal(draw, kept.Context, signal.Context)
				}
			}
		}
	})
}

// TestACallCountsWhateverItsToolSays: a code that only hooks and guards give
// takes nothing off what the budget counts.
func TestACallCountsWhateverItsToolSays(t *testing.T) {
	t.Parallel()
	for _, code := range []domain.Code{domain.CodeBlocked, domain.CodeUnknownTool, domain.CodeOutcomeUnknown} {
		w := &world{tools: []domain.ToolSpec{{Name: "look", Effect: domain.ReadOnly}}}
		w.model = func(contract.ModelRequest) (contract.ModelReply, error) {
			if len(w.asked) > 3 {
				return says("the end"), nil
			}
			return says("", domain.ToolCall{ID: "1", Name: "look", Arguments: "{}"}), nil
		}
		w.tool = func(contract.ToolRequest) (contract.ToolReply, error) {
			return contract.ToolReply{Error: domain.CodedErrorf(domain.Denied, code, "no")}, nil
		}
		env := w.environment(t)
		env.ExecuteWorkflow(string(contract.Execute), input(t, "", func(in *contract.SessionInput) {
			in.Budget = domain.ExecutionBudget{MaxToolCalls: number(1)}
		}))
		outcome(t, env)
		require.Len(t, w.ran, 1, code)
	}
}
