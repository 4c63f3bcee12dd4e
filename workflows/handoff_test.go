package workflows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// desk is the worker of agents that hand a conversation over: what the model says, by the digest of who asks it. A worker
// lists for each agent the tools that its definition names.
func desk(model func(agent string, step int) contract.ModelReply) *world {
	w := &world{}
	w.list = func(r contract.ResolveRequest) (contract.Resolved, error) {
		catalog := contract.Resolved{MinOutputTokens: 1, Digest: domain.DigestOf([]byte(r.Definition.SystemPrompt)), Price: r.Definition.Model.Price, Guards: new(r.Definition.Guards.WithDefaults())}
		for _, name := range r.Definition.Tools {
			catalog.Tools = append(catalog.Tools, domain.ToolSpec{Name: name, Effect: domain.AtMostOnce})
		}
		return catalog, nil
	}
	w.model = func(r contract.ModelRequest) (contract.ModelReply, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return model(w.listed[len(w.listed)-1].Definition.SystemPrompt, r.Step), nil
	}
	w.tool = gives(contract.ToolReply{Content: "ok", Digest: domain.DigestOf([]byte("ok"))})
	return w
}

func handsTo(agents ...string) contract.ModelReply {
	var calls []domain.ToolCall
	for _, agent := range agents {
		calls = append(calls, domain.ToolCall{ID: agent, Name: domain.HandoffTool(agent), Arguments: "{}"})
	}
	return says("", calls...)
}

// withDesk is an agent that hands over to billing and refunds, of which the first hands back.
func withDesk(in *contract.SessionInput) {
	to := func(keys ...string) map[string]domain.Subagent {
		all := map[string]domain.Subagent{}
		for _, key := range keys {
			all[key] = domain.Subagent{Agent: key, Description: "Does " + key + "."}
		}
		return all
	}
	d := &in.Definition
	d.SystemPrompt, d.Handoffs = "triage", to("billing", "refunds")
	d.Agents = map[string]domain.Definition{
		"triage":  {SystemPrompt: "triage", Tools: []string{"look"}, Handoffs: to("billing", "refunds")},
		"billing": {SystemPrompt: "billing", Tools: []string{"pay"}, Model: domain.LLMConfig{Provider: "scripted", Model: "/billing"}, Handoffs: to("triage"), Budget: stepsOf(2)},
		"refunds": {SystemPrompt: "refunds", Tools: []string{"refund"}},
	}
}

func TestAConversationIsHandedOver(t *testing.T) {
	t.Parallel()
	w := desk(func(agent string, step int) contract.ModelReply {
		switch {
		case agent == "triage":
			return says("", domain.ToolCall{ID: "1", Name: "transfer_to_billing", Arguments: `{"reason":"money"}`}, domain.ToolCall{ID: "2", Name: "look", Arguments: "{}"})
		case step == 2:
			return says("", domain.ToolCall{ID: "3", Name: "pay", Arguments: "{}"}, domain.ToolCall{ID: "4", Name: "look", Arguments: "{}"})
		}
		return says("paid")
	})
	env := w.environment(t)
	prompts(env, time.Hour, "more")
	closes(env, 2*time.Hour)
	execute(env, input(t, "ann", withDesk))

	completes(t, env)
	var ran []string
	for _, call := range w.ran {
		ran = append(ran, call.Name)
	}
	require.Equal(t, []string{"look", "pay"}, ran, "each agent has its own tools")
	steps := stepsIn(t, env, 1)
	require.Len(t, steps, 3)
	first := steps[0].Step
	require.Nil(t, first.ToolExecutions[0].Error)
	require.Contains(t, first.ToolExecutions[0].Value, "with the agent billing now")
	require.False(t, first.ToolExecutions[0].StartedAt.Before(first.ToolExecutions[1].CompletedAt), "after the other calls")
	require.Equal(t, domain.CodeUnknownTool, steps[1].Step.ToolExecutions[1].Error.Code)
	var held, models []string
	for _, step := range steps {
		held, models = append(held, step.Step.Agent), append(models, step.Step.Model)
	}
	require.Equal(t, []string{"", "billing", "billing"}, held)
	require.Equal(t, []string{"scripted//x", "scripted//billing", "scripted//billing"}, models)
	require.NotEqual(t, w.asked[0].Resolved, w.asked[1].Resolved)
	require.Equal(t, w.asked[1].Resolved, w.asked[2].Resolved)

	status := status(t, env)
	require.Equal(t, "billing", status.Configuration.Agent)
	require.Equal(t, 2, status.Number, "the session goes on")
	require.Equal(t, int64(2), *status.Ledger.Own().Limit.MaxSteps, "the budget of billing holds from the next execution on")
	change := status.Configuration.Changes[0]
	require.Equal(t, []any{"billing", 1, 2}, []any{change.Agent, change.Number, change.Step})
	require.Equal(t, "tools + pay, + transfer_to_triage, - look, - transfer_to_billing, - transfer_to_refunds; budget, handoffs, model, system_prompt", change.String())
	require.Equal(t, "billing", w.listed[1].Definition.SystemPrompt)
	require.False(t, w.listed[2].Known.IsZero(), "the next execution follows what billing began with")
	handed := dataOf[domain.ConversationHandedOver](t, env, 1)
	require.Len(t, handed, 1)
	require.Equal(t, "billing", handed[0].Agent)
}

