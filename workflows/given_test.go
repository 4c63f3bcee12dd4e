package workflows_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/domain/contract"
)

// conversed is a question and its answer, with a note.
func conversed(t *testing.T) *domain.StartOptions {
	t.Helper()
	given, err := domain.NewStartOptions(domain.Metadata{"ticket": json.RawMessage(`"A-7"`)}, []domain.Entry{
		{Message: domain.UserMessage("before")}, {Message: *says("answered").Message},
	}, nil)
	require.NoError(t, err)
	return given
}

// TestWhatIsGivenIsChecked by the workflow too, before anything begins: with the start, and with a message to a
// session, whose notes it may not outgrow.
func TestWhatIsGivenIsChecked(t *testing.T) {
	t.Parallel()
	dangling := conversed(t)
	dangling.Messages[1].Message.ToolCalls = []domain.ToolCall{look()}
	w := &world{model: plays(says("one"), says("two"))}
	env := w.executed(t, input(t, "", func(in *contract.SessionInput) { in.Options = dangling }))
	require.ErrorContains(t, env.GetWorkflowError(), "messages[1].tool_calls: call")
	require.Empty(t, w.asked)

	long := json.RawMessage(`"` + strings.Repeat("x", domain.MaxMetadata*2/3) + `"`)
	given := func(key string) *domain.StartOptions {
		return &domain.StartOptions{Metadata: domain.Metadata{key: long}}
	}
	env = w.environment(t)
	refused := sends(env, time.Minute, "u1", contract.SendRequest{Prompt: "more", Options: dangling})
	toomuch := sends(env, 2*time.Minute, "u2", contract.SendRequest{Prompt: "more", Options: given("b")})
	instead := sends(env, 3*time.Minute, "u3", contract.SendRequest{Prompt: "more", Options: &domain.StartOptions{Metadata: given("a").Metadata, Messages: conversed(t).Messages}})
	closes(env, time.Hour)
	execute(env, input(t, "ann", func(in *contract.SessionInput) { in.Options = given("a") }))
	endsWith(t, env, 2)
	refused.refused(t, "messages[1].tool_calls: call")
	toomuch.refused(t, "metadata: takes")
	require.Equal(t, 2, instead.value.(contract.SendReply).Number)
	require.Equal(t, []int{1, 5}, []int{w.asked[0].Log.Length, w.asked[1].Log.Length})
}
