package workflows_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/domain"
	"everstep/domain/contract"
)

// sized is an agent of a definition and a prompt of so many bytes.
func sized(t *testing.T, system, agents, prompt int) contract.SessionInput {
	t.Helper()
	return input(t, "", func(in *contract.SessionInput) {
		in.Definition.SystemPrompt = strings.Repeat("s", system)
		in.Definition.Subagents = map[string]domain.Subagent{"leaf": {Agent: "leaf.yaml"}}
		in.Definition.Agents = map[string]domain.Definition{"leaf.yaml": {SystemPrompt: strings.Repeat("a", agents)}}
		in.Prompt = strings.Repeat("p", prompt)
	})
}

// TestWhatNoRunCouldHandOnDoesNotBegin, and says which part to shorten.
func TestWhatNoRunCouldHandOnDoesNotBegin(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		system, agents, prompt int
		storage                bool
		says                   string
	}{
		"a long prompt":               {10_000, 120_000, 940_000, false, "prompt: takes 940002 bytes"},
		"a long system prompt":        {200_000, 10_000, 900_000, false, "prompt: takes 900002 bytes"},
		"a long prompt, with storage": {10_000, 120_000, 940_000, true, ""},
		"a prompt that is all":        {10, 10, 999_000, false, "configure storage on the workers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := steady(2, false)
			w.storage, w.record = test.storage, stores
			env := w.executed(t, sized(t, test.system, test.agents, test.prompt))
			out := outcome(t, env)
			if test.says == "" {
				require.Equal(t, domain.StatusCompleted, out.Status)
				return
			}
			require.Equal(t, []any{domain.StatusFailed, domain.TooLarge, 0}, []any{out.Status, out.Kind, out.Steps})
			require.Empty(t, w.asked, "nothing is paid for")
			require.Contains(t, status(t, env).Signals[0].Message, test.says)
		})
	}
}

// TestWhatBeginsCanBeHandedOn: whatever is accepted goes on in the next run, with storage and without.
func TestWhatBeginsCanBeHandedOn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		in := sized(t, rapid.IntRange(1, domain.MaxSystemPrompt).Draw(r, "system"), rapid.IntRange(1, 130_000).Draw(r, "agents"), rapid.IntRange(1, domain.MaxMessage).Draw(r, "prompt"))
		if contract.CheckCarried(in.Definition) != nil {
			return
		}
		w := steady(2, false)
		if rapid.Bool().Draw(r, "storage") {
			w.storage, w.record = true, stores
		}
		env := w.environment(t)
		outgrows(env, 1)
		execute(env, in)
		if next, ok := handedOn(t, env); ok {
			require.LessOrEqual(t, carriedBytes(t, next), domain.MaxPayload)
			return
		}
		out := outcome(t, env)
		require.Equal(t, []any{domain.StatusFailed, domain.TooLarge, 0}, []any{out.Status, out.Kind, out.Steps}, status(t, env).Signals)
	})
}
