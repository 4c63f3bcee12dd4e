package whole_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/client"
)

// TestCLIGivesWhatWasSaid: what messages prints of one agent is given to another, to a session that is open, and
// as a saved state, which brings its model; the audit knows what began so.
func TestCLIGivesWhatWasSaid(t *testing.T) {
	t.Parallel()
	s := start(t, workerConfig())
	c := newCLI(t).at(s)
	first := c.script("first.yaml", "turns: [{text: Blue.}]")
	counting := c.script("counting.yaml", "turns: [{text: One.}, {text: Two.}]")
	id, other := s.named("first"), s.named("other")
	require.Equal(t, "Blue.\n", c.ok("run", "--id", id, "--model", first, "--metadata", "ticket=A-7", "My colour?"))
	said := c.file("said.jsonl", c.ok("messages", id, "--json"))

	require.Equal(t, "One.\n", c.ok("run", "--id", other, "--model", counting, "--messages", said, "And now?"))
	require.Equal(t, []string{"My colour?", "Blue.", "And now?", "One."}, c.said(other))
	require.Equal(t, "Two.\n", c.ok("send", other, "--messages", said, "--metadata", "a=b", "--wait", "Once more"))
	require.Equal(t, []string{"My colour?", "Blue.", "And now?", "One.", "My colour?", "Blue.", "Once more", "Two."}, c.said(other))
	require.Equal(t, map[string]any{"messages": 2.0, "metadata": []any{"a"}}, c.json("explain", other)["given"])
	require.Contains(t, c.ok("explain", other), "2 messages before the prompt; metadata a")
	require.Equal(t, map[string]any{"messages": 0.0, "metadata": []any{"ticket"}}, c.json("explain", id)["given"])
	steps := collect(t, s.agents.Steps(within(t), other, 2))
	require.Equal(t, 7, steps[0].Step.Input.Messages)

	state, err := s.agents.State(within(t), id)
	require.NoError(t, err)
	require.Equal(t, domain.Metadata{"ticket": []byte(`"A-7"`)}, state.Metadata)
	saved := s.named("saved")
	require.Equal(t, "Blue.\n", c.ok("run", "--id", saved, "--messages", c.file("state.json", c.ok("export", id, "--session")), "Again?"))
	again, err := s.agents.State(within(t), saved)
	require.NoError(t, err)
	require.Equal(t, state.Metadata, again.Metadata)
	require.Equal(t, state.Messages(), again.Messages()[:2])

	// An unnamed agent goes on from one that was given messages, and has them once.
	given := collect(t, s.agents.Messages(within(t), id))
	begun, err := s.agents.Start(within(t), client.Start{
		Prompt: "and?", Definition: scripted(strings.TrimPrefix(first, "scripted/")), Messages: given, Budget: domain.ExecutionBudget{MaxSteps: new(int64)},
	})
	require.NoError(t, err)
	require.Equal(t, 3, c.do("result", begun.ID).code)
	require.Equal(t, "Blue.\n", c.ok("extend", begun.ID, "--max-steps", "3", "--wait"))
	require.Equal(t, []string{"My colour?", "Blue.", "and?", "Blue."}, c.said(begun.ID))
}

// said are the texts of an agent's messages.
func (c *cli) said(id string) []string {
	c.t.Helper()
	entries, err := client.ReadMessages([]byte(c.ok("messages", id, "--json")))
	require.NoError(c.t, err)
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = e.Message.Text()
	}
	return texts
}
