package domain_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"everstep/domain"
)

func said(role domain.Role, text string, calls ...string) domain.Entry {
	m := domain.Message{Role: role, Parts: []domain.Part{{Type: domain.PartText, Text: text}}}
	for _, id := range calls {
		m.ToolCalls = append(m.ToolCalls, domain.ToolCall{ID: id, Name: "look", Arguments: "{}"})
	}
	return domain.Entry{Message: m}
}

func found(id string) domain.Entry {
	return domain.Entry{Message: domain.ToolMessage(domain.ToolResult{CallID: id, Name: "look", Content: "a"})}
}

// TestGivenIsCheckedAtTheDoor: what no provider could be sent, and what would not be kept as it is, is refused with
// the place of it.
func TestGivenIsCheckedAtTheDoor(t *testing.T) {
	t.Parallel()
	user, asks := said(domain.RoleUser, "hi"), said(domain.RoleAssistant, "I look", "a", "b")
	part := func(role domain.Role, p domain.Part) domain.Entry {
		return domain.Entry{Message: domain.Message{Role: role, Parts: []domain.Part{p}}}
	}
	type door struct {
		messages []domain.Entry
		metadata domain.Metadata
		trusted  domain.Trusted
	}
	of := func(entries ...domain.Entry) door { return door{messages: entries} }
	const u, a = domain.RoleUser, domain.RoleAssistant
	half := strings.Repeat("x", domain.MaxCarriedMessages/2)
	pictured := found("a")
	pictured.Message.Parts = []domain.Part{{Type: domain.PartImage, MediaType: "image/png", Data: []byte("x")}}
	for name, test := range map[string]struct {
		given door
		says  string
	}{
		"a conversation":              {of(user, asks, found("a"), found("b"), said(a, "two"), said(domain.RoleDeveloper, "now in French")), ""},
		"results in another order":    {of(asks, found("b"), found("a")), ""},
		"a result with an image":      {of(said(a, "x", "a"), pictured), ""},
		"one id for two calls":        {of(said(a, "x", "a", "a"), found("a"), found("a")), ""},
		"ids that are empty":          {of(said(a, "x", "", ""), found(""), found("")), ""},
		"an image":                    {of(part(u, domain.Part{Type: domain.PartImage, URL: "https://x.example/a.png"})), ""},
		"reasoning of the model":      {of(part(a, domain.Part{Type: domain.PartReasoning, Text: "hm", Opaque: json.RawMessage(`{"a": 1}`)})), ""},
		"another section":             {of(domain.Entry{Section: domain.SectionSummary, Message: user.Message}), ""},
		"notes":                       {door{metadata: domain.Metadata{"a": json.RawMessage(` {"b" : 1}`)}}, ""},
		"a result of no call":         {of(user, found("a")), `messages[1].tool_result.call_id: "a" is no call that waits for its result`},
		"a second result":             {of(asks, found("a"), found("a")), `messages[2].tool_result.call_id: "a" is no call`},
		"a call without its result":   {of(user, asks, found("a")), `messages[1].tool_calls: call "b" has no result`},
		"a result that comes late":    {of(asks, found("a"), user, found("b")), `messages[2]: comes before the result of call "b"`},
		"no role":                     {of(domain.Entry{Message: domain.Message{Parts: user.Message.Parts}}), "messages[0].role: is missing"},
		"an unknown role":             {of(domain.Entry{Message: domain.Message{Role: "boss", Parts: user.Message.Parts}}), `messages[0].role: "boss" is none of`},
		"nothing said":                {of(domain.Entry{Message: domain.Message{Role: u}}), "messages[0].parts: are missing"},
		"a user who calls":            {of(said(u, "x", "a")), "messages[0].tool_calls: are the model's alone"},
		"a user with a result":        {of(domain.Entry{Message: domain.Message{Role: u, ToolResult: &domain.ToolResult{}}}), "messages[0].tool_result: belongs"},
		"a tool without one":          {of(said(domain.RoleTool, "x")), "messages[0].tool_result: belongs"},
		"a tool with text beside it":  {of(domain.Entry{Message: domain.Message{Role: domain.RoleTool, ToolResult: &domain.ToolResult{}, Parts: user.Message.Parts}}), "messages[0].parts[0].type: is text; what a tool said stands in tool_result"},
		"more calls than there are":   {of(said(a, "x", make([]string, domain.MaxRequestedCalls+1)...)), "messages[0].tool_calls: are 1001"},
		"a part of no type":           {of(part(u, domain.Part{Text: "x"})), "messages[0].parts[0].type: is missing"},
		"a part of an unknown type":   {of(part(u, domain.Part{Type: "video"})), `messages[0].parts[0].type: "video" is none of`},
		"an instruction with a sound": {of(part(domain.RoleSystem, domain.Part{Type: domain.PartAudio, Data: []byte("x")})), "messages[0].parts[0].type: is audio"},
		"reasoning of the user":       {of(part(u, domain.Part{Type: domain.PartReasoning, Text: "hm"})), "messages[0].parts[0].type: is reasoning"},
		"an image of nothing":         {of(part(u, domain.Part{Type: domain.PartImage})), "messages[0].parts[0].data: is missing"},
		"a sound by its address":      {of(part(u, domain.Part{Type: domain.PartAudio, URL: "https://x.example/a.wav"})), "messages[0].parts[0].data: is missing"},
		"a password":                  {of(part(u, domain.Part{Type: domain.PartImage, URL: "https://u:secret@x.example/a.png"})), "messages[0].parts[0].url: holds a user or password"},
		"opaque that is empty":        {of(part(a, domain.Part{Type: domain.PartReasoning, Opaque: json.RawMessage{}})), ""},
		"opaque that is no JSON":      {of(part(a, domain.Part{Type: domain.PartReasoning, Opaque: json.RawMessage("{")})), "messages[0].parts[0].opaque: is not valid JSON"},
		"a text that is no UTF-8":     {of(said(u, "\xff")), "messages[0].parts[0].text: is not valid UTF-8"},
		"arguments that are no UTF-8": {of(domain.Entry{Message: domain.Message{Role: a, ToolCalls: []domain.ToolCall{{Arguments: "\xff"}}}}), "messages[0].tool_calls[0].arguments: is not valid UTF-8"},
		"a result that is no UTF-8":   {of(said(a, "x", "a"), domain.Entry{Message: domain.ToolMessage(domain.ToolResult{CallID: "a", Content: "\xff"})}), "messages[1].tool_result.content: is not valid UTF-8"},
		"a section of two lines":      {of(domain.Entry{Section: "a\nb", Message: user.Message}), "messages[0].section: is no name"},
		"too much":                    {of(said(u, half), said(a, half)), "at most 1000000 can be given"},
		"a note that is nil":          {door{metadata: domain.Metadata{"a": nil}}, ""},
		"a note that is empty":        {door{metadata: domain.Metadata{"a": json.RawMessage{}}}, "metadata.a: is not valid JSON"},
		"notes that are no JSON":      {door{metadata: domain.Metadata{"a": json.RawMessage("{")}}, "metadata.a: is not valid JSON"},
		"a note of no name":           {door{metadata: domain.Metadata{"": json.RawMessage("1")}}, `metadata: "" is no key`},
		"a note of two lines":         {door{metadata: domain.Metadata{"a\nb": json.RawMessage("1")}}, `metadata: "a\nb" is no key`},
		"long notes":                  {door{metadata: domain.Metadata{"a": json.RawMessage(`"` + strings.Repeat("x", domain.MaxMetadata) + `"`)}}, "metadata: takes 65544 bytes; at most 65536 fit"},
		"trusted values":              {door{trusted: domain.Trusted{"customer": json.RawMessage(` 4711`), "who": json.RawMessage(`{"a" : [1, {"a": 2}]}`)}}, ""},
		"a trusted value of no name":  {door{trusted: domain.Trusted{"Customer": json.RawMessage("1")}}, `trusted: "Customer" is no name; use 1 to 64 of a-z, 0-9 and _`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given, err := domain.NewStartOptions(test.given.metadata, test.given.messages, test.given.trusted)
			if test.says != "" {
				require.ErrorContains(t, err, test.says)
				require.Equal(t, domain.TooLarge == domain.AsError(err).Kind, strings.Contains(test.says, "at most 10") || strings.Contains(test.says, "takes"))
				require.Nil(t, given)
				return
			}
			require.NoError(t, err)
			encoded, err := json.Marshal(given)
			require.NoError(t, err)
			again, err := domain.Decode[domain.StartOptions](encoded)
			require.NoError(t, err)
			require.Equal(t, *given, again, "what is recorded is what was given")
			require.NoError(t, again.Check(domain.AgentState{}))
		})
	}
}

