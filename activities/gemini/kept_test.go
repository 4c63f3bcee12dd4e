package gemini_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"everstep/activities/inference"
	"everstep/domain"
	"everstep/testsuite/providers"
)

// partsOf are the parts of a body's content that say anything, with unsigned
// texts that follow on each other as one.
func partsOf(t require.TestingT, body string) []any {
	var out []any
	for data := range strings.SplitSeq(body, "\r\n\r\n") {
		if data == "" {
			continue
		}
		content, _ := decoded(t, strings.TrimPrefix(data, "data: ")).(map[string]any)["candidates"].([]any)[0].(map[string]any)["content"].(map[string]any)
		parts, _ := content["parts"].([]any)
		for _, p := range parts {
			out = append(out, p)
			if n := len(out); p.(map[string]any)["text"] == "" && len(p.(map[string]any)) == 1 {
				out = out[:n-1]
			} else if n > 1 && mere(out[n-1]) && mere(out[n-2]) && out[n-1].(map[string]any)["thought"] == out[n-2].(map[string]any)["thought"] {
				out[n-2].(map[string]any)["text"] = out[n-2].(map[string]any)["text"].(string) + out[n-1].(map[string]any)["text"].(string)
				out = out[:n-1]
			}
		}
	}
	return out
}

// mere reports whether a part is a text, or a thought, and nothing more.
func mere(part any) bool {
	for key := range part.(map[string]any) {
		if key != "text" && key != "thought" {
			return false
		}
	}
	return true
}

// recorded is a message after it went through a history.
func recorded(t require.TestingT, m domain.Message) domain.Message {
	store, err := domain.MessageStore{}.With("", m)
	require.NoError(t, err)
	encoded, err := json.Marshal(store.Section("")[0])
	require.NoError(t, err)
	var out domain.Message
	require.NoError(t, json.Unmarshal(encoded, &out))
	return out
}

// next is the call after an answer.
func next(m domain.Message) inference.Call {
	call := question()
	call.Messages = append(call.Messages, m)
	for i, c := range m.ToolCalls {
		call.Messages = append(call.Messages, domain.ToolMessage(domain.ToolResult{CallID: c.ID, Name: c.Name, Content: fmt.Sprint(i)}))
	}
	return call
}

// TestChangesStand: what somebody has changed since is sent as it is now, and
// without the signatures of what it was.
func TestChangesStand(t *testing.T) {
	t.Parallel()
	answer, err := infer(t, providers.Serve(t, 200, nil, bothCalls).URL, question())
	require.Nil(t, err)
	changes := map[string]func(*domain.Message){
		"the text":    func(m *domain.Message) { m.Parts[0].Text = "None" + m.Parts[0].Text[4:] },
		"arguments":   func(m *domain.Message) { m.ToolCalls[1].Arguments = `{"city": "Kyoto"}` },
		"a name":      func(m *domain.Message) { m.ToolCalls[0].Name = "forecast" },
		"an id":       func(m *domain.Message) { m.ToolCalls[0].ID = "own" },
		"a call less": func(m *domain.Message) { m.ToolCalls = m.ToolCalls[:2] },
		"no calls":    func(m *domain.Message) { m.ToolCalls = nil },
		"a thought": func(m *domain.Message) {
			m.Parts = append(m.Parts, domain.Part{Type: domain.PartReasoning, Text: "hm"})
		},
		"the layout": func(m *domain.Message) { m.Parts[1].Opaque = []byte(`[1]`) },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := recorded(t, answer.Message)
			change(&m)
			var want []any
			if text := m.Text(); text != "" {
				want = append(want, map[string]any{"text": text})
			}
			for k, c := range m.ToolCalls {
				part := map[string]any{"functionCall": map[string]any{"id": c.ID, "name": c.Name, "args": decoded(t, c.Arguments)}}
				if k == 0 {
					part["thoughtSignature"] = "skip_thought_signature_validator"
				}
				want = append(want, part)
			}
			require.Equal(t, want, sent(t, next(m))["contents"].([]any)[1].(map[string]any)["parts"])
		})
	}
}

// TestLayoutsThatAreWrong: whatever stands in the history, nothing panics and
// nothing is made up.
func TestLayoutsThatAreWrong(t *testing.T) {
	t.Parallel()
	answer, err := infer(t, providers.Serve(t, 200, nil, bothCalls).URL, question())
	require.Nil(t, err)
	var kept map[string]map[string]any
	require.NoError(t, json.Unmarshal(answer.Message.Parts[1].Opaque, &kept))
	call, text := map[string]any{"call": true}, map[string]any{"text": 5}
	for name, pieces := range map[string][]any{
		"nothing": nil, "too few": {text, call}, "too many": {text, call, call, call, call}, "too long": {map[string]any{"text": 6}, call, call, call},
		"negative": {map[string]any{"text": -1}, call, call, call}, "a thought": {map[string]any{"thought": 5}, call, call, call},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := domain.Clone(answer.Message)
			encoded, err := json.Marshal(map[string]any{"gemini_content": map[string]any{"of": kept["gemini_content"]["of"], "pieces": pieces}})
			require.NoError(t, err)
			m.Parts[1].Opaque = encoded
			parts := sent(t, next(m))["contents"].([]any)[1].(map[string]any)["parts"].([]any)
			require.Len(t, parts, 4)
			require.Equal(t, map[string]any{"text": "Both."}, parts[0])
		})
	}
}

