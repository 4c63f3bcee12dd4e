package activities_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/activities"
	"everstep/domain"
)

// A talk is a transcript as a session makes one: the messages are tagged.
type talk struct {
	domain.Log
	execution domain.ExecutionID
}

func (k *talk) add(m domain.Message, trace bool) {
	m = domain.Tag{ExecutionID: k.execution, Trace: trace}.Apply(m)
	k.Log = k.Append("", m, domain.DigestOf([]byte(fmt.Sprint(m.Role, m.Text(), k.Len()))))
}

func (k *talk) user(text string) { k.add(domain.UserMessage(text), false) }

func (k *talk) answer(text string) {
	k.add(domain.Message{Role: domain.RoleAssistant, Parts: []domain.Part{{Type: domain.PartText, Text: text}}}, false)
}

// tool is one step: a call of read with its result, both trace.
func (k *talk) tool(result string) {
	k.add(asking(fmt.Sprint("c", k.Len())), true)
	k.add(resultOf(fmt.Sprint("c", k.Len()-1), result), true)
}

// summary is a summary as the workflow adds it.
func (k *talk) summary(m domain.Message) {
	k.Log = k.Append(domain.SectionSummary, m, domain.DigestOf([]byte(m.Text())))
}

func asking(ids ...string) domain.Message {
	m := domain.Message{Role: domain.RoleAssistant}
	for _, id := range ids {
		m.ToolCalls = append(m.ToolCalls, domain.ToolCall{ID: id, Name: "read", Arguments: `{"path":"a"}`})
	}
	return m
}

func resultOf(id, content string) domain.Message {
	return domain.ToolMessage(domain.ToolResult{CallID: id, Name: "read", Content: content})
}

func executionID(n byte) domain.ExecutionID { return domain.ExecutionID{UUID: uuid.UUID{n}} }

// words are what the messages say, in short.
func words(messages []domain.Message) []string {
	var said []string
	for _, m := range messages {
		text := string(m.Role) + ":" + m.Text()
		for _, call := range m.ToolCalls {
			text += "?" + call.ID
		}
		if m.ToolResult != nil {
			text += m.ToolResult.CallID + "=" + m.ToolResult.Content
		}
		said = append(said, text)
	}
	return said
}

// TestCallModelShowsTheTracesOfOrigins: by current_trace what an execution goes on from is
// seen whole, what others did on their way is not.
func TestCallModelShowsTheTracesOfOrigins(t *testing.T) {
	t.Parallel()
	var k talk
	for n := range byte(3) {
		k.execution = executionID(n + 1)
		k.user(fmt.Sprint("prompt ", n+1))
		k.tool(fmt.Sprint("result ", n+1))
	}
	b := answeringBench("x", few)
	b.log, b.resolved.Definition.Compiler = k.Log, domain.CurrentTrace
	for name, test := range map[string]struct {
		origins []domain.ExecutionID
		want    []string
	}{
		"none": {nil, []string{"user:prompt 1", "user:prompt 2", "user:prompt 3", "assistant:?c7", "tool:c7=result 3"}},
		"one": {[]domain.ExecutionID{executionID(2)}, []string{
			"user:prompt 1", "user:prompt 2", "assistant:?c4", "tool:c4=result 2", "user:prompt 3", "assistant:?c7", "tool:c7=result 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			request := b.request()
			request.ExecutionID, request.Origins = executionID(3), test.origins
			b.replyTo(t, request)
			require.Equal(t, test.want, words(b.called.Messages))
		})
	}
}

// TestCallModelNeedsOnlyWhatIsShown: hidden messages may be nowhere any more, and
// what a worker happens to know of them changes nothing.
func TestCallModelNeedsOnlyWhatIsShown(t *testing.T) {
	t.Parallel()
	k := talk{execution: executionID(1)}
	k.user("first")
	k.tool("one")
	k.user("second")
	k.summary(domain.UserMessage("the summary"))
	b := answeringBench("x", few)
	b.log = k.Log
	request := b.request()
	for _, base := range []int{0, 2, 3} {
		before, _ := k.ChainAt(base)
		held, err := domain.LogAt(base, before).Join(k.From(base)...)
		require.NoError(t, err)
		b.log = held
		request.Edits = domain.Edits{Hidden: 3, Summary: 5, Buffered: 4}
		b.replyTo(t, request)
		require.Equal(t, []string{"user:the summary", "user:second"}, words(b.called.Messages))
		request.Edits.Hidden, request.Edits.Buffered = 5, 0
		b.replyTo(t, request)
		require.Equal(t, []string{"user:the summary"}, words(b.called.Messages))
	}
	request.Edits = domain.Edits{Hidden: 3}
	b.replyTo(t, request)
	require.Equal(t, []string{"user:the summary", "user:second"}, words(b.called.Messages), "there may be no summary of what is hidden")
}

