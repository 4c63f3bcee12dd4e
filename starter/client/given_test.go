package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"everstep/domain"
	"everstep/starter/client"
)

const (
	userLine = `{"role":"user","parts":[{"type":"text","text":"hi"}]}`
	callLine = `{"index":7,"message":{"role":"assistant","tool_calls":[{"id":"a","name":"look","arguments":"{}"}]},"digest":""}`
	doneLine = `{"section":"messages","message":{"role":"tool","tool_result":{"call_id":"a","name":"look","content":"x"}}}`
)

// TestReadMessagesNamesTheLine and what mends it.
func TestReadMessagesNamesTheLine(t *testing.T) {
	t.Parallel()
	read, err := client.ReadMessages([]byte(userLine + "\n\n" + callLine + "\r\n" + doneLine))
	require.NoError(t, err)
	require.Len(t, read, 3)
	require.Equal(t, "hi", read[0].Message.Text())
	require.Equal(t, []domain.Entry{{Section: "messages", Message: domain.ToolMessage(domain.ToolResult{CallID: "a", Name: "look", Content: "x"})}}, read[2:])
	for name, test := range map[string]struct{ text, says string }{
		"nothing":              {" \n", "there are no messages in it"},
		"no JSON":              {userLine + "\nhello", "line 2: is not JSON"},
		"half a line":          {userLine[:20], "line 1: is not JSON"},
		"a list":               {"[" + userLine + "]", "is a JSON list; give one message a line, as jq -c '.[]' makes of it"},
		"a list over lines":    {"[\n" + userLine + "\n]\n", "is a JSON list"},
		"an object over lines": {"{\n\"role\":\"user\"}", "line 1: is not JSON; give each message whole in a line, as messages --json and jq -c do"},
		"a text of nothing":    {`{"role":"user","parts":[{"type":"text","txt":"x"}]}`, "line 1: parts[0].text: is missing; what is said"},
		"null":                 {"null", "line 1: is no object"},
		"not UTF-8":            {"\n\"\xff\"", "line 2: is not valid UTF-8"},
		"no role":              {`{"parts":[]}`, "line 1: role: \"\" is none of"},
		"another role":         {userLine + "\n\n" + strings.Replace(userLine, "user", "boss", 1), "line 3: role: \"boss\" is none of system, developer, user, assistant, tool"},
		"an entry of nothing":  {`{"message":null}`, "line 1: message: is null"},
		"an entry's role":      {`{"message":{"role":"boss"}}`, "line 1: message.role"},
		"a provider's form":    {`{"role":"user","content":"hi"}`, "line 1: content: is no key of a message; what is said stands in parts"},
		"a call that hangs":    {userLine + "\n\n" + callLine, `line 3: tool_calls: call "a" has no result`},
		"a result of no call":  {doneLine, `line 1: tool_result.call_id: "a" is no call`},
		"a call cut off":       {callLine + "\n" + userLine, `line 2: comes before the result of call "a"`},
		"an id that is none":   {`{"id":"x","role":"user"}`, "line 1: id"},
		"more than can be had": {strings.Repeat(strings.Replace(userLine, "hi", strings.Repeat("x", 1000), 1)+"\n", 1000), "messages: take"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := client.ReadMessages([]byte(test.text))
			require.ErrorIs(t, err, &client.Error{Class: client.Invalid})
			require.ErrorContains(t, err, test.says)
		})
	}
}

