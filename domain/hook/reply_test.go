package hook_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
	"everstep/domain/hook"
)

// inStep is in the first step of its first execution, which a signal asks to stop.
func inStep() domain.AgentState {
	id := domain.AgentID{UUID: uuid.NewSHA1(uuid.NameSpaceOID, []byte("checked"))}
	execution := id.Execution("run", 1)
	s := domain.NewAgentState(id, domain.AgentID{}, time.Time{}, domain.LLMConfig{Provider: "scripted", Model: "x"}).
		WithUserMessage(execution.Prompt(), "hello", time.Time{})
	s = made(s.BeginExecution(execution, domain.Unlimited(), time.Time{}))
	s = made(s.WithStopSignal(domain.StopSignal{Reason: domain.StopRequested}, time.Time{}))
	return made(s.WithStepStarted(execution.Step(1), time.Time{}))
}

// noted is inStep with a note.
func noted() domain.AgentState {
	return made(inStep().WithMetadata("old", json.RawMessage(`1`), time.Time{}))
}

// made takes what has to succeed.
func made[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// asked is what a hook made with a function wants done in the state of inStep.
func asked[At any](t *testing.T, at At, make func(string, func(hook.Context[At]) (hook.Context[At], error)) hook.Hook, run func(hook.Context[At]) (hook.Context[At], error)) (contract.HookReply, error) {
	t.Helper()
	h := make("h", run)
	return hook.Ask(h, hook.Context[At]{Trigger: h.Trigger(), Now: time.Unix(7, 0), State: noted(), At: at})
}

// wanted is what a hook that makes such a change asks for.
func wanted[At any](t *testing.T, at At, make func(string, func(hook.Context[At]) (hook.Context[At], error)) hook.Hook, change func(*hook.Context[At])) contract.HookReply {
	t.Helper()
	reply, err := asked(t, at, make, changing(change))
	require.NoError(t, err)
	return reply
}

func changing[At any](change func(*hook.Context[At])) func(hook.Context[At]) (hook.Context[At], error) {
	return func(c hook.Context[At]) (hook.Context[At], error) {
		change(&c)
		return c, nil
	}
}

// TestAskTellsWhatAHookHasMade, and nothing of one that has made nothing.
func TestAskTellsWhatAHookHasMade(t *testing.T) {
	t.Parallel()
	point := func(change func(*hook.Point)) contract.HookReply {
		return wanted(t, hook.Nothing{}, hook.AfterStep, change)
	}
	idle := point(func(*hook.Point) {})
	encoded, err := json.Marshal(idle)
	require.NoError(t, err)
	require.Equal(t, `{}`, string(encoded))

	model, format, budget := domain.LLMConfig{Provider: "scripted", Model: "y"}, domain.ResponseFormat{Type: domain.FormatJSON}, domain.ExecutionBudget{MaxSteps: new(int64(3))}
	reply := point(func(c *hook.Point) {
		*c = c.Stop("enough").Say(domain.RoleSystem, "mind the gap").Continue()
		c.State = made(c.State.WithStopSignal(domain.StopSignal{Reason: domain.Unknown, Source: "x"}, c.Now))
		c.State = made(c.State.WithMessages("notes", []domain.Message{domain.UserMessage("aside")}, c.Now))
		c.State = c.State.WithSystemPrompt("other", c.Now).WithLLMConfig(model, c.Now)
		c.State = made(c.State.WithResponseFormat(format, c.Now))
		c.State = made(c.State.WithBudget(budget, c.Now))
		*c = made(made(c.Note("old", nil)).Note("new", 2))
	})
	require.Equal(t, contract.HookReply{
		Stops: []domain.StopSignal{{Reason: domain.Unknown}, {Reason: domain.StopRequested, Message: "enough"}}, Continue: true,
		Say:   []domain.Message{{Role: domain.RoleSystem, Parts: text("mind the gap")}},
		Aside: map[string][]domain.Message{"notes": {domain.UserMessage("aside")}},
		Note:  domain.Metadata{"old": json.RawMessage("null"), "new": json.RawMessage("2")}, SystemPrompt: new("other"),
		Model: &model, Format: &format, Budget: &budget,
	}, reply)
	require.Equal(t, reply, point(func(c *hook.Point) {
		c.State = made(inStep().WithMetadata("new", json.RawMessage(`2`), time.Unix(8, 0)))
		*c = c.Say(domain.RoleSystem, "mind the gap").Stop("enough")
		c.State = made(c.State.WithStopSignal(domain.StopSignal{Reason: domain.Unknown}, c.Now))
		c.State = made(c.State.WithContinuationRequested(c.Now))
		c.State = made(c.State.WithMessages("notes", []domain.Message{domain.UserMessage("aside")}, c.Now))
		c.State = made(made(c.State.WithSystemPrompt("other", c.Now).WithLLMConfig(model, c.Now).WithResponseFormat(format, c.Now)).WithBudget(budget, c.Now))
	}), "the same wish, by other ways, is the same reply")
}

// TestAHookMayWriteIntoItsState: what it writes there is its wish, and the workflow's state stays as it was.
func TestAHookMayWriteIntoItsState(t *testing.T) {
	t.Parallel()
	state := made(noted().WithBudget(domain.ExecutionBudget{MaxSteps: new(int64(3))}, time.Time{}))
	ask := func(write func(domain.AgentState)) contract.HookReply {
		h := hook.AfterStep("h", changing(func(c *hook.Point) { write(c.State) }))
		reply, err := hook.Ask(h, hook.Point{Trigger: domain.TriggerAfterStep, Now: time.Unix(7, 0), State: state})
		require.NoError(t, err)
		return reply
	}
	require.Equal(t, contract.HookReply{Note: domain.Metadata{"old": json.RawMessage(`2`)}}, ask(func(s domain.AgentState) { s.Metadata["old"] = json.RawMessage(`2`) }))
	require.Equal(t, contract.HookReply{Budget: &domain.ExecutionBudget{MaxSteps: new(int64(9))}}, ask(func(s domain.AgentState) { *s.Execution.Budget.MaxSteps = 9 }))
	require.Equal(t, `1`, string(state.Metadata["old"]))
	require.Equal(t, int64(3), *state.Execution.Budget.MaxSteps)
}

// TestAskTellsWhatAHookReplaces of what is at hand, also in place, which what was given does not show.
func TestAskTellsWhatAHookReplaces(t *testing.T) {
	t.Parallel()
	reply := wanted(t, hook.Request{WithoutTools: true}, hook.BeforeInference, func(c *hook.Inference) { c.At = hook.Request{MaxOutputTokens: 7} })
	require.Equal(t, contract.HookReply{WithoutTools: new(false), MaxOutputTokens: new(int64(7))}, reply)
	require.Equal(t, hook.Request{MaxOutputTokens: 7}, hook.Replaced(hook.Request{WithoutTools: true}, reply))

	answer := hook.Answer{Message: domain.Message{Role: domain.RoleAssistant, Parts: text("one"), ID: domain.MessageID{UUID: uuid.NewSHA1(uuid.NameSpaceOID, []byte("m"))}}}
	reply = wanted(t, answer, hook.AfterInference, func(c *hook.Reply) { c.At.Message.Parts[0].Text = "two" })
	require.Equal(t, "one", answer.Message.Text())
	require.Equal(t, domain.Message{Role: domain.RoleAssistant, Parts: text("two")}, *reply.Answer)
	replaced := hook.Replaced(answer, reply)
	require.Equal(t, "two", replaced.Message.Text())
	require.Equal(t, answer.Message.ID, replaced.Message.ID)

	call := hook.Call{Position: 3, Call: domain.ToolCall{ID: "c1", Name: "a"}}
	reply = wanted(t, call, hook.BeforeToolUse, func(c *hook.ToolUse) { c.At.Call = domain.ToolCall{ID: "c2", Name: "b"} })
	require.Equal(t, domain.ToolCall{Name: "b"}, *reply.Call)
	require.Equal(t, hook.Call{Position: 3, Call: domain.ToolCall{ID: "c1", Name: "b"}}, hook.Replaced(call, reply))
	for given, want := range map[string]string{"no": "no", "": "a hook does not allow this call"} {
		reply = wanted(t, call, hook.BeforeToolUse, func(c *hook.ToolUse) { *c = hook.Block(*c, given) })
		message, blocked := hook.Replaced(call, reply).Blocked()
		require.True(t, blocked)
		require.Equal(t, want, message)
	}

	result := hook.Result{Execution: domain.ToolExecution{Error: domain.Errorf(domain.Internal, "broke")}}
	reply = wanted(t, result, hook.AfterToolUse, func(c *hook.ToolResult) { c.At.Execution.Error.Message = "did not work" })
	require.Equal(t, "broke", result.Execution.Error.Message)
	require.Equal(t, "did not work", hook.Replaced(result, reply).Execution.Error.Message)
	reply = wanted(t, result, hook.AfterToolUse, func(c *hook.ToolResult) { c.At.Execution.Value, c.At.Execution.Error = "", nil })
	require.Equal(t, domain.ToolExecution{}, hook.Replaced(result, reply).Execution)
}

// errorOf is what is said of a hook that makes such a change.
func errorOf[At any](t *testing.T, at At, make func(string, func(hook.Context[At]) (hook.Context[At], error)) hook.Hook, change func(*hook.Context[At])) error {
	t.Helper()
	_, err := asked(t, at, make, changing(change))
	return err
}

// TestAskRefusesOtherChanges, and names the field.
func TestAskRefusesOtherChanges(t *testing.T) {
	t.Parallel()
	var at time.Time
	s := noted()
	for name, c := range map[string]struct {
		field string
		state domain.AgentState
	}{
		"no state":              {"agent_id", domain.AgentState{}},
		"the execution ended":   {"execution.status", made(s.WithExecutionCompleted(at))},
		"another execution":     {"execution.execution_id", made(made(s.WithExecutionCompleted(at)).BeginExecution(s.AgentID.Execution("run", 2), domain.Unlimited(), at))},
		"messages taken away":   {"messages", s.WithMessageStore(domain.MessageStore{})},
		"a signal taken away":   {"execution.continuation", s.WithLateSignals(0, at)},
		"a signal changed":      {"execution.continuation", made(s.WithLateSignals(0, at).WithStopSignal(domain.StopSignal{Reason: domain.Unknown}, at))},
		"a step completed":      {"execution.step_executions", made(s.WithCurrentStepCompleted(at))},
		"an error":              {"execution.error", made(s.WithExecutionError(domain.Invalidf("no"), at))},
		"a trusted value given": {"execution.trusted", made(s.WithTrusted(domain.Trusted{"customer": json.RawMessage(`1`)}, at))},
		"a call allowed always": {"standing_approvals", made(s.WithStandingApproval(domain.StandingApproval{Tool: "pay"}, at))},
		"a call counted":        {"execution.tool_calls", s.WithToolCalls(1, at)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := errorOf(t, hook.Nothing{}, hook.AfterStep, func(p *hook.Point) { p.State = c.state })
			require.ErrorContains(t, err, "it changed state."+c.field)
		})
	}
	for _, c := range []struct {
		field string
		err   error
	}{
		{"trigger or now", errorOf(t, hook.Nothing{}, hook.AfterStep, func(c *hook.Point) { c.Now = c.Now.Add(1) })},
		{"response.finish_reason", errorOf(t, hook.Answer{}, hook.AfterInference, func(c *hook.Reply) { c.At.Response.Finish = domain.FinishStop })},
		{"position", errorOf(t, hook.Call{}, hook.BeforeToolUse, func(c *hook.ToolUse) { c.At.Position++ })},
		{"position", errorOf(t, hook.Result{}, hook.AfterToolUse, func(c *hook.ToolResult) { c.At.Position++ })},
		{"execution.call", errorOf(t, hook.Result{}, hook.AfterToolUse, func(c *hook.ToolResult) { c.At.Execution.Call.Name = "other" })},
		{"error.message", errorOf(t, hook.Failure{}, hook.OnError, func(c *hook.Error) { c.At.Error.Message = "nothing" })},
	} {
		require.ErrorContains(t, c.err, "it changed "+c.field)
	}
}

// TestAskFails where the hook does, or wants what nobody can keep.
func TestAskFails(t *testing.T) {
	t.Parallel()
	for want, run := range map[string]func(hook.Point) (hook.Point, error){
		"it panicked":        func(hook.Point) (hook.Point, error) { panic("hunter2") },
		"the ledger is away": func(c hook.Point) (hook.Point, error) { return c, errors.New("the ledger is away") },
		"its message takes": func(c hook.Point) (hook.Point, error) {
			return c.Say(domain.RoleUser, strings.Repeat("x", domain.MaxMessage)), nil
		},
		"its reply takes": func(c hook.Point) (hook.Point, error) {
			return c.Say(domain.RoleUser, strings.Repeat("x", hook.MaxReply/2)).Say(domain.RoleUser, strings.Repeat("x", hook.MaxReply/2)), nil
		},
	} {
		reply, err := asked(t, hook.Nothing{}, hook.AfterStep, run)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hunter2")
		if want == "it panicked" {
			require.Zero(t, reply)
		}
	}
}