// TestConversations: whatever is said, contents take turns as the API wants,
// each content with calls is followed by their results in the same order with
// the same ids, and what the model said goes back as it came.
func TestConversations(t *testing.T) {
	t.Parallel()
	server := newScript(t)
	rapid.Check(t, func(rt *rapid.T) {
		call := question()
		call.Config.Model = rapid.SampledFrom([]string{"gemini-2.5-flash", "gemini-3-pro"}).Draw(rt, "model")
		call.Messages = nil
		var came [][]any
		for range rapid.IntRange(1, 6).Draw(rt, "turns") {
			call.Messages = append(call.Messages, domain.UserMessage(rapid.StringN(0, 5, -1).Draw(rt, "user")))
			if !rapid.Bool().Draw(rt, "answered") {
				continue
			}
			parts := rapid.SliceOfN(modelParts(), 1, 4).Draw(rt, "parts")
			for i, p := range parts {
				// Ids are distinct in a content: else nothing tells results apart.
				parts[i] = strings.Replace(p, `"id":"`, fmt.Sprintf(`"id":"%d`, i), 1)
			}
			body := event(says("", parts[:len(parts)/2]...), "") + event(says("STOP", parts[len(parts)/2:]...), "")
			message := server.answer(rt, body).Message
			if len(message.ToolCalls) == 0 && message.Text() == "" {
				continue
			}
			came = append(came, partsOf(rt, body))
			call.Messages = append(call.Messages, recorded(rt, message))
			for _, k := range rapid.Permutation(indexes(len(message.ToolCalls))).Draw(rt, "order") {
				c := message.ToolCalls[k]
				call.Messages = append(call.Messages, domain.ToolMessage(domain.ToolResult{CallID: c.ID, Name: c.Name, Content: fmt.Sprint(k)}))
			}
		}
		if len(came) == 0 {
			return
		}
		contents := server.sent(rt, call)["contents"].([]any)
		requireTurns(rt, contents)
		var all []any
		for _, parts := range came {
			all = append(all, parts...)
		}
		require.Equal(rt, without(all), without(modelSaid(contents)))
	})
}

func indexes(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func modelParts() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		part := map[string]any{}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			part["functionCall"] = map[string]any{"id": rapid.StringMatching(`[a-z]{8}`).Draw(t, "id"), "name": "f", "args": map[string]any{"x": rapid.String().Draw(t, "x")}}
		case 1:
			part["text"], part["thought"] = rapid.StringN(1, 9, -1).Draw(t, "thought"), true
		default:
			part["text"] = rapid.StringN(0, 9, -1).Draw(t, "text")
		}
		if rapid.Bool().Draw(t, "signed") {
			part["thoughtSignature"] = rapid.StringMatching(`[A-Za-z0-9+/_=-]{4,40}`).Draw(t, "signature")
		}
		encoded, _ := json.Marshal(part)
		return string(encoded)
	})
}

// requireTurns checks what the API says of contents.
func requireTurns(t require.TestingT, contents []any) {
	require.Equal(t, "user", contents[0].(map[string]any)["role"])
	var waiting []any
	for i, c := range contents {
		content := c.(map[string]any)
		var asked, answers []any
		for _, p := range content["parts"].([]any) {
			part := p.(map[string]any)
			require.NotEmpty(t, part)
			if call, ok := part["functionCall"].(map[string]any); ok {
				asked = append(asked, call["id"])
			}
			if response, ok := part["functionResponse"].(map[string]any); ok {
				answers = append(answers, response["id"])
				require.Equal(t, fmt.Sprint(len(answers)-1), response["response"].(map[string]any)["output"])
			}
		}
		require.Equal(t, waiting, answers)
		if len(answers) > 0 {
			require.Len(t, content["parts"], len(answers), "nothing stands beside results")
		}
		if content["role"] == "model" {
			require.Equal(t, "user", contents[i-1].(map[string]any)["role"])
		} else {
			require.Empty(t, asked)
		}
		waiting = asked
	}
	require.Empty(t, waiting)
}

func modelSaid(contents []any) []any {
	var out []any
	for _, c := range contents {
		if c.(map[string]any)["role"] == "model" {
			out = append(out, c.(map[string]any)["parts"].([]any)...)
		}
	}
	return out
}

// without leaves out what need not go back, thoughts that are not signed, and
// what stands for a signature; texts beside each other are one.
func without(parts []any) string {
	var out strings.Builder
	for _, p := range parts {
		part := p.(map[string]any)
		signature, signed := part["thoughtSignature"]
		signed = signed && signature != "skip_thought_signature_validator"
		if part["thought"] == true && !signed {
			continue
		}
		if text, ok := part["text"]; ok && part["thought"] == nil {
			fmt.Fprint(&out, text)
		} else {
			fmt.Fprintf(&out, "|%v|%v|%v", part["thought"], text, part["functionCall"])
		}
		if signed {
			fmt.Fprintf(&out, "|%s|", signature)
		}
	}
	return out.String()
}