// TestTheFirstHandoffCounts of one answer. The others are told, and so is one that a person denies.
func TestTheFirstHandoffCounts(t *testing.T) {
	t.Parallel()
	w := desk(func(agent string, step int) contract.ModelReply {
		if step == 1 {
			return handsTo("refunds", "billing", "refunds")
		}
		return says(agent)
	})
	env := w.environment(t)
	sees(t, env, time.Hour, func(waiting []domain.Wait) {
		require.Len(t, waiting, 2)
		require.Equal(t, "transfer_to_refunds", waiting[0].Tool)
		denies(env, "no", "not now", waiting[0])
		approves(env, "yes", waiting[1])
	})
	execute(env, input(t, "", withDesk, func(in *contract.SessionInput) {
		in.Definition.Approvals = &domain.Approvals{Rules: []domain.ApprovalRule{{Tool: "transfer_to_refunds", Then: domain.AskFirst}, {Then: domain.Allow}}}
	}))

	completes(t, env)
	calls := executions(t, env)
	require.Equal(t, domain.CodeDenied, calls[0].Error.Code)
	require.Nil(t, calls[1].Error)
	require.Equal(t, "not run: the conversation was handed over to billing in the same turn", calls[2].Error.Message)
	require.Equal(t, "billing", endOf(t, env, 0).Answer)
}

// TestAHandoffThatIsNone leaves the conversation where it is, and the call has its result.
func TestAHandoffThatIsNone(t *testing.T) {
	t.Parallel()
	refuses := func(w *world) {
		list := w.list
		w.list = func(r contract.ResolveRequest) (contract.Resolved, error) {
			if r.Definition.SystemPrompt != "triage" {
				return contract.Resolved{}, refused(domain.Deniedf("definition: is none of the agents that this worker serves"))
			}
			return list(r)
		}
	}
	for name, test := range map[string]struct {
		arguments string
		change    func(*contract.SessionInput)
		world     func(*world)
		says      string
	}{
		"arguments that are none": {`[1]`, nil, nil, "arguments: are no object"},
		"denied by a rule": {"{}", func(in *contract.SessionInput) {
			in.Definition.Approvals = &domain.Approvals{Rules: []domain.ApprovalRule{{Tool: "transfer_to_billing", Then: domain.Deny}}}
		}, nil, "denied: the rules of this agent"},
		"a worker that does not serve it": {"", nil, refuses, "the conversation was not handed over: definition: is none of the agents"},
		"a price that nobody knows": {"{}", func(in *contract.SessionInput) {
			in.Definition.Model.Price = &domain.Price{}
			in.Budget.MaxCostNanoUSD = number(1_000_000)
		}, nil, "the conversation was not handed over: max_cost: nobody knows what the model of billing costs"},
		"a trusted value that is not there": {"{}", func(in *contract.SessionInput) {
			billing := in.Definition.Agents["billing"]
			billing.ShowTrusted = []string{"customer"}
			in.Definition.Agents["billing"] = billing
		}, nil, "not run: show_trusted: \"customer\" is not given"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := desk(func(_ string, step int) contract.ModelReply {
				return firstOf(step, says("", domain.ToolCall{ID: "1", Name: "transfer_to_billing", Arguments: test.arguments}))
			})
			if test.world != nil {
				test.world(w)
			}
			env := w.environment(t)
			in := input(t, "", withDesk)
			if test.change != nil {
				test.change(&in)
			}
			execute(env, in)
			completes(t, env)
			require.Contains(t, executions(t, env)[0].Error.Message, test.says)
			require.Empty(t, status(t, env).Configuration.Agent)
			require.Equal(t, w.asked[0].Resolved, w.asked[1].Resolved)
		})
	}
}

// TestHandingToAndFroEnds without any budget: as a cycle of equal calls, and where each hand-off gives another reason by
// their number.
func TestHandingToAndFroEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason func(step int) string
		steps  int
	}{
		"in a cycle":         {func(int) string { return "{}" }, 2 * domain.DefaultStop},
		"with other reasons": {func(step int) string { return fmt.Sprintf(`{"reason":"%d"}`, min(step, domain.MaxHandoffs+1)) }, domain.MaxHandoffs + domain.DefaultStop},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := desk(func(agent string, step int) contract.ModelReply {
				reply := handsTo("billing")
				if agent != "triage" {
					reply = handsTo("triage")
				}
				reply.Message.ToolCalls[0].Arguments = test.reason(step)
				return reply
			})
			env := w.executed(t, input(t, "", withDesk))
			out := outcome(t, env)
			require.Equal(t, domain.StatusStopped, out.Status)
			require.Equal(t, domain.StopRequested, out.StopReason)
			require.Len(t, w.listed, 1+domain.MaxHandoffs)
			require.Equal(t, test.steps, out.Steps)
		})
	}
}

