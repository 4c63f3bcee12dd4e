package whole_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
	"everstep/worker/host/codec"
)

// lines are an agent's messages as they are kept, each as one text.
func (s *stack) lines(t *testing.T, id string) (all []string) {
	t.Helper()
	for e, err := range s.agents.Messages(within(t), id) {
		require.NoError(t, err)
		line, err := json.Marshal(e)
		require.NoError(t, err)
		all = append(all, string(line))
	}
	return all
}

// parted is a model that says the same whatever came before.
func parted(t *testing.T) *domain.LLMConfig {
	t.Helper()
	return &domain.LLMConfig{Provider: "scripted", Model: writeScript(t, "turns:\n"+strings.Repeat("  - text: parted\n", 200))}
}

// forkedEverywhere forks an agent at each step of an execution, the beginning too, and returns how often. cut tells how
// many messages there were after a step.
func (s *stack) forkedEverywhere(t *testing.T, id string, number, steps int, cut func(step int) int) int {
	t.Helper()
	before, model := s.lines(t, id), parted(t)
	agents := map[string]bool{id: true}
	for step := range steps + 1 {
		x, err := s.agents.Fork(within(t), client.Point{ID: id, Execution: fmt.Sprint(number), Step: &step}, client.ForkOptions{Prompt: "now otherwise", Model: model})
		require.NoError(t, err, "step %d", step)
		require.False(t, agents[x.ID], "each is another agent")
		agents[x.ID] = true
		result, err := s.waits(within(t), x.ID, 1)
		require.NoError(t, err)
		require.Equal(t, "parted", result.Answer, "%+v", result.Error)
		require.Equal(t, 1, result.Outcome.Steps)
		forked := s.lines(t, x.ID)
		require.Equal(t, before[:cut(step)], forked[:len(forked)-2], "step %d: what came before is the same, byte for byte", step)
		status, err := s.agents.Status(within(t), x.ID)
		require.NoError(t, err)
		require.Equal(t, step, status.Execution.Origin.Branch().Step)
		require.Zero(t, status.Prior, "its budget is its own")
		explained, err := s.agents.Explain(within(t), x.ID, 1)
		require.NoError(t, err)
		require.Equal(t, status.Execution.Origin.Branch(), explained.BranchedFrom)
		difference, err := s.agents.Diff(within(t), client.Point{ID: id, Execution: fmt.Sprint(number)}, client.Point{ID: x.ID})
		require.NoError(t, err)
		require.Equal(t, []int{step, step, step + 1}, []int{difference.Shared, difference.Equal, difference.Steps[0].Step}, "they part there")
	}
	require.Equal(t, before, s.lines(t, id), "the origin is as it was")
	return steps + 1
}

// TestForkAtEachStepOfARecordedRun: what came before is the same byte for byte, the origin stays as it was.
func TestForkAtEachStepOfARecordedRun(t *testing.T) {
	t.Parallel()
	var run recordedRun
	for _, one := range recordedRuns(t) {
		if n := one.steps(); n >= 8 && n <= 20 && len(one.Executions) > 1 && len(one.tools()) > 0 {
			run = one
			break
		}
	}
	if run.ID == "" {
		t.Skip("no run has enough turns")
	}
	replay := newReplayer(t)
	s := start(t, host.Config{Tools: replay.tools([]recordedRun{run})})
	_, _, err := s.driveRecorded(t, replay, run, scripted(run.script(t, t.TempDir()), run.tools()...))
	require.NoError(t, err)
	forks, said := 0, 0
	for n, e := range run.Executions {
		forks += s.forkedEverywhere(t, s.named(run.ID), n+1, e.steps(), func(step int) int {
			if step == 0 {
				return said
			}
			count := said + 1
			for _, m := range e.Messages {
				if m.Role == "assistant" {
					step--
				}
				if step < 0 {
					break
				}
				count++
			}
			return count
		})
		said += 1 + len(e.Messages)
	}
	t.Logf("%d forks of run %s", forks, run.ID)
}

