package whole_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/starter/client"
	"everstep/worker/host"
)

const toRewind = `
turns:
  - {text: look, tool_calls: [{name: echo, arguments: {text: a}}]}
  - {text: one}
  - {text: again, tool_calls: [{name: echo, arguments: {text: b}}]}
  - {text: two}
  - {text: three}
  - {text: four}
`

// rewound is a session of five executions: the third goes on from the first one's first step, the fourth from the end of
// the second, which takes that back, the fifth from before the first.
func (s *stack) rewound(t *testing.T, id string) client.Execution {
	t.Helper()
	ctx := within(t)
	begun, err := s.agents.Start(ctx, client.Start{ID: id, Prompt: "p1", Definition: scripted(writeScript(t, toRewind), "echo")})
	require.NoError(t, err)
	s.ended(t, begun)
	begun, err = s.agents.Send(ctx, id, client.SendOptions{Prompt: "p2"})
	require.NoError(t, err)
	s.ended(t, begun)

	to := client.Point{ID: id, Execution: "1", Step: new(1)}
	key := uuid.NewString()
	stands, err := s.agents.Rewind(ctx, to, client.RewindOptions{RequestID: key})
	require.NoError(t, err)
	require.Equal(t, []any{3, false, 5, 2}, []any{stands.Number, stands.Began, stands.TakenBack, stands.Undo})
	require.Len(t, stands.Since, 1)
	require.Equal(t, []any{2, 1, "echo", domain.ToolOK}, []any{stands.Since[0].Number, stands.Since[0].Step, stands.Since[0].Tool, stands.Since[0].Outcome})
	again, err := s.agents.Rewind(ctx, to, client.RewindOptions{RequestID: key})
	require.NoError(t, err)
	require.Equal(t, stands, again, "it is done once")
	status, err := s.agents.Status(ctx, id)
	require.NoError(t, err)
	require.Equal(t, &stands.To, status.Position.From)
	begun, err = s.agents.Send(ctx, id, client.SendOptions{Prompt: "p3"})
	require.NoError(t, err)
	require.Equal(t, stands.ExecutionID, begun.ExecutionID)
	s.ended(t, begun)

	back, err := s.agents.Rewind(ctx, client.Point{ID: id, Execution: stands.AgentID.Execution(begun.RunID, 2).String()[:13]}, client.RewindOptions{Prompt: "p4"})
	require.NoError(t, err)
	require.Equal(t, []any{4, true, 2}, []any{back.Number, back.Began, back.TakenBack})
	s.ended(t, back.Execution)
	last, err := s.agents.Rewind(ctx, client.Point{ID: id, Execution: "1", Step: new(0)}, client.RewindOptions{Prompt: "p5"})
	require.NoError(t, err)
	return s.ended(t, last.Execution)
}

// TestARewoundSessionOnAServer goes on from its past: what its model says follows from what it sees, what is told of it
// is told with a worker and without, and all of it stays readable.
func TestARewoundSessionOnAServer(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{echo()}})
	id := s.named("rewound")
	s.rewound(t, id)
	require.Equal(t, []string{"p1", "look", "one", "p2", "again", "two", "p3", "one", "p4", "three", "p5", "look", "one"},
		withoutResults(s.saidBy(t, id)), "the script plays on from where the conversation stands")
	var origins []string
	for past, err := range s.agents.Executions(within(t), id) {
		require.NoError(t, err)
		text := "-"
		if past.Origin != nil {
			text = fmt.Sprint(past.Origin.ExecutionID == executionOf(t, s, id, 1), past.Origin.ExecutionID == executionOf(t, s, id, 2), past.Origin.Step)
		}
		origins = append(origins, text)
	}
	require.Equal(t, []string{"-", "-", "true false 1", "false true 2", "true false 0"}, origins)
	for number, prompts := range map[int]string{3: "p1 p3", 4: "p1 p2 p4", 5: "p5"} {
		require.Equal(t, prompts, s.promptsSeen(t, id, number))
	}
	edits, err := s.agents.Edits(within(t), id)
	require.NoError(t, err)
	require.Len(t, edits.TakenBack, 1)
	require.Zero(t, edits.TakenBack[0].From)
	difference, err := s.agents.Diff(within(t), client.Point{ID: id, Execution: "1"}, client.Point{ID: id, Execution: "3"})
	require.NoError(t, err)
	require.Equal(t, []int{1, 1, 2}, []int{difference.Shared, difference.Equal, difference.Steps[0].Step}, "they part after what both have")
	explained, err := s.agents.Explain(within(t), id, 4)
	require.NoError(t, err)
	require.Equal(t, 2, explained.BranchedFrom.Step)
}

