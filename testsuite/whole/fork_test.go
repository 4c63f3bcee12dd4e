package whole_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
	for _, e := range s.messages(t, id) {
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

// TestForkOverRuns: a conversation that has gone on in many runs is forked at any step, also where it is too long to be
// carried, and a fork is forked again.
func TestForkOverRuns(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ steps, times int }{"short": {12, 1}, "long": {30, 3000}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startOn(t, "continuing", continuing, host.Config{Tools: []tool.Tool{echo()}, Storage: "file://" + t.TempDir()})
			x := s.starts(t, client.Start{ID: s.named("origin"), Prompt: "go", Definition: scripted(longScript(t, test.steps, test.times), "echo")})
			s.ended(t, x)
			before := s.lines(t, x.ID)
			for _, step := range []int{0, 1, test.steps / 2, test.steps, test.steps + 1} {
				forked := s.forks(t, client.Point{ID: x.ID, Step: &step}, client.ForkOptions{ID: fmt.Sprintf("%s-%d", x.ID, step), Prompt: "again", Model: parted(t)})
				result := s.result(t, forked.ID, 1)
				require.Equal(t, "parted", result.Answer, "%+v", result.Error)
				lines := s.lines(t, forked.ID)
				want := 0
				if step > 0 {
					want = min(1+2*step, len(before))
				}
				require.Equal(t, before[:want], lines[:len(lines)-2], "step %d", step)
			}
			again := s.forks(t, client.Point{ID: fmt.Sprintf("%s-%d", x.ID, 1)}, client.ForkOptions{Prompt: "and again", Model: parted(t)})
			s.ended(t, again)
			require.Len(t, s.lines(t, again.ID), 3+2+2)
			steps := 0
			for _, step := range s.steps(t, again.ID, 1) {
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
	x := s.starts(t, client.Start{ID: s.named("origin"), Prompt: "go", Definition: scripted(longScript(t, 2, 1), "echo")})
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
				s.closes(t, id)
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

// boundKid is a sub-agent that the agent above it denies a tool, which its own definition has and allows.
func (s *stack) boundKid(t *testing.T) (id string) {
	t.Helper()
	root := parentOfOne(t, quickLeaf)
	root.Tools, root.SubagentPolicy.Deny = []string{"echo"}, []string{"echo"}
	kid := root.Agents["below"]
	kid.Approvals = domain.ApprovalsOf("allow")
	root.Agents["below"], root.Subagents["below"] = kid, domain.Subagent{Agent: "below", InheritsTools: true}
	return children(s.answers(t, client.Start{Definition: root}).ExecutionID, 1)[0]
}

// refusedWith are the codes of the calls of an agent's newest execution, of which none was made.
func (s *stack) refusedWith(t *testing.T, id string) (codes []domain.Code) {
	t.Helper()
	for _, step := range s.steps(t, id, 0) {
		for _, call := range step.Step.ToolExecutions {
			require.NotNil(t, call.Error, "%s was called", call.Name())
			codes = append(codes, call.Error.Code)
		}
	}
	return codes
}

// TestAForkIsBoundAsItsOrigin: by the definition that an update gave the session, and by the agents above a sub-agent.
func TestAForkIsBoundAsItsOrigin(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{echo()}})
	id := s.boundKid(t)
	for range 3 {
		require.Equal(t, []domain.Code{domain.CodeUnknownTool}, s.refusedWith(t, id))
		id = s.ended(t, s.forks(t, client.Point{ID: id, Step: new(0)}, client.ForkOptions{Prompt: "go"})).ID
	}

	named := scripted(writeScript(t, quickLeaf), "echo")
	named.Approvals = domain.ApprovalsOf("allow")
	session := s.answers(t, client.Start{ID: s.named("session"), Definition: named})
	denies := domain.Definition{Approvals: domain.ApprovalsOf("deny")}
	_, err := s.agents.Update(within(t), session.ID, client.UpdateOptions{Definition: denies, Fields: denies.Given()})
	require.NoError(t, err)
	forked := s.ended(t, s.forks(t, client.Point{ID: session.ID, Step: new(0)}, client.ForkOptions{Prompt: "go"}))
	require.Equal(t, []domain.Code{domain.CodeDenied}, s.refusedWith(t, forked.ID))
}