// TestForkOverRuns: a conversation that has gone on in many runs is forked at any step, also where it is too long to be
// carried, and a fork is forked again.
func TestForkOverRuns(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ steps, times int }{"short": {12, 1}, "long": {30, 3000}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startOn(t, "continuing", continuing, host.Config{Tools: []tool.Tool{echo()}, Storage: "file://" + t.TempDir()})
			x, err := s.agents.Start(within(t), client.Start{ID: s.named("origin"), Prompt: "go", Definition: scripted(longScript(t, test.steps, test.times), "echo")})
			require.NoError(t, err)
			s.ended(t, x)
			before := s.lines(t, x.ID)
			for _, step := range []int{0, 1, test.steps / 2, test.steps, test.steps + 1} {
				forked, err := s.agents.Fork(within(t), client.Point{ID: x.ID, Step: &step}, client.ForkOptions{ID: fmt.Sprintf("%s-%d", x.ID, step), Prompt: "again", Model: parted(t)})
				require.NoError(t, err)
				result, err := s.waits(within(t), forked.ID, 1)
				require.NoError(t, err)
				require.Equal(t, "parted", result.Answer, "%+v", result.Error)
				lines := s.lines(t, forked.ID)
				want := 0
				if step > 0 {
					want = min(1+2*step, len(before))
				}
				require.Equal(t, before[:want], lines[:len(lines)-2], "step %d", step)
			}
			again, err := s.agents.Fork(within(t), client.Point{ID: fmt.Sprintf("%s-%d", x.ID, 1)}, client.ForkOptions{Prompt: "and again", Model: parted(t)})
			require.NoError(t, err)
			s.ended(t, again)
			require.Len(t, s.lines(t, again.ID), 3+2+2)
			steps := 0
			for step, err := range s.agents.Steps(within(t), again.ID, 1) {
				require.NoError(t, err)
				require.Equal(t, 5+1, step.Step.Input.Messages)
				steps++
			}
			require.Equal(t, 1, steps)
			require.Equal(t, before, s.lines(t, x.ID), "the origin is as it was")
		})
	}
}

// TestAForkIsBegunOnce under one request, with a name or without, also once it has ended, and whatever client asks: whoever
// did not get the answer asks again.
func TestAForkIsBegunOnce(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{echo()}})
	x, err := s.agents.Start(within(t), client.Start{ID: s.named("origin"), Prompt: "go", Definition: scripted(longScript(t, 2, 1), "echo")})
	require.NoError(t, err)
	s.ended(t, x)
	plain, err := sdk.Dial(sdk.Options{HostPort: s.address, DataConverter: codec.New().DataConverter()})
	require.NoError(t, err)
	t.Cleanup(plain.Close)
	for by, asking := range map[string]*client.Client{"dialled": s.agents, "plain": client.New(plain, client.Config{TaskQueue: s.queue})} {
		for _, id := range []string{"", s.named("fork-" + by)} {
			o := client.ForkOptions{ID: id, Prompt: "again", Model: parted(t), RequestID: "request " + id + by + s.queue}
			first, err := asking.Fork(within(t), client.Point{ID: x.ID}, o)
			require.NoError(t, err)
			second, err := asking.Fork(within(t), client.Point{ID: x.ID}, o)
			require.NoError(t, err)
			require.Equal(t, first, second)
			s.ended(t, first)
			if id != "" {
				_, err = s.agents.Close(within(t), id)
				require.NoError(t, err)
			}
			second, err = asking.Fork(within(t), client.Point{ID: x.ID}, o)
			require.NoError(t, err)
			require.Equal(t, first, second)
			o.RequestID += "another"
			third, err := asking.Fork(within(t), client.Point{ID: x.ID}, o)
			require.NoError(t, err)
			require.NotEqual(t, first.RunID, third.RunID)
			s.ended(t, third)
		}
	}
}

// TestAForkWhoseOriginIsDeleted: what it has of the origin's messages, which only that one's runs could tell people, is
// said to be gone, and what it has said itself follows. Its model has all of it.
func TestAForkWhoseOriginIsDeleted(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{echo()}})
	x, err := s.agents.Start(within(t), client.Start{ID: s.named("origin"), Prompt: "go", Definition: scripted(longScript(t, 30, 3000), "echo")})
	require.NoError(t, err)
	s.ended(t, x)
	fork, err := s.agents.Fork(within(t), client.Point{ID: x.ID}, client.ForkOptions{ID: s.named("fork"), Prompt: "again", Model: parted(t)})
	require.NoError(t, err)
	s.ended(t, fork)
	_, err = s.agents.Close(within(t), x.ID)
	require.NoError(t, err)
	_, err = s.temporal.WorkflowService().DeleteWorkflowExecution(within(t), &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: x.WorkflowID, RunId: x.RunID},
	})
	require.NoError(t, err)
	var texts []string
	require.Eventually(t, func() bool {
		gone := false
		texts = nil
		for e, err := range s.agents.Messages(within(t), fork.ID) {
			if errors.Is(err, &client.Error{Class: client.Gone}) {
				gone = true
				continue
			}
			require.NoError(t, err)
			texts = append(texts, e.Message.Text())
		}
		return gone
	}, patience, 100*time.Millisecond)
	require.Equal(t, []string{"again", "parted"}, texts)
	next, err := s.agents.Send(within(t), fork.ID, client.SendOptions{Prompt: "and more"})
	require.NoError(t, err)
	s.ended(t, next)
	for step, err := range s.agents.Steps(within(t), fork.ID, 2) {
		require.NoError(t, err)
		require.Equal(t, 1+2*30+1+3, step.Step.Input.Messages)
	}
}