// TestExecutionsMarkWhatWasTakenBack by rewinds, also where the next execution has not begun, by the server and by the records;
// what was taken back is compared and forked all the same.
func TestExecutionsMarkWhatWasTakenBack(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "records")
	s := start(t, host.Config{Tools: []tool.Tool{echo()}, Records: dir})
	id := s.named("marked")
	s.rewound(t, id)
	type marks map[int]client.TakenBack
	marked := func(c *client.Client) (marks, *domain.Origin) {
		found, next := marks{}, (*domain.Origin)(nil)
		for _, past := range collect(t, c.Executions(within(t), id)) {
			if past.TakenBack != nil {
				found[past.Number] = *past.TakenBack
			}
			next = past.NextOrigin
		}
		return found, next
	}
	want := marks{1: {By: 5}, 2: {By: 5}, 3: {By: 5}, 4: {By: 5}}
	got, next := marked(s.agents)
	require.Equal(t, want, got)
	require.Nil(t, next)
	difference, err := s.agents.Diff(within(t), client.Point{ID: id, Execution: "2"}, client.Point{ID: id, Execution: "5"})
	require.NoError(t, err)
	require.Zero(t, difference.Shared)
	fork, err := s.agents.Fork(within(t), client.Point{ID: id, Execution: "2"}, client.ForkOptions{Prompt: "f"})
	require.NoError(t, err)
	s.ended(t, fork)
	require.Equal(t, "p1 p2 f", s.promptsSeen(t, fork.ID, 1))

	_, err = s.agents.Rewind(within(t), client.Point{ID: id, Execution: "2", Step: new(1)}, client.RewindOptions{})
	require.NoError(t, err)
	got, next = marked(s.agents)
	require.Equal(t, marks{2: {By: 6, AfterStep: 1}, 3: {By: 6}, 4: {By: 6}, 5: {By: 6}}, got)
	require.Equal(t, 1, next.Step)
	_, err = s.agents.Close(within(t), id)
	require.NoError(t, err)
	before, store := got, storeAt(t, dir)
	newest := recordedIn(t, store, id, 5)[4].Ref()
	require.Eventually(t, func() bool {
		_, err := store.Position(t.Context(), newest)
		return err == nil
	}, patience, 20*time.Millisecond)
	s.forgets(t, id)
	c := client.New(s.temporal, client.Config{TaskQueue: s.queue, Loopback: true, Records: store})
	got, next = marked(c)
	require.Equal(t, before, got)
	require.Equal(t, 1, next.Step)
	fork, err = c.Fork(within(t), client.Point{ID: id, Execution: "2"}, client.ForkOptions{Prompt: "f", Model: parted(t)})
	require.NoError(t, err)
	s.ended(t, fork)
	require.Equal(t, "p1 p2 f", s.promptsSeen(t, fork.ID, 1))
}

func withoutResults(said []string) (texts []string) {
	for _, text := range said {
		if text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

func executionOf(t *testing.T, s *stack, id string, number int) (found domain.ExecutionID) {
	t.Helper()
	for past, err := range s.agents.Executions(within(t), id) {
		require.NoError(t, err)
		if past.Number == number {
			found = past.ExecutionID
		}
	}
	return found
}

// promptsSeen are the prompts that the model saw with the first step of an execution.
func (s *stack) promptsSeen(t *testing.T, id string, number int) string {
	t.Helper()
	var entries []domain.Entry
	for e, err := range s.agents.Messages(within(t), id) {
		require.NoError(t, err)
		entries = append(entries, e)
	}
	for step, err := range s.agents.Steps(within(t), id, number) {
		require.NoError(t, err)
		var prompts []string
		for _, m := range step.Step.Input.Compile(nil, entries, nil) {
			if m.Role == domain.RoleUser {
				prompts = append(prompts, m.Text())
			}
		}
		return strings.Join(prompts, " ")
	}
	return ""
}

// TestRewindOverRuns: a session that goes on in many runs is rewound to what has left memory, where storage has it; without
// it is refused, and nothing changes.
func TestRewindOverRuns(t *testing.T) {
	t.Parallel()
	for name, storage := range map[string]bool{"stored": true, "carried": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := host.Config{Tools: []tool.Tool{echo()}, Storage: noStorage}
			if storage {
				config.Storage = "file://" + t.TempDir()
			}
			s := startOn(t, "continuing", continuing, config)
			id := s.named("long")
			definition := scripted(longScript(t, 30, 1), "echo")
			x, err := s.agents.Start(within(t), client.Start{ID: id, Prompt: "go", Definition: definition})
			require.NoError(t, err)
			s.ended(t, x)
			require.Greater(t, s.asked(t, id).History.Runs, 1)
			for _, step := range []int{1, 12, 30} {
				rewound, err := s.agents.Rewind(within(t), client.Point{ID: id, Execution: "1", Step: &step}, client.RewindOptions{})
				require.NoError(t, err)
				require.Equal(t, 2, rewound.Number)
			}
			rewound, err := s.agents.Rewind(within(t), client.Point{ID: id, Execution: "1", Step: new(12)}, client.RewindOptions{Prompt: "otherwise"})
			require.NoError(t, err)
			result, err := s.waits(within(t), id, 2)
			require.NoError(t, err)
			require.Equal(t, domain.StatusCompleted, result.Outcome.Status, "%+v", result.Error)
			require.Equal(t, 19, result.Outcome.Steps, "the rest of the script")
			for step, err := range s.agents.Steps(within(t), id, 2) {
				require.NoError(t, err)
				require.Len(t, step.Step.Input.Edits.TakenBack, 1)
			}
			back, err := s.agents.Rewind(within(t), client.Point{ID: id, Execution: "2", Step: new(0)}, client.RewindOptions{})
			require.NoError(t, err)
			require.Equal(t, rewound.ExecutionID, back.To.ExecutionID)
		})
	}
}