// TestAStartTakesASavedState: what it holds comes first, and what the start says counts.
func TestAStartTakesASavedState(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	id := domain.AgentID{UUID: uuid.NewSHA1(uuid.NameSpaceOID, []byte("saved"))}
	saved := domain.NewAgentState(id, domain.AgentID{}, now, domain.LLMConfig{Provider: "gemini", Model: "m"}).
		WithSystemPrompt("Be brief.", now).WithUserMessage(domain.MessageID{}, "hi", now)
	saved, err := saved.WithMetadata("a", json.RawMessage(`1`), now)
	require.NoError(t, err)
	saved, err = saved.WithMetadata("b", json.RawMessage(`1`), now)
	require.NoError(t, err)
	saved, err = saved.WithMessages(domain.SectionSummary, []domain.Message{domain.UserMessage("in short")}, now)
	require.NoError(t, err)
	encoded, err := saved.EncodeSession()
	require.NoError(t, err)
	saved, err = domain.DecodeAgentState(encoded)
	require.NoError(t, err)

	more := domain.Entry{Message: domain.UserMessage("more")}
	start, err := client.Start{
		Prompt: "go", Metadata: domain.Metadata{"b": json.RawMessage(`2`)}, Messages: []domain.Entry{more},
		Definition: domain.Definition{SystemPrompt: "Be long."}, Explicit: &domain.Definition{},
	}.WithState(saved)
	require.NoError(t, err)
	require.Equal(t, domain.Metadata{"a": json.RawMessage(`1`), "b": json.RawMessage(`2`)}, start.Metadata)
	require.Equal(t, "gemini/m", start.Definition.Model.String())
	require.Equal(t, []string{"Be long.", "Be brief."}, []string{start.Definition.SystemPrompt, start.Explicit.SystemPrompt})
	require.Len(t, start.Messages, 3)
	require.Equal(t, []string{"messages", "hi", "summary", "in short", "", "more"}, []string{
		start.Messages[0].Section, start.Messages[0].Message.Text(), start.Messages[1].Section, start.Messages[1].Message.Text(),
		start.Messages[2].Section, start.Messages[2].Message.Text(),
	})

	running, err := saved.BeginExecution(id.Execution("run", 1), domain.Unlimited(), now)
	require.NoError(t, err)
	_, err = client.Start{}.WithState(running)
	require.ErrorContains(t, err, "state: execution 1 is in progress")
	plain, err := client.Start{}.WithState(domain.NewAgentState(id, domain.AgentID{}, now, domain.LLMConfig{}))
	require.NoError(t, err)
	require.Equal(t, client.Start{Metadata: domain.Metadata{}}, plain)
}

// FuzzReadMessages: what is read is taken at the door, and read again as the same from what it is written as.
func FuzzReadMessages(f *testing.F) {
	f.Add([]byte(userLine + "\n" + callLine + "\n" + doneLine))
	f.Add([]byte(`{"message":{"role":"assistant","parts":[{"type":"reasoning","text":"hm","opaque":[1,{"a":null}]}]}}`))
	f.Add([]byte(`{"role":"user","parts":[{"type":"image","data":"AAAA"}],"metadata":{"is_trace":true}}`))
	if data := os.Getenv("EVERSTEP_DATA"); data != "" {
		tried := 0
		require.NoError(f, filepath.WalkDir(filepath.Join(data, "hostile"), func(path string, d fs.DirEntry, err error) error {
			info, statErr := d.Info()
			if err != nil || statErr != nil || !info.Mode().IsRegular() || info.Size() > 64<<10 {
				return errors.Join(err, statErr)
			}
			text, err := os.ReadFile(path)
			f.Add(text)
			f.Add([]byte(`{"role":"user","parts":[{"type":"text","text":` + string(bytes.TrimSpace(text)) + `}]}`))
			tried++
			return err
		}))
		require.NotZero(f, tried)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := client.ReadMessages(text)
		if err != nil {
			require.ErrorIs(t, err, &client.Error{Class: client.Invalid})
			return
		}
		require.NotEmpty(t, read)
		given, err := domain.NewStartOptions(nil, read, nil)
		require.NoError(t, err)
		var written bytes.Buffer
		for _, e := range given.Messages {
			require.NoError(t, json.NewEncoder(&written).Encode(e))
		}
		again, err := client.ReadMessages(written.Bytes())
		require.NoError(t, err)
		same, err := domain.NewStartOptions(nil, again, nil)
		require.NoError(t, err)
		require.Equal(t, given, same)
	})
}

// TestWhatWasTakenBackIsNotGiven: the lines of `messages --json` begin another agent as the model saw them.
func TestWhatWasTakenBackIsNotGiven(t *testing.T) {
	t.Parallel()
	line := `{"index":0,"message":{"role":"user","parts":[{"type":"text","text":"%s"}]},"taken_back":%t}` + "\n"
	messages, err := client.ReadMessages([]byte(fmt.Sprintf(line, "a", false) + fmt.Sprintf(line, "b", true) + fmt.Sprintf(line, "c", false) +
		strings.Replace(userLine, "{", `{"cleared":true,`, 1))) // a message alone
	require.NoError(t, err)
	require.Len(t, messages, 2)
	require.Equal(t, "c", messages[1].Message.Text())
}
