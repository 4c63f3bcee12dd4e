package conversation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/conversation"
)

// given are a question, a call with its result, of so many tokens, and an answer, of an execution that was
// elsewhere where one is named: the call and the result are its traces then.
func given(t *testing.T, execution domain.ExecutionID, result int) *domain.StartOptions {
	t.Helper()
	messages := []domain.Message{user(100), answer(40), domain.ToolMessage(domain.ToolResult{CallID: "a", Content: words(result - 4)}), answer(60)}
	messages[1].ToolCalls = []domain.ToolCall{{ID: "a"}}
	entries := make([]domain.Entry, len(messages))
	for i, m := range messages {
		if !execution.IsZero() {
			m = domain.Tag{ExecutionID: execution, Trace: i == 1 || i == 2}.Apply(m)
		}
		entries[i].Message = m
	}
	made, err := domain.NewStartOptions(nil, entries, nil)
	require.NoError(t, err)
	return made
}

// TestWhatIsGivenCountsAsItIsShown: in this execution and in the next, whatever the compiler.
func TestWhatIsGivenCountsAsItIsShown(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		compiler domain.Compiler
		from     domain.ExecutionID
		want     int64
	}{
		"by hand":                    {domain.CurrentTrace, domain.ExecutionID{}, 500},
		"of another execution":       {domain.CurrentTrace, executionID(9), 160},
		"where its traces are shown": {domain.WholeConversation, executionID(9), 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := resolved(0, test.compiler)
			c := conversation.New(test.compiler).WithExecution(chain(1), false, nil).
				WithGiven(executionID(1), given(t, test.from, 300), noon)
			require.Equal(t, test.want, c.Input(r))
			require.Equal(t, 4, c.Len())
			var shown int64
			for _, m := range domain.CompileEdited(test.compiler, nil, c.Log().Entries(), chain(1), c.Edits()) {
				shown += domain.EstimateTokens(m)
			}
			require.Equal(t, shown, c.Input(r))
			c = say(c, 1, user(50), false)
			require.Equal(t, test.want+50, c.WithExecution(chain(2), false, nil).Input(r))
			require.Equal(t, c, c.WithGiven(executionID(1), nil, noon), "nothing is nothing")
		})
	}
}