// TestRulesAddUp: to hand the conversation over frees no call of what an agent before would have had people asked about.
func TestRulesAddUp(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		triage, billing *domain.Approvals
		asked           int
	}{
		"both allow":          {domain.ApprovalsOf("allow"), domain.ApprovalsOf("allow"), 0},
		"the first asks":      {domain.ApprovalsOf("writes"), domain.ApprovalsOf("allow"), 1},
		"the other asks":      {domain.ApprovalsOf("allow"), domain.ApprovalsOf("writes"), 1},
		"the other says none": {domain.ApprovalsOf("allow"), nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := desk(func(agent string, step int) contract.ModelReply {
				switch step {
				case 1:
					return handsTo("billing")
				case 2:
					return says("", domain.ToolCall{ID: "3", Name: "pay", Arguments: "{}"})
				}
				return says("done")
			})
			w.approvals = domain.DefaultApprovals()
			env := w.environment(t)
			asked := approvesAll(t, env, time.Hour)
			execute(env, input(t, "", withDesk, func(in *contract.SessionInput) {
				in.Definition.Approvals = test.triage
				billing := in.Definition.Agents["billing"]
				billing.Approvals = test.billing
				in.Definition.Agents["billing"] = billing
			}))
			completes(t, env)
			require.Equal(t, test.asked, *asked)
			require.Len(t, w.ran, 1)
		})
	}
}

// TestAToolStaysAsItWasGiven to whoever had the conversation first: where its server has changed it since, workers refuse
// the call by its pin.
func TestAToolStaysAsItWasGiven(t *testing.T) {
	t.Parallel()
	pin := func(text string) domain.ToolSpec {
		return domain.ToolSpec{Name: "look", Description: text, Effect: domain.ReadOnly, Pin: domain.DigestOf([]byte(text))}
	}
	for name, later := range map[string]string{"the same": "a", "another": "b"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := desk(func(agent string, step int) contract.ModelReply {
				switch step {
				case 1:
					return handsTo("billing")
				case 2:
					return handsTo("triage")
				case 3:
					return says("", domain.ToolCall{ID: "3", Name: "look", Arguments: "{}"})
				}
				return says("done")
			})
			list, asked := w.list, 0
			w.list = func(r contract.ResolveRequest) (contract.Resolved, error) {
				catalog, err := list(r)
				asked++
				for i := range catalog.Tools {
					if catalog.Tools[i].Name == "look" {
						if catalog.Tools[i] = pin("a"); asked > 1 {
							catalog.Tools[i] = pin(later)
						}
					}
				}
				return catalog, err
			}
			env := w.executed(t, input(t, "", withDesk))
			completes(t, env)
			require.Len(t, w.ran, 1)
			require.Equal(t, pin("a").Pin, w.ran[0].Pin)
		})
	}
}

// TestASubagentHandsItsOwnConversationOver, with no tool that the agent above denies it.
func TestASubagentHandsItsOwnConversationOver(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		deny   []string
		ran    int
		listed int
	}{
		"the tool denied":     {[]string{"pay"}, 0, 3},
		"the hand-off denied": {[]string{"transfer_to_billing"}, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w *world
			w = desk(func(agent string, step int) contract.ModelReply {
				switch len(w.asked) {
				case 1:
					return spawning("triage", "help")
				case 2:
					return handsTo("billing")
				case 3:
					return says("", domain.ToolCall{ID: "3", Name: "pay", Arguments: "{}"})
				}
				return says("done")
			})
			env := w.executed(t, input(t, "", withDesk, func(in *contract.SessionInput) {
				in.Definition.Handoffs = nil
				in.Definition.Subagents = map[string]domain.Subagent{"triage": {Agent: "triage", Description: "Helps."}}
				in.Definition.SubagentPolicy.Deny = test.deny
			}))
			completes(t, env)
			require.Len(t, w.ran, test.ran)
			require.Len(t, w.listed, test.listed)
			require.Empty(t, status(t, env).Configuration.Agent, "only its own")
		})
	}
}

// TestAPauseThatAHandoffMeets: no time counts while a pause alone holds back the call that hands the conversation over.
func TestAPauseThatAHandoffMeets(t *testing.T) {
	t.Parallel()
	w := desk(func(agent string, _ int) contract.ModelReply {
		if agent == "triage" {
			return says("", asksUser(`{"question": "Which bill?"}`), domain.ToolCall{ID: "1", Name: domain.HandoffTool("billing"), Arguments: "{}"})
		}
		return says("paid")
	})
	w.tool = poses
	env := w.environment(t)
	pauses(env, time.Minute)
	hears(t, env, 2*time.Minute, func(waiting []domain.Wait) {
		require.Len(t, waiting, 1)
		require.Len(t, w.listed, 1, "nobody is asked about the other agent while a call waits")
		replies(env, "answer", contract.AnswerRequest{Call: waiting[0].ToolExecutionID, Verdict: domain.AnsweredByPerson, Text: "the last"})
	})
	resumes(env, time.Hour)
	execute(env, input(t, "", func(in *contract.SessionInput) {
		withDesk(in)
		in.Definition.Tools, in.Budget.MaxSeconds = []string{"ask_user"}, new(30.0)
	}))
	endsFor(t, env, domain.Completed)
}
