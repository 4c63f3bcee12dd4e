package testsuite_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/activities/tool"
	"everstep/domain"
	"everstep/domain/hook"
	"everstep/starter/client"
	"everstep/testsuite"
)

// printed are the messages as `messages --json` writes them, read again.
func printed(t *testing.T, messages []domain.Message) []domain.Entry {
	t.Helper()
	var lines bytes.Buffer
	for i, m := range messages {
		require.NoError(t, json.NewEncoder(&lines).Encode(domain.Entry{Index: i, Message: m}))
	}
	read, err := client.ReadMessages(lines.Bytes())
	require.NoError(t, err)
	return read
}

// asSent are messages without what is said of them only.
func asSent(messages []domain.Message) []domain.Message {
	bare := make([]domain.Message, len(messages))
	for i, m := range messages {
		bare[i] = domain.Message{Role: m.Role, Parts: m.Parts, ToolCalls: m.ToolCalls, ToolResult: m.ToolResult, Name: m.Name}
	}
	return bare
}

// TestMessagesOfOneAgentAreGivenToAnother: the next execution asks its model what that of the first agent did, its
// step names it, and nothing of what was said before counts as spent.
func TestMessagesOfOneAgentAreGivenToAnother(t *testing.T) {
	t.Parallel()
	for _, compiler := range []domain.Compiler{domain.CurrentTrace, domain.WholeConversation} {
		t.Run(string(compiler), func(t *testing.T) {
			t.Parallel()
			usage := domain.Usage{InputTokens: 10, OutputTokens: 5}
			first := calls("forecast", 2)
			first.Usage = usage
			config := testsuite.Config{
				Definition: domain.Definition{Compiler: compiler}, Tools: []tool.Tool{forecast()},
				Turns: []testsuite.Turn{first, {Text: "It is sunny.", Usage: usage}, {Text: "You are welcome.", Usage: usage}},
			}
			whole := testsuite.New(t, config).Run("How is it?", testsuite.SendAt(time.Hour, "Thanks."))
			require.Len(t, whole.Asked, 3)

			config.Turns = config.Turns[2:]
			config.Messages = printed(t, whole.Messages[:5])
			run := testsuite.New(t, config).Run("Thanks.")
			require.Equal(t, asSent(whole.Asked[2].Messages), asSent(run.Asked[0].Messages))
			require.Equal(t, run.Asked[0].Messages, run.Shown(run.Steps[0].Step), "the step names what was given")
			require.Equal(t, 6, run.Steps[0].Step.Input.Messages)
			require.Equal(t, asSent(whole.Messages), asSent(run.Messages))
			require.Equal(t, whole.Messages[:5], run.Messages[:5], "ids, times and tags stay")
			require.Equal(t, []int{1, 1}, []int{run.Outcome.Number, run.Outcome.Steps})
			require.Equal(t, usage, run.Outcome.Usage)
			require.Equal(t, 0, run.Asked[0].Inference, "a script begins with its first turn")
			require.Empty(t, run.Called())
		})
	}
}

// TestHooksSeeWhatWasGiven: the messages and the metadata, of which they may go on.
func TestHooksSeeWhatWasGiven(t *testing.T) {
	t.Parallel()
	var seen []domain.AgentState
	config := testsuite.Config{
		Hooks: []hook.Hook{hook.BeforeExecution("look", func(c hook.Point) (hook.Point, error) {
			seen = append(seen, c.State)
			return c.Note("seen", true)
		})},
		Definition: domain.Definition{Hooks: []string{"look"}},
		Metadata:   domain.Metadata{"ticket": json.RawMessage(`"A-7"`)},
		Messages:   []domain.Entry{{Message: domain.UserMessage("Hello?")}},
		Turns:      []testsuite.Turn{{Text: "a"}, {Text: "b"}},
	}
	run := testsuite.New(t, config).Run("go", testsuite.SendAt(time.Hour, "on"))
	require.Len(t, seen, 2)
	require.Equal(t, domain.Metadata{"ticket": json.RawMessage(`"A-7"`)}, seen[0].Metadata)
	require.Equal(t, domain.Metadata{"ticket": json.RawMessage(`"A-7"`), "seen": json.RawMessage(`true`)}, seen[1].Metadata)
	require.Equal(t, run.Messages[:2], seen[0].Messages())
	require.False(t, run.Messages[0].ID.IsZero())
	require.False(t, run.Messages[0].CreatedAt.IsZero())
	require.Equal(t, domain.TagOf(run.Messages[0]), domain.Tag{}, "it was said in no execution")
}