// TestWhatCannotBeForked is said clearly, and nothing begins.
func TestWhatCannotBeForked(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{echo()}})
	x, err := s.agents.Start(within(t), client.Start{ID: s.named("origin"), Prompt: "go", Definition: scripted(longScript(t, 2, 1), "echo")})
	require.NoError(t, err)
	s.ended(t, x)
	for name, test := range map[string]struct {
		at    client.Point
		o     client.ForkOptions
		class client.Class
		says  string
	}{
		"a step that never was":       {client.Point{ID: x.ID, Step: new(4)}, client.ForkOptions{Prompt: "go"}, client.NotFound, "has 3 steps, and no step 4"},
		"a step before the first":     {client.Point{ID: x.ID, Step: new(-1)}, client.ForkOptions{Prompt: "go"}, client.Invalid, "step: is -1"},
		"an execution that never was": {client.Point{ID: x.ID, Execution: "7"}, client.ForkOptions{Prompt: "go"}, client.NotFound, "has no execution 7"},
		"an id that never was":        {client.Point{ID: x.ID, Execution: "ffffffff-ffff"}, client.ForkOptions{Prompt: "go"}, client.NotFound, "has no execution \"ffffffff-ffff\""},
		"no such agent":               {client.Point{ID: "nobody"}, client.ForkOptions{Prompt: "go"}, client.NotFound, "there is no agent"},
		"no prompt":                   {client.Point{ID: x.ID}, client.ForkOptions{}, client.Invalid, "prompt"},
		"its own name":                {client.Point{ID: x.ID}, client.ForkOptions{ID: x.ID, Prompt: "go"}, client.Refused, "is in use"},
		"an earlier session":          {client.Point{ID: x.ID}, client.ForkOptions{ID: x.ID + "@" + x.RunID, Prompt: "go"}, client.Invalid, "give the fork a name"},
	} {
		_, err := s.agents.Fork(within(t), test.at, test.o)
		require.ErrorIs(t, err, &client.Error{Class: test.class}, name)
		require.ErrorContains(t, err, test.says, name)
	}
	byID, err := s.agents.Fork(within(t), client.Point{ID: x.ID, Execution: x.ExecutionID.String()[:13]}, client.ForkOptions{Prompt: "go", Model: parted(t)})
	require.NoError(t, err)
	s.ended(t, byID)
}

// TestAForkIsBoundAsItsOrigin: by the definition that an update gave the session, and by the agents above a sub-agent.
func TestAForkIsBoundAsItsOrigin(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{echo()}})
	calls := func(id string) (codes []domain.Code) {
		for step, err := range s.agents.Steps(within(t), id, 0) {
			require.NoError(t, err)
			for _, call := range step.Step.ToolExecutions {
				require.NotNil(t, call.Error, "%s was called", call.Name())
				codes = append(codes, call.Error.Code)
			}
		}
		return codes
	}
	root := scripted(writeScript(t, `
turns:
  - tool_calls: [{name: spawn_subagent, arguments: {subagent: kid, prompt: one}}]
  - text: done
`), "echo")
	root.SubagentPolicy.Deny = []string{"echo"}
	root.Subagents = map[string]domain.Subagent{"kid": {Agent: "kid", InheritsTools: true}}
	root.Agents = map[string]domain.Definition{"kid": {Model: scripted(writeScript(t, quickLeaf)).Model, Approvals: domain.ApprovalsOf("allow")}}
	x, err := s.agents.Start(within(t), client.Start{Prompt: "go", Definition: root})
	require.NoError(t, err)
	s.ended(t, x)
	kid := children(x.ExecutionID, 1)[0]
	require.Equal(t, []domain.Code{domain.CodeUnknownTool}, calls(kid))
	fork, err := s.agents.Fork(within(t), client.Point{ID: kid, Step: new(0)}, client.ForkOptions{Prompt: "go"})
	require.NoError(t, err)
	s.ended(t, fork)
	require.Equal(t, []domain.Code{domain.CodeUnknownTool}, calls(fork.ID))
	again, err := s.agents.Fork(within(t), client.Point{ID: fork.ID, Step: new(0)}, client.ForkOptions{Prompt: "go"})
	require.NoError(t, err)
	s.ended(t, again)
	require.Equal(t, []domain.Code{domain.CodeUnknownTool}, calls(again.ID))

	named := scripted(writeScript(t, quickLeaf), "echo")
	named.Approvals = domain.ApprovalsOf("allow")
	session, err := s.agents.Start(within(t), client.Start{ID: s.named("session"), Prompt: "go", Definition: named})
	require.NoError(t, err)
	s.ended(t, session)
	denies := domain.Definition{Approvals: domain.ApprovalsOf("deny")}
	_, err = s.agents.Update(within(t), session.ID, client.UpdateOptions{Definition: denies, Fields: denies.Given()})
	require.NoError(t, err)
	forked, err := s.agents.Fork(within(t), client.Point{ID: session.ID, Step: new(0)}, client.ForkOptions{Prompt: "go"})
	require.NoError(t, err)
	s.ended(t, forked)
	require.Equal(t, []domain.Code{domain.CodeDenied}, calls(forked.ID))
}