// TestGivenIsNothingOrBesideWhatIsThere: nothing given is nothing recorded; notes are bounded with those that the
// agent has, of which they replace some; and messages have their digests.
func TestGivenIsNothingOrBesideWhatIsThere(t *testing.T) {
	t.Parallel()
	none, err := domain.NewStartOptions(nil, nil, nil)
	require.NoError(t, err)
	require.Nil(t, none)
	require.NoError(t, none.Check(domain.AgentState{}))

	half := json.RawMessage(`"` + strings.Repeat("x", domain.MaxMetadata*2/3) + `"`)
	noted := func(key string) domain.AgentState {
		return must(domain.NewAgentState(sampleAgent(), domain.AgentID{}, noon, domain.LLMConfig{}).WithMetadata(key, half, noon))
	}
	given, err := domain.NewStartOptions(domain.Metadata{"a": half}, []domain.Entry{said(domain.RoleUser, "hi"), said(domain.RoleUser, "ho")}, nil)
	require.NoError(t, err)
	require.NotEqual(t, given.Messages[0].Digest, given.Messages[1].Digest)
	require.NoError(t, given.Check(noted("a")), "it is replaced")
	require.ErrorContains(t, given.Check(noted("b")), "metadata: takes")
	given.Messages[1].Digest = domain.Digest{}
	require.ErrorContains(t, given.Check(domain.AgentState{}), "messages[1]: has no digest")
}