// crowded is a session whose conversation was summed up several times.
func (s *stack) crowded(t *testing.T, id string) {
	t.Helper()
	var script strings.Builder
	script.WriteString("turns:\n")
	for n := range 20 {
		fmt.Fprintf(&script, "  - {text: '%d %s', tool_calls: [{name: echo, arguments: {text: '%d', times: 100}}]}\n", n, strings.Repeat("words ", 100), n)
	}
	script.WriteString("  - {text: done}\n  - {text: and done}\n")
	definition := scripted(writeScript(t, script.String()), "echo")
	definition.Model.ContextWindow = 1500
	x, err := s.agents.Start(within(t), client.Start{ID: id, Prompt: "go", Definition: definition})
	require.NoError(t, err)
	s.ended(t, x)
}

// TestRewindOverASummary: to before it, which shows again what it stands for, and back to after it.
func TestRewindOverASummary(t *testing.T) {
	t.Parallel()
	s := start(t, host.Config{Tools: []tool.Tool{echo()}})
	id := s.named("summed")
	s.crowded(t, id)
	rewound, err := s.agents.Rewind(within(t), client.Point{ID: id, Execution: "1", Step: new(1)}, client.RewindOptions{Prompt: "otherwise"})
	require.NoError(t, err)
	s.ended(t, rewound.Execution)
	back, err := s.agents.Rewind(within(t), client.Point{ID: id, Execution: "1"}, client.RewindOptions{Prompt: "on"})
	require.NoError(t, err)
	s.ended(t, back.Execution)
	edits := map[int]domain.Edits{}
	for number := 1; number <= 3; number++ {
		for step, err := range s.agents.Steps(within(t), id, number) {
			require.NoError(t, err)
			if number == 1 || step.Step.Number == 1 {
				edits[number] = step.Step.Input.Edits
			}
		}
	}
	require.Positive(t, edits[1].Summary)
	require.Zero(t, edits[2].Summary, "it was not made yet")
	require.Equal(t, 3, edits[2].TakenBack[0].From)
	restored := edits[3]
	restored.TakenBack = nil
	require.Equal(t, edits[1], restored)
	require.Len(t, edits[3].TakenBack, 1)
	require.Greater(t, edits[3].TakenBack[0].From, 40, "what was taken back before stands again")
}

// TestRewindToWhatHasLeftMemory: without storage a summary is all that later runs have, and what it stands for can be read
// by people alone.
func TestRewindToWhatHasLeftMemory(t *testing.T) {
	t.Parallel()
	s := startOn(t, "continuing", continuing, host.Config{Tools: []tool.Tool{echo()}, Storage: noStorage})
	id := s.named("forgetful")
	s.crowded(t, id)
	before := s.lines(t, id)
	_, err := s.agents.Rewind(within(t), client.Point{ID: id, Execution: "1", Step: new(1)}, client.RewindOptions{})
	require.ErrorIs(t, err, &client.Error{Class: client.Refused})
	require.ErrorContains(t, err, "no storage has them")
	require.Equal(t, before, s.lines(t, id))
	_, err = s.agents.Rewind(within(t), client.Point{ID: id, Execution: "1", Step: new(0)}, client.RewindOptions{})
	require.NoError(t, err, "of the beginning nothing is asked for")
	_, err = s.agents.Rewind(within(t), client.Point{ID: id, Execution: "1"}, client.RewindOptions{Prompt: "on"})
	require.NoError(t, err)
	result, err := s.waits(within(t), id, 2)
	require.NoError(t, err)
	require.NotEqual(t, domain.CodeContextLost, result.Outcome.Code)
}