func TestCallModelWithOwnCompiler(t *testing.T) {
	t.Parallel()
	k := talk{execution: executionID(1)}
	k.user("first")
	k.user("second")
	k.tool(strings.Repeat("long ", 10))
	k.summary(domain.UserMessage("the summary"))
	k.user("third")
	all := k.Entries()
	b := answeringBench("x", few)
	b.log, b.resolved.Definition.Compiler = k.Log, "mine"
	request := b.request()
	request.Edits = domain.Edits{Hidden: 1, Cleared: 4, Summary: 5, Buffered: 4}
	b.compilers = map[string]activities.Compiler{"mine": func(entries []domain.Entry) []domain.Message {
		var sections, messages = []string{}, []domain.Message{}
		for i, e := range entries {
			sections, messages = append(sections, e.Section), append(messages, e.Message)
			entries[i] = domain.Entry{}
		}
		require.Equal(t, []string{domain.SectionSummary, domain.SectionBuffer, domain.SectionBuffer, domain.SectionBuffer, ""},
			sections)
		return append(messages[1:], messages[0])
	}}
	b.replyTo(t, request)
	require.Equal(t, []string{"user:second", "assistant:?c2", "tool:c2=[cleared: 50 bytes]", "user:third", "user:the summary"}, words(b.called.Messages))
	require.Equal(t, all, k.Entries(), "what it does to its copy is its own")

	b.compilers["mine"] = func([]domain.Entry) []domain.Message { panic("with a secret") }
	app, own := b.failure(t)
	require.True(t, app.NonRetryable())
	require.Equal(t, domain.Invalid, own.Kind)
	require.Contains(t, own.Message, `compiler: "mine" panicked`)
	require.NotContains(t, app.Error(), "secret")

	b.compilers = nil
	app, own = b.failure(t)
	require.True(t, app.NonRetryable(), "the workflow asks another worker")
	require.True(t, own.Lacking)
	require.Regexp(t, `^worker \d+@\S*: compiler: this worker has no "mine"`, own.Message)
}

// conversation is what words says of one, with blanks between the messages.
func conversation(said string) (messages []domain.Message) {
	for _, word := range strings.Fields(said) {
		role, text, _ := strings.Cut(word, ":")
		m := domain.Message{Role: domain.Role(role)}
		if id, content, found := strings.Cut(text, "="); found {
			m = resultOf(id, content)
		} else if calls := strings.Split(text, "?"); role == "assistant" {
			m = asking(calls[1:]...)
			text = calls[0]
		}
		if m.ToolResult == nil && text != "" {
			m.Parts = []domain.Part{{Type: domain.PartText, Text: text}}
		}
		messages = append(messages, m)
	}
	return messages
}

// TestCallModelPairsCallsAndResults: whatever a compiler of a worker's own
// leaves out, no provider gets a call without its result.
func TestCallModelPairsCallsAndResults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ chosen, want string }{
		"as it was":              {"user:u assistant:?a?b tool:b=2 tool:a=1 user:u", "user:u assistant:?a?b tool:b=2 tool:a=1 user:u"},
		"no result":              {"user:u assistant:?a user:u", "user:u user:u"},
		"one result of two":      {"assistant:?a?b tool:b=2", "assistant:?b tool:b=2"},
		"text stays":             {"assistant:look?a?b", "assistant:look"},
		"no call":                {"user:u tool:a=1 user:u", "user:u user:u"},
		"a result twice":         {"assistant:?a tool:a=1 tool:a=2", "assistant:?a tool:a=1"},
		"a result before":        {"tool:a=1 assistant:?a", ""},
		"a result later":         {"assistant:?a user:u tool:a=1", "assistant:?a tool:a=1 user:u"},
		"a result much later":    {"assistant:?a assistant:look?a?b tool:a=1", "assistant:look?a tool:a=1"},
		"the same id twice":      {"assistant:?a tool:a=1 assistant:?a tool:a=2", "assistant:?a tool:a=1 assistant:?a tool:a=2"},
		"a result of nothing":    {"assistant:?a tool:", ""},
		"nothing":                {"", ""},
		"an empty answer":        {"user:u assistant: user:u", "user:u user:u"},
		"ids that repeat in one": {"assistant:?a?a tool:a=1 tool:a=2", "assistant:?a?a tool:a=1 tool:a=2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chosen := conversation(test.chosen)
			b := answeringBench("x", few)
			b.resolved.Definition.Compiler = "mine"
			b.compilers = map[string]activities.Compiler{"mine": func([]domain.Entry) []domain.Message { return chosen }}
			b.reply(t)
			require.Equal(t, test.want, strings.Join(words(b.called.Messages), " "))
			require.Equal(t, conversation(test.chosen), chosen)
		})
	}
}
